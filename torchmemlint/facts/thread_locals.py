"""What piles up in `threading.local` objects: only the thread that put it there can take it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .contexts import Kept
from .events import Reset
from .kept import measured
from .machine import Frame, Machine
from .model import Site
from .places import describe
from .values import Class, Obj


class Own(NamedTuple):
    """A container of a thread's own that gains something heavy with each task."""

    site: Site
    holder: str
    what: str
    weight: int
    started: Site


def grown_by_threads(machine: Machine) -> Iterator[Own]:
    """Containers in thread-local objects that the tasks of a thread fill, and that no task empties; each place once."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "thread-store" or note.site in seen or not machine.is_home(note.site):
            continue
        kept: Kept = note.detail
        if kept.how not in ("grow", "keyed") or kept.key != "*" or kept.what not in ("tensor", "array"):
            continue
        owner = kept.owner
        if kept.weight < 2 or not isinstance(owner, Obj) or owner.bounded or not is_thread_local(owner):
            continue
        holder = describe(owner, kept.key, machine).text
        grows = any(loop.kind in ("loop", "call") and loop not in owner.birth for loop in kept.loops)
        if not grows or measured(note.frame, holder) or any(_empties(reset, owner) for reset in machine.resets):
            continue
        seen.add(note.site)
        yield Own(note.site, holder, kept.what, kept.weight, kept.context.site)


def is_thread_local(owner: Obj | Frame) -> bool:
    """Whether a place belongs to an object of which each thread has its own."""
    current: Obj | Frame | None = owner
    for _ in range(4):
        if not isinstance(current, Obj):
            return False
        bases = current.cls.external if isinstance(current.cls, Class) else ()
        if "$local" in current.fields or "threading.local" in bases:
            return True
        current = None if current.home is None else current.home[0]
    return False


def _empties(reset: Reset, owner: Obj) -> bool:
    """Whether a reset empties a container, or what holds it, from within a task: elsewhere it is another thread's."""
    places = [(owner, "*"), *([owner.home] if owner.home is not None else [])]
    if reset.frame.name == "__init__" or not any(reset.owner is one and reset.key in (key, "*") for one, key in places):
        return False
    return reset.threaded
