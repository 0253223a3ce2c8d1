"""Releases that a function comes to on some of its ways, where it has been handed the entry for good.

`run(key)` works for one entry and takes it out at the end: an `except` clause that says what has failed and returns
leaves the entry there. `key = self.acks.popleft()` asks for the next one: who then goes on without having taken the
entry out will not meet its key again. `is_ready(key)` says True when it has taken the entry out, and False as long as
there is something to wait for: where it says True early, nobody asks again. `serve(request)` takes the entry out where
the request is refused, and not when it has been answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import knowledge
from . import model as m
from .model import Expr, FunctionFacts, Site, Stmt, statement_of
from .program import Block, targets
from .walk import blocks, calls, calls_of, expressions_of, last_name, names_of, nodes, root_of, statements
from .ways import THERE, Ways, lets_go, puts, taken

_BROAD = frozenset(("Exception", "BaseException", "RuntimeError", ""))
_AGAIN = ("retry", "requeue", "resubmit", "reschedule", "again")
_NEXT = ("popleft", "pop", "get", "get_nowait")  # of a queue: what is asked for is gone from it
_LEAVES = (m.RETURN, m.JUMP)
_SAME = ("Is", "Equal")
_ASKS = ("In", "NotIn")
_SENDS = ("send", "write", "put", "drain", "emit")
_OF_A_CONNECTION = re.compile("connection|disconnect|pipe|hangup")
_OF_THE_END = re.compile(
    "stop|exit|end|eof|clos|disconnect|connection|pipe|cancel|interrupt|finish|done|gone|complete|hangup|abort|timeout|"
    "key|lookup|index|attribute|notfound"
)


def after_failures(function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes the entry that it was called for out of a table, if it does not come to that after an
    `except` clause which says what has failed."""
    if not any(one[0] == m.TRY for one in statements(function.body)):
        return None
    keys = [key for one in statements(function.body) for place, key in taken(one) if place == table]
    given = {param.name for param in function.params}
    roots = {root_of(key) for key in keys}
    if not all(root[0] == m.NAME and root[1] in given - {"self", "cls"} for root in roots):
        return None
    if any(puts(one, table) or not roots.isdisjoint(targets(one)) for one in statements(function.body)):
        return None
    takes = _takes(function, table)
    tried = (one for outer in statements(function.body) if outer[0] == m.TRY for one in statements(outer[2]))
    if not takes.keys().isdisjoint(statement_of(one[1]) for one in tried):
        return None  # of which `lexical/pending.py` speaks
    names = {root[1] for root in roots}
    ways = Ways(last_name(table), -1, set(takes), lambda kind, clause: _is_dealt_with(kind, clause, names, table))
    ways.through_function(function.body, THERE)
    return next(iter(takes.values())) if any(way.caught for way in ways.found) else None


