"""The ways through a function from where an entry is in a table to where it is taken out, by the text alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from . import knowledge
from . import model as m
from .model import Expr, Site, Stmt, statement_of
from .program import targets
from .walk import calls_of, expressions_of, last_name, nodes, statements

GONE, THERE, FAILED = 0, 1, 2  # an entry is out; is in the table; is in the table when an exception was caught
TAKES = ("pop", "remove", "discard")
_States = frozenset[int]
Settled = Callable[[Expr | None, tuple[Stmt, ...]], bool]  # of an `except` clause: whether the entry is seen to


class LeftBehind(NamedTuple):
    """A way on which an entry stays."""

    site: Site  # where it leaves
    failed: bool  # after an exception, as opposed to an early `return`
    caught: bool = False  # from an `except` clause that goes on, or returns


class Ways:
    """The ways through a function from the statement that puts an entry into a table to those that take it out."""

    def __init__(
        self,
        name: str,
        puts: int,
        takes: set[int],
        settled: Settled | None = None,
        failing: Collection[int] = (),
        unsure: Collection[int] = (),
    ) -> None:
        self.found: list[LeftBehind] = []
        self._name = name
        self._settled = settled
        self._failing = failing  # what takes the entry out, and may raise before that
        self._unsure = unsure  # ... or may find that it is not its turn
        self._puts = puts
        self._takes = takes
        self.unguarded: Site = -1  # what may fail while the entry is there, outside of any `try`
        self.met: set[int] = set()  # how the entry stood where it is taken out
        self._clause: Site = -1  # the last `except` clause that goes on
        self._jumps: list[set[int] | None] = []  # what leaves each loop around early; None where each round puts one
        self._raised: list[set[int]] = []  # what may go to the clauses of each `try` around

    def through_function(self, body: Sequence[Stmt], start: int = GONE) -> None:
        if FAILED in self.through(body, frozenset((start,)), False):
            self.found.append(LeftBehind(self._clause, True, True))

    def through(self, block: Sequence[Stmt], states: _States, failing: bool) -> _States:
        """How the entry may stand at the end of a block; empty if no way gets there."""
        for statement in block:
            if not states:
                break
            number = statement_of(statement[1])
            if number in self._failing or (number not in self._takes and _may_fail(statement)):
                if self._raised:
                    self._raised[-1] |= states
                elif THERE in states and self.unguarded < 0:
                    self.unguarded = statement[1]
            if number == self._puts:
                states = frozenset((FAILED if failing else THERE,))
            if number in self._takes:
                self.met |= states
                states = states | {GONE} if number in self._unsure else frozenset((GONE,))
            states = self._statement(statement, states, failing)
        return states

    def _statement(self, statement: Stmt, states: _States, failing: bool) -> _States:
        op = statement[0]
        if op == m.IF:
            ends = [self.through(suite, states, failing) for suite in statement[3:5]]
            if mentions(statement, self._name) and any(end == {GONE} for end in ends):
                return frozenset((GONE,))  # it asks whether there is anything to take out
            return ends[0] | ends[1]
        if op in (m.FOR, m.WHILE):
            return self._loop(statement, states, failing)
        if op == m.WITH:
            return self.through(statement[3], states, failing)
        if op == m.TRY:
            return self._try(statement, states, failing)
        if op == m.JUMP:
            if self._jumps and self._jumps[-1] is not None:
                self._jumps[-1] |= states
            elif states & {THERE, FAILED}:
                self.found.append(LeftBehind(statement[1], FAILED in states, FAILED in states))
            return frozenset()
        if op in (m.RETURN, m.RAISE):
            self._leaves(statement, states)
            return frozenset()
        return states

    def _leaves(self, statement: Stmt, states: _States) -> None:
        raised = statement[0] == m.RAISE
        if raised and self._raised:
            self._raised[-1] |= states  # to a clause of this function
        elif states & {THERE, FAILED}:
            self.found.append(LeftBehind(statement[1], raised or FAILED in states, not raised and FAILED in states))

    def _loop(self, statement: Stmt, states: _States, failing: bool) -> _States:
        body, orelse = statement[-2:]
        own = any(statement_of(one[1]) == self._puts for one in statements(body))
        self._jumps.append(None if own else set())
        end = self.through(body, states, failing)
        jumped = frozenset(self._jumps.pop() or ())
        if own:
            if FAILED in end:
                self.found.append(LeftBehind(self._clause, True, True))
            return frozenset((GONE,))
        if end == {GONE}:  # it goes through what there is
            return self.through(orelse, end | jumped, failing)
        return self.through(orelse, states | end | jumped, failing)

    def _try(self, statement: Stmt, states: _States, failing: bool) -> _States:
        body, clauses, orelse, final = statement[2:6]
        before = len(self.found)
        self._raised.append(set())
        end = self.through(body, states, failing)
        raised = frozenset(self._raised.pop())
        if not clauses and self._raised:
            self._raised[-1] |= raised
        end = self.through(orelse, end, failing)
        caught = frozenset(FAILED if state == THERE else state for state in raised)
        for kind, _, clause in clauses:
            if self._settled is not None and self._settled(kind, clause):
                continue
            after = self.through(clause, caught, True)
            if FAILED in after:
                self._clause = clause[0][1]
            end |= after
        if any(statement_of(one[1]) in self._takes for one in statements(final)):
            del self.found[before:]
            return frozenset((GONE,)) if end else end
        return self.through(final, end, failing) if end else end


def _may_fail(statement: Stmt) -> bool:
    """Whether a statement does something: a call, other than to say something."""
    return any(last_name(call[2]) not in knowledge.REPORTERS for call in calls_of(statement))


def mentions(statement: Stmt, name: str) -> bool:
    return any(node[0] in (m.ATTR, m.NAME) and node[-1] == name for node in expressions_of(statement))


def taken(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a statement takes out: the table, an attribute or a name, and the key."""
    found = [(t[1], t[2]) for t in (statement[2] if statement[0] == m.DELETE else ()) if t[0] == m.ITEM]
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in TAKES and call[3]:
            found.append((call[2][1], call[3][0]))
    yield from ((table, key) for table, key in found if table[0] in (m.ATTR, m.NAME))


def lets_go(statement: Stmt, table: Expr) -> bool:
    """Whether a statement may let go of what is in a table, in whatever way."""
    if statement[0] == m.DELETE and any(table in nodes(target) for target in statement[2]):
        return True
    if table in targets(statement):
        return True
    return any(
        (call[2][0] == m.ATTR and call[2][1] == table and call[2][2] in knowledge.TAKES_OUT)
        or (table in call[3] and last_name(call[2]) not in ("len", "list", "sorted", "tuple", "iter", "print"))
        for call in calls_of(statement)
    )


def puts(statement: Stmt, table: Expr) -> bool:
    return any(target[0] == m.ITEM and target[1] == table for target in targets(statement))
