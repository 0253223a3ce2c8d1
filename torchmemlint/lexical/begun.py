"""What a generator begins and ends by methods of an object: `self.decoder.begin(rid)`, and `self.decoder.finish(rid)`
when all has been given, each of which has one entry in a table of that object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import DRAWS_AN_ID
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, last_name, nodes, statements
from ..facts.ways import taken

_SELF = (m.NAME, "self")
_MADE = DRAWS_AN_ID | {"next"}
_LIGHT = ("time", "perf_counter", "monotonic", "len", "int", "float", "str", "bool", "Lock", "Event")
_ASKED_FOR = re.compile(
    r"(?:^|_)(?:request|req|session|stream|uuid|rid|task|job|call|execution|invocation|prompt)(?:$|_)"
)


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
            entry = _entry_of(target)
            if entry:
                yield entry


def _entry_of(target: Expr) -> tuple[Expr, Expr] | tuple[()]:
    """The table and the key of `self.table[key]`, and of `self.table.setdefault(key, {})[name]`."""
    if target[0] != m.ITEM:
        return ()
    made = target[1]
    if made[0] == m.CALL and last_name(made[2]) == "setdefault" and made[2][0] == m.ATTR and made[3]:
        return made[2][1], made[3][0]
    return made, target[2]


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


def is_new(facts: FunctionFacts, key: Expr) -> bool:
    """Whether a key is made for this call, or tells what it is called for."""
    if _tells_what_for(facts, key):
        return True
    bound = [one[3] for one in statements(facts.body) if one[0] == m.ASSIGN and key in one[2]]
    if any(_tells_what_for(facts, value) for value in bound):
        return True
    made = (part for value in bound for part in nodes(value))
    return any(part[0] == m.CALL and last_name(part[2]) in _MADE for part in made)


def _tells_what_for(facts: FunctionFacts, key: Expr) -> bool:
    """`request_id`, `request.id`, `obj.rid` of parameters."""
    given = {(m.NAME, param.name) for param in facts.params[1:]}
    if key[0] == m.ATTR and key[1] in given:
        return any(_ASKED_FOR.search(name) for name in (key[2], key[1][1] if key[2] in ("id", "uid") else ""))
    return key in given and _ASKED_FOR.search(key[1]) is not None


def keeps_more(program: Program, entry: Entry) -> bool:
    """Whether a table gets more than flags and times."""
    stored = (
        one[3]
        for other in program.places
        if other.cls == entry.cls
        for one in statements(other.facts.body)
        if one[0] == m.ASSIGN and any(_entry_of(target)[:1] == (entry.table,) for target in targets(one))
    )
    return any(
        value[0] not in (m.CONST, m.COMPARE) and not (value[0] == m.CALL and last_name(value[2]) in _LIGHT)
        for value in stored
    )
