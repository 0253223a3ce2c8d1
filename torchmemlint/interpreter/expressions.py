"""Abstract evaluation of expressions."""

from __future__ import annotations

import functools
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site
from .attributes import get_attribute, get_by_name, set_by_name
from .containers import a_key_of, keys_of
from .cycles import refers_to
from .holders import KNOWN, kind_of_key
from .library import get_builtin
from .machine import EVALUATE, Frame, Machine, evaluates
from .narrowing import perhaps, truth
from .parts import ROW, kind_of, take
from .tensors import arithmetic, comparison, note_terms
from .unknown import imagine_element, imagine_name
from .values import (
    AN_ARRAY,
    ARRAY,
    ATTACHED,
    COUNT,
    FEW,
    FREE,
    IDENT,
    LIGHT,
    OFF,
    SERIES,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Imported,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)

_ASKED = (Imported, Opaque)  # more has to be found out about
_OF_OBJECTS = ("Is", "IsNot", "In", "NotIn")  # comparisons that give True or False, whatever is compared


@evaluates(m.CONST)
def _const(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return (Const(expr[1]),)


@evaluates(m.NAME)
def _name(machine: Machine, frame: Frame, expr: Expr) -> Value:
    name = expr[1]
    value = frame.vars.get(name)
    if value and name not in frame.outer and len(value) == 1 and type(value[0]) not in _ASKED:
        return value  # most are plain locals
    value = machine.look_up(frame, name)
    unseen = not value or (
        len(value) == 1 and type(value[0]) is Opaque
    )  # what unknown code gave, as `initialize(model)`
    if unseen and name in machine.used_as_modules and frame.unit is machine.home:
        return imagine_name(machine, frame, name)
    return get_builtin(name) if value is None else value


@evaluates(m.ATTR)
def _attr(machine: Machine, frame: Frame, expr: Expr) -> Value:
    owners = EVALUATE[expr[1][0]](machine, frame, expr[1])
    if len(owners) == 1:
        return get_attribute(machine, frame, owners[0], expr[2])
    result: Value = UNKNOWN
    for atom in owners:
        result = machine.join(result, get_attribute(machine, frame, atom, expr[2]))
    return result


@evaluates(m.ITEM)
def _item(machine: Machine, frame: Frame, expr: Expr) -> Value:
    index = machine.eval(frame, expr[2])
    if _is_table_of_attributes(expr):
        name = constant(index)
        if isinstance(name, str):
            return machine.eval(frame, (m.ATTR, expr[1][1], name))
        return get_by_name(machine, frame, machine.eval(frame, expr[1][1]))
    result: Value = UNKNOWN
    for atom in machine.eval(frame, expr[1]):
        if type(atom) is Tensor:
            atom = take(machine, frame, atom, expr[1], kind_of(machine, frame, expr[2], index))
        result = machine.join(result, _item_of(machine, frame, atom, expr[2], index))
    return result or imagine_element(machine, frame, expr[1])


def _is_table_of_attributes(item: Expr) -> bool:
    """`self._buffers["mean"]` is `self.mean` [docs: torch.nn.Module.register_buffer]."""
    return item[1][0] == m.ATTR and item[1][2] in ("_buffers", "_parameters") and item[2][0] != m.SLICE


def _item_of(machine: Machine, frame: Frame, atom: Any, index_expr: Expr, index: Value) -> Value:
    if type(atom) is Tensor:
        if index_expr[0] != m.SLICE:
            return (atom,)
        return (atom._replace(bundle=False, size=FEW if _few(index_expr) else atom.size),)
    if type(atom) is Opaque:
        return (atom._replace(node=machine.derivation.node((atom.node,))),)
    if type(atom) is Class:
        return (atom,)  # Generic[T]
    if type(atom) is External:
        return UNKNOWN
    if type(atom) is Obj:
        if index_expr[0] == m.SLICE:
            if atom.kind == "module":
                return (atom,)
            copy = machine.allocate(frame, ("slice", atom.serial), "list")
            machine.put(copy.fields, "*", elements(machine, frame, (atom,)))
            return (copy,)
        if atom.kind == "instance" and isinstance(atom.cls, Class) and atom.cls.find("__getitem__") is not None:
            return machine.call_method(frame, atom, "__getitem__", [index], {}, machine.site)
        key = constant(index)
        if key is not ... and f"[{key}]" in atom.fields:
            return read(machine, atom, atom.fields[f"[{key}]"])
        if key is not ... and "*" not in atom.fields and not atom.unknown and atom.kind == "dict":
            return UNKNOWN
        return elements(machine, frame, (atom,))
    if atom == AN_ARRAY and _slices(index_expr):
        return (atom,)
    return (atom,) if atom == COUNT else UNKNOWN  # `uuid4().hex[:8]`


def _slices(index: Expr) -> bool:
    """`image[top:bottom, left:right]`"""
    return index[0] == m.SLICE or (index[0] == m.NEW and any(item[0] == m.SLICE for item in index[3]))


def _few(index: Expr) -> bool:
    """`x[:2]`: a few rows, however many there are."""
    upper = index[2]
    return index[1] is None and upper is not None and upper[0] == m.CONST and type(upper[1]) is int and 0 < upper[1] < 9


def read(machine: Machine, container: Obj, value: Value) -> Value:
    """A value as it comes out of a container: containers inside it are seen through their holder, so that
    back-propagating a part of them counts as using what the holder kept."""
    through = container.fields.get("$node")
    if not through or not any(type(atom) is Obj and atom.kind in SERIES for atom in value):
        return value
    result: list[Any] = []
    for atom in value:
        if type(atom) is Obj and atom.kind in SERIES and not atom.fields.get("$view"):
            parts = [item for part in atom.fields.values() for item in part if type(item) is Tensor]
            mixed = any(item.graph == ATTACHED for item in parts)  # what has no graph asks nothing of what has one
            view = Obj(atom.kind, atom.cls, atom.birth, atom.site, atom.weight)
            view.serial = atom.serial
            view.home = atom.home
            for key, part in atom.fields.items():
                view.fields[key] = tuple(
                    item._replace(node=machine.derivation.node((item.node, through[0].node)))
                    if type(item) is Tensor and not (mixed and item.graph == FREE)
                    else item
                    for item in part
                )
            view.fields["$view"] = LIGHT
            result.append(view)
        else:
            result.append(atom)
    return tuple(result)


def elements(machine: Machine, frame: Frame, value: Value) -> Value:
    """What the elements of a container may be."""
    result: Value = UNKNOWN
    for atom in value:
        if type(atom) is Obj:
            for key, part in atom.fields.items():
                if key == "*" or key[:1] == "[":
                    result = machine.join(result, read(machine, atom, part))
    return result


def iterate(machine: Machine, frame: Frame, value: Value) -> Value:
    """What going through a value gives."""
    result: Value = UNKNOWN
    for atom in value:
        kind = type(atom)
        if kind is Tensor:
            each: Value = (take(machine, frame, atom, None, ROW),)
        elif kind is Opaque:
            each = (atom._replace(node=machine.derivation.node((atom.node,))),)
        elif kind is Obj:
            each = _iterate_object(machine, frame, atom)
        else:
            each = UNKNOWN
        result = machine.join(result, each)
    return result


def _iterate_object(machine: Machine, frame: Frame, atom: Obj) -> Value:
    if atom.kind == "zipped":
        row = machine.allocate(frame, ("row", atom.serial), "tuple")
        for key, part in atom.fields.items():
            machine.put(row.fields, key, iterate(machine, frame, part) if part else UNKNOWN)
        return (row,)
    if atom.kind == "dict":
        return keys_of(atom)
    if atom.kind == "loader":
        return (Tensor(3, 1, machine.derivation.node(), "", True),)
    if atom.kind == "instance" and isinstance(atom.cls, Class):
        for name in ("__iter__", "__getitem__"):
            if atom.cls.find(name) is not None:
                given: list[Value] = [] if name == "__iter__" else [LIGHT]
                made = machine.call_method(frame, atom, name, given, {}, machine.site)
                if name == "__iter__" and atom in made:
                    made = machine.call_method(frame, atom, "__next__", [], {}, machine.site)
                    return made
                return iterate(machine, frame, made) if name == "__iter__" else made
    return elements(machine, frame, (atom,))


def bind_item(machine: Machine, frame: Frame, target: Expr, value: Value, site: Site, how: str) -> None:
    """`container[key] = value`."""
    index = machine.eval(frame, target[2])
    key = constant(index)
    if _is_table_of_attributes(target):
        if isinstance(key, str):
            machine.assign(frame, (m.ATTR, target[1][1], key), value, site, how)
        else:
            set_by_name(machine, frame, machine.eval(frame, target[1][1]), value, site)
        return
    whole = target[2][0] == m.SLICE
    for atom in machine.eval(frame, target[1]):
        if type(atom) is not Obj:
            attached = any(type(part) is Tensor and part.graph == ATTACHED for part in value)
            if type(atom) is Tensor and attached:
                _write_in_place(machine, frame, target[1], atom, value, site, "augment" if how == "augment" else "fill")
            elif (
                type(atom) is Tensor and key == "loss" and machine.derivation.labels.get(atom.node, ("",))[0] == "step"
            ):
                machine.derivation.refuted.add(atom.node)  # the one part of a step's output that must have a graph
            continue
        if atom.kind == "module":  # ModuleDict, ParameterDict: what a model is made of
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), value))
            continue
        if isinstance(atom.cls, Class) and atom.cls.find("__setitem__") is not None:
            machine.call_method(frame, atom, "__setitem__", [index, value], {}, site)
            continue
        if whole:
            machine.reset(frame, atom, "*", "trim")
            if not any(target[2][1:]):  # `kept[:] = new`
                inner = machine.store(frame, atom, "*", elements(machine, frame, value), "set", site)
                machine.put(atom.fields, "*", inner)
                continue
        if key is not ...:
            field = f"[{key}]"
            outlives = len(machine.loops) > len(atom.birth)
            if outlives:
                value = machine.store(frame, atom, field, value, how, site)
                if is_light(value):
                    machine.reset(frame, atom, field, "replace")
            for part in value:
                if type(part) is Obj and part.home is None:
                    part.home = (atom, field)
                    if len(atom.birth) < len(part.birth) and not outlives:
                        part.birth = atom.birth
            machine.put(atom.fields, field, value)
        elif how in ("augment", "grow"):
            stored = machine.store(frame, atom, "*", value, how, site)
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), stored))
        else:
            machine.key_kind = KNOWN if a_key_of(atom) in index else kind_of_key(index, target[2], frame)
            if "$weak" in atom.fields and refers_to(machine, value, index):
                machine.note("weak-held", site, frame, (atom, index))
            machine.grow(frame, atom, value, site, "*", "keyed")


