"""Which functions of a file are cancelled while they wait, as far as the file shows it."""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .program import targets
from .walk import calls_of, heads, last_name, nodes, statements

_STARTS = ("create_task", "ensure_future", "start_soon")
AT_THE_END = frozenset("close aclose shutdown stop terminate aexit del cleanup teardown exit destroy".split())
_TIMED = ("timeout", "timeout_at", "fail_after", "move_on_after")
_BREAK_OFF = frozenset((*_TIMED, "wait_for", "cancel"))


def cancelled_functions(facts: FileFacts) -> frozenset[str]:
    """The names of the functions that a time limit, a `cancel()` or the end of a client breaks off, and of those that
    such functions wait for. Nothing is said where a file shields what it waits for."""
    called = {name for function in facts.functions for name in function.calls}
    if "shield" in called:
        return frozenset()
    found = {
        name
        for function in facts.functions
        if function.flags & m.TRIES or not _BREAK_OFF.isdisjoint(function.calls)
        for name in _broken_off(function)
    }
    for _ in range(4):
        awaited = {
            last_name(call[2])
            for function in facts.functions
            if function.name in found
            for call in _awaited(function.body)
        }
        if awaited <= found:
            break
        found |= awaited
    return frozenset(found - {""})


def _broken_off(function: FunctionFacts) -> Iterator[str]:
    """What a function waits for with a limit, or until somebody cancels it."""
    for statement in statements(function.body):
        if (
            statement[0] == m.TRY
            and not _serves(function, statement)
            and any(_is_cancellation(kind) for kind, _, _ in statement[3])
        ):
            yield from (last_name(call[2]) for call in _awaited(statement[2]))
        if statement[0] == m.WITH and any(last_name(context) in _TIMED for context, _ in statement[2]):
            yield from (last_name(call[2]) for call in _awaited(statement[3]))
        for call in calls_of(statement):
            if last_name(call[2]) == "wait_for" and call[3]:
                yield from _run_by(function, call[3][0])
            at_the_end = not AT_THE_END.isdisjoint(function.name.lower().split("_"))
            if call[2][0] == m.ATTR and call[2][2] == "cancel" and not call[3] and not at_the_end:
                yield from _run_by(function, call[2][1])


def _serves(function: FunctionFacts, tried: Stmt) -> bool:
    """Whether a `try` is in an endless loop, or around one: it ends with the program."""
    return any(
        statement[0] == m.WHILE and (tried in statements(statement[3]) or statement in statements(tried[2]))
        for statement in statements(function.body)
    )


def _awaited(block: tuple[Stmt, ...]) -> Iterator[Expr]:
    """What a block awaits, or goes through: `async for item in answers(key)`."""
    for statement in statements(block):
        for head in heads(statement):
            yield from (node[1] for node in nodes(head) if node[0] == m.AWAIT and node[1][0] == m.CALL)
        if statement[0] == m.FOR and statement[3][0] == m.CALL:
            yield statement[3]


def _is_cancellation(kind: Expr | None) -> bool:
    return kind is not None and any(
        last_name(one) == "CancelledError" for one in (kind[3] if kind[0] == m.NEW else (kind,))
    )


def _run_by(function: FunctionFacts, waited: Expr) -> Iterator[str]:
    """The coroutine that a task runs: `wait_for(answer(key), 1)`, `task = create_task(answer(key))`."""
    if waited[0] == m.CALL:
        inner = waited[3][0] if last_name(waited[2]) in _STARTS and waited[3] else waited
        yield last_name(inner)
    elif waited[0] in (m.NAME, m.ATTR):
        for statement in statements(function.body):
            if statement[0] == m.ASSIGN and waited in targets(statement) and statement[3][0] == m.CALL:
                yield from _run_by(function, statement[3])
