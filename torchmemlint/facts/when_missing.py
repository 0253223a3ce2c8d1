"""What a function makes only where it is not there yet, by the text alone.

`if name not in self.series: self.series[name] = Series()` makes an object in one round and has it in all others: it
lives as long as the table, not as long as the round.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Stmt, statement_of
from .walk import blocks, calls_of, expressions_of, last_name, once, statements

_NOTHING = (m.CONST, None)
_NOT_THERE = frozenset(("KeyError", "AttributeError", "LookupError", "IndexError"))


def made_when_missing(facts: FileFacts) -> frozenset[int]:
    """The numbers of the statements that bind a place which was found to be empty before."""
    found = set[int]()
    for function in facts.functions:
        _gather(function.body, frozenset(), found)
        if "setdefault" in function.calls:
            found |= {statement_of(one[1]) for one in statements(function.body) if _puts_default(one)}
    return frozenset(found)


@once
def made_once(function: FunctionFacts) -> frozenset[int]:
    """The numbers of the statements that bind a name or attribute which was found to be empty, and which the function
    does not empty afterwards: a loop around them comes to them once."""
    found = set[int]()
    _gather(function.body, frozenset(), found)
    every = list(statements(function.body))
    bound = [one for one in every if one[0] == m.ASSIGN and statement_of(one[1]) in found]
    emptied = [one for one in every if one[0] == m.ASSIGN and one[3] == _NOTHING]
    return frozenset(
        statement_of(one[1])
        for one in bound
        if all(place[0] in (m.NAME, m.ATTR) for place in one[2])
        and not any(later[1] > one[1] and not set(one[2]).isdisjoint(later[2]) for later in emptied)
    )


def _gather(block: tuple[Stmt, ...], missing: frozenset[Expr], found: set[int]) -> None:
    named: dict[Expr, int] = {}  # what the block has bound to a name: `one = Series(); self.series[name] = one`
    for statement in block:
        op = statement[0]
        if op == m.IF:
            gone, present = (frozenset(absent(statement[2], holds)) for holds in (True, False))
            _gather(statement[3], missing | gone, found)
            _gather(statement[4], missing | present, found)
            if statement[3] and statement[3][-1][0] in m.LEAVES:
                missing |= present
            continue
        if missing and op == m.EXPR and any(place[0] == m.NAME for place in missing) and _adds_made(statement[2]):
            found.add(statement_of(statement[1]))  # none of the tracks was found: there is one more now
        bound = statement[2] if op == m.ASSIGN else (statement[2],) if op == m.ANNOTATE else ()
        value = statement[-1] if bound else None
        kept = (
            value[2][:1] if value and value[0] == m.BOOL and value[1] == "or" else ()
        )  # `self.last = self.last or ...`
        if (missing or kept) and any(_place(target) in missing or target in kept for target in bound):
            found.add(statement_of(statement[1]))
            if statement[-1] in named:
                found.add(named[statement[-1]])
        for target in bound:
            if target[0] == m.NAME:
                named[target] = statement_of(statement[1])
        if op == m.TRY:
            looked_up = frozenset(_place(node) for one in statement[2] for node in expressions_of(one))
            _gather(statement[2], missing, found)
            for kind, _, clause in statement[3]:
                kinds = {last_name(one) for one in (kind[3] if kind is not None and kind[0] == m.NEW else (kind,))}
                _gather(clause, missing if kinds.isdisjoint(_NOT_THERE) else missing | looked_up, found)
            for suite in statement[4:6]:
                _gather(suite, missing, found)
            continue
        for suite in blocks(statement):
            _gather(suite, missing, found)


def _adds_made(call: Expr) -> bool:
    """`self.tracks.append(Track(box))`"""
    if call[0] != m.CALL or last_name(call[2]) not in ("append", "add") or len(call[3]) != 1:
        return False
    return bool(call[3][0][0] == m.CALL and last_name(call[3][0][2]).lstrip("_")[:1].isupper())


def _place(expr: Expr) -> Expr:
    """A place; an element of a table for whichever key."""
    return expr[:2] if expr[0] == m.ITEM else expr


def _puts_default(statement: Stmt) -> bool:
    """`self.series.setdefault(name, Series())`"""
    return any(
        call[2][0] == m.ATTR and call[2][2] == "setdefault" and len(call[3]) == 2 for call in calls_of(statement)
    )


def absent(test: Expr, holds: bool) -> Iterator[Expr]:
    """The places that are empty where a test holds, or does not."""
    op = test[0]
    if op == m.NOT:
        yield from absent(test[1], not holds)
    elif op == m.BOOL:
        for operand in test[2] if (test[1] == "and") == holds else ():
            yield from absent(operand, holds)
    elif op == m.COMPARE:
        if test[3] == _NOTHING and test[1] in (("Is", "Equal") if holds else ("IsNot", "NotEqual")):
            yield _place(test[2])
        elif test[1] == ("NotIn" if holds else "In"):
            yield (m.ITEM, test[3])  # whichever key
    elif op == m.CALL and test[2] == (m.NAME, "hasattr") and len(test[3]) == 2 and test[3][1][0] == m.CONST:
        if not holds:
            yield (m.ATTR, test[3][0], test[3][1][1])
    elif op in (m.NAME, m.ATTR, m.ITEM) and not holds:
        yield _place(test)