def _write_in_place(
    machine: Machine, frame: Frame, place: Expr, tensor: Tensor, value: Value, site: Site, how: str
) -> None:
    """`buffer[i] = attached`: the buffer joins the graph."""
    if machine.grad == OFF or machine.derivation.is_whole(tensor.node):
        return
    machine.assign(frame, place, arithmetic(machine, ((tensor,), value)), site, how=how)


# -- operators ------------------------------------------------------------------------------------


@evaluates(m.ARITH)
def _arith(machine: Machine, frame: Frame, expr: Expr) -> Value:
    left: Value = EVALUATE[expr[2][0]](machine, frame, expr[2])
    right: Value = EVALUATE[expr[3][0]](machine, frame, expr[3])
    if is_light(left) and is_light(right):
        if AN_ARRAY in left or AN_ARRAY in right:
            return ARRAY
        return _number_or_text(expr[1], left, right)
    if expr[1] == "Add":
        merged = _concatenate(machine, frame, left, right)
        if merged is not None:
            return merged
    if expr[1] == "Multiply":
        for side in (left, right):
            if any(type(atom) is Obj and atom.kind == "list" for atom in side):
                return side
    result = arithmetic(machine, (left, right))
    note_terms(machine, expr[1], left, right, result)
    return result


def _number_or_text(operator: str, left: Value, right: Value) -> Value:
    """`"request-" + str(count)`: as new as what is in it."""
    if IDENT in left or IDENT in right:
        return (IDENT,)
    for one, other in ((left, right), (right, left)):
        if COUNT in one and operator == "Add" and isinstance(constant(other), str):
            return (COUNT,)
    return LIGHT


