"""Handles of hooks that a loop binds to one place, so that only the last of them is left to be removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.walk import calls, heads, last_name, loops, nodes, statements, with_tests


class Lost(NamedTuple):
    """A place that is bound to the handle of one layer after the other. `place`: `self.handle`, in words."""

    site: Site
    place: str


def lost_handles(facts: FileFacts) -> Iterator[Lost]:
    """Handles that somebody means to remove, `self.handle.remove()`, after a loop has put others in their place."""
    for function in facts.functions:
        if not function.flags & m.HOOKS:
            continue
        for loop, inside in loops(function.body):
            if loop[0] != m.FOR:
                continue
            layers = {node[1] for node in nodes(loop[2]) if node[0] == m.NAME}
            ends = any(statement[0] in (m.JUMP, m.RETURN) for statement in inside)
            for statement, tests in with_tests(loop[4]) if not ends else ():
                place = _bound_to_a_handle(statement, layers)
                if place is None or _is_used(inside, statement, place) or any(_picks_one(test) for test in tests):
                    continue
                if _is_removed(facts, function, place):
                    yield Lost(statement[1], ("self." if place[0] == m.ATTR else "") + last_name(place))


def _bound_to_a_handle(statement: Stmt, layers: set[str]) -> Expr | None:
    """`handle = layer.register_forward_hook(hook)` with a layer of this round: the place, a name or an attribute."""
    if statement[0] != m.ASSIGN or len(statement[2]) != 1 or statement[3][0] != m.CALL:
        return None
    place, callee = statement[2][0], statement[3][2]
    registers = callee[0] == m.ATTR and callee[2].startswith("register_") and callee[2].endswith("hook")
    if not registers or not any(node[0] == m.NAME and node[1] in layers for node in nodes(callee[1])):
        return None
    own = place[0] == m.NAME or (place[0] == m.ATTR and place[1] == (m.NAME, "self"))
    return place if own else None


def _picks_one(test: Expr) -> bool:
    """Whether a test may be for one layer: any but for a type, which several have."""
    return not (test[0] == m.CALL and last_name(test[2]) == "isinstance")


def _is_used(inside: list[Stmt], binding: Stmt, place: Expr) -> bool:
    """Whether the loop does anything with the handle: keeps it elsewhere, or removes it in the same round."""
    return any(
        node == place
        for statement in inside
        if statement is not binding
        for head in heads(statement)
        for node in nodes(head)
    )


def _is_removed(facts: FileFacts, function: FunctionFacts, place: Expr) -> bool:
    """Whether `remove` is called on the place: a name's in its function, an attribute's in the same class."""
    near = [function]
    if place[0] == m.ATTR and function.owner >= 0:
        near = [facts.functions[index] for index in facts.classes[function.owner].methods.values()]
    return any(
        call[2] == (m.ATTR, place, "remove")
        for one in near
        if "remove" in one.calls and not _is_gone_through(one, place)
        for call in calls(one.body)
    )


def _is_gone_through(function: FunctionFacts, place: Expr) -> bool:
    """`for handle in handles: handle.remove()`: another handle under the same name."""
    return any(
        statement[0] == m.FOR and any(node == place for node in nodes(statement[2]))
        for statement in statements(function.body)
    )
