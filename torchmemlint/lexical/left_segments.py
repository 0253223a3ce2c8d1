"""Objects that have a shared memory segment of their own, and whose owner drops them without unlinking it."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Program, keyword
from ..facts.walk import calls, last_name
from .left_running import LeftRunning, dropped
from .owned_parts import with_parts
from .segments import has_segments, makes_segment
from .starters import Owner, setup_of

_ATTACHES = ("name", "create", "attach", "existing", "owner", "shm_name")


def left_segments(program: Program) -> Iterator[LeftRunning]:
    """Such objects that are made again and again; nothing but the method that unlinks lets a segment go."""
    if "unlink" in program.called and has_segments(program):
        yield from dropped(program, with_parts(program, dict(_owners(program))))


def _owners(program: Program) -> Iterator[tuple[str, Owner]]:
    for cls in program.facts.classes:
        setup, _ = setup_of(program, cls)
        made = next((call for one in setup for call in calls(one.body) if _creates(program, cls.name, call)), None)
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        ends = [name for name, function in methods.items() if "unlink" in function.calls and function not in setup]
        if made is not None and len(ends) == 1:
            yield cls.name, Owner(ends[0], made[1])


def _creates(program: Program, cls: str, call: Expr) -> bool:
    """Whether a call creates a segment, for all objects of a class: none is told which one to attach to."""
    if not makes_segment(program, call[2]):
        return False
    create = keyword(call, "create", 1)
    if create == (m.CONST, True):
        return True
    makers = (one for place in program.places if cls in place.facts.calls for one in calls(place.facts.body))
    told = any(key in _ATTACHES for one in makers if last_name(one[2]) == cls for key, _ in one[4])
    return create not in (None, (m.CONST, False)) and not told
