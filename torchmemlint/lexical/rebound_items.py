"""Loops that detach what they go through and give the result to a name of their own: the container is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import heads, loops, nodes, statements

_DETACHES = "detach"


class ReboundItem(NamedTuple):
    """A name of a loop that is bound to a detached copy which nothing takes."""

    site: Site
    name: str
    container: str  # what the loop goes through, in plain words; or ""


def rebound_items(program: Program) -> Iterator[ReboundItem]:
    """`for h in hidden: h = h.detach()`, and `h` is not asked for again."""
    for place in program.places if _DETACHES in program.called else ():
        if _DETACHES in place.facts.calls:
            yield from filter(None, map(_dropped_list, statements(place.facts.body)))
            for loop, inside in loops(place.facts.body):
                if loop[0] == m.FOR:
                    yield from _without_effect(place, loop, inside)


def _dropped_list(statement: Stmt) -> ReboundItem | None:
    """`[h.detach() for h in hidden]` as a statement: the list that it makes goes at once."""
    value: Expr = statement[2] if statement[0] == m.EXPR else (m.TEXT,)
    if value[0] != m.COMP or len(value[5]) != 1:
        return None
    name, iterated, _ = value[5][0]
    if name[0] == m.NAME and value[2] == "list" and _is_detached(value[3], name):
        return ReboundItem(statement[1], name[1], _container(iterated))
    return None


def _without_effect(place: Place, loop: Stmt, inside: list[Stmt]) -> Iterator[ReboundItem]:
    own = {target for target in targets(loop) if target[0] == m.NAME}
    for one in inside:
        bound = one[2][0] if one[0] == m.ASSIGN and len(one[2]) == 1 else None
        if bound in own and _is_detached(one[3], bound) and not _is_read_after(place, one, bound):
            yield ReboundItem(one[1], bound[1], _container(loop[3]))


def _is_detached(value: Expr, name: Expr) -> bool:
    """`h.detach()`, `h.detach().cpu()`, `h.cpu().detach()`: one call after the other on the name, a `detach` among
    them."""
    methods = []
    while value[0] == m.CALL and value[2][0] == m.ATTR:
        methods.append(value[2][2])
        value = value[2][1]
    return value == name and _DETACHES in methods


def _is_read_after(place: Place, bound: Stmt, name: Expr) -> bool:
    """Whether anything that stands after a statement, in its loop or behind that, asks for a name."""
    return any(
        one[1] > bound[1] and any(name in nodes(head) for head in heads(one)) for one in statements(place.facts.body)
    ) or bool(place.facts.inner)


def _container(iterated: Expr) -> str:
    """`hidden` of `for h in hidden`, `for i, h in enumerate(hidden)`, `for key, h in hidden.items()`."""
    while iterated[0] == m.CALL:
        iterated = iterated[3][0] if iterated[3] else iterated[2][1] if iterated[2][0] == m.ATTR else (m.TEXT,)
    return text(iterated)
