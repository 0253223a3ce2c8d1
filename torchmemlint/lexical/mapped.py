"""Shared memory segments whose handles pile up: each keeps its pages mapped, also when it is unlinked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import drained
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, text
from ..facts.walk import calls_of, last_name, statements
from .once import is_repeated
from .segments import called_on, flow, made_in

_ADDS = ("append", "add", "appendleft")


class LeftMapped(NamedTuple):
    """A container that gains the handle of a segment again and again."""

    site: Site
    holder: str
    made: Site


def left_mapped(program: Program) -> Iterator[LeftMapped]:
    """Handles that are added to an attribute or global which nothing empties, and that nothing closes."""
    if "SharedMemory" not in program.called or program.called.isdisjoint(_ADDS):
        return
    closed = called_on(program, "close")
    for place in program.places:
        for call, made in made_in(program, place):
            keys, escapes = flow(program, place, made, call)
            if escapes or keys & closed:
                continue
            for site, container in _added(place, call, made):
                outlives = container[0] == m.ATTR or container not in _bound(place)
                if outlives and not drained(program, last_name(container)) and is_repeated(program, place, driven=True):
                    yield LeftMapped(site, text(container), call[1])


def _added(place: Place, handle: Expr, made: Stmt) -> Iterator[tuple[Site, Expr]]:
    """Where a function adds a handle to a container: under its name, or right where it is made."""
    same = (handle, *(made[2] if made[0] == m.ASSIGN and made[3] == handle else ()))
    for one in statements(place.facts.body):
        for call in calls_of(one):
            adds = last_name(call[2]) in _ADDS and call[2][0] == m.ATTR and call[3]
            if adds and call[3][-1] in same and text(call[2][1]):
                yield call[1], call[2][1]


def _bound(place: Place) -> set[Expr]:
    """The parameters and variables of a function."""
    params: set[Expr] = {(m.NAME, param.name) for param in place.facts.params}
    return params | {target for one in statements(place.facts.body) if one[0] == m.ASSIGN for target in one[2]}
