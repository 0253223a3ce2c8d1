"""A list that a module's pass makes anew, and fills in a loop, goes with the next pass; others do not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from snippets import check

from torchmemlint.facts.lower import lower
from torchmemlint.facts.model import ASSIGN, NAME
from torchmemlint.facts.walk import statements
from torchmemlint.rules.rewritten import lists_what_is_given

SLICES = """
class Slices(nn.Module):
    def __init__(self, lengths):
        super().__init__()
        self.lengths = lengths
        self.proj = nn.Linear(8, 8)
        self.parts = {first}

    def forward(self, x{more}):
        x = self.proj(x)
        {anew}
        {loop}:
            {added}
        {given}
"""
PLAIN = {"first": "None", "more": "", "anew": "self.parts = []", "loop": "for n in self.lengths",
         "added": "self.parts.append(x[:, :n])", "given": "return x"}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"given": "pass"},
        {"first": "[]", "given": "return self.parts"},
        {"loop": "for n in range(4)", "added": "x = self.proj(x)\n            self.parts.append(x)"},
        {"loop": "while x.sum() > 0", "added": "x = self.proj(x)\n            self.parts.append(x)"},
        {"anew": "self.parts: list = list()"},
        {"anew": "self.parts = {}", "added": "self.parts[n] = x[:, :n]"},
    ],
)
def test_of_one_pass(change: dict[str, str]) -> None:
    check(SLICES.format(**PLAIN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"first": "[]", "anew": "pass"},
        {"first": "[]", "anew": "if x.sum() > 1e9: self.parts = []"},
        {"first": "[]", "anew": "self.others = []"},
    ],
)
def test_of_all_passes(change: dict[str, str]) -> None:
    check(SLICES.format(**PLAIN | {"added": "self.parts.append(x[:, :n])  # TML102"} | change))


def test_of_an_epoch() -> None:
    check(
        """
        class Trainer:
            def __init__(self, model: nn.Module, optimizer):
                self.model, self.optimizer = model, optimizer

            def train_epoch(self, loader):
                self.losses = []
                for x in loader:
                    loss = self.model(x).mean()
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    self.losses.append(loss)  # TML102
                print(len(self.losses))
        """
    )


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        ("rows = [hidden[i, mask[i]][:n] for i in range(n)]", True),
        ("rows = [hidden[i] for i in range(n)]", True),
        ("rows = [net(hidden[i]) for i in range(n)]", False),
        ("rows = [hidden[i] * 2 for i in range(n)]", False),
        ("hidden = net(hidden); rows = [hidden[i] for i in range(n)]", False),
        ("rows = [hidden for i in range(n)]", False),
        ("rows = [self[i] for i in range(n)]", False),
    ],
)
def test_rows_of_what_a_function_is_given(bound: str, given: bool) -> None:
    """Whoever gave the whole has its graph anyway."""
    facts = lower(f"def pack(self, net, hidden, mask, n):\n    {bound}\n    return stack(rows)\n").functions[1]
    site = next(one[1] for one in statements(facts.body) if one[0] == ASSIGN and one[2] == ((NAME, "rows"),))
    assert lists_what_is_given(SimpleNamespace(frame=SimpleNamespace(facts=facts), site=site)) == given  # type: ignore[arg-type]
