"""Releases of tables that some entries never come to, by the text alone.

`if key in self.table and not entry.closed: del self.table[key]` takes out what breaks off and leaves what ends as it
should. `await answer(); self.table.pop(key)` is not come to when the wait is cancelled, and files say whether it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import model as m
from .cancelled import cancelled_functions
from .ended_twice import when_ended_here
from .exhausted import when_exhausted
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .one_way import after_answers, after_asking, after_failures, only_broken_off, only_failed
from .program import targets
from .raised import after_raising
from .told_errors import after_told
from .unclaimed import to_put_another, when_asked_again, when_waited_for
from .walk import blocks, calls_of, expressions_of, heads, last_name, nodes, root_of, statements, with_conditions
from .ways import TAKES, lets_go, puts, taken

_ENDED = frozenset(
    """terminated closed done finished stopped completed complete cancelled canceled aborted dead expired ended
    disconnected""".split()
)
_LAST = frozenset("last final eos finish".split())  # `is_last`, `finish_reason`
_REACHED = ("Equal", "GreaterThanEqual")
_ENDS = frozenset("close aclose terminate cancel stop abort shutdown kill finish disconnect end dispose".split())
_BY_ITSELF = ("done", "cancelled")  # methods of tasks and futures
_SAME = (("Is", False), ("Equal", False), ("IsNot", True), ("NotEqual", True))
_ON_SOME_WAYS = (
    ("failed", after_failures), ("skipped", after_asking), ("answered", after_answers), ("refused", only_failed),
    ("broken only", only_broken_off),
)  # fmt: skip
_IS_SET = {"IsNot": True, "NotEqual": True, "Is": False, "Equal": False}  # `output.finish_reason is not None`
_PUT_BACK = "put back"
_BY_WHO_COMES = (
    ("unasked", when_asked_again), ("unclaimed", when_waited_for), ("exhausted", when_exhausted),
    ("raised", after_raising), ("told", after_told), ("ended here", when_ended_here),
    (_PUT_BACK, to_put_another),
)  # fmt: skip

Literal = tuple[Expr, bool]  # a condition, and whether it holds


class PassedBy(NamedTuple):
    """A release that some entries never come to."""

    site: Site
    function: str
    why: str  # which ones: "ended", "cancelled", "failed", "skipped", "answered", "elsewhere", "apart" ...


def passed_by(facts: FileFacts) -> dict[str, dict[str, PassedBy]]:
    """By the last part of a table's name and the function: the releases that are no sound ones."""
    found: dict[str, dict[str, PassedBy]] = {}
    sound = set[tuple[str, str]]()
    cancelled = cancelled_functions(facts)
    tables = _of_the_module(facts.functions[0])
    for function in facts.functions[1:]:
        if not _may_take(function):
            continue
        for table in _tables(function, tables):
            name = last_name(table)
            way = _way(facts, function, table, cancelled)
            if way is None:
                sound.add((name, function.name))
            else:
                found.setdefault(name, {})[function.name] = way
    for name, other in sound:  # of the same name
        found.get(name, {}).pop(other, None)
    # what only makes room for another entry does not say that entries come and go: it counts beside what does
    return {
        name: dict(sorted(functions.items(), key=lambda one: one[1].why == _PUT_BACK))
        for name, functions in found.items()
        if any(way.why != _PUT_BACK for way in functions.values())
    }


def _way(facts: FileFacts, function: FunctionFacts, table: Expr, cancelled: frozenset[str]) -> PassedBy | None:
    way = _ended(facts, function, table) or _cancelled(facts, function, table, cancelled)
    if way is not None:
        return way
    for why, find in _ON_SOME_WAYS:
        site = find(function, table)
        if site is not None:
            return PassedBy(site, function.name, why)
    for why, search in _BY_WHO_COMES:
        site = search(facts, function, table)
        if site is not None:
            return PassedBy(site, function.name, why)
    return None


