"""Backward passes of which it is certain that no other one goes through their graph."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import targets
from ..facts.walk import calls_of, heads, loops, nodes, root_of
from ..interpreter.events import Backward
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine


def is_certainly_last(machine: Machine, backward: Backward) -> bool:
    """Whether all that has to do with the graph of a pass is in the round of the loop that it stands in: made there,
    by code that is seen, of nothing that a caller has given, and handed out to nobody."""
    derivation = machine.derivation
    made = {node for start in backward.nodes for node in derivation.ancestors(start)}
    others = (derivation.foreign, derivation.passed, derivation.escaped, derivation.stored)
    if any(not made.isdisjoint(marks) for marks in others):
        return False
    for loop, inner in loops(backward.frame.facts.body):
        if any(call[1] == backward.site for one in inner for call in calls_of(one)):
            bound = {root_of(target)[1] for one in (loop, *inner) for target in targets(one)}
            given = _parameters(backward.frame) - bound
            return not any(place[1] in given for one in inner for place in _operands(one))
    return False


def _parameters(frame: Frame) -> set[str]:
    current: Frame | None = frame
    names: set[str] = set()
    while current is not None:
        names.update(param.name for param in current.facts.params)
        current = current.parent
    return names


def _operands(statement: Stmt) -> Iterator[Expr]:
    """The names at the root of what is computed with, or given to a call: `z` of `head(z.mean) * z[0]`."""
    for head in heads(statement):
        for node in nodes(head):
            if node[0] == m.CALL and len(node) == 5:
                parts = [*node[3], *(value for _, value in node[4])]
            elif node[0] == m.ARITH:
                parts = list(node[2:4])
            else:
                continue
            yield from (root for root in map(root_of, parts) if root[0] == m.NAME)
