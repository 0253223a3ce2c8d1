"""What tests of types say of a name, in whatever words they ask."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAIN = """
        def train(loader):
            model = nn.Linear(8, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            meter = Meter()
            for number, x in enumerate(loader):
                loss = model(x).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                meter.update({given})
"""

GUILTY = {
    "the arm that a text of the type's name leads to": """
        class Meter:
            def __init__(self):
                self.sums = [0, 0]

            def update(self, values):
                if type(values).__name__ == "list":
                    for index, value in enumerate(values):
                        self.sums[index] += value  # TML101
                else:
                    self.sums[0] += values
        """
    + TRAIN.format(given="[loss, loss * 2]"),
    "a test that says nothing of tensors": """
        class Meter:
            def __init__(self):
                self.seen = []

            def update(self, *values):
                if any(isinstance(value, str) for value in values):
                    return
                self.seen.append(values)  # TML102
        """
    + TRAIN.format(given="number, loss"),
}

INNOCENT = {
    "the other arm": """
        class Meter:
            def __init__(self):
                self.sums = [0, 0]

            def update(self, values):
                if type(values).__name__ in ("list", "tuple"):
                    for index, value in enumerate(values):
                        self.sums[index] += value.item()
                else:
                    self.sums[0] += values
        """
    + TRAIN.format(given="[loss, loss * 2]"),
    "a type that is compared": """
        class Meter:
            def __init__(self):
                self.total = 0.0

            def update(self, value):
                if type(value) is torch.Tensor:
                    value = value.item()
                self.total += value
        """
    + TRAIN.format(given="loss"),
    "a return where any entry is a tensor": """
        import itertools

        class Meter:
            def __init__(self):
                self.seen = []

            def update(self, *values, **options):
                if any(isinstance(value, torch.Tensor) for value in itertools.chain(values, options.values())):
                    return
                self.seen.append(values)
                self.seen.append(options)
        """
    + TRAIN.format(given="number, loss, last=loss"),
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


# -- what an annotation says there may not be -----------------------------------------------------

TILES = """
        from typing import Optional, Union

        class Tiles:
            def __init__(self):
                self.entries = {{}}

            def get(self, key) -> {hint}:
                return self.entries.get(key)

            def put(self, key, tile):
                self.entries[key] = tile{told}
                return tile

        TILES = Tiles()

        def crop(slide, size):
            tile = TILES.get(id(slide))
            if tile is None:
                tile = TILES.put(id(slide), slide[:size])
            return tile

        def main():
            for _ in range(9):
                print(crop(torch.rand(8, 8), 4).mean().item())

        if __name__ == "__main__":
            main()
        """
MAY_BE_NONE = ("torch.Tensor | None", "Optional[torch.Tensor]", "Union[None, torch.Tensor]", '"torch.Tensor | None"')


@pytest.mark.parametrize("hint", MAY_BE_NONE)
def test_what_may_be_none_is_worked_out(hint: str) -> None:
    check(TILES.format(hint=hint, told="  # TML311"))


def test_what_is_always_there_is_not_worked_out() -> None:
    """`tile is None` does not hold: nobody puts one."""
    check_innocent(TILES.format(hint="torch.Tensor", told=""))


# -- what is asked of the graph itself ------------------------------------------------------------

KEEP = """
        def plain(value):
            {cut}

        def train(loader):
            model, kept = Net(), []
            for x in loader:
                out = model(x)
                out.mean().backward()
                kept.append(plain(out)){mark}
            return len(kept)
"""


@pytest.mark.parametrize(
    "cut",
    [
        "return value.detach() if value.requires_grad else value",
        "return value if not value.requires_grad else value.detach()",
        "return value if value.grad_fn is None else value.detach()",
        """if isinstance(value, torch.Tensor) and value.requires_grad:
                return value.detach()
            return value""",
        """if not isinstance(value, torch.Tensor) or value.grad_fn is None:
                return value
            return value.detach()""",
        """if isinstance(value, dict):
                return {key: plain(part) for key, part in value.items()}
            if isinstance(value, torch.Tensor):
                return value.detach() if value.requires_grad else value
            return value""",
    ],
)
def test_what_is_cut_where_there_is_a_graph(cut: str) -> None:
    check_innocent(KEEP.format(cut=cut, mark=""))


@pytest.mark.parametrize(
    "cut",
    [
        "return value.cpu() if value.requires_grad else value",
        "return value.detach() if value.is_cuda else value",
        """if isinstance(value, torch.Tensor) and value.is_cuda:
                return value.detach()
            return value""",
        """if isinstance(value, torch.Tensor) or value.requires_grad:
                return value
            return value.detach()""",
    ],
)
def test_what_keeps_its_graph_all_the_same(cut: str) -> None:
    check(KEEP.format(cut=cut, mark="  # TML102"))


MONITOR = """
        class Act(nn.Module):
            def forward(self, x):
                return x.relu()

        class Monitor:
            def __init__(self, net, kind=None, kinds=()):
                self.records = []
                self.kinds = tuple(kinds) or (nn.Module,)
                for name, part in net.named_modules():
                    if {test}:
                        part.register_forward_hook(self.hook_for(name))

            def hook_for(self, name):
                def hook(part, given, out):
                    self.records.append({kept})
                return hook

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.act = nn.Linear(8, 8), Act()

            def forward(self, x):
                return self.act(self.first(x))

        def train(loader, optimizer):
            net = Block()
            monitor = Monitor(net, Act, [Act])
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                print(len(monitor.records)){after}
        """
ASKED = [
    "isinstance(part, kind or nn.Module)",
    "isinstance(part, tuple(self.kinds))",
    "isinstance(part, self.kinds[0])",
]


@pytest.mark.parametrize("test", ASKED)
def test_a_type_that_is_worked_out(test: str) -> None:
    check(MONITOR.format(test=test, kept="out", after="").replace("append(out)", "append(out)  # TML108"))


@pytest.mark.parametrize("test", ASKED)
def test_a_type_that_is_worked_out_and_nothing_kept(test: str) -> None:
    check_innocent(MONITOR.format(test=test, kept="out.mean().item()", after=""))
    check_innocent(MONITOR.format(test=test, kept="out", after="; monitor.records.clear()"))
