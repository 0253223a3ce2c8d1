"""Running statistics of a layer: what its pass adds up on its object, and reads for nothing else in that round."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import targets
from ..facts.walk import blocks, heads, nodes, statements
from ..interpreter.events import NEVER, Store
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, LEAF, Obj, Tensor
from .places import is_pass


def of_inputs(machine: Machine) -> Iterator[Store]:
    """What a layer adds up of its input, with gradients on, where nobody is seen to call it: `self.mean = d *
    self.mean + (1 - d) * x.mean(0)`. A layer with weights of its own stands behind others, whose graph its input
    carries; what merely normalizes the data that comes in has none."""
    labels = machine.derivation.labels
    for store, made in machine.veiled_stores:
        owner = store.owner
        if store.summed >= NEVER or not isinstance(owner, Obj) or not _has_weights(owner) or not is_statistic(store):
            continue
        kept = [
            node
            for node in made
            if any(labels.get(one) == ("input", owner) for one in machine.derivation.ancestors(node))
        ]
        if kept:
            yield store._replace(tensors=tuple(Tensor(ATTACHED, 2, node) for node in kept), objects=(), instances=())


def _has_weights(owner: Obj) -> bool:
    return any(type(atom) is Tensor and atom.graph == LEAF for value in owner.fields.values() for atom in value)


def is_statistic(store: Store) -> bool:
    """Whether a pass, and what it calls on the same module, reads what it adds up only to add to it, or on the other
    way of a test: `if self.training: ... else: mean = self.running_mean`."""
    if store.summed >= NEVER or store.how not in ("set", "inplace", "augment") or not is_pass(store.frame):
        return False
    frame, site = store.frame, store.site
    while frame.receiver is store.owner:
        params = frame.facts.params
        if not params or _reads(frame.facts.body, site, (m.ATTR, (m.NAME, params[0].name), store.key)):
            return False
        if frame.caller is None:
            return True
        frame, site = frame.caller, frame.call_site
    return frame is not store.frame


def _reads(block: tuple[Stmt, ...], site: Site, place: Expr) -> bool:
    """Whether a block reads a place, other than to write to it, in the round in which it comes to `site`."""
    for statement in block:
        arms = list(blocks(statement))
        if statement[0] == m.IF:
            taken = [arm for arm in arms if any(_is_at(one, site) for one in statements(arm))]
            arms = taken or [arm for arm in arms if not arm or arm[-1][0] != m.RETURN]
        if any(_reads(arm, site, place) for arm in arms):
            return True
        updates = _is_at(statement, site) or _writes(statement, place)
        if not updates and any(place in nodes(head) for head in heads(statement)):
            return True
    return False


def _is_at(statement: Stmt, site: Site) -> bool:
    return bool(m.statement_of(statement[1]) == m.statement_of(site))


def _writes(statement: Stmt, place: Expr) -> bool:
    """`self.mean = ...`, `self.mean.mul_(0.9).add_(x)`"""
    if statement[0] != m.EXPR:
        return statement[0] in (m.ASSIGN, m.AUGMENT) and place in targets(statement)
    at = statement[2]
    while at[0] == m.CALL and at[2][0] == m.ATTR and at[2][2][-1] == "_":
        at = at[2][1]
    return bool(at == place)
