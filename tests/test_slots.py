"""Lists whose slots are written by index: what comes again to the same ones replaces what was there."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

LAST = """
        class Last:
            def __init__(self, names):
                self.values = [0.0] * len(names)

            def update(self, values):
                for index in {indices}:
                    self.values[index] = values[index]

        def train(loader):
            model, last = Net(), Last(["out", "twice"])
            for x in loader:
                out = model(x)
                out.mean().backward()
                last.update([out, out * 2])
"""
SLOTS = """
        class Table:
            def __init__(self, model: nn.Module, size):
                self.model, self.rows = model, [None] * size

            def fill(self, loader):
                for index, x in enumerate(loader):
                    out = self.model(x)
                    out.mean().backward()
                    self.rows[index] = out{mark}
"""
RING = """
        class Ring:
            def __init__(self, size):
                self.rows, self.filled = [None] * size, 0

            def put(self, row):
                self.rows[self.filled] = row  # TML102
                self.filled += 1

        def train(loader):
            model, ring = Net(), Ring(99)
            for x in loader:
                out = model(x)
                out.mean().backward()
                ring.put(out)
"""


@pytest.mark.parametrize("indices", ["range(2)", "[0, 1]", "range(len(values))"])
def test_the_last_of_each(indices: str) -> None:
    check_innocent(LAST.format(indices=indices))


def test_a_slot_for_each_round() -> None:
    check(SLOTS.format(mark="  # TML102"))
    check(RING)


def test_a_slot_for_each_round_that_is_cut_off() -> None:
    check_innocent(SLOTS.format(mark="").replace("self.rows[index] = out", "self.rows[index] = out.mean().item()"))
