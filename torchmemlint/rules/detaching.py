"""What would let go of the graph of a stored value, and whether nothing else would change by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..facts import model as m
from ..facts.walk import calls_of, statements
from ..finding import Remedy

if TYPE_CHECKING:
    from ..evidence.evidence import Evidence
    from ..evidence.retentions import Retention
    from ..interpreter.events import Store

_SPREADING = ("extend", "extendleft", "update")


def holds_several(store: Store) -> bool:
    """Whether a container of tensors is stored, and not one tensor: of that there is one for each way it may be.

    The parts of one that is written out, `kept.append({"a": a, "b": b})`, can be detached one by one.
    """
    kinds = [(tensor.graph, tensor.bundle) for tensor in store.tensors]
    return (len(kinds) > len(set(kinds)) or store.nesting > 0) and not _written_out(store)


def _written_out(store: Store) -> bool:
    """Whether what is stored is a list, tuple or dictionary in the text itself."""
    return any(value[0] in (m.NEW, m.DICT, m.COMP) for value in _stored(store))


def _stored(store: Store) -> Iterator[m.Expr]:
    """What a statement or a call stores, or adds to something."""
    for statement in statements(store.frame.facts.body):
        if m.statement_of(statement[1]) == m.statement_of(store.site):
            if statement[0] in (m.ASSIGN, m.AUGMENT):
                yield statement[3] if statement[0] == m.ASSIGN else statement[4]
            yield from (value for call in calls_of(statement) if call[1] == store.site for value in call[3])


def _is_generated(store: Store) -> bool:
    """Whether a container gets what a generator gives, `losses.extend(steps(loader))`."""
    marks: list[Any] = [loop.site for loop in store.loops]
    return any(isinstance(mark, tuple) and mark[0] == "gathered" for mark in marks)


def _is_tensor(store: Store) -> bool:
    """Whether what is stored is nothing but a tensor, or has such parts and is written out, by all that was seen."""
    spread = store.how == "grow" and _spreads(store)  # `kept += parts`: the store is of each of them
    return 0 <= store.nesting + spread <= _written_out(store)


def _spreads(store: Store) -> bool:
    """`kept += parts`, `kept.extend(parts)`"""
    for statement in statements(store.frame.facts.body):
        if statement[1] == store.site and statement[0] in (m.ASSIGN, m.AUGMENT):
            return True
        if any(call[1] == store.site and call[2][-1] in _SPREADING for call in calls_of(statement)):
            return True
    return False


def detach(evidence: Evidence, retention: Retention) -> Remedy | None:
    """Store the value without its graph; of a loss whose scalar owns a storage as large as its input, a copy.

    None where something that is read from the place is back-propagated: that would be cut off. A container has no
    `detach`, nor has a number or a generator.
    """
    store = retention.store_event
    if evidence.wanted(retention) or holds_several(store) or _is_generated(store):
        return None
    labels = evidence.machine.derivation.labels
    made = [labels.get(tensor.node) for tensor in store.tensors]
    if any(label is not None and label[0] == "differentiated" and label[2] == m.ALL for label in made):
        return None  # a tuple or a dictionary of losses, which has no `detach`
    wide = any(label is not None and label[0] == "wide-loss" for label in made)
    call = "detach().clone()" if wide and retention.how in ("grow", "keyed", "set") else "detach()"
    return Remedy("detach", call, sure=is_sure(evidence, store))


def is_sure(evidence: Evidence, store: Store) -> bool:
    """Whether nothing but a tensor was ever seen to be stored there."""
    others = [one for one in evidence.machine.stores if one.site == store.site]
    return store.site not in evidence.machine.innocent and all(map(_is_tensor, others))
