"""Contexts that hand through what they are given: closing(...), nullcontext(...)."""

from __future__ import annotations

import pytest
from snippets import check

WRITER = """
import contextlib
from contextlib import closing, nullcontext

class Writer:
    def __init__(self):
        self.rows = []

    def write(self, value):
        self.rows.append(value){mark}
        {after}

    def flush(self):
        print(sum(float(row) for row in self.rows))
        self.rows.clear()

    def close(self):
        self.flush()

def main(xs):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {around}
        for x in xs:
            out = model(x)
            out.mean().backward()
            optimizer.step()
            {inside}
            writer.write(out.abs().mean())

main(torch.rand(99, 4, 8))
"""


@pytest.mark.parametrize(
    "around", ["with contextlib.closing(Writer()) as writer:", "with nullcontext(Writer()) as writer:"]
)
def test_what_a_context_hands_through(around: str) -> None:
    check(WRITER.format(around=around, mark="  # TML102", after="pass", inside="pass"))
    check(WRITER.format(around=around, mark="", after="self.flush()", inside="pass"))


def test_what_a_context_closes_each_time() -> None:
    inside = "with closing(Writer()) as writer: writer.write(out.std())"
    around = "writer = Writer()\n    if xs is not None:"
    check(
        WRITER.format(around=around, mark="", after="pass", inside=inside).replace(
            "            writer.write(out.abs", "            print(out.abs"
        )
    )
    kept = inside.replace("Writer()", "writer")
    check(
        WRITER.format(around=around, mark="", after="pass", inside=kept).replace(
            "            writer.write(out.abs", "            print(out.abs"
        )
    )
