"""What hooks record until something that is there for it empties the records: in each step, or later."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_TAPS = """
        class Taps:
            def __init__(self, net, names):
                self.records = defaultdict(list)
                self.handles = []
                layers = dict(net.named_modules())
                for name in names:
                    hook = functools.partial(self.record, name)
                    self.handles.append(layers[name].register_forward_hook(hook))

            def record(self, name, module, args, output):
                self.records[name].append(output)

            def last(self):
                return [rows[-1] for rows in self.records.values()]

            def flush(self):
                for rows in self.records.values():
                    rows.clear()

            def remove(self):
                while self.handles:
                    self.handles.pop().remove()
        """

SEEN = {
    "records that only an epoch empties": _TAPS.replace("append(output)", "append(output)  # TML108")
    + """
        def train(loader, optimizer):
            net = Net()
            taps = Taps(net, ["layer"])
            for epoch in range(9):
                for x, y in loader:
                    loss = F.cross_entropy(net(x), y) + taps.last()[0].square().mean()
                    loss.backward()
                    optimizer.step()
                taps.flush()
            taps.remove()
        """,
    "records that nothing empties": """
        class Taps:
            def __init__(self, net, names):
                self.records = []
                layers = dict(net.named_modules())
                for name in names:
                    layers[name].register_forward_hook(self.record)  # TML304

            def record(self, module, args, output):
                self.records.append(output)  # TML108
        """,
    "entries of which one list is emptied": """
        class Recorder:
            def __init__(self):
                self.net = Net()
                self.rows = {}

            def take(self, name, x):
                self.rows.setdefault(name, []).append(self.net(x))  # TML102

            def flush(self, names):
                for held in names.values():
                    held.clear()
        """,
}

QUIET = {
    "records that whoever runs the model may empty": _TAPS,
    "records that each step empties": _TAPS
    + """
        def train(loader, optimizer):
            net = Net()
            taps = Taps(net, ["layer"])
            for x, y in loader:
                loss = F.cross_entropy(net(x), y) + taps.last()[0].square().mean()
                loss.backward()
                optimizer.step()
                taps.flush()
            taps.remove()
        """,
    "entries that are emptied one by one": """
        class Recorder:
            def __init__(self):
                self.net = Net()
                self.rows = {}

            def take(self, name, x):
                self.rows.setdefault(name, []).append(self.net(x))

            def flush(self):
                for name, rows in self.rows.items():
                    print(name, len(rows))
                    rows.clear()
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])