def _of_the_module(body: FunctionFacts) -> frozenset[Expr]:
    """The names that a module binds once, at its top."""
    bound = [target for one in body.body for target in targets(one) if target[0] == m.NAME]
    return frozenset(name for name in bound if bound.count(name) == 1)


def _tables(function: FunctionFacts, of_the_module: frozenset[Expr]) -> set[Expr]:
    """What a function takes something out of: attributes, and names of the module that it has not for itself."""
    found = {table for one in statements(function.body) for table, _ in taken(one)}
    names = {table for table in found if table[0] == m.NAME}
    if names:
        own = {(m.NAME, param.name) for param in function.params}
        own |= {target for one in statements(function.body) for target in targets(one)}
        found -= names - (of_the_module - own)
    return found


def _may_take(function: FunctionFacts) -> bool:
    return not set(TAKES).isdisjoint(function.calls) or any(one[0] == m.DELETE for one in statements(function.body))


# -- what has ended -------------------------------------------------------------------------------


def _ended(facts: FileFacts, function: FunctionFacts, table: Expr) -> PassedBy | None:
    """Where all that a function takes out of a table is what has not ended, and it does not end it itself."""
    found: PassedBy | None = None
    for statement, literals in with_conditions(function.body, ()):
        if not lets_go(statement, table):
            continue
        flags = (flag for one, holds in literals for flag in _unended(one, holds))
        if not any(_is_kept(facts, function, table, flag) and _by_others(facts, function, flag) for flag in flags):
            return None
        found = PassedBy(statement[1], function.name, "ended")
    return found


def taken_when_finished(function: FunctionFacts, name: str) -> Site | None:
    """Where a function takes something out of a table, if all that it takes out has come to its end:
    `if output.finished: self.states.pop(output.id)`."""
    found: Site | None = None
    for statement, literals in with_conditions(function.body, ()):
        if any(last_name(table) == name for table, _ in taken(statement)):
            if not any(_says_ended(part) for one, holds in literals for part in _holding(one, holds)):
                return None
            found = statement[1]
    return found


def called_when_finished(functions: Iterable[FunctionFacts], name: str) -> Site | None:
    """Where a method is called that takes something out of a table, if all that calls it does so for what has come to
    its end."""
    found: Site | None = None
    for function in functions:
        for statement, literals in with_conditions(function.body, ()) if name in function.calls else ():
            if any(last_name(call[2]) == name for call in calls_of(statement)):
                if not any(_says_ended(part) for one, holds in literals for part in _holding(one, holds)):
                    return None
                found = statement[1]
    return found


def _holding(test: Expr, holds: bool) -> Iterator[Expr]:
    """The parts of a condition that hold: `output.finished` where `not output.finished` does not."""
    if test[0] == m.NOT:
        yield from _holding(test[1], not holds)
    elif test[0] == m.BOOL and (test[1] == "and") == holds:
        for operand in test[2]:
            yield from _holding(operand, holds)
    elif test[0] == m.COMPARE and test[3] == (m.CONST, None) and test[1] in _IS_SET:
        if _IS_SET[test[1]] == holds:
            yield test[2]
    elif holds:
        yield test


def _says_ended(test: Expr) -> bool:
    """`output.finished`, `is_last_chunk`, `request.produced == request.length`."""
    if test[0] == m.COMPARE and test[1] in _REACHED and test[2][0] == test[3][0] == m.ATTR:
        return bool(test[2][1] == test[3][1] and test[2][1] != (m.NAME, "self"))
    flags = (part for part in nodes(test) if part[0] in (m.NAME, m.ATTR))
    return any(not (_ENDED | _LAST).isdisjoint(flag[-1].lower().split("_")) for flag in flags)


