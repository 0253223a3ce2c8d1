"""Variables that a loop adds to and reads a few entries of at a time: memories to draw from, endless histories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts.model import Site
from ..facts.program import Program
from ..interpreter.frames import Frame, kept_since
from ..interpreter.keys import FIXED, KNOWN
from ..interpreter.values import ATTACHED, FEW, SCALAR, Obj
from ..lexical.drawn_lists import is_only_drawn_from
from ..lexical.handed_memories import is_filled_and_drawn_by_helpers
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
    table: bool = False


def drawn_from(machine: Machine, program: Program) -> Iterator[Drawn]:
    """Such variables of functions and of scripts, made before all loops, that nothing is taken out of."""
    said: set[Site] = set()
    for store in machine.stores:
        if store.how not in ("grow", "keyed") or not machine.is_home(store.site) or store.site in said:
            continue
        owner = store.owner
        if not isinstance(owner, Obj) or owner.unknown or owner.bounded or not _weighs(store):
            continue
        if owner.kind not in (("list", "deque") if store.how == "grow" else ("dict",)):
            continue
        since = kept_since(owner, store.birth)
        if any(loop.kind == "loop" for loop in since) or all(loop.kind != "loop" for loop in store.loops):
            continue
        holder = describe(owner, store.key, machine)
        if holder.kind not in _WHOLES or (holder.kind == "global" and store.frame.function is not None):
            continue
        if store.frame.unit is not machine.home or emptied(machine, owner, "*"):
            continue
        if _is_only_drawn_from(store, owner, holder.text, program):
            said.add(store.site)
            yield Drawn(store.site, holder.text, owner.kind == "dict")


def _is_only_drawn_from(store: Store, owner: Obj, name: str, program: Program) -> bool:
    """Whether the function that has the variable draws from it, or helpers do that are given it."""
    home = owner.home[0] if owner.home is not None else None
    table = owner.kind == "dict"
    if not table and is_only_drawn_from(store.frame.unit.facts, store.frame.facts, name, store.site):
        return True
    if not isinstance(home, Frame) or home.function is None or home.unit is not store.frame.unit:
        return False
    if table and store.key_kind in (FIXED, KNOWN):
        return False  # few
    return is_filled_and_drawn_by_helpers(program, home.facts, name, table=table)


def _weighs(store: Store) -> bool:
    """Whether what is added are tensors without a graph that may be large; of others other rules speak."""
    return (
        any(tensor.weight > 1 and tensor.size not in (SCALAR, FEW) for tensor in store.tensors)
        and not store.hook
        and all(tensor.graph != ATTACHED for tensor in store.tensors)
    )
