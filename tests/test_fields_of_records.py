"""Data classes whose fields are gone through by name: each field is what is written for it, and for no other."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

RECORD = """
from dataclasses import dataclass, fields, replace

@dataclass
class State:
    x: torch.Tensor
    energy: torch.Tensor

"""
LOOP = """
    def main(steps):
        net, state = nn.Linear(4, 4), State(torch.zeros(4), torch.zeros(()))
        for _ in range(steps):
            x = torch.randn(4)
            state.{method}(State(x, net(x).sum()))
        print(state.energy.item())
"""

GUILTY = {
    "each field added to": """
        def update(self, other):
            for f in fields(self):
                setattr(self, f.name, getattr(self, f.name) + getattr(other, f.name))  # TML101
    """,
    "each field replaced by a part of it and of another": """
        def update(self, other):
            for f in fields(other):
                mean = 0.5 * getattr(self, f.name) + 0.5 * getattr(other, f.name)
                setattr(self, f.name, mean)  # TML101
    """,
}
INNOCENT = {
    "each field taken over": """
        def update(self, other):
            for f in fields(self):
                setattr(self, f.name, getattr(other, f.name))
    """,
    "each field added to, cut off": """
        def update(self, other):
            for f in fields(self):
                setattr(self, f.name, getattr(self, f.name) + getattr(other, f.name).detach())
    """,
}
CUT = """
    def cut(self):
        parts = {f.name: getattr(self, f.name).detach() for f in fields(self) if getattr(self, f.name) is not None}
        return replace(self, **parts)
"""
RENAMED = """
    def cut(self):
        parts = {f.name: getattr(self, f.name).clone() for f in fields(self)}
        return replace(self, **parts)
"""
KEPT = """
    def main(steps):
        net, kept = nn.Linear(4, 4), []
        for _ in range(steps):
            x = torch.randn(4)
            states = [State(x, net(x).sum())]
            kept.extend(s.cut() for s in states){note}
        print(len(kept))
"""


def _method(text: str) -> str:
    """A method, written into the data class."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n"


def _program(method: str, loop: str) -> str:
    return RECORD.rstrip("\n") + "\n" + _method(method) + textwrap.dedent(loop)


@pytest.mark.parametrize("method", GUILTY.values(), ids=GUILTY)
def test_a_field_that_adds_up(method: str) -> None:
    check(_program(method, LOOP.format(method="update")))


@pytest.mark.parametrize("method", INNOCENT.values(), ids=INNOCENT)
def test_a_field_that_is_replaced(method: str) -> None:
    check_innocent(_program(method, LOOP.format(method="update")))


def test_a_copy_with_all_fields_cut_off() -> None:
    check_innocent(_program(CUT, KEPT.format(note="")))


def test_a_copy_with_all_fields_as_they_were() -> None:
    check(_program(RENAMED, KEPT.format(note="  # TML102")))
