"""Containers that something empties, and whose elements something closes: by their name, wherever it stands."""

from __future__ import annotations

from collections.abc import Container

from ..facts import model as m
from ..facts.program import Program, names_in, targets
from ..facts.walk import calls, heads, nodes, statements

BUILDERS = ("__init__", "__post_init__", "setup", "__setstate__", "<module>")
_EMPTY = ("clear", "pop", "popleft", "popitem", "remove", "discard", "difference_update", "intersection_update")
_ENDS = ("close", "terminate", "shutdown", "kill", "deleteLater", "_shutdown_workers")


def drained(program: Program, name: str, passing: Container[str] = frozenset()) -> bool:
    """Whether something takes elements out of the container of this name, or hands over a method that does; not one of
    the functions that elements pass by."""
    for place in program.places:
        if place.facts.name in passing:
            continue
        for statement in statements(place.facts.body):
            for expr in heads(statement):
                for part in nodes(expr):
                    if part[0] == m.ATTR and part[2] in _EMPTY and part[1][-1] == name:
                        return True
            if place.facts.name not in BUILDERS and any(
                target[-1] == name or (target[0] == m.ITEM and target[2][0] == m.SLICE and target[1][-1] == name)
                for target in targets(statement)
                if statement[0] in (m.ASSIGN, m.ANNOTATE)
            ):
                return True
            if statement[0] == m.DELETE and any(
                name in names_in(target) or target[1][-1] == name for target in statement[2]
            ):
                return True
    return False


def ended(program: Program, name: str) -> bool:
    """Whether something closes the elements of the container of this name."""
    for place in program.places:
        for statement in statements(place.facts.body):
            if statement[0] != m.FOR or not any(part[-1] == name for part in nodes(statement[3])):
                continue
            if any(call[2][0] == m.ATTR and call[2][2] in _ENDS for call in calls(statement[4])):
                return True
    return False
