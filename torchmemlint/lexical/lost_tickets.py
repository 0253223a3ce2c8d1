"""Work that is handed in for a ticket, and tickets that are gone when their results have only been looked at.

def submit(self, work):                      ticket = desk.submit(work)
    self.futures[number] = pool.submit(work) waiting.append(ticket)
    return number                            ...
def look(self, ticket):                      desk.look(waiting.pop(0))
    return self.futures[ticket].result()
def take(self, ticket):
    return self.futures.pop(ticket).result()

Who has no ticket any more cannot take the entry out, which keeps its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, BUILDERS, emptyings
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site
from ..facts.program import Place, Program, targets
from ..facts.walk import calls, calls_of, expressions_of, in_loops, last_name, nodes, statements
from .once import is_repeated, made_as

SUBMITS = ("submit", "apply_async", "schedule")
RESULTS = ("result", "get")
_TAKES = ("pop", "popleft")
_ADDS = ("append", "appendleft", "add", "put")


class LostTicket(NamedTuple):
    """A call that looks at the result of a ticket which nobody has any more."""

    site: Site
    holder: str
    take: str  # the method that would take it out
    look: str


class _Desk(NamedTuple):
    cls: str
    table: str
    submit: str
    look: str
    take: str


def lost_tickets(program: Program) -> Iterator[LostTicket]:
    """Where a loop gives a ticket that it takes out of its list to the method that leaves the entry where it is."""
    if program.called.isdisjoint(SUBMITS) or program.called.isdisjoint(_TAKES):
        return
    for desk in (desk for cls in program.facts.classes for desk in _desks(program, cls)):
        for place in program.places if len(program.by_name.get(desk.look, ())) == 1 else ():
            if place.cls == desk.cls or desk.look not in place.facts.calls:
                continue
            for statement, looped in in_loops(place.facts.body):
                for call in calls_of(statement):
                    lost = _looks(program, call, desk) and _is_gone(program, place, call[3][0], desk)
                    if lost and (looped or is_repeated(program, place)):
                        yield LostTicket(call[1], f"self.{desk.table}", desk.take, desk.look)


def _desks(program: Program, cls: ClassFacts) -> Iterator[_Desk]:
    """What a class has of tables of futures, with the methods that fill one, look into it, and take out of it."""
    methods = [program.facts.functions[index] for index in cls.methods.values()]
    for method in methods:
        for table in _filled(method):
            takes = [one for one in methods if _takes_its_own(one, table)]
            looks = [one for one in methods if one not in takes and _looks_up(one, table)]
            if takes and not _is_emptied_otherwise(program, table, takes):
                for look in looks:
                    yield _Desk(cls.name, table, method.name, look.name, takes[0].name)


def _filled(method: FunctionFacts) -> Iterator[str]:
    """The tables of futures that a method fills under a key which it returns."""
    body = list(statements(method.body))
    returned = [one[2] for one in body if one[0] == m.RETURN]
    for one in body:
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3]) in SUBMITS:
            for target in targets(one):
                if target[0] == m.ITEM and _is_own(target[1]) and target[2] in returned:
                    yield target[1][2]


def _is_own(place: Expr) -> bool:
    return bool(place[:2] == (m.ATTR, (m.NAME, "self")))


def _looks_up(method: FunctionFacts, table: str) -> bool:
    """`self.futures[ticket].result()`, with the only parameter that must be given."""
    entry = (m.ITEM, (m.ATTR, (m.NAME, "self"), table), _ticket(method))
    read = any(call[2][0] == m.ATTR and call[2][2] in RESULTS and call[2][1] == entry for call in calls(method.body))
    return read and not any(True for _ in emptyings(method, table))


def _ticket(method: FunctionFacts) -> Expr:
    return (m.NAME, method.params[1].name if len(method.params) > 1 else "")


def _takes_its_own(method: FunctionFacts, table: str) -> bool:
    """`self.futures.pop(ticket)`, `del self.futures[ticket]`"""
    ticket, place = _ticket(method), (m.ATTR, (m.NAME, "self"), table)
    popped = any(call[2] == (m.ATTR, place, "pop") and call[3][:1] == (ticket,) for call in calls(method.body))
    return popped or any(one[0] == m.DELETE and (m.ITEM, place, ticket) in one[2] for one in statements(method.body))


def _is_emptied_otherwise(program: Program, table: str, takes: list[FunctionFacts]) -> bool:
    return any(
        found.how != BOUND or place.facts.name not in BUILDERS
        for place in program.places
        if place.facts not in takes
        for found in emptyings(place.facts, table)
    )


def _looks(program: Program, call: Expr, desk: _Desk) -> bool:
    if call[2][0] != m.ATTR or call[2][2] != desk.look or len(call[3]) != 1 or call[4]:
        return False
    made = set(made_as(program, last_name(call[2][1])))
    return not made or desk.cls in made


def _is_gone(program: Program, place: Place, ticket: Expr, desk: _Desk) -> bool:
    """Whether a ticket has been taken out of a list of such, and goes nowhere else."""
    if ticket[0] == m.NAME:
        bound = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and ticket in one[2]]
        uses = sum(part == ticket for one in statements(place.facts.body) for part in expressions_of(one))
        if len(bound) != 1 or uses != 2:  # where it is bound, and here
            return False
        ticket = bound[0]
    if ticket[0] != m.CALL or ticket[2][0] != m.ATTR or ticket[2][2] not in _TAKES:
        return False
    return any(_adds_ticket(other, last_name(ticket[2][1]), desk) for other in program.places)


def _adds_ticket(place: Place, name: str, desk: _Desk) -> bool:
    """`waiting.append(desk.submit(work))`"""
    if desk.submit not in place.facts.calls:
        return False
    tickets = {
        target
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN and last_name(one[3]) == desk.submit
        for target in one[2]
    }
    added = [
        call[3][0]
        for call in calls(place.facts.body)
        if call[2][0] == m.ATTR and call[2][2] in _ADDS and last_name(call[2][1]) == name and call[3]
    ]
    return any(one in tickets or any(last_name(part) == desk.submit for part in nodes(one)) for one in added)
