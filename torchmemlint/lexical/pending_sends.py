"""Communication that is started again and again, and whose handles only the end of all work waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import emptyings
from ..facts.model import Expr, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, nodes, statements
from .once import SETUPS, called_last, is_repeated

_STARTS = frozenset(("isend", "irecv"))
_COLLECTIVES = frozenset(
    """all_reduce all_gather all_gather_into_tensor reduce reduce_scatter reduce_scatter_tensor broadcast all_to_all
    all_to_all_single gather scatter""".split()
)


class PendingSends(NamedTuple):
    """A list that gains the handle of a communication at each call."""

    site: Site
    holder: str
    end: str  # the function that waits for all of them; "" if none does
    late: bool  # it comes when all is done, as opposed to again and again


def pending_sends(program: Program) -> Iterator[PendingSends]:
    """`self.works.append((dist.isend(buffer, dst=1), buffer))` in a method that a loop calls, where only what the
    program calls last goes through the list, or what does waits for each and takes none out."""
    if (_STARTS | _COLLECTIVES).isdisjoint(program.called):
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
            late = bool(ends) and all(called_last(program, one) for one in ends)
            never = not late and not _is_emptied(ends, callee[1][2]) and not _is_handed_out(program, callee[1][2])
            if (late or never) and is_repeated(program, place, driven=True):
                yield PendingSends(call[1], f"self.{callee[1][2]}", ends[0].facts.name if ends else "", late)


def _is_emptied(ends: list[Place], holder: str) -> bool:
    return any(True for place in ends for _ in emptyings(place.facts, holder))


def _is_handed_out(program: Program, holder: str) -> bool:
    """Whether a list is read in any other way than to add to it, or to go through it and leave it as it is: whoever
    gets it may wait."""
    uses = added = 0
    for place in program.places:
        made = place.facts.name == "__init__"
        for one in statements(place.facts.body):
            bound = made and any(target[0] == m.ATTR and target[2] == holder for target in targets(one))
            uses += sum(part[0] == m.ATTR and part[2] == holder for part in expressions_of(one)) - bound
            added += sum(
                call[2][0] == m.ATTR and call[2][2] == "append" and last_name(call[2][1]) == holder
                for call in calls_of(one)
            )
            added += one[0] == m.FOR and one[3][0] == m.ATTR and one[3][2] == holder
            added += sum(
                call[2] == (m.NAME, "len") and bool(call[3]) and last_name(call[3][0]) == holder
                for call in calls_of(one)
            )
    return uses > added


def _starts(program: Program, value: Expr) -> bool:
    """`dist.isend(...)`, `dist.all_reduce(..., async_op=True)`"""
    if value[0] != m.CALL or len(value) != 5:
        return False
    asynchronous = keyword(value, "async_op") == (m.CONST, True)
    return (last_name(value[2]) in _STARTS or asynchronous) and program.dotted(value[2]).startswith("torch.")


def _parts(given: tuple[Expr, ...]) -> Iterator[Expr]:
    """What is put in, and what of it is put together here: `(work, buffer)`, `Pending(work, buffer=buffer)`."""
    for one in given:
        yield one
        yield from one[3] if one[0] == m.NEW else ()
        if one[0] == m.CALL and last_name(one[2])[:1].isupper():
            yield from (*one[3], *(value for _, value in one[4]))


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
