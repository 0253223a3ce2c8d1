"""Variables that a loop adds to and reads a few entries of at a time: memories to draw from, endless histories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts.model import Site
from ..interpreter.frames import kept_since
from ..interpreter.values import ATTACHED, FEW, SCALAR, Obj
from ..lexical.drawn_lists import is_only_drawn_from
from .let_go import emptied
from .places import describe

if TYPE_CHECKING:
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine

_WHOLES = ("local", "global")


class Drawn(NamedTuple):
    """Where a variable grows that is only drawn from."""

    site: Site
    name: str


def drawn_from(machine: Machine) -> Iterator[Drawn]:
    """Such variables of functions and of scripts, made before all loops, that nothing is taken out of."""
    said: set[Site] = set()
    for store in machine.stores:
        if store.how != "grow" or not machine.is_home(store.site) or store.site in said or not _weighs(store):
            continue
        owner = store.owner
        if not isinstance(owner, Obj) or owner.kind not in ("list", "deque") or owner.unknown or owner.bounded:
            continue
        since = kept_since(owner, store.birth)
        if any(loop.kind == "loop" for loop in since) or all(loop.kind != "loop" for loop in store.loops):
            continue
        holder = describe(owner, store.key, machine)
        if holder.kind not in _WHOLES or (holder.kind == "global" and store.frame.function is not None):
            continue
        facts = store.frame.unit.facts
        if is_only_drawn_from(facts, store.frame.facts, holder.text, store.site) and not emptied(machine, owner, "*"):
            said.add(store.site)
            yield Drawn(store.site, holder.text)


def _weighs(store: Store) -> bool:
    """Whether what is added are tensors without a graph that may be large; of others other rules speak."""
    return (
        any(tensor.weight > 1 and tensor.size not in (SCALAR, FEW) for tensor in store.tensors)
        and not store.hook
        and all(tensor.graph != ATTACHED for tensor in store.tensors)
    )