def after_asking(function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes the entry whose key it got from a queue out of a table, if it leaves some there."""
    keys = {root_of(key) for one in statements(function.body) for place, key in taken(one) if place == table}
    if len(keys) != 1:
        return None
    key = next(iter(keys))
    asked = [one for one in statements(function.body) if key in targets(one)]
    if len(asked) != 1 or asked[0][0] != m.ASSIGN or not _is_next(asked[0][3], table):
        return None
    if any(puts(one, table) for one in statements(function.body)):
        return None
    takes = _takes(function, table)
    ways = Ways(last_name(table), statement_of(asked[0][1]), set(takes))
    ways.through_function(function.body)
    passing = {way.site for way in ways.found if not way.failed}
    absent = {key} | {
        target
        for one in statements(function.body)
        if one[0] == m.ASSIGN and table in nodes(one[3])
        for target in one[2]
    }
    message = set(targets(asked[0]))  # `kind, key, value = queue.get()`
    others = [one[3] for one in statements(function.body) if one[0] == m.IF and _is_of_another_kind(one[2], message)]
    for block in _blocks(function.body, absent, table):
        leaves = block and block[-1][0] in _LEAVES and block[-1][1] in passing
        if leaves and block not in others and not _hands_on(block, key):
            return next(iter(takes.values()))
    return None


def _is_of_another_kind(test: Expr, message: set[Expr]) -> bool:
    """`if number < 0`, `if kind == "stop"`: what came is told apart by a part of itself, and has no key."""
    return bool(test[0] == m.COMPARE and test[2] in message and test[3][0] == m.CONST)


def after_answers(function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes the entry that it is asked for out of a table, if it gives the answer that it gives then
    on an earlier way, with the entry in hand, on which it leaves it there."""
    keys = [key for one in statements(function.body) for place, key in taken(one) if place == table]
    given = {param.name for param in function.params} - {"self", "cls"}
    if len(set(keys)) != 1 or keys[0][0] != m.NAME or keys[0][1] not in given:
        return None
    last = function.body[-1]
    looked = [one for one in function.body if one[0] == m.ASSIGN and _looks_up(one[3], table, keys[0])]
    if not looked or last[0] != m.RETURN or last[2] is None or last[2][0] != m.CONST or last[2][1] is None:
        return None
    if any(puts(one, table) or keys[0] in targets(one) for one in statements(function.body)):
        return None
    takes = _takes(function, table)
    ways = Ways(last_name(table), statement_of(looked[0][1]), set(takes))
    ways.through_function(function.body)
    passing = {way.site for way in ways.found if not way.failed}
    if last[1] in passing:
        return None
    for block in _blocks(function.body, set(looked[0][2]), table):
        if block and block[-1][1] in passing and block[-1][2:3] == last[2:3] and not _hands_on(block, keys[0]):
            return next(iter(takes.values()))
    return None


def only_failed(function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes an entry out of a table, if it does so only in `except` clauses that raise again: what
    goes well leaves its entry there. That of a memo, which is asked first, is meant to stay."""
    takes = _takes(function, table)
    tried = [one for one in statements(function.body) if one[0] == m.TRY]
    if not tried or _is_memo(function, table):
        return None
    failing = (clause for one in tried for kind, _, clause in one[3] if _is_failure(kind))
    raising = [clause for clause in failing if clause and clause[-1][0] == m.RAISE]
    inside = {statement_of(one[1]) for clause in raising for one in statements(clause)}
    return next(iter(takes.values())) if takes and takes.keys() <= inside else None


def only_broken_off(function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes an entry out of a table, if it does so only in the `except` clauses for a connection that
    breaks, `except ConnectionResetError:`, around a loop over what comes: that ends as well when the other side closes
    as it should."""
    takes = _takes(function, table)
    inside = set[int]()
    for one in statements(function.body) if takes else ():
        if one[0] == m.TRY and any(_hears(function, inner) for inner in _straight(one[2])):
            broken = (clause for kind, _, clause in one[3] if _is_of_a_connection(kind))
            inside |= {statement_of(inner[1]) for clause in broken for inner in statements(clause)}
    if not takes.keys() <= inside or any(puts(one, table) for one in statements(function.body)):
        return None
    return next(iter(takes.values()), None)


def _straight(block: Block) -> Iterator[Stmt]:
    """The statements of a block, and of the `with` blocks in it."""
    for one in block:
        yield one
        if one[0] == m.WITH:
            yield from _straight(one[3])


def _hears(function: FunctionFacts, loop: Stmt) -> bool:
    """Whether a loop goes over what a parameter gives, `async for message in socket`, and does not send it there: what
    is sent may have no end but that of the connection."""
    if loop[0] != m.FOR:
        return False
    source = loop[3][2] if loop[3][0] == m.CALL else loop[3]
    given = {(m.NAME, param.name) for param in function.params} - {(m.NAME, "self"), (m.NAME, "cls")}
    if root_of(source) not in given:
        return False
    names = set(targets(loop))
    sent = (call for call in calls(loop[4]) if last_name(call[2]).startswith(_SENDS))
    return not any(node in names for call in sent for value in call[3] for node in nodes(value))


def _is_of_a_connection(kind: Expr | None) -> bool:
    caught = _caught(kind)
    return bool(caught) and all(_OF_A_CONNECTION.search(name.lower()) for name in caught)


def _is_failure(kind: Expr | None) -> bool:
    """Whether an `except` clause is about what has failed, or was refused: not about the end of something, nor about
    what is not there."""
    caught = _caught(kind)
    return not caught or any(name in _BROAD or not _OF_THE_END.search(name.lower()) for name in caught)


def _is_memo(function: FunctionFacts, table: Expr) -> bool:
    """Whether a function puts into a table what it looks for there."""
    putting = [one for one in statements(function.body) if puts(one, table)]
    return bool(putting) and any(
        (node[0] == m.COMPARE and node[1] in _ASKS and node[3] == table)
        or (node[0] == m.CALL and node[2] in ((m.ATTR, table, "get"), (m.ATTR, table, "setdefault")))
        or (node[0] == m.ITEM and node[1] == table)
        for one in statements(function.body)
        if one not in putting and not lets_go(one, table)
        for node in expressions_of(one)
    )


def _looks_up(value: Expr, table: Expr, key: Expr) -> bool:
    """`self.jobs[key]`, `self.jobs.get(key)`"""
    if value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "get":
        return bool(value[2][1] == table and value[3][:1] == (key,))
    return bool(value[0] == m.ITEM and value[1:3] == (table, key))


def _takes(function: FunctionFacts, table: Expr) -> dict[int, Site]:
    return {statement_of(one[1]): one[1] for one in statements(function.body) if lets_go(one, table)}


def _caught(kind: Expr | None) -> list[str]:
    """The names of the exceptions of an `except` clause; none where it catches all."""
    return [last_name(one) for one in (kind[3] if kind is not None and kind[0] == m.NEW else (kind,)) if one]


def _is_dealt_with(kind: Expr | None, clause: Block, names: set[str], table: Expr) -> bool:
    """Whether an `except` clause is about something else than a failure, or sees to the entry in its own way: it goes
    on to work for it, tries again, or tells the caller."""
    caught = _caught(kind)
    if caught and _BROAD.isdisjoint(caught):
        return True
    for one in statements(clause):
        if one[0] == m.RAISE or (one[0] == m.RETURN and one[2] is not None and one[2][0] == m.CONST):
            return True
        if any(node == table for node in expressions_of(one)):
            return True
        for call in calls_of(one):
            called = last_name(call[2])
            if any(word in called.lower() for word in _AGAIN):
                return True
            given = (node for value in (*call[3], *(v for _, v in call[4])) for node in nodes(value))
            if called not in knowledge.REPORTERS and any(n[0] == m.NAME and n[1] in names for n in given):
                return True
    return False


def _is_next(value: Expr, table: Expr) -> bool:
    """`self.acks.popleft()`, `await queue.get()`, `heappop(heap)`."""
    value = value[1] if value[0] == m.AWAIT else value
    if value[0] != m.CALL:
        return False
    if last_name(value[2]) == "heappop":
        return bool(value[3]) and value[3][0] != table
    own = value[2][0] == m.ATTR and value[2][2] in _NEXT and value[2][1] != table
    return (
        own
        and (value[2][2] in ("get", "popleft", "get_nowait") or value[3] in ((), ((m.CONST, 0),)))
        and not any(one[0] != m.CONST for one in value[3])
    )


def _blocks(body: Block, absent: set[Expr], table: Expr) -> Iterator[Block]:
    """The suites of a function, without those that a test for what is not there leads to."""
    for statement in body:
        if statement[0] == m.IF and _asks_for_absence(statement[2], absent, table):
            yield from _blocks(statement[4], absent, table)
            continue
        for suite in blocks(statement):
            yield suite
            yield from _blocks(suite, absent, table)


def _asks_for_absence(test: Expr, absent: set[Expr], table: Expr) -> bool:
    """`if key is None`, `if not entry`, `if key not in self.table`."""
    if test[0] == m.BOOL:
        return any(_asks_for_absence(one, absent, table) for one in test[2])
    if test[0] == m.NOT:
        return test[1] in absent or table in nodes(test[1])
    if test[0] == m.COMPARE:
        return (test[1] in _SAME and test[2] in absent) or (test[1] in ("In", "NotIn") and test[3] == table)
    return False


def _hands_on(block: Block, key: Expr) -> bool:
    """Whether a block gives the key to something, which may put it back."""
    if any(target[0] != m.NAME for one in block for target in targets(one)) and key[1] in names_of(block):
        return True
    quiet = knowledge.REPORTERS | knowledge.TAKES_OUT
    return any(last_name(call[2]) not in quiet and any(key in nodes(one) for one in call[3]) for call in calls(block))
