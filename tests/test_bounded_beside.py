"""Containers whose bound is asked of something that goes with them: a sibling's length, a count, a flag."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, codes

PROGRAM = """
    class Samples:
        def __init__(self):
            self.names, self.rows = [], []
            self.count = self.total = 0
            self.collecting, self.done = True, False

        def put(self, name, row):
            {body}

        def renew(self):
            {again}

    def main(steps):
        samples = Samples()
        for step in range(steps):
            samples.put(step, torch.rand(64))
            samples.renew()
    """

BOUNDED = {
    "a list that grows with it": "if len(self.names) < 8: self.names.append(name); self.rows.append(row)",
    "a list that grows with it, asked first": """if len(self.names) >= 8: return
            self.names.append(name)
            self.rows.append(row)""",
    "a count": "if self.count < 8: self.rows.append(row); self.count += 1",
    "a count, asked first": """if self.total >= 512: return
            self.rows.append(row)
            self.total = self.total + row.numel()""",
    "a flag set when it is full": """if self.done: return
            self.rows.append(row)
            if len(self.rows) == 8: self.done = True""",
    "a flag that follows its length": """if self.collecting:
                self.rows.append(row)
                self.collecting = len(self.rows) < 8""",
}

# What makes each of them start anew, while the rows stay.
ANEW = dict(
    zip(
        BOUNDED,
        (
            "self.names.clear()",
            "self.names = []",
            "self.count = 0",
            "self.total = 0",
            "self.done = False",
            "self.collecting = True",
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("bound", BOUNDED)
def test_filled_up_to_a_bound(bound: str) -> None:
    check_innocent(PROGRAM.format(body=BOUNDED[bound], again="pass"))


@pytest.mark.parametrize("bound", BOUNDED)
def test_a_bound_that_starts_anew(bound: str) -> None:
    """The length that is asked in the function itself settles it for the flags."""
    wanted = set() if "flag" in bound else {"TML303"}
    assert codes(PROGRAM.format(body=BOUNDED[bound], again=ANEW[bound])) == wanted


# -- the length of the place itself ---------------------------------------------------------------

EVALUATIONS = """
    class Samples:
        def __init__(self):
            self.rows = []

        def run(self, model, loader):
            for batch in loader:
                {body}

        def put(self, row):
            if len(self.rows) < 8:
                self.rows.append(row)

        def add(self, row):
            self.rows.append(row)

    def main(steps):
        model = nn.Linear(64, 64)
        Samples().run(model, [torch.rand(8, 64) for _ in range(steps)])
    """

FILLED_ONCE = (
    "if not self.rows: self.rows.append(model(batch))",
    "if len(batch) and not len(self.rows): self.rows.append(model(batch))",
    "if self.rows == []: self.add(model(batch))",
    """if self.rows:
                    continue
                self.rows.append(model(batch))""",
    """if self.rows: model(batch)
                else: self.rows.append(model(batch))""",
    "if 8 > len(self.rows): self.rows.append(model(batch))",
    "while len(self.rows) < 8: self.rows.append(model(batch))",
    "self.put(model(batch))",
)
GROWING = (
    "self.rows.append(model(batch))",
    "if self.rows or len(batch): self.rows.append(model(batch))",
    "if len(self.rows) >= 0: self.rows.append(model(batch))",
    "if not batch.any() or not self.rows: self.add(model(batch))",
)


@pytest.mark.parametrize("body", FILLED_ONCE)
def test_filled_while_it_is_empty_or_short(body: str) -> None:
    check_innocent(EVALUATIONS.format(body=body))


@pytest.mark.parametrize("body", GROWING)
def test_not_bounded_by_its_length(body: str) -> None:
    assert codes(EVALUATIONS.format(body=body)) == {"TML102"}


def test_filled_in_one_go() -> None:
    """The test is asked once: the loop inside of it fills the place."""
    plain = EVALUATIONS.format(body="self.rows.append(model(batch))")
    once = plain.replace("in loader:", "in loader if not self.rows else ():")
    inside = plain.replace("            for batch", "            if not self.rows:\n             for batch")
    assert codes(once) == codes(inside) == {"TML102"}


def test_filled_by_a_comprehension() -> None:
    """It goes round as a loop does, at no statement of its own."""
    plain = EVALUATIONS.format(body="self.put(model(batch))")
    loop = "for batch in loader:\n                self.put(model(batch))"
    check_innocent(plain.replace(loop, "[self.put(model(batch)) for batch in loader]"))
    assert codes(plain.replace(loop, "[self.add(model(batch)) for batch in loader]")) == {"TML102"}


LRU = """
from collections import OrderedDict

class Recent:
    def __init__(self, maxsize=8):
        self.entries, self.maxsize = OrderedDict(), maxsize

    def put(self, prompt, value):
        self.entries[prompt] = value{told}
        if len(self.entries) > self.maxsize:
            {full}

@torch.inference_mode()
def main():
    net, recent = Net().eval(), Recent()
    for number in range(1000):
        recent.put(f"prompt {{number}}", net(torch.rand(64, 8)))
"""


@pytest.mark.parametrize(
    ("full", "told"),
    [
        ("self.entries.move_to_end(prompt)", "  # TML311"),
        ("self.entries.popitem(last=False)", ""),
        ("self.entries.move_to_end(prompt); self.entries.popitem(last=False)", ""),
    ],
)
def test_an_entry_that_is_moved_is_not_taken_out(full: str, told: str) -> None:
    check(LRU.format(full=full, told=told))
