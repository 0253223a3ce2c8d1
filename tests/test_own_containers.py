"""Classes that are dicts or lists and have attributes of their own as well."""

from __future__ import annotations

import pytest
from snippets import check

HISTORY = """
class History({base}):
    def __init__(self, smoothing=0.9):
        super().__init__()
        self.smoothing, self.best = smoothing, None

    {method}

    def shortest(self):
        return min(len(self), 3)

def main(batches):
    model, history = Net(), History()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {added}
    print(history.smoothing, history.shortest())

main(torch.rand(9, 4, 8))
"""
SET = "def __setitem__(self, name, value):\n        self.setdefault(name, []).append(value)"
ADD = "def add(self, value):\n        self.append(value)"
BEST = "def see(self, value):\n        self.best = value.item() if self.best is None else min(self.best, value.item())"


def marked(text: str, line: str) -> str:
    return text.replace(line, line + "  # TML102")


@pytest.mark.parametrize(
    ("base", "method", "added", "line"),
    [
        ("dict", SET, "history['loss'] = loss", "self.setdefault(name, []).append(value)"),
        ("list", ADD, "history.add(loss)", "self.append(value)"),
        ("list", ADD, "history.append(loss)", "history.append(loss)"),
    ],
)
def test_losses_in_a_container_of_its_own_kind(base: str, method: str, added: str, line: str) -> None:
    text = HISTORY.format(base=base, method=method, added=added)
    check(marked(text, line))
    check(text.replace(added, added.replace("loss)", "loss.item())").replace("= loss", "= loss.item()")))


def test_numbers_beside_the_elements() -> None:
    check(HISTORY.format(base="list", method=BEST, added="history.see(loss)"))
    check(HISTORY.format(base="list", method=ADD, added="history.append(loss); history.clear()"))


WINDOW = """
from collections import deque, OrderedDict

class Window({base}):
    {method}

def main(batches):
    model = Net()
    window = Window({given})
    for x in batches:
        with torch.no_grad():
            out = model(x)
        {added}

main(torch.rand(9, 4, 8))
"""
LIMITED = "def __init__(self, size, name=''):\n        super().__init__({})\n        self.name = name"
EVICTS = (
    "def __init__(self, limit):\n        super().__init__()\n        self.limit = limit\n\n"
    "    def __setitem__(self, key, value):\n        super().__setitem__(key, value)\n"
    "        while len(self) > self.limit:\n            self.popitem(last=False)"
)


@pytest.mark.parametrize(
    ("base", "method", "given", "added"),
    [
        ("deque", LIMITED.format("maxlen=size"), "9", "window.append(out)"),
        ("deque", LIMITED.format("[], size"), "9", "window.append(out)"),
        ("deque", "pass", "maxlen=9", "window.append(out)"),
        ("OrderedDict", EVICTS, "9", "window[x] = out"),
    ],
)
def test_containers_with_a_limit(base: str, method: str, given: str, added: str) -> None:
    check(WINDOW.format(base=base, method=method, given=given, added=added))