def _concatenate(machine: Machine, frame: Frame, left: Value, right: Value) -> Value | None:
    lists = [atom for atom in left + right if type(atom) is Obj and atom.kind in ("list", "tuple")]
    if not lists:
        return None
    merged = machine.allocate(frame, ("sum", machine.site, lists[0].serial), "list")
    for atom in lists:
        part = elements(machine, frame, (atom,))
        machine.put(merged.fields, "*", machine.join(merged.fields.get("*", UNKNOWN), part))
        if "$node" in atom.fields:
            machine.put(merged.fields, "$node", atom.fields["$node"])
    return (merged,)


@evaluates(m.COMPARE)
def _compare(machine: Machine, frame: Frame, expr: Expr) -> Value:
    values = [machine.eval(frame, expr[2]), machine.eval(frame, expr[3])]
    values += [machine.eval(frame, rest) for rest in expr[4]]
    return LIGHT if expr[1] in _OF_OBJECTS else comparison(machine, values)


@evaluates(m.NOT)
def _not(machine: Machine, frame: Frame, expr: Expr) -> Value:
    machine.eval(frame, expr[1])
    return LIGHT


@evaluates(m.BOOL)
def _bool(machine: Machine, frame: Frame, expr: Expr) -> Value:
    result: Value = UNKNOWN
    for operand in expr[2]:
        result = machine.join(result, machine.eval(frame, operand))
    return result


