"""Variables of callers whose tensor a function writes into: `keep_best(best, found)`, `best[mask] = found[mask]`."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import targets
from ..facts.walk import once, statements
from .arguments import argument
from .frames import Frame
from .machine import Machine
from .stores import store
from .values import Value


def write_to_givers(machine: Machine, frame: Frame, place: Expr, value: Value, site: Site, how: str) -> None:
    """What is done in place to a parameter's tensor is done to what the caller has under the name that it gives."""
    writing = frame
    while place[0] == m.NAME and frame.caller is not None and not frame.facts.generator:
        if place[1] in _bound(frame.facts.body):
            return  # it may be another tensor by then
        given = argument(frame, place[1])
        if given is None or given[0] != m.NAME:
            return
        frame, place = frame.caller, given
        owner = machine.scope_of(frame, place[1])
        if place[1] not in owner.vars:
            return
        machine.put(owner.vars, place[1], store(machine, writing, owner, place[1], value, how, site))


def _names_bound(block: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(
        target[1] for one in statements(block) if one[0] != m.AUGMENT for target in targets(one) if target[0] == m.NAME
    )


_bound = once(_names_bound)
