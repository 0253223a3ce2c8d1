"""Releases of futures that are not come to where the future has an exception.

`answer = await self.waiting[key]; del self.waiting[key]` raises what the future was given instead of an answer, and the
entry stays, with the future, its exception and the frames of who failed.
"""

from __future__ import annotations

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .program import targets
from .walk import blocks, heads, last_name, nodes, root_of, statements
from .ways import lets_go, puts, taken

_BROAD = frozenset(("Exception", "BaseException", ""))
_WRAPS = ("wait_for", "shield", "wrap_future")


def after_raising(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes a future out of a table once it has got what that has, in a file that gives futures
    exceptions."""
    if not any("set_exception" in one.calls for one in facts.functions):
        return None
    keys = {key for one in statements(function.body) for place, key in taken(one) if place == table}
    turns = {target for one in statements(function.body) if one[0] == m.FOR for target in targets(one)}
    if not keys or any(root_of(key)[0] != m.NAME or root_of(key) in turns for key in keys):
        return None
    walk = _Asking(table, entries_of(function, table, keys))
    walk.through(function.body)
    return None if walk.sound else walk.found


def entries_of(function: FunctionFacts, table: Expr, keys: set[Expr]) -> set[Expr]:
    """What a function calls an entry of the table: `self.waiting[key]`, `future` after `self.waiting[key] = future`."""
    found: set[Expr] = {(m.ITEM, table, key) for key in keys}
    for one in statements(function.body):
        if one[0] == m.ASSIGN and (not found.isdisjoint(one[2]) or _is_looked_up(one[3], table, found)):
            found.update(part for part in (*one[2], one[3]) if part[0] == m.NAME)
    return found


def _is_looked_up(value: Expr, table: Expr, entries: set[Expr]) -> bool:
    return value in entries or (value[0] == m.CALL and value[2] == (m.ATTR, table, "get"))


class _Asking:
    """Goes through a function to where it takes a future out of a table."""

    def __init__(self, table: Expr, entries: set[Expr]) -> None:
        self.sound = False  # it does so before it has asked for the answer, or in any case
        self.found: Site | None = None
        self._table = table
        self._entries = entries
        self._asked = False

    def through(self, block: tuple[Stmt, ...], *, surely: bool = False, caught: bool = False) -> None:
        for statement in block:
            if puts(statement, self._table):
                self._asked = False
            if lets_go(statement, self._table):
                self.sound = self.sound or surely or not self._asked
                self.found = statement[1]
            if not caught and any(self._asks(node) for head in heads(statement) for node in nodes(head)):
                self._asked = True
            if statement[0] == m.TRY:
                self._try(statement, surely, caught)
                continue
            suppressing = statement[0] == m.WITH and any(last_name(one) == "suppress" for one, _ in statement[2])
            for suite in blocks(statement):
                self.through(suite, surely=surely, caught=caught or suppressing)

    def _try(self, statement: Stmt, surely: bool, caught: bool) -> None:
        goes_on = any(
            not _BROAD.isdisjoint(
                last_name(one) for one in (kind[3] if kind is not None and kind[0] == m.NEW else (kind,))
            )
            for kind, _, clause in statement[3]
            if clause and clause[-1][0] not in m.LEAVES
        )
        self.through(statement[2], surely=surely, caught=caught or goes_on)
        for _, _, clause in statement[3]:
            self.through(clause, surely=True)
        self.through(statement[4], surely=surely, caught=caught)
        self.through(statement[5], surely=True)

    def _asks(self, node: Expr) -> bool:
        """`await future`, `await asyncio.wait_for(future, 5)`, `future.result()`"""
        if node[0] == m.AWAIT:
            wrapped = node[1][0] == m.CALL and last_name(node[1][2]) in _WRAPS and bool(node[1][3])
            return (node[1][3][0] if wrapped else node[1]) in self._entries
        return bool(
            node[0] == m.CALL and node[2][0] == m.ATTR and node[2][2] == "result" and node[2][1] in self._entries
        )