@evaluates(m.COND)
def _cond(machine: Machine, frame: Frame, expr: Expr) -> Value:
    known, positive, negative = truth(machine, frame, expr[1])
    result: Value = UNKNOWN
    for wanted, narrowing, arm in ((True, positive, expr[2]), (False, negative, expr[3])):
        if known is not None and known is not wanted:
            continue
        saved = {name: frame.vars.get(name) for name in narrowing}
        if any(not value for value in narrowing.values()):
            continue
        frame.vars.update(narrowing)
        value = machine.eval(frame, arm)
        if not wanted and arm[0] == m.NAME and arm[1] in narrowing:
            value = tuple(map(perhaps, value))  # `x.detach() if isinstance(x, Tensor) else x`: what is no tensor
        result = machine.join(result, value)
        for name, old in saved.items():
            if old is None:
                frame.vars.pop(name, None)
            else:
                frame.vars[name] = old
    return result


@evaluates(m.UNARY)
def _unary(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = machine.eval(frame, expr[1])
    return value if is_light(value) else arithmetic(machine, (value,))


@evaluates(m.TEXT)
def _text(machine: Machine, frame: Frame, expr: Expr) -> Value:
    """Of a formatted string that is a key the parts are known: what they make, if they are constants."""
    if len(expr) == 1:
        return LIGHT
    parts = [constant(machine.eval(frame, part)) for part in expr[1]]
    return (Const("".join(map(str, parts))),) if all(type(part) in (str, int) for part in parts) else LIGHT


@evaluates(m.SLICE)
def _slice(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return LIGHT


@evaluates(m.AWAIT)
def _await(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = machine.eval(frame, expr[1])
    if any(type(atom) is Obj and atom.kind == "future" for atom in value):
        return elements(machine, frame, value)
    return value


@evaluates(m.STAR)
def _star(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return iterate(machine, frame, machine.eval(frame, expr[1]))


@evaluates(m.WALRUS)
def _walrus(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = machine.eval(frame, expr[2])
    machine.assign(frame, expr[1], value, machine.site)
    return value


@evaluates(m.YIELD)
def _yield(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = UNKNOWN if expr[1] is None else machine.eval(frame, expr[1])
    if frame.on_yield is not None:
        frame.on_yield(value)
    else:
        frame.yields = machine.join(frame.yields, value)
    return UNKNOWN


@evaluates(m.YIELD_FROM)
def _yield_from(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = machine.eval(frame, expr[1])
    frame.yields = machine.join(frame.yields, iterate(machine, frame, value))
    return UNKNOWN


@evaluates(m.LAMBDA)
def _lambda(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return (Function(frame.unit.facts.functions[expr[1]], frame, None),)


# -- displays -------------------------------------------------------------------------------------


@evaluates(m.NEW)
def _new(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, ident, kind, items = expr
    obj = machine.allocate(frame, ident, kind)
    obj = _renew(machine, frame, ident, obj)
    starred = False
    for index, item in enumerate(items):
        value = machine.eval(frame, item)
        starred = starred or item[0] == m.STAR
        key = "*" if starred or index >= 8 or kind == "set" else f"[{index}]"
        if key == "*":
            value = machine.join(obj.fields.get("*", UNKNOWN), value)
        _settle(obj, key, value)
        machine.put(obj.fields, key, value)
    return (obj,)


def _settle(holder: Obj, key: str, value: Value) -> None:
    """What a display is made of lives in it."""
    for atom in value:
        if type(atom) is Obj and atom.home is None and atom.kind != "module":
            atom.home = (holder, key)


def _renew(machine: Machine, frame: Frame, ident: int, obj: Obj) -> Obj:
    """A display makes an empty object each time: what an earlier round put in belongs to another one."""
    if obj.stays:
        machine.made_again(obj)
        return obj
    for key in list(obj.fields):
        machine.put(obj.fields, key, UNKNOWN)
    return obj


@evaluates(m.DICT)
def _dict(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, ident, pairs = expr
    obj = _renew(machine, frame, ident, machine.allocate(frame, ident, "dict"))
    for key, item in pairs:
        value = machine.eval(frame, item)
        if key is None:
            for atom in value:
                if type(atom) is Obj:
                    for field, part in atom.fields.items():
                        machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), part))
            continue
        name = constant(machine.eval(frame, key))
        field = "*" if name is ... else f"[{name}]"
        _settle(obj, field, value)
        machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), value))
    return (obj,)


def _entries(machine: Machine, frame: Frame, expr: Expr) -> list[dict[str, Value]] | None:
    """What each round binds, where a dictionary is made by going through the keys, or `items()`, of one whose keys are
    all known."""
    _, _, kind, _, value, clauses = expr
    target, iterable, _ = clauses[0]
    if kind != "dict" or value is None or len(clauses) > 1:
        return None
    method = iterable[2][2] if iterable[0] == m.CALL and iterable[2][0] == m.ATTR and not iterable[3] else ""
    over = machine.eval(frame, iterable[2][1] if method in ("items", "keys") else iterable)
    if len(over) != 1 or type(over[0]) is not Obj or over[0].kind != "dict" or "*" in over[0].fields:
        return None
    entries = {key[1:-1]: part for key, part in over[0].fields.items() if key[:1] == "["}
    if method == "items":
        pair: tuple[Expr, ...] = target[3] if target[0] == m.NEW else ()
        if len(pair) != 2 or any(name[0] != m.NAME for name in pair):
            return None
        return [{pair[0][1]: (Const(key),), pair[1][1]: part} for key, part in entries.items()] or None
    if target[0] != m.NAME or over[0].unknown:
        return None
    return [{target[1]: (Const(key),)} for key in entries] or None


def _comp_of_entries(machine: Machine, frame: Frame, expr: Expr, entries: list[dict[str, Value]]) -> Value:
    """A dictionary made of another one, entry by entry: `{k: v if k == "n" else v.detach() for k, v in it.items()}`,
    `{k: torch.stack([item[k] for item in items]) for k in items[0]}`."""
    _, ident, kind, element, value_expr, ((_, _, tests),) = expr
    obj = _renew(machine, frame, ident, machine.allocate(frame, ident, kind))
    saved = dict(frame.vars)
    journal, machine.journal = machine.journal, None  # its variables are its own
    made: dict[str, Value] = {}
    for entry in entries:
        frame.vars.update(entry)
        if any(truth(machine, frame, test)[0] is False for test in tests):
            continue
        value = machine.eval(frame, value_expr)
        key = constant(machine.eval(frame, element))
        field = "*" if key is ... else f"[{key}]"
        made[field] = machine.join(made.get(field, UNKNOWN), value)
    machine.journal = journal
    frame.vars.clear()
    frame.vars.update(saved)
    for field, value in made.items():
        _settle(obj, field, value)
        machine.put(obj.fields, field, value)
    return (obj,)


@evaluates(m.COMP)
def _comp(machine: Machine, frame: Frame, expr: Expr) -> Value:
    if expr[2] != "generator":
        return _collect(machine, frame, expr)
    if machine.grad == OFF:
        return (machine.generate_later(frame, expr[1], functools.partial(_generate, machine, frame, expr)),)
    return _generate(machine, frame, expr)


def _generate(machine: Machine, frame: Frame, expr: Expr) -> Value:
    outer, machine.generating = machine.generating, len(machine.loops)
    made = _collect(machine, frame, expr)
    machine.generating = outer
    return made


def _collect(machine: Machine, frame: Frame, expr: Expr) -> Value:
    from .statements import loop_kind, take_steps

    _, ident, kind, element, value_expr, clauses = expr
    entries = _entries(machine, frame, expr)
    if entries is not None:
        return _comp_of_entries(machine, frame, expr, entries)
    first = machine.eval(frame, clauses[0][1])
    item = iterate(machine, frame, first)  # before `obj` is emptied: it may be in what is gone through
    obj = _renew(machine, frame, ident, machine.allocate(frame, ident, kind))
    saved = dict(frame.vars)
    journal, machine.journal = machine.journal, None  # its variables are its own
    loops = machine.loops
    for number, (target, iterable, tests) in enumerate(clauses):
        over = machine.eval(frame, iterable) if number else first
        loop = machine.loop_at(frame, ("comp", ident), loop_kind(machine, frame, iterable, over))
        machine.loops = (*loops, loop)
        machine.begin_round(loop)
        machine.assign(frame, target, iterate(machine, frame, over) if number else item, machine.site)
        for test in tests:
            _, positive, _ = truth(machine, frame, test)
            frame.vars.update({name: value for name, value in positive.items() if value})
    value = machine.eval(frame, element if value_expr is None else value_expr)
    take_steps(machine, machine.loops[-1], over)
    key = constant(machine.eval(frame, element)) if value_expr is not None else ...
    field = "*" if key is ... else f"[{key}]"
    if kind != "generator":
        value = machine.store(frame, obj, field, value, "grow", machine.site)
    machine.loops = loops
    machine.journal = journal
    frame.vars.clear()
    frame.vars.update(saved)
    _settle(obj, field, value)
    machine.put(obj.fields, field, value)
    return (obj,)


Machine.iterate = iterate
Machine.elements = elements
