"""Requests that a function begins and ends by methods of an object, and that an `except` clause leaves begun.

`try: self.stats.begin(rid); run(); self.stats.finish(rid)` with `except Cancelled: return None`: the entry of what was
cancelled stays in the table of that object, for nobody else ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls, calls_of, last_name, loops, statements
from .begun import entries_by_methods, is_new, keeps_more
from .once import is_repeated

_LEAVES = (m.RETURN, m.JUMP)


class LeftByClause(NamedTuple):
    """A call that begins something, which a clause leaves."""

    site: Site
    cls: str
    table: str
    clause: Site
    end: str


def left_by_clauses(program: Program) -> Iterator[LeftByClause]:
    """Each of them once, in functions that are called again and again."""
    for place in program.places:
        if not place.facts.flags & m.TRIES or place.facts.generator:
            continue
        tried = [one for one in statements(place.facts.body) if one[0] == m.TRY and one[3]]
        for entry in entries_by_methods(program, place) if tried else ():
            around = next((one for one in tried if _has(one[2], entry.gone)), None)
            if around is None or not is_new(place.facts, entry.key) or not keeps_more(program, entry):
                continue
            clause = _leaving(around, entry.put, entry.gone)
            if clause is not None and _is_repeated(program, place):
                yield LeftByClause(entry.put, entry.cls, entry.table[2], clause[0][1], entry.takes)


def _has(block: tuple[Stmt, ...], site: Site) -> bool:
    return any(one[1] == site for one in statements(block))


def _leaving(tried: Stmt, put: Site, gone: Site) -> tuple[Stmt, ...] | None:
    """The clause that takes what is raised between the begin and the end for done with, and goes on."""
    between = [one for one in statements(tried[2]) if put < one[1] < gone]
    for _, inside in loops(tried[2]):  # what the next round does comes after this one
        between += inside if any(one[1] == put for one in inside) else []
    between = [one for one in between if one[1] != put]
    if not any(one[0] == m.RAISE or any(calls_of(one)) for one in between):
        return None
    for kind, _, clause in tried[3]:
        goes_on = clause and clause[-1][0] in _LEAVES and not any(one[0] == m.RAISE for one in statements(clause))
        if goes_on and not _is_of_the_source(kind):
            return clause  # type: ignore[no-any-return]
    return None


def _is_of_the_source(kind: Expr | None) -> bool:
    """`StopIteration`, `queue.Empty`: there was nothing to begin with."""
    kinds = kind[3] if kind is not None and kind[0] == m.NEW else (kind,)
    return any(one is not None and last_name(one) in ("StopIteration", "Empty", "KeyboardInterrupt") for one in kinds)


def _is_repeated(program: Program, place: Place) -> bool:
    return is_repeated(program, place) or any(
        last_name(call[2]) == place.facts.name
        for other in program.places
        if place.facts.name in other.facts.calls
        for call in calls(other.facts.body)
    )
