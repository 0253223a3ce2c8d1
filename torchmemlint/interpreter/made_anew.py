"""Lists of functions that are made anew: what is noted of one that there is more, or less, in such a list."""

from __future__ import annotations

from ..facts import model as m
from ..facts.made_anew import put_beside, sifted
from ..facts.model import Expr, Site
from .frames import Frame
from .machine import Machine
from .stores import callables_in
from .values import CONTAINERS, UNKNOWN, Bound, External, Function, Obj, Partial, Value

_LISTENERS = (Function, Bound, Partial, External)
_NAMED = (m.NAME, m.ATTR, m.LAMBDA)


def note_added(machine: Machine, frame: Frame, target: Expr, made: Expr, value: Value, site: Site) -> None:
    """`handlers[event] = [*handlers.get(event, ()), handler]`: the list has a listener more, as by `append`."""
    lists = [atom for atom in value if type(atom) is Obj and atom.kind in ("list", "tuple")]
    if len(lists) != 1 or not any(map(callables_in, lists[0].fields.values())):
        return
    for item in put_beside(target, made, frame.unit.facts.functions):
        called = callables_in(machine.eval(frame, item)) if item[0] in _NAMED else ()
        if called:
            machine.note("listener", site, frame, (lists[0], "*", called))


def note_sifted(machine: Machine, frame: Frame, target: Expr, made: Expr, site: Site) -> None:
    """`handlers[event] = [one for one in handlers[event] if one is not handler]`: the list has one less, before the
    target is bound; which one is said as far as it is named."""
    names = sifted(target, made)
    lists = [] if names is None else [atom for atom in machine.eval(frame, target) if type(atom) is Obj]
    item: Value = UNKNOWN
    for name in names if names and any(map(_has_functions, lists)) else ():
        item = machine.join(item, tuple(atom for atom in machine.eval(frame, name) if type(atom) in _LISTENERS))
    for one in filter(_has_functions, lists):
        machine.note("sifted", site, frame, (one, item))


def _has_functions(obj: Obj) -> bool:
    return obj.kind in CONTAINERS and any(map(callables_in, obj.fields.values()))
