"""Tables of what is under way, whose entry goes only if the waiting ends well.

`try: wait(handle); return TABLE.pop(handle)` with an `except` clause that raises another error, and takes nothing out:
the tensors that the entry refers to stay in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.file_releases import reaches_outside
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import calls_of, last_name, statements

_TENSORS = frozenset(
    """tensor tensors output outputs input inputs batch grad grads gradient result features hidden buffer flat
    activation activations weight param image frames""".split()
)


class Pending(NamedTuple):
    """An entry of a table that stays when a wait fails."""

    site: Site  # where it is taken out
    table: str
    put: Site
    everywhere: bool  # the whole file's, as opposed to an object's


def pending(facts: FileFacts) -> Iterator[Pending]:
    for function in facts.functions[1:]:
        if not function.flags & m.TRIES:
            continue
        if "pop" in function.calls or any(one[0] == m.DELETE for one in statements(function.body)):
            for taken, table in _taken_in_a_try(function):
                put = _tensors_put(facts, function, table)
                if put >= 0 and not _is_emptied(facts, function, table):
                    yield Pending(taken[1], last_name(table), put, table[0] == m.NAME)


def _taken_in_a_try(function: FunctionFacts) -> Iterator[tuple[Stmt, Expr]]:
    """The entries of lasting tables, for a key that was given, that a `try` takes out after something that may fail,
    and that nobody takes out when it does."""
    given = {param.name for param in function.params}
    for statement in statements(function.body):
        if statement[0] != m.TRY or not statement[3]:
            continue
        body = list(statements(statement[2]))
        others = [one for one in statements(function.body) if one not in body]
        for number, one in enumerate(body):
            for table, key in _takes(one):
                lasting = table[0] == m.NAME or (table[0] == m.ATTR and table[1] == (m.NAME, "self"))
                waits = any(True for before in body[:number] for _ in calls_of(before))
                also = any(taken == table for other in others for taken, _ in _takes(other))
                same = key[0] == m.NAME and key[1] in given
                if lasting and same and waits and not also and not _is_bound(function, table):
                    yield one, table


def _takes(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """The tables that a statement takes something out of, and under what key."""
    if statement[0] == m.DELETE:
        yield from ((target[1], target[2]) for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == "pop" and call[3]:
            yield call[2][1], call[3][0]


def _is_bound(function: FunctionFacts, table: Expr) -> bool:
    """Whether a name is the function's own."""
    own = {param.name for param in function.params}
    return table[0] == m.NAME and (
        table[1] in own or any(table in targets(statement) for statement in statements(function.body))
    )


def _tensors_put(facts: FileFacts, taking: FunctionFacts, table: Expr) -> Site:
    """Where another function puts tensors into a table, by what they are called; -1 if none does."""
    for function in facts.functions[1:]:
        same = table[0] == m.NAME or function.owner == taking.owner
        for statement in statements(function.body) if same and function is not taking else ():
            stored = statement[0] == m.ASSIGN and any(t[0] == m.ITEM and t[1] == table for t in statement[2])
            parts = statement[3][3] if stored and statement[3][0] == m.NEW else statement[3:4]
            if stored and any(part[0] == m.NAME and part[1] in _TENSORS for part in parts):
                return int(statement[1])
    return -1


def _is_emptied(facts: FileFacts, taking: FunctionFacts, table: Expr) -> bool:
    """Whether another function empties the table or takes things out, or makes it anew."""
    return any(
        one.place == table and (one.how != BOUND or table[0] == m.ATTR or reaches_outside(function, table[1]))
        for function in facts.functions[1:]
        if function is not taking and (table[0] == m.NAME or function.owner == taking.owner)
        for one in emptyings(function, last_name(table))
        if function.name != "__init__"
    )
