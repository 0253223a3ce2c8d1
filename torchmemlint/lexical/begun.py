"""What a generator begins and ends by methods of an object: `self.decoder.begin(rid)`, and `self.decoder.finish(rid)`
when all has been given, each of which has one entry in a table of that object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, last_name, statements
from ..facts.ways import taken

_SELF = (m.NAME, "self")


class Entry(NamedTuple):
    """An entry that a generator puts into a table and takes out again, itself or by methods of an object."""

    cls: str  # whose table it is
    table: Expr  # as a method of that class has it
    key: Expr  # as the generator has it
    put: Site
    gone: Site
    takes: str = ""  # the method that takes it out


def entries_by_methods(program: Program, place: Place) -> Iterator[Entry]:
    """Those whose end is only in the generator, and is not come to when that is closed."""
    told = [(one, call, method) for one in statements(place.facts.body) for call, method in _methods(program, one)]
    for one, call, method in told:
        for table, key in _tables(method, call, _taken(method.facts)):
            puts = [
                other[1]
                for other, begun, first in told
                if other[1] < one[1] and begun[2][1] == call[2][1] and first.cls == method.cls
                if (table, key) in _tables(first, begun, _put(first.facts))
            ]
            if puts and not _is_seen_to(program, place, call):
                yield Entry(method.cls, table, key, max(puts), one[1], method.facts.name)


def _methods(program: Program, statement: Stmt) -> Iterator[tuple[Expr, Place]]:
    """The calls in a statement of what one class of the file alone has: `self.decoder.begin(rid)`."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][1][0] in (m.ATTR, m.NAME):
            found = program.by_name.get(call[2][2], ())
            if len(found) == 1 and found[0].cls and not found[0].facts.generator:
                yield call, found[0]


def _taken(function: FunctionFacts) -> Iterator[tuple[Expr, Expr]]:
    for one in statements(function.body):
        yield from taken(one)


def _put(function: FunctionFacts) -> Iterator[tuple[Expr, Expr]]:
    for one in statements(function.body):
        for target in targets(one) if one[0] == m.ASSIGN else ():
            if target[0] == m.ITEM:
                yield target[1], target[2]


def _tables(method: Place, call: Expr, found: Iterator[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr]]:
    """The tables of a method's object, with the keys as its caller gives them."""
    params = {param.name: index for index, param in enumerate(method.facts.params[1:])}
    given = []
    for table, key in found:
        if table[0] == m.ATTR and table[1] == _SELF and key[0] == m.NAME and key[1] in params:
            value = keyword(call, key[1], params[key[1]])
            if value is not None:
                given.append((table, value))
    return given


def _is_seen_to(program: Program, place: Place, end: Expr) -> bool:
    """Whether anybody else calls the end, or the generator does when it is closed, or something else of the object."""
    name = last_name(end[2])
    if any(name in other.facts.calls for other in program.places if other.facts is not place.facts):
        return True
    for one in statements(place.facts.body):
        if one[0] != m.TRY:
            continue
        sure = (*one[5], *(each for _, _, clause in one[3] for each in clause))
        if any(call[2][0] == m.ATTR and call[2][1] == end[2][1] for call in calls(sure)):
            return True
    return False
