"""Queues between threads or processes that take tensors without a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .contexts import Kept
from .events import Loops
from .machine import Frame, Machine
from .model import Site
from .places import describe
from .program import statements
from .values import SCALAR, Obj
from .walk import calls

_HOLDS_BACK = ("acquire", "join", "wait", "qsize", "full", "sleep", "result", "recv")


class Put(NamedTuple):
    site: Site
    name: str
    made: Site
    weight: int


def unbounded_puts(machine: Machine) -> Iterator[Put]:
    """Puts of heavy values into queues without a limit whose other end is elsewhere."""
    read_elsewhere = {id(note.detail) for note in machine.plain if note.kind == "queue-get"}
    seen: set[Site] = set()
    for site, queue, frame, loops, weight, elsewhere in _puts(machine):
        if queue.bounded or queue.unknown or site in seen or not (elsewhere or id(queue) in read_elsewhere):
            continue
        if not any(loop.kind in ("loop", "call") and loop not in queue.birth for loop in loops):
            continue
        if _held_back(frame):
            continue
        seen.add(site)
        yield Put(site, describe(queue, "*", machine).text, queue.site, min(weight, 2))


def _puts(machine: Machine) -> Iterator[tuple[Site, Obj, Frame, Loops, int, bool]]:
    for note in machine.plain:
        if note.kind == "queue-put":
            kept: Kept = note.detail
            if isinstance(kept.owner, Obj) and kept.what in ("tensor", "array"):
                yield note.site, kept.owner, note.frame, kept.loops, kept.weight, True
    for store in machine.stores:
        owner = store.owner
        if isinstance(owner, Obj) and owner.kind == "queue":
            weight = max((tensor.weight for tensor in store.tensors if tensor.size != SCALAR), default=0)
            if weight > 1:
                yield store.site, owner, store.frame, store.loops, weight, False


def _held_back(frame: Frame) -> bool:
    """Whether the loop that puts waits for something else: another queue, a semaphore, an answer."""
    for statement in statements(frame.facts.body):
        if statement[0] not in (m.WHILE, m.FOR):
            continue
        body = statement[4] if statement[0] == m.FOR else statement[3]
        for call in calls(body):
            if call[2][0] != m.ATTR:
                continue
            if call[2][2] in _HOLDS_BACK or (call[2][2] == "get" and not call[3]):
                return True
    return False
