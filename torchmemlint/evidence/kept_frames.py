"""Frames of running functions that end up in a container: `marks.append(inspect.stack()[1])`.

A frame that somebody has keeps its locals when the function has returned, and with `f_back` so do those of all its
callers [docs: inspect, "The Interpreter Stack"]. Only those that each round of a loop makes anew are more each time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.model import Site
from ..facts.program import expressions
from ..interpreter.events import Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.keys import FRESH, IDENTITY
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Tensor
from .kept_errors import growing_by_errors
from .lifetimes import Lifetimes
from .places import holder_of
from .ways_out import chain

_LINES = frozenset(("f_lineno", "lineno", "f_lasti", "co_firstlineno"))


class KeptFrames(NamedTuple):
    """A place that gains frames with tensors."""

    site: Site
    holder: str
    asked: Site


def kept_frames(machine: Machine, lifetimes: Lifetimes) -> list[KeptFrames]:
    """Of what one call gives, the last place on its way, which has the others: `marks.append(Mark(frame))`."""
    found: dict[Site, KeptFrames] = {}
    for store, asked in machine.errors:
        if asked.tried not in machine.frames_asked_for or (isinstance(store.owner, Obj) and store.owner.bounded):
            continue
        site = store.site if machine.is_home(store.site) else _own_call(machine, store)
        holder = holder_of(machine, store)
        growing = [] if _is_for_few(store) else growing_by_errors(store, holder.kind == "local")
        growing = [loop for loop in growing if not lifetimes.covered(store, loop, graph=False)]
        if site is not None and any(_has_tensors(asked.frame, loop) for loop in growing):
            found[asked.tried] = KeptFrames(site, holder.text, asked.tried)
    return sorted(found.values())


def _is_for_few(store: Store) -> bool:
    """Whether there is one for each line that asks, as in a table by `frame.f_lineno`."""
    if store.how != "keyed":
        return False
    read = {part[2] for part in expressions(store.frame.facts.body) if part[0] == m.ATTR}
    return store.key_kind not in (FRESH, IDENTITY) or not read.isdisjoint(_LINES)


def _own_call(machine: Machine, store: Store) -> Site | None:
    return next((site for site in reversed(store.trail) if machine.is_home(site)), None)


def _has_tensors(frame: Frame, loop: Loop) -> bool:
    """Whether a function that is called anew in each round of a loop has a tensor: this one, or one around it."""
    called = (around for around in chain(frame) if loop in around.loops)
    return any(_is_heavy(atom) for around in called for value in around.vars.values() for atom in value)


def _is_heavy(atom: Any) -> bool:
    """Whether it is a tensor, or a tuple of some: `*args`."""
    if type(atom) is Obj and atom.kind == "tuple":
        return any(type(part) is Tensor and part.weight > 1 for value in atom.fields.values() for part in value)
    return type(atom) is Tensor and atom.weight > 1
