"""Operations in place: what `place.mul_(a).add_(b)` writes, and to which place."""

from __future__ import annotations

from ..facts import model as m
from ..facts.knowledge import IN_PLACE_LIGHT, MIXES_IN
from ..facts.model import Expr, Site
from .averages import brings_graph, write_average
from .followed import note_following, owners
from .frames import Frame
from .given_places import write_to_givers
from .machine import Machine
from .stores import write_through
from .tensors import arithmetic
from .unknown import unknown_method
from .values import FREE, LEAF, OFF, UNKNOWN, Class, External, Kwargs, Module, Obj, Tensor, Value

_OWNERS = (Obj, External, Class, Module)  # whose function is called, whatever its name ends in


def write_in_place(
    machine: Machine,
    frame: Frame,
    callee: Expr,
    receiver: Value,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
) -> Value:
    """`place.mul_(a).add_(b)`: one write to the place at the root of the chain."""
    name = callee[2]
    if name == "requires_grad_" or name in IN_PLACE_LIGHT or any(type(a) in _OWNERS for a in receiver):
        if not receiver:
            return unknown_method(machine, frame, callee, receiver, args, kwargs, site)
        result: Value = UNKNOWN
        for atom in receiver:
            result = machine.join(result, machine.call_method(frame, atom, name, args, kwargs, site))
        if name == "detach_" and _is_place(callee[1]) and all(type(atom) is Tensor for atom in receiver):
            machine.assign(frame, callee[1], result, site)
        return result
    sources = [value for value in (*args, *kwargs.values()) if machine.reach(value, 2)]
    if sources and name in MIXES_IN:
        written = owners(machine, receiver)
        for value in sources if written else ():
            note_following(machine, written, value)
    if machine.grad == OFF or _raises(machine, receiver):
        return receiver
    added = [tensor for value in sources for tensor in machine.reach(value, 2)]
    if all(tensor.graph == FREE for tensor in added) and receiver and all(type(atom) is Tensor for atom in receiver):
        return receiver  # the same tensor, and nothing that it was not made of before
    merged = arithmetic(machine, (receiver, *sources))
    root = _root_of_chain(callee[1])
    if any(brings_graph(machine, one) for one in added):
        if write_average(machine, frame, receiver, (receiver, *sources), site):
            return merged or receiver
        through = write_through(machine, frame, receiver, merged, site, "inplace")
        if root is not None and (not through or root[0] == m.NAME):
            machine.assign(frame, root, merged, site, how="inplace")
            write_to_givers(machine, frame, root, merged, site, "inplace")
    return merged or receiver


def _raises(machine: Machine, receiver: Value) -> bool:
    """Whether it is a parameter that was made in sight: in place it can only be changed with gradients off, so they are
    [docs: autograd, "In-place correctness"; measured]. Those that a module gives may be frozen."""
    derivation = machine.derivation
    leaves = [one.node for one in receiver if type(one) is Tensor and one.graph == LEAF and one.weight > 2]
    if not leaves or len(leaves) < len(receiver):
        return False
    names = {name for node in leaves for name in derivation.names_of(node)}
    given = any(derivation.labels.get(name, ("",))[0] == "parameters" for name in names)
    return not given and derivation.frozen.isdisjoint(names)


def _is_place(expr: Expr) -> bool:
    """A name, an attribute or a named entry, which is something else after `place.detach_()`."""
    if expr[0] == m.ITEM:
        return bool(expr[2][0] == m.CONST)
    return expr[0] == m.NAME or (expr[0] == m.ATTR and expr[2] not in ("data", "grad"))


def _root_of_chain(expr: Expr) -> Expr | None:
    """The place that a chain of in-place calls writes to; None when it goes through `.data` or a copy."""
    while expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2][-1] == "_":
        expr = expr[2][1]
    if expr[0] == m.ATTR and expr[2] in ("data", "grad"):
        return None
    if expr[0] == m.ITEM:
        return _root_of_chain(expr[1])
    return expr if expr[0] in (m.NAME, m.ATTR) else None
