"""Places that are filled only while they are empty, or short: the test stands where they are filled.

if not self.rows:                 if self.rows:                     while len(queue) < limit:
    self.rows.append(row)             return                            queue.append(make())
                                  self.rows.append(row)

And places that say themselves when they have enough: `while not sequence.finished: sequence.append(token)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt, statement_of
from ..facts.program import targets
from ..facts.walk import blocks, last_name, nodes, statements
from ..interpreter.events import Store
from ..interpreter.frames import Frame, Loop

Step = int | tuple[Expr, bool]  # the row of a loop; a test, and whether it holds

_SHORT = ("Equal", "LessThan", "LessThanEqual")
_LONG = ("NotEqual", "GreaterThan", "GreaterThanEqual")
_TURNED: dict[str, str] = {"LessThan": "GreaterThan", "LessThanEqual": "GreaterThanEqual"}
_TURNED |= {after: before for before, after in _TURNED.items()}


def beyond_bounds(store: Store, name: str, loops: list[Loop]) -> list[Loop]:
    """Those of the loops in which no test of the place, `name` in the text, decides whether something is put there,
    where it is put or in who calls: a loop inside of `if not self.rows:` fills it in one go."""
    way = _way_to(store)
    first = next((i for i, step in enumerate(way) if type(step) is tuple and _is_short(*step, name)), None)
    if first is None:
        return loops
    inside = {step for step in way[first:] if isinstance(step, int)}
    loops = [loop for loop in loops if loop.kind == "loop" and type(loop.site) is int]  # a comprehension has another
    return [loop for loop in loops if statement_of(loop.site) in inside]


def ends_by_itself(store: Store, loops: list[Loop]) -> bool:
    """Whether what fills a place also says that it is full, and the loop around goes on until then: an answer gets its
    tokens. A training asks the same of itself, and what it keeps stays for as long."""
    if any(loop.backward or loop.steps for loop in loops):
        return False
    said = {
        target[2]
        for one in statements(store.frame.facts.body)
        for target in targets(one)
        if target[0] == m.ATTR and target[1] == (m.NAME, "self")
    }
    return bool(said) and any(type(step) is tuple and _waits_for(*step, said) for step in _way_to(store))


def begins_anew(store: Store) -> bool:
    """Whether the caller says by a flag if an entry goes on or begins anew: `if more: self.kept[i] = torch.cat(
    [self.kept[i], x])`, `else: self.kept[i] = x`. A test of the entry itself only asks if there is one."""
    facts = store.frame.facts
    flags = {(m.NAME, param.name) for param in facts.params} - {(m.NAME, "self")}
    for test in (one for one in statements(facts.body) if one[0] == m.IF and flags.issuperset(_flag(one[2]))):
        arms = [[one for one in arm if one[0] == m.ASSIGN] for arm in (test[3], test[4])]
        for arm, other in (arms, arms[::-1]):
            places = [target for one in arm if one[1] == store.site for target in one[2] if target[0] == m.ITEM]
            if any(target in places and target not in nodes(one[3]) for one in other for target in one[2]):
                return True
    return False


def _flag(test: Expr) -> tuple[Expr, ...]:
    return (test[1],) if test[0] == m.NOT else (test,)


def _waits_for(test: Expr, holds: bool, flags: set[str]) -> bool:
    """`not sequence.finished`, as what holds where the place is filled."""
    if test[0] == m.NOT:
        return _waits_for(test[1], not holds, flags)
    return not holds and test[0] == m.ATTR and test[1] != (m.NAME, "self") and test[2] in flags


def _way_to(store: Store) -> list[Step]:
    """The tests and loops that a store stands in, from the outside in."""
    steps: list[Step] = []
    frame: Frame | None = store.frame
    site = store.site
    while frame is not None:
        steps = [*(_steps_to(statement_of(site), frame.facts.body) or ()), *steps]
        site, frame = frame.call_site, frame.caller
    return steps


def _steps_to(row: int, block: tuple[Stmt, ...]) -> list[Step] | None:
    """Those in one function; None if the statement is not in the block."""
    known: list[Step] = []
    for statement in block:
        op = statement[0]
        if statement_of(statement[1]) == row:
            return known
        for suite in blocks(statement):
            found = _steps_to(row, suite)
            if found is None:
                continue
            first = suite is statement[3] if op in (m.IF, m.WHILE) else op == m.FOR and suite is statement[4]
            if first and op in (m.FOR, m.WHILE):
                known.append(statement_of(statement[1]))
            if op == m.IF or (op == m.WHILE and first):
                known.append((statement[2], first))
            return [*known, *found]
        if op == m.IF and not statement[4] and statement[3][-1:] and statement[3][-1][0] in m.LEAVES:
            known.append((statement[2], False))
    return None


def _is_short(test: Expr, holds: bool, name: str) -> bool:
    """Whether a place must be empty, or have fewer than some number, for a test to hold, or not to."""
    if test[0] == m.NOT:
        return _is_short(test[1], not holds, name)
    if test[0] == m.BOOL:
        return holds == (test[1] == "and") and any(_is_short(operand, holds, name) for operand in test[2])
    if test[0] == m.COMPARE:
        return any(operator in (_SHORT if holds else _LONG) for operator in _of_length(test, name))
    return not holds and (last_name(test) == name if test[0] in (m.NAME, m.ATTR) else _is_length(test, name))


def _of_length(test: Expr, name: str) -> Iterator[str]:
    """How a comparison asks for the length of a place, as if that stood on the left; or for what is empty."""
    if _is_length(test[2], name):
        yield test[1]
    if _is_length(test[3], name):
        yield _TURNED.get(test[1], str(test[1]))
    if last_name(test[2]) == name and test[3][0] in (m.NEW, m.DICT) and test[3][-1] == ():
        yield test[1]


def _is_length(expr: Expr, name: str) -> bool:
    return bool(expr[0] == m.CALL and expr[2] == (m.NAME, "len") and expr[3] and last_name(expr[3][0]) == name)