def _unended(test: Expr, holds: bool) -> Iterator[Expr]:
    """The flags that are not set where a condition holds: `entry.closed` of `key in table and not entry.closed`."""
    if test[0] == m.NOT:
        yield from _unended(test[1], not holds)
    elif test[0] == m.BOOL:
        for operand in test[2] if (test[1] == "and") == holds else ():
            yield from _unended(operand, holds)
    elif test[0] == m.COMPARE and test[3][0] == m.CONST and isinstance(test[3][1], bool):
        same = test[1] in ("Is", "Equal")
        if (holds and (test[1], test[3][1]) in _SAME) or (not holds and same and test[3][1]):
            yield test[2]
    elif not holds:
        yield test


def _is_kept(facts: FileFacts, function: FunctionFacts, table: Expr, flag: Expr) -> bool:
    """Whether a flag says that what is in the table has ended."""
    attribute = flag[2] if flag[0] == m.CALL else flag
    if attribute[0] != m.ATTR or _ENDED.isdisjoint(attribute[2].lower().split("_")):
        return False
    kept = attribute[1]
    if kept[0] == m.ITEM:
        return bool(kept[1] == table)
    name = last_name(kept)
    return kept[0] == m.NAME and (_is_from(function, table, kept) or _is_put(facts, table, name))


def _is_from(function: FunctionFacts, table: Expr, kept: Expr) -> bool:
    """Whether a function gets something out of the table: `entry = table[key]`, `for key, entry in table.items()`."""
    return any(
        statement[0] in (m.ASSIGN, m.FOR) and kept in targets(statement) and table in nodes(statement[3])
        for statement in statements(function.body)
    )


def _is_put(facts: FileFacts, table: Expr, name: str) -> bool:
    """Whether something of this name is put into the table."""
    return any(
        statement[0] == m.ASSIGN
        and last_name(statement[3]) == name
        and any(target[0] == m.ITEM and target[1] == table for target in statement[2])
        for function in facts.functions
        for statement in statements(function.body)
    )


def _by_others(facts: FileFacts, function: FunctionFacts, flag: Expr) -> bool:
    """Whether something else sets the flag, and not the function that takes the entry out."""
    kept = (flag[2] if flag[0] == m.CALL else flag)[1]
    attribute = (flag[2] if flag[0] == m.CALL else flag)[2]
    for statement in statements(function.body):
        if any(target == (m.ATTR, kept, attribute) for target in targets(statement)):
            return False
        for call in calls_of(statement):
            own = call[2][0] == m.ATTR and call[2][1] == kept
            given = kept in call[3]
            if (own or given) and not _ENDS.isdisjoint(last_name(call[2]).lower().split("_")):
                return False
    if flag[0] == m.CALL and attribute in _BY_ITSELF:
        return True
    if any(one.name == attribute for one in facts.functions):
        return True
    return any(
        target[0] == m.ATTR and target[2] == attribute
        for one in facts.functions
        if one.name not in ("__init__", "__post_init__")
        for statement in statements(one.body)
        for target in targets(statement)
    )


# -- whose waiting was cancelled ------------------------------------------------------------------


def _cancelled(facts: FileFacts, function: FunctionFacts, table: Expr, cancelled: frozenset[str]) -> PassedBy | None:
    """Where a function takes an entry that it was asked for out of a table only when it has waited."""
    if not _suspends(function.body):
        return None
    keys = [key for one in statements(function.body) for place, key in taken(one) if place == table]
    walk = _Waiting(table, set(keys), function.name in cancelled)
    walk.through(function.body, guarded=False)
    if walk.sound or walk.found is None or (walk.husk and _are_futures(facts, table)):
        return None
    if not all(_is_known(function, table, key) for key in keys):
        return None
    return PassedBy(walk.found, function.name, "cancelled")


def _suspends(block: tuple[Stmt, ...]) -> bool:
    return any(node[0] == m.AWAIT for one in statements(block) for node in expressions_of(one))


