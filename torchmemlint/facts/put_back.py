"""What takes something out of a place and puts it back, by the text alone: `rows.insert(0, rows.pop(index))`.

That moves an entry to the end that says it was used last. The place is as full as it was before. So it is after
`del table[key]; table[key] = value`, and after `table[kept].extend(table.pop(merged))`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .model import Expr, FileFacts, Stmt, statement_of
from .walk import blocks, calls_of, statements

_TAKES = frozenset(("pop", "popleft", "remove", "discard"))
_PUTS = frozenset(("append", "appendleft", "add", "insert"))
_PUTS_INSIDE = _PUTS | {"extend", "extendleft", "update"}  # of an entry
Block = tuple[Stmt, ...]


class Moves(NamedTuple):
    """Statements by their numbers: those that take out what goes back into the same place, whatever happens, and those
    that put nothing else there."""

    takes: frozenset[int]
    puts: frozenset[int]


def moves(facts: FileFacts) -> Moves:
    takes, puts = set[int](), set[int]()
    for function in facts.functions:
        if not _TAKES.isdisjoint(function.calls) or m.DELETE in [one[0] for one in statements(function.body)]:
            _gather(function.body, takes, puts)
    return Moves(frozenset(takes), frozenset(puts))


def _gather(block: Block, takes: set[int], puts: set[int]) -> None:
    for at, statement in enumerate(block):
        for place, call in _taken(statement):
            _follow(statement, place, call, block[at + 1 :], takes, puts)
        if statement[0] == m.IF and len(statement[3]) == 1 and not statement[4]:  # `if row in rows: rows.remove(row)`
            for place, call in _taken(statement[3][0]):
                if _is_by_value(call) and _put_below(block[at + 1 :], place, call[3][0]) is not None:
                    takes.add(_number(statement[3][0]))
        for dropped, entry in _dropped(statement):
            if _is_put_anew(block[at + 1 :], entry):
                takes.add(_number(dropped))
        for suite in blocks(statement):
            _gather(suite, takes, puts)


def _dropped(statement: Stmt) -> Iterator[tuple[Stmt, Expr]]:
    """`del table[key]`, `table.pop(key, None)`, also after `if key in table:`; with what is dropped."""
    if statement[0] == m.IF and len(statement[3]) == 1:
        statement = statement[3][0]
    entries: tuple[Expr, ...] = statement[2] if statement[0] == m.DELETE else ()
    if statement[0] == m.EXPR:
        call = statement[2]
        if call[0] == m.CALL and call[2][0] == m.ATTR and call[2][2] == "pop" and call[3]:
            entries = ((m.ITEM, call[2][1], call[3][0]),)
    if len(entries) == 1 and entries[0][0] == m.ITEM and entries[0][2][0] in (m.NAME, m.ATTR):
        yield statement, entries[0]


def _is_put_anew(rest: Block, entry: Expr) -> bool:
    """Whether a block puts something under the same key whatever happens, `table[key] = value`."""
    for statement in rest:
        bound = statement[2] if statement[0] == m.ASSIGN else ()
        if entry in bound:
            return True
        if entry[2] in bound or any(one[0] in m.LEAVES for one in statements((statement,))):
            return False
    return False


def _taken(statement: Stmt) -> list[tuple[Expr, Expr]]:
    """What a statement takes out: the place, and the call that does it."""
    if statement[0] not in (m.EXPR, m.ASSIGN, m.AUGMENT):
        return []
    calls = (call for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][2] in _TAKES)
    return [(call[2][1], call) for call in calls]


def _follow(statement: Stmt, place: Expr, call: Expr, rest: Block, takes: set[int], puts: set[int]) -> None:
    """Notes a statement that takes something out, and what puts it back."""
    put: Stmt | None = None
    if _is_by_value(call):
        if statement[0] == m.EXPR and statement[2] == call and _put_below(rest, place, call[3][0]) is not None:
            takes.add(_number(statement))  # what is put there may be new
        return
    if _puts(statement, place, call):
        put = statement
    elif statement[0] == m.ASSIGN and statement[3] == call and len(statement[2]) == 1 and statement[2][0][0] == m.NAME:
        put = _put_below(rest, place, statement[2][0])
    if put is None:
        return
    takes.add(_number(statement))
    between = rest[: rest.index(put)] if put in rest else ()
    bound = any(one[0] == m.ASSIGN and statement[2][0] in one[2] for one in statements(between))
    if not bound and all(_is_nothing(other) for other in call[3][1:]):  # else it may be new: `rows.pop(key, make())`
        puts.add(_number(put))


def _is_nothing(value: Expr) -> bool:
    """`[]`, `None`"""
    return bool((value[0] == m.NEW and not value[3]) or value == (m.CONST, None))


def _is_by_value(call: Expr) -> bool:
    return call[2][2] in ("remove", "discard") and len(call[3]) == 1 and call[3][0][0] == m.NAME


def _put_below(rest: Block, place: Expr, value: Expr) -> Stmt | None:
    """The statement of a block that puts a value into a place, if it comes to that and to no other way out before."""
    for statement in rest:
        if _puts(statement, place, value):
            return statement
        if any(one[0] in m.LEAVES for one in statements((statement,))):
            return None
        if statement[0] == m.ASSIGN and value in statement[2]:
            return None
    return None


def _puts(statement: Stmt, place: Expr, value: Expr) -> bool:
    if statement[0] == m.ASSIGN and statement[3] == value:
        return any(target[0] == m.ITEM and target[1] == place for target in statement[2])
    if statement[0] == m.AUGMENT:
        return bool(_is_entry(statement[2], place) and statement[4] == value)
    if statement[0] != m.EXPR or statement[2][0] != m.CALL or statement[2][2][0] != m.ATTR:
        return False
    call = statement[2]
    if _is_entry(call[2][1], place):
        return bool(call[2][2] in _PUTS_INSIDE and value in call[3])
    return bool(call[2][1] == place and call[2][2] in _PUTS and value in call[3])


def _is_entry(part: Expr, place: Expr) -> bool:
    """`table[key]`, `table.setdefault(key, [])`"""
    if part[0] == m.CALL and part[2][0] == m.ATTR:
        return bool(part[2][1] == place and part[2][2] == "setdefault")
    return bool(part[0] == m.ITEM and part[1] == place)


def _number(statement: Stmt) -> int:
    return statement_of(statement[1])
