"""Communication that is started again and again, and whose handles only the end of all work waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import emptyings
from ..facts.model import Expr, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, last_name, nodes, statements
from .once import SETUPS, called_last, is_repeated

_STARTS = frozenset(("isend", "irecv"))
_WAITS = frozenset(("wait", "is_completed"))


class PendingSends(NamedTuple):
    """A list that gains the handle of a communication at each call."""

    site: Site
    holder: str
    end: str  # the function that waits for all of them


def pending_sends(program: Program) -> Iterator[PendingSends]:
    """`self.works.append((dist.isend(buffer, dst=1), buffer))` in a method that a loop calls, where only what the
    program calls last goes through the list."""
    if _STARTS.isdisjoint(program.called) and _WAITS.isdisjoint(program.called):
        return
    for place in program.places:
        if "append" not in place.facts.calls or not place.cls or place.facts.name in SETUPS:
            continue
        works = {target for one in statements(place.facts.body) if one[0] == m.ASSIGN and _starts(program, one[3])
                 for target in targets(one) if target[0] == m.NAME}  # fmt: skip
        for call in calls(place.facts.body):
            callee = call[2]
            own = callee[0] == m.ATTR and callee[2] == "append" and callee[1][:2] == (m.ATTR, (m.NAME, "self"))
            if not own or not any(part in works or _starts(program, part) for part in _parts(call[3])):
                continue
            ends = _asking(program, callee[1][2])
            if ends and all(called_last(program, one) for one in ends) and is_repeated(program, place, driven=True):
                yield PendingSends(call[1], f"self.{callee[1][2]}", ends[0].facts.name)


def _starts(program: Program, value: Expr) -> bool:
    """`dist.isend(...)`, `dist.all_reduce(..., async_op=True)`"""
    if value[0] != m.CALL or len(value) != 5:
        return False
    asynchronous = keyword(value, "async_op") == (m.CONST, True)
    return (last_name(value[2]) in _STARTS or asynchronous) and program.dotted(value[2]).startswith("torch.")


def _parts(given: tuple[Expr, ...]) -> Iterator[Expr]:
    for one in given:
        yield one
        yield from one[3] if one[0] == m.NEW else ()


def _asking(program: Program, holder: str) -> list[Place]:
    """The functions that empty the list, or look at what is in it."""
    found = []
    for place in program.places:
        if place.facts.name in SETUPS:
            continue
        looks = any(
            one[0] == m.FOR and any(part[0] == m.ATTR and part[2] == holder for part in nodes(one[3]))
            for one in statements(place.facts.body)
        )
        if looks or any(True for _ in emptyings(place.facts, holder)):
            found.append(place)
    return found
