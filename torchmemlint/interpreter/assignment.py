"""Assignment: what a target gets, and what it means that it had something before."""

from __future__ import annotations

from ..facts import model as m
from ..facts.lengthened import JOINS, joins
from ..facts.model import Expr, Site, Stmt
from ..facts.walk import blocks, loops, statements
from .attributes import note_dropped_global, set_attribute
from .averages import brings_graph, frozen_owner, write_average
from .contexts import workers_in
from .deletion import delete
from .elements import bind_item, count_by_key, elements
from .frames import Frame, settles
from .hints import value_of_hint
from .imagined import is_module_by_use
from .keys import FRESH, IDENTITY
from .machine import EVALUATE, Machine, executes
from .made_anew import note_added, note_sifted
from .narrowing import is_told_no_tensor
from .own_operators import by_own_operator
from .stores import outlives_its_maker, store, take_in, write_through
from .tensors import arithmetic, note_terms
from .unpacking import unpack
from .values import (
    ATTACHED,
    COUNT,
    FREE,
    LIGHT,
    NOTHING,
    OFF,
    UNKNOWN,
    Class,
    Mode,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)

_MODULES = (m.ATTR, (m.NAME, "sys"), "modules")
_OWN_NAME = (m.NAME, "__name__")


@executes(m.ASSIGN)
def _assign(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, targets, expr = statement
    if _extends_itself(machine, frame, targets, expr, site):
        return
    if targets[0][0] == m.ITEM and targets[0][1] == _MODULES and targets[0][2] == _OWN_NAME:
        return  # a lazy module stands for this one from then on: it imports what is asked for, as the text says
    value = EVALUATE[expr[0]](machine, frame, expr)
    if site in frame.facts.backward and not any(target[0] == m.NEW for target in targets):
        value = _differentiated_later(machine, frame, site, value)
    machine.site = machine.statement = site
    how = "grow" if _joins_itself(machine, frame, targets[0], expr, value, site) else "set"
    note_sifted(machine, frame, targets[0], expr, site)
    for target in targets:
        assign(machine, frame, target, value, site, how)
    note_added(machine, frame, targets[0], expr, value, site)


def _joins_itself(machine: Machine, frame: Frame, target: Expr, expr: Expr, value: Value, site: Site) -> bool:
    """`self.seen = torch.cat([self.seen, x])`: the tensor grows. One with a graph is followed through its nodes."""
    if target[0] == m.NAME and target[1] not in frame.outer:
        return False
    if target[0] not in (m.NAME, m.ATTR, m.ITEM) or not any(map(_is_or_has_tensors, value)):
        return False
    return (
        not JOINS.isdisjoint(frame.facts.calls)
        and joins(target, expr, _said_before(frame.facts.body, site))
        and not any(tensor.graph == ATTACHED for tensor in machine.reach(value))
    )


def _is_or_has_tensors(atom: object) -> bool:
    return type(atom) is Tensor or (type(atom) is Obj and atom.kind == "tuple")


def _said_before(body: tuple[Stmt, ...], site: Site) -> tuple[Stmt, ...]:
    """The statements of a body that may come before one: what the other arm of an `if` binds does not, unless a loop
    comes back."""
    if any(one[1] == site for _, inside in loops(body) for one in inside):
        return body
    found: list[Stmt] = []
    for one in body:
        if one[1] >= site:
            break
        suites = list(blocks(one)) if one[0] == m.IF else []
        suites = [suite for suite in suites if any(inner[1] == site for inner in statements(suite))]
        found += [inner for suite in suites for inner in _said_before(suite, site)] if suites else [one]
    return tuple(found)


def _extends_itself(machine: Machine, frame: Frame, targets: tuple[Expr, ...], expr: Expr, site: Site) -> bool:
    """`kept = kept + [x]`, `kept = [*kept, x]`: the list grows as by `extend`; `kept = {**kept, key: x}`. A tuple does
    so as by `+=`."""
    if len(targets) != 1 or expr[0] not in (m.ARITH, m.NEW, m.DICT):
        return False
    if expr[0] == m.DICT:
        return _extends_table(machine, frame, targets[0], expr, site)
    target, others = targets[0], _added(targets[0], expr)
    held = [atom for atom in machine.eval(frame, target) if type(atom) is Obj] if others else []
    lists = [atom for atom in held if atom.kind == "list"]
    if not lists:
        if not any(atom.kind == "tuple" for atom in held):
            return False
        other = others[0] if expr[0] == m.ARITH else (m.NEW, expr[1], "tuple", tuple(others))
        _augment(machine, frame, (m.AUGMENT, site, target, "Add", other))
        return True
    added: Value = UNKNOWN
    for other in others:
        value = machine.eval(frame, other)
        added = machine.join(added, elements(machine, frame, value) if expr[0] == m.ARITH else value)
    machine.site = machine.statement = site
    for container in lists:
        grow(machine, frame, container, added, site)
    return True


def _extends_table(machine: Machine, frame: Frame, target: Expr, expr: Expr, site: Site) -> bool:
    """`table = {**table, key: x}`: as `table[key] = x`."""
    if target[0] not in (m.NAME, m.ATTR) or (None, target) not in expr[2]:
        return False
    if not any(type(atom) is Obj and atom.kind == "dict" for atom in machine.eval(frame, target)):
        return False
    for key, item in expr[2]:
        if key is not None:
            assign(machine, frame, (m.ITEM, target, key), machine.eval(frame, item), site)
    return True


def _added(target: Expr, expr: Expr) -> list[Expr]:
    """What an expression adds to the list that it is assigned to."""
    if expr[0] == m.ARITH and expr[1] == "Add" and target in (expr[2], expr[3]):
        return [expr[3] if target == expr[2] else expr[2]]
    if expr[0] == m.NEW and expr[2] in ("list", "tuple") and (m.STAR, target) in expr[3]:
        return [item for item in expr[3] if item != (m.STAR, target)]
    return []


def _differentiated_later(machine: Machine, frame: Frame, site: Site, value: Value) -> Value:
    """What nothing is known of is an attached tensor if it is back-propagated before it is bound again."""
    part = frame.facts.backward[site]
    if machine.grad == OFF or not all(type(atom) in (Opaque, Tensor) for atom in value):
        return value
    known = [atom for atom in value if type(atom) is Tensor]
    if any(atom.graph == ATTACHED and atom.weight == 3 for atom in known):
        return value
    if part and any(atom.bundle for atom in known):
        if part != m.ALL or any(atom.graph != ATTACHED for atom in known):
            return value
        return tuple(atom._replace(weight=2) if type(atom) is Tensor else atom for atom in value)  # all are terms
    parents = tuple(machine.nodes(value))
    node = machine.derivation.node(parents, ("differentiated", site, part))
    if part in ("", m.SHAPED):
        return (Tensor(ATTACHED, 3, node, "" if part else "scalar"),)
    if part == m.ALL:
        return (Tensor(ATTACHED, 2, node, "", True),)
    holder = machine.allocate(frame, ("parts", site), "dict")
    holder.unknown = True
    machine.put(holder.fields, part, (Tensor(ATTACHED, 3, node, "scalar"),))
    machine.put(holder.fields, "$parts", LIGHT)
    return (holder,)


@executes(m.ANNOTATE)
def _annotate(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, target, hint, expr = statement
    if expr is None:
        if frame.facts.owner >= 0 and frame.function is None:
            return  # a class body's bare annotation declares, it binds nothing
        return
    value = machine.eval(frame, expr)
    if not value:
        value = value_of_hint(machine, frame, hint)
    machine.site = machine.statement = site
    assign(machine, frame, target, value, site)


@executes(m.AUGMENT)
def _augment(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, target, operator, expr = statement
    old = machine.eval(frame, target)
    value = machine.eval(frame, expr)
    if expr[0] == m.NAME and any(type(atom) is Tensor and atom.bundle for atom in value):
        value = LIGHT if is_told_no_tensor(frame.facts.body, site, expr) else value
    machine.site = machine.statement = site
    containers = [atom for atom in old if type(atom) is Obj and atom.kind in ("list", "set", "deque", "dict")]
    if containers:
        for container in containers:
            grow(machine, frame, container, elements(machine, frame, value) or value, site)
        return
    if target[0] == m.NAME and machine.grad != OFF and frozen_owner(machine, old) is not None:
        if any(brings_graph(machine, tensor) for tensor in machine.reach(value, 1)):
            write_average(machine, frame, old, (old, value), site)
        return  # the name has the same parameter
    if operator == "Add":
        own = [atom for atom in old if type(atom) is Obj and type(atom.cls) is Class and atom.cls.find("__iadd__")]
        if own and len(own) == len(old):
            for atom in own:
                assign(machine, frame, target, machine.call_method(frame, atom, "__iadd__", [value], {}, site), site)
            return
    made = by_own_operator(machine, frame, operator, old, value)
    machine.site = machine.statement = site
    if made:
        assign(machine, frame, target, made, site)
        return
    merged = arithmetic(machine, (old, value))
    note_terms(machine, operator, old, value, merged)
    if is_light(value) and not old:
        machine.innocent.add(site)
    if operator == "Add" and target[0] == m.ITEM and (not merged or is_light(merged)):
        count_by_key(machine, frame, target, site)
    if operator == "Add" and is_light(merged) and _is_there_before(machine, frame, target):
        merged = (COUNT,)
    assign(machine, frame, target, merged, site, how="augment")
    if target[0] == m.NAME and any(brings_graph(machine, tensor) for tensor in machine.reach(value, 1)):
        write_through(machine, frame, old, merged, site, "augment")


def _is_there_before(machine: Machine, frame: Frame, target: Expr) -> bool:
    """Whether what a function adds to goes on from one call to the next: an attribute, or a name of the module."""
    return target[0] == m.ATTR or (target[0] == m.NAME and machine.scope_of(frame, target[1]) is not frame)


def grow(
    machine: Machine, frame: Frame, container: Obj, value: Value, site: Site, key: str = "*", how: str = "grow"
) -> None:
    """Add an element to a container."""
    stored = store(machine, frame, container, key, value, how, site)
    for atom in stored:
        if type(atom) is Obj:
            _keep_in(frame, container, atom)
            take_in(frame, container, "*", (atom,))
            for one in workers_in(atom, machine.loops):
                if how != "keyed" or "$remote" not in one.fields or _is_one_more(machine, container):
                    machine.note("worker-kept", site, frame, (container, one))
    if stored is not value or any(type(atom) is Obj for atom in stored):
        reached = machine.stores[-1].node if machine.stores and machine.stores[-1].site == site else None
        if reached is not None and any(type(atom) is Obj for atom in stored):
            node: Value = (Tensor(FREE, 1, reached),)
            machine.put(container.fields, "$node", machine.join(container.fields.get("$node", UNKNOWN), node))
    machine.put(container.fields, key, machine.join(container.fields.get(key, UNKNOWN), stored))


def _is_one_more(machine: Machine, table: Obj) -> bool:
    """Whether what is stored under a key does not take the place of another: `refs[step]`, and not `refs[worker]`."""
    return table.kind != "list" and machine.key_kind in (FRESH, IDENTITY)


def _keep_in(frame: Frame, container: Obj, item: Obj, depth: int = 2) -> None:
    """What a container holds lives as long as the container, and so does what is in that."""
    if len(container.birth) < len(item.birth) and item.birth[: len(container.birth)] == container.birth:
        item.birth = container.birth
        for parts in list(item.fields.values()) if depth and item.kind in ("dict", "list", "tuple") else ():
            for part in parts:
                if type(part) is Obj and part.home is not None and part.home[0] is item:
                    _keep_in(frame, item, part, depth - 1)
    if settles(frame, item):
        item.home = (container, "*")


def assign(machine: Machine, frame: Frame, target: Expr, value: Value, site: Site, how: str = "set") -> None:
    """Bind a target: a name, attribute, element, or a pattern of them."""
    op = target[0]
    if op == m.NAME:
        _assign_name(machine, frame, target[1], value, site, how)
    elif op == m.ATTR:
        for owner in machine.eval(frame, target[1]):
            set_attribute(machine, frame, owner, target[2], value, site, how)
    elif op == m.ITEM:
        bind_item(machine, frame, target, value, site, how)
    elif op == m.NEW:
        unpack(machine, frame, target[3], value, site)


def _assign_name(machine: Machine, frame: Frame, name: str, value: Value, site: Site, how: str) -> None:
    scope = machine.scope_of(frame, name)
    birth = scope.births.get(name)
    if birth is None:
        scope.births[name] = birth = machine.loops
    made = value[0] if len(value) == 1 and name in frame.facts.uses else None
    if type(made) is Tensor and made.graph == ATTACHED and is_module_by_use(frame.facts.uses[name], ""):
        value = UNKNOWN  # `net = model.net(config).cuda()` has made a module, and was no pass of one
    outlives = scope is not frame or len(machine.loops) > len(birth)
    if value == NOTHING:
        _note_dropped(machine, frame, scope, name, site)
    if outlives and value:
        held = scope.vars.get(name, UNKNOWN)
        handed_on = _hands_on(machine, held, value)
        there = _is_there(machine, held, value)
        if not there:  # what is put into an object is said of the object: `totals = add(totals, loss)`
            value = store(machine, frame, scope, name, value, how, site)
        there = there or handed_on
        other = any(type(atom) is Obj for atom in value) and not there
        if is_light(value) or value == NOTHING or other:
            machine.reset(frame, scope, name, "replace")
    for atom in value:
        if type(atom) is Obj and (not atom.settled or outlives_its_maker(machine, atom)):
            atom.home = (scope, name)
        elif type(atom) is Mode and len(value) == 1 and scope is not frame.unit.frame:
            machine.note("mode-assigned", site, frame, atom.site)
    machine.put(scope.vars, name, value)


def _note_dropped(machine: Machine, frame: Frame, scope: Frame, name: str, site: Site) -> None:
    """A variable lets go of a module, or of an object or container that may have some: others may still hold it."""
    value = scope.vars.get(name, UNKNOWN)
    if scope is not frame and scope is frame.unit.frame:
        note_dropped_global(machine, frame, scope, name, site)
    if any(type(atom) is Obj and atom.kind in ("module", "instance", "list", "tuple", "dict") for atom in value):
        machine.note("dropped", site, frame, (name, value))


def _is_there(machine: Machine, held: Value, value: Value) -> bool:
    """Whether a variable gets the object that it has, `state = step(state)`, and not another of its kind."""
    return all(type(atom) is Obj and atom in held and machine.loops[-1:] != atom.birth[-1:] for atom in value)


def _hands_on(machine: Machine, held: Value, value: Value) -> bool:
    """Whether what replaces a value has a part of it in a place of its own: `(h.detach(), c)`."""
    parts = [
        part.node
        for atom in value
        if type(atom) is Obj and not atom.is_put_off and atom.kind in ("tuple", "dict")
        for key, inner in atom.fields.items()
        if key[:1] == "["
        for part in inner
        if type(part) is Tensor
    ]
    return bool(parts) and not {tensor.node for tensor in machine.reach(held)}.isdisjoint(parts)


@executes(m.DELETE)
def _delete(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, _site, targets = statement
    for target in targets:
        if target[0] == m.NAME:
            scope = machine.scope_of(frame, target[1])
            _note_dropped(machine, frame, scope, target[1], _site)
            machine.reset(frame, scope, target[1], "clear")
            machine.put(scope.vars, target[1], UNKNOWN)
        elif target[0] == m.ATTR:
            for owner in machine.eval(frame, target[1]):
                if type(owner) is Obj:
                    delete(machine, frame, owner, target[2], _site)
        elif target[0] == m.ITEM:
            key = constant(machine.eval(frame, target[2]))
            for owner in machine.eval(frame, target[1]):
                if type(owner) is Obj:
                    machine.reset(frame, owner, "*", "pop")
                    if owner.kind == "dict" and f"[{key}]" in owner.fields:
                        machine.put(owner.fields, f"[{key}]", UNKNOWN)


Machine.assign = assign
Machine.grow = grow
