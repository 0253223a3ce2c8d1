"""Loops that go on until an error of their own: `try: while True: link.send(...)`, `except Disconnected: ...`.

Who puts a loop without an end into a `try` that waits for one certain error says how it ends: the other side has gone,
the stream is over. `except Exception` only says what is done if something is wrong.
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.walk import blocks, calls_of, last_name

_ANY = frozenset(("", "Exception", "BaseException"))
_FROM_OUTSIDE = frozenset("KeyboardInterrupt CancelledError SystemExit GeneratorExit".split())
_RAISES_NOTHING = frozenset(
    "sleep get put wait acquire append print debug info warning error exception suppress".split()
)


def ends_by_error(block: tuple[Stmt, ...], loop: Stmt, awaited: frozenset[str] = frozenset()) -> bool:
    """Whether an error that is waited for around a loop can come out of it."""
    for one in block:
        if one is loop:
            return bool(awaited) and _may_raise(next(blocks(loop)), awaited)
        for suite in blocks(one):
            around = awaited | _caught(one) if suite is next(blocks(one)) else awaited
            if ends_by_error(suite, loop, around - _ANY - _FROM_OUTSIDE):
                return True
    return False


def _may_raise(block: tuple[Stmt, ...], awaited: frozenset[str]) -> bool:
    for one in block:
        if any(last_name(call[2]) not in _RAISES_NOTHING for call in calls_of(one)):
            return True
        for suite in blocks(one):
            inside = _caught(one) if suite is next(blocks(one)) else frozenset()
            left = awaited - inside if inside.isdisjoint(_ANY) else frozenset()
            if left and _may_raise(suite, left):
                return True
    return False


def _caught(statement: Stmt) -> frozenset[str]:
    """The errors that do not leave the first suite of a statement, by name; "" for all."""
    if statement[0] == m.TRY:
        kinds = [kind for kind, _, _ in statement[3]]
    elif statement[0] == m.WITH:
        kinds = [kind for made, _ in statement[2] if last_name(made) == "suppress" for kind in made[3]]
    else:
        return frozenset()
    return frozenset(name for kind in kinds for name in _names(kind))


def _names(kind: Expr | None) -> list[str]:
    if kind is None:
        return [""]
    return [last_name(one) for one in (kind[3] if kind[0] == m.NEW else (kind,))]
