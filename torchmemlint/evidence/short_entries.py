"""Tables whose entries are cut to a length, each for itself, while no key ever leaves.

`line = self.history[track]; line.append(x); if len(line) > 30: line.pop(0)`: no entry grows, but there is one for each
track that has ever been seen. A `defaultdict` makes them without a word; where a statement puts them into the table,
the run notes that one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.walk import expressions_of, nodes, statements
from ..interpreter.events import NEVER, Store
from ..interpreter.machine import Machine
from ..interpreter.values import Obj
from .lifetimes import Lifetimes


def keys_of_short_entries(machine: Machine, lifetimes: Lifetimes) -> Iterator[Store]:
    """Of what is added to such entries, how the table gains a key with it."""
    for store in machine.stores if machine.opened else ():
        if store.how != "grow" or not isinstance(store.owner, Obj):
            continue
        table, kind = machine.opened.get((store.owner.serial, store.frame), (None, ""))
        if table is not None and (store.owner.bounded or _is_cut(store, lifetimes)):
            yield store._replace(owner=table, how="keyed", key_kind=kind, summed=NEVER, carried=NEVER, by_default=True)


def _is_cut(store: Store, lifetimes: Lifetimes) -> bool:
    """Whether the function that adds something takes out an older one, or binds the entry to what is left."""
    taken = any(reset.frame is store.frame and reset.how in ("pop", "trim") for reset in lifetimes.resets_of(store))
    if taken and "len" in store.frame.facts.calls:
        return True
    for one in statements(store.frame.facts.body):
        for target in one[2] if one[0] == m.ASSIGN else ():
            if target[0] == m.ITEM and any(p[:2] == (m.ITEM, target) and p[2][0] == m.SLICE for p in nodes(one[3])):
                return True
    return False


def speaks_of_entries(function: FunctionFacts, name: str) -> bool:
    """Whether a function lets go of nothing of a table, nor asks for its size, but only of what is under its keys."""
    for statement in statements(function.body):
        every = expressions_of(statement)
        asked = [node[1] for node in every if node[0] == m.ITEM]
        asked += [node[3] for node in every if node[0] == m.COMPARE and node[1] in ("In", "NotIn")]
        if sum(_is_called(node, name) for node in every) > sum(_is_called(node, name) for node in asked):
            return False
        if statement[0] == m.DELETE and any(one[0] == m.ITEM and _is_called(one[1], name) for one in statement[2]):
            return False
    return True


def _is_called(place: Expr, name: str) -> bool:
    return place[0] in (m.ATTR, m.NAME) and place[-1] == name
