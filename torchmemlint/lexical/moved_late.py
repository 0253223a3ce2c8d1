"""Results of a model that a loop over a loader collects in a list, and that go to the host only when they are joined.

What a method of the model gives is not followed, `self.module.sample(x)`; that it is moved says that it is a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.batches import is_loader
from ..facts.knowledge import GRAD_OFF, MODEL_NAMES
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program
from ..facts.walk import calls_of, last_name, loops, nodes, statements

_JOINS = ("cat", "concat", "stack", "vstack", "hstack")
TO_HOST = frozenset("cpu numpy item tolist to_numpy detach_to_cpu to_cpu".split())
SMALL = frozenset("argmax sum mean max min any all loss accuracy len norm".split())


class MovedLate(NamedTuple):
    site: Site
    holder: str


def moved_late(program: Program) -> Iterator[MovedLate]:
    """Where gradients are off for the whole function, as they are for what is only to be looked at."""
    if not {"cpu", "append"} <= program.called or program.called.isdisjoint(_JOINS):
        return
    for place in program.places:
        function = place.facts
        known = {"cpu", "append"} <= set(function.calls) and not set(_JOINS).isdisjoint(function.calls)
        if known and any(turns_off(one) for one in function.decorators):
            yield from _of_function(function)


def _of_function(function: FunctionFacts) -> Iterator[MovedLate]:
    late = dict(_joined(function))
    said: set[str] = set()
    for loop, inside in loops(function.body):
        if loop[0] != m.FOR or not is_loader(loop[3]):
            continue
        for statement in inside:
            for call in calls_of(statement):
                adds = call[2][0] == m.ATTR and call[2][2] == "append" and call[2][1][0] == m.NAME
                if not adds or len(call[3]) != 1:
                    continue
                name, value = call[2][1][1], call[3][0]
                ends = max(one[1] for one in inside)
                if name not in said and late.get(name, -1) > ends and is_result(value):
                    said.add(name)
                    yield MovedLate(statement[1], name)


def turns_off(decorator: Expr) -> bool:
    return last_name(decorator) in GRAD_OFF


def _joined(function: FunctionFacts) -> Iterator[tuple[str, Site]]:
    """The lists whose elements are joined and then moved: `torch.cat(rows).cpu()`."""
    for statement in statements(function.body):
        for call in calls_of(statement):
            if call[2][0] != m.ATTR or call[2][2] != "cpu":
                continue
            for inner in nodes(call[2][1]):
                joins = inner[0] == m.CALL and len(inner) == 5 and last_name(inner[2]) in _JOINS and inner[3]
                if joins and inner[3][0][0] == m.NAME:
                    yield inner[3][0][1], statement[1]


def is_result(value: Expr) -> bool:
    """What a model gives, itself or by a method: `self.module.sample(x)`, and not a number or two of it."""
    called = [node for node in nodes(value) if node[0] == m.CALL and len(node) == 5]
    names = {last_name(call[2]) for call in called}
    if not called or value[0] != m.CALL or names & (TO_HOST | SMALL) or any("loss" in name for name in names):
        return False
    return any(part[0] in (m.NAME, m.ATTR) and part[-1] in MODEL_NAMES for call in called for part in nodes(call[2]))
