"""Objects that one call makes, fills and hands back: what it has found, as a list of it would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.walk import statements
from ..interpreter.frames import Frame
from ..interpreter.values import CONTAINERS, Obj, Value

if TYPE_CHECKING:
    from .retentions import Retention

_DEPTH = 2  # tuples in tuples


def is_handed_back(retention: Retention) -> bool:
    """`board = Board()`, `for x in items: board.add(x)`, `return board`. A loop that goes on until it is told to stop
    is no search."""
    owner = retention.store_event.owner
    wholes = owner.holders if isinstance(owner, Obj) else ()
    whole = next((one for one in wholes if isinstance(one, Obj) and one.kind == "instance"), None)
    frame = retention.store_event.frame.caller
    while frame is not None and whole is not None:
        if any(made is whole for made in frame.allocs.values()):
            unseen = any(loop.kind == "call" for loop in frame.loops)  # who calls it, and asks for what it gives
            if not unseen and (frame.caller is None or frame.caller.function is None):
                return False  # nobody asks for what `main` finds
            going_on = any(loop.name == "while" for loop in retention.loops if loop not in frame.loops)
            return not going_on and _returns(frame, whole) and not (not unseen and _goes_to_nobody(frame, whole))
        frame = frame.caller
    return False


def _returns(frame: Frame, whole: Obj) -> bool:
    return any(one is whole for one in _parts(frame.returns))


def _goes_to_nobody(frame: Frame, whole: Obj) -> bool:
    """Whether all that called a function only return what it gives, up to the program: `main` with `return run()`."""
    while frame.caller is not None and frame.caller.function is not None:
        called, frame = m.statement_of(frame.call_site), frame.caller
        back = (one for one in statements(frame.facts.body) if one[0] == m.RETURN)
        if not _returns(frame, whole) or all(m.statement_of(one[1]) != called for one in back):
            return False
    return True


def _parts(value: Value, depth: int = _DEPTH) -> Iterator[Obj]:
    for atom in value:
        if type(atom) is Obj:
            yield atom
            if atom.kind in CONTAINERS and depth:
                for part in atom.fields.values():
                    yield from _parts(part, depth - 1)