def _is_known(function: FunctionFacts, table: Expr, key: Expr) -> bool:
    """Whether a key was there before the waiting: a parameter, or a part of one, that is not bound anew; or what the
    function has made, and put the entry there with: `key = next(self.ids); self.table[key] = x`."""
    root = root_of(key)
    bound = [statement for statement in statements(function.body) if root in targets(statement)]
    if root[0] != m.NAME or not bound:
        return root[0] == m.NAME and any(param.name == root[1] for param in function.params)
    put = any((m.ITEM, table, key) in targets(statement) for statement in statements(function.body))
    return put and len(bound) == 1 and bound[0][0] == m.ASSIGN and not _suspends((bound[0],))


def _are_futures(facts: FileFacts, table: Expr) -> bool:
    """Whether what is put into a table are futures: those that are waited for are cancelled with who waits."""
    for function in facts.functions:
        for statement in statements(function.body):
            if statement[0] == m.ASSIGN and any(t[0] == m.ITEM and t[1] == table for t in statement[2]):
                made = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and statement[3] in one[2]]
                if any(last_name(one) in ("Future", "create_future") for one in (statement[3], *made)):
                    return True
    return False


class _Waiting:
    """Goes through a function to where it takes something out of a table."""

    def __init__(self, table: Expr, keys: set[Expr], cancelled: bool) -> None:
        self.sound = False  # it takes something out where it has not waited, or in any case
        self.found: Site | None = None
        self.husk = True  # it waits for nothing but the entry itself
        self._table = table
        self._keys = keys
        self._cancelled = cancelled
        self._waited = False

    def through(self, block: tuple[Stmt, ...], *, guarded: bool, caught: frozenset[str] = frozenset()) -> None:
        for statement in block:
            if puts(statement, self._table):
                self._waited = False
            if lets_go(statement, self._table):
                self.sound = self.sound or guarded or not self._waited
                self.found = statement[1]
            for head in heads(statement):
                for node in nodes(head):
                    self._wait(node, caught)
            if statement[0] == m.TRY:
                self._try(statement, guarded, caught)
                continue
            inside = caught
            if statement[0] == m.WITH:
                contexts = {last_name(context) for context, _ in statement[2]}
                inside = caught | {"CancelledError"} if "suppress" in contexts else caught
                timed = self._cancelled
                self._cancelled = timed or not contexts.isdisjoint(("timeout", "timeout_at", "fail_after"))
                self.through(statement[3], guarded=guarded, caught=inside)
                self._cancelled = timed
                continue
            for suite in blocks(statement):
                self.through(suite, guarded=guarded, caught=inside)

    def _try(self, statement: Stmt, guarded: bool, caught: frozenset[str]) -> None:
        body, clauses, orelse, final = statement[2:6]
        on = [kind for kind, _, clause in clauses if clause and clause[-1][0] not in m.LEAVES]
        names = {last_name(one) for kind in on for one in (kind[3] if kind and kind[0] == m.NEW else (kind,))}
        if any(node in self._keys for one in statements(final) for node in expressions_of(one)):
            names.add("BaseException")  # its end hands the key on: who gets it sees to the entry
        self.through(body, guarded=guarded, caught=caught | names)
        for _, _, clause in clauses:
            self.through(clause, guarded=True)
        self.through(orelse, guarded=guarded, caught=caught)
        self.through(final, guarded=True)

    def _wait(self, node: Expr, caught: frozenset[str]) -> None:
        if node[0] not in (m.AWAIT, m.YIELD) or not caught.isdisjoint(("CancelledError", "BaseException", "")):
            return
        called = node[1] if node[0] == m.AWAIT and node[1][0] == m.CALL else None
        limited = called is not None and last_name(called[2]) == "wait_for"
        timed = limited and caught.isdisjoint(("TimeoutError", "Exception"))
        if not (self._cancelled or timed):
            return
        self._waited = True
        awaited = node[1]
        if called is not None and called[3] and last_name(called[2]) in ("wait_for", "wrap_future"):
            awaited = called[3][0]
        self.husk = self.husk and awaited is not None and awaited[0] in (m.NAME, m.ITEM, m.ATTR)
