"""Abstract evaluation of expressions."""

from __future__ import annotations

from typing import Any

from . import model as m
from .library import arithmetic, comparison, get_attribute, get_builtin
from .machine import Frame, Machine, evaluates
from .model import Expr, Site
from .unknown import imagine_element, imagine_name
from .values import (
    ATTACHED,
    LIGHT,
    OFF,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)

_CONTAINERS = ("list", "tuple", "set", "dict", "deque", "zipped", "generator")
_TENSOR_WORDS = ("Tensor", "Parameter", "Variable", "FloatTensor", "LongTensor", "is_tensor", "Number")


@evaluates(m.CONST)
def _const(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return (Const(expr[1]),)


@evaluates(m.NAME)
def _name(machine: Machine, frame: Frame, expr: Expr) -> Value:
    name = expr[1]
    value = machine.look_up(frame, name)
    if not value and name in machine.used_as_modules:
        return imagine_name(machine, frame, name)
    return get_builtin(name) if value is None else value


@evaluates(m.ATTR)
def _attr(machine: Machine, frame: Frame, expr: Expr) -> Value:
    result: Value = UNKNOWN
    for atom in machine.eval(frame, expr[1]):
        result = machine.join(result, get_attribute(machine, frame, atom, expr[2]))
    return result


@evaluates(m.ITEM)
def _item(machine: Machine, frame: Frame, expr: Expr) -> Value:
    index = machine.eval(frame, expr[2])
    result: Value = UNKNOWN
    for atom in machine.eval(frame, expr[1]):
        result = machine.join(result, _item_of(machine, frame, atom, expr[2], index))
    return result or imagine_element(machine, frame, expr[1])


def _item_of(machine: Machine, frame: Frame, atom: Any, index_expr: Expr, index: Value) -> Value:
    if type(atom) is Tensor:
        return (atom._replace(bundle=False) if index_expr[0] == m.SLICE else atom,)
    if type(atom) is Opaque:
        return (atom,)
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
        if atom.kind == "instance" and isinstance(atom.cls, Class):
            if atom.cls.find("__getitem__") is not None:
                return machine.call_method(frame, atom, "__getitem__", [index], {}, machine.site)
        key = constant(index)
        if key is not ... and f"[{key}]" in atom.fields:
            return read(machine, atom, atom.fields[f"[{key}]"])
        if key is not ... and "*" not in atom.fields and not atom.unknown and atom.kind == "dict":
            return UNKNOWN
        return elements(machine, frame, (atom,))
    return UNKNOWN


def read(machine: Machine, container: Obj, value: Value) -> Value:
    """A value as it comes out of a container: containers inside it are seen through their holder, so that
    back-propagating a part of them counts as using what the holder kept."""
    through = container.fields.get("$node")
    if not through or not any(type(atom) is Obj and atom.kind in _CONTAINERS for atom in value):
        return value
    result: list[Any] = []
    for atom in value:
        if type(atom) is Obj and atom.kind in _CONTAINERS and not atom.fields.get("$view"):
            view = Obj(atom.kind, atom.cls, atom.birth, atom.site, atom.weight)
            view.serial = atom.serial
            view.home = atom.home
            for key, part in atom.fields.items():
                view.fields[key] = tuple(
                    item._replace(node=machine.derivation.node((item.node, through[0].node)))
                    if type(item) is Tensor
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
                if key == "*" or key[0] == "[":
                    result = machine.join(result, read(machine, atom, part))
    return result


def iterate(machine: Machine, frame: Frame, value: Value) -> Value:
    """What going through a value gives."""
    result: Value = UNKNOWN
    for atom in value:
        kind = type(atom)
        if kind is Tensor:
            part: Value = (atom,)
        elif kind is Opaque:
            part = (atom,)
        elif kind is Obj:
            part = _iterate_object(machine, frame, atom)
        else:
            part = UNKNOWN
        result = machine.join(result, part)
    return result


def _iterate_object(machine: Machine, frame: Frame, atom: Obj) -> Value:
    if atom.kind == "zipped":
        row = machine.allocate(frame, ("row", atom.serial), "tuple")
        for key, part in atom.fields.items():
            machine.put(row.fields, key, iterate(machine, frame, part) if part else UNKNOWN)
        return (row,)
    if atom.kind == "dict":
        return LIGHT
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
    whole = target[2][0] == m.SLICE
    for atom in machine.eval(frame, target[1]):
        if type(atom) is not Obj:
            if type(atom) is Tensor and any(type(part) is Tensor and part.graph == ATTACHED for part in value):
                _write_in_place(machine, frame, target[1], atom, value, site)
            continue
        if atom.kind == "module":  # ModuleDict, ParameterDict: what a model is made of
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), value))
            continue
        if whole:
            machine.reset(frame, atom, "*", "trim")
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
        elif how == "augment":
            stored = machine.store(frame, atom, "*", value, how, site)
            machine.put(atom.fields, "*", machine.join(atom.fields.get("*", UNKNOWN), stored))
        else:
            machine.grow(frame, atom, value, site, "*", "keyed")


def _write_in_place(
    machine: Machine, frame: Frame, place: Expr, tensor: Tensor, value: Value, site: Site
) -> None:
    """`buffer[i] = attached`: the buffer joins the graph."""
    if machine.grad == OFF:
        return
    machine.assign(frame, place, arithmetic(machine, ((tensor,), value)), site, how="inplace")


# -- operators ------------------------------------------------------------------------------------


@evaluates(m.ARITH)
def _arith(machine: Machine, frame: Frame, expr: Expr) -> Value:
    left = machine.eval(frame, expr[2])
    right = machine.eval(frame, expr[3])
    if is_light(left) and is_light(right):
        return LIGHT
    if expr[1] == "Add":
        merged = _concatenate(machine, frame, left, right)
        if merged is not None:
            return merged
    if expr[1] == "Multiply":
        for side in (left, right):
            if any(type(atom) is Obj and atom.kind == "list" for atom in side):
                return side
    return arithmetic(machine, (left, right))


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
    return comparison(machine, values)


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
        result = machine.join(result, machine.eval(frame, arm))
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
    return LIGHT


@evaluates(m.SLICE)
def _slice(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return LIGHT


@evaluates(m.AWAIT)
def _await(machine: Machine, frame: Frame, expr: Expr) -> Value:
    return machine.eval(frame, expr[1])


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
    return (Function(machine.facts.functions[expr[1]], frame, None),)


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


@evaluates(m.COMP)
def _comp(machine: Machine, frame: Frame, expr: Expr) -> Value:
    from .statements import loop_kind

    _, ident, kind, element, value_expr, clauses = expr
    obj = _renew(machine, frame, ident, machine.allocate(frame, ident, kind))
    saved = dict(frame.vars)
    journal, machine.journal = machine.journal, None  # its variables are its own
    loops = machine.loops
    for target, iterable, tests in clauses:
        over = machine.eval(frame, iterable)
        if kind != "generator":
            loop = machine.loop_at(frame, ("comp", ident), loop_kind(machine, frame, iterable, over))
            machine.loops = (*loops, loop)
            machine.begin_round(loop)
        machine.assign(frame, target, iterate(machine, frame, over), machine.site)
        for test in tests:
            _, positive, _ = truth(machine, frame, test)
            frame.vars.update({name: value for name, value in positive.items() if value})
    value = machine.eval(frame, element if value_expr is None else value_expr)
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


# -- tests ----------------------------------------------------------------------------------------

Narrowing = dict[str, Value]


def truth(machine: Machine, frame: Frame, test: Expr) -> tuple[bool | None, Narrowing, Narrowing]:
    """What a test's outcome is, if that is known, and what it says about names either way.

    A name narrowed to the empty value means that this outcome cannot be.
    """
    op = test[0]
    if op == m.NOT:
        known, positive, negative = truth(machine, frame, test[1])
        return (None if known is None else not known), negative, positive
    if op == m.BOOL:
        return _truth_of_all(machine, frame, test)
    if op == m.CALL:
        return _truth_of_call(machine, frame, test)
    if op == m.COMPARE:
        return _truth_of_comparison(machine, frame, test)
    value = machine.eval(frame, test)
    if op in (m.CONST, m.NAME):
        known = constant(value)
        if known is None or isinstance(known, bool):
            return bool(known), {}, {}
        if op == m.NAME and test[1] == "TYPE_CHECKING":
            return False, {}, {}
    return None, {}, {}


def _truth_of_all(
    machine: Machine, frame: Frame, test: Expr
) -> tuple[bool | None, Narrowing, Narrowing]:
    both: Narrowing = {}
    outcomes: list[bool | None] = []
    conjunction = test[1] == "and"
    for operand in test[2]:
        known, positive, negative = truth(machine, frame, operand)
        outcomes.append(known)
        both.update(positive if conjunction else negative)
    if conjunction:
        known = False if False in outcomes else (True if all(o is True for o in outcomes) else None)
        return known, both, {}
    known = True if True in outcomes else (False if all(o is False for o in outcomes) else None)
    return known, {}, both


def _truth_of_call(
    machine: Machine, frame: Frame, test: Expr
) -> tuple[bool | None, Narrowing, Narrowing]:
    callee, arguments = test[2], test[3]
    name = callee[-1] if callee[0] in (m.NAME, m.ATTR) else ""
    if name == "is_grad_enabled":
        if machine.grad == OFF:
            return False, {}, {}
        return None, {}, {}
    subject = arguments[0][1] if arguments and arguments[0][0] == m.NAME else None
    if subject is None or name not in ("isinstance", "is_tensor", "hasattr", "issubclass"):
        machine.eval(frame, test)
        return None, {}, {}
    value = machine.eval(frame, arguments[0])
    if not value:
        return None, {}, {}
    if name == "isinstance" and len(arguments) > 1:
        words = _type_words(arguments[1])
        if words & set(_TENSOR_WORDS):
            rest = words - set(_TENSOR_WORDS)
            return _split(subject, value, lambda atom: type(atom) is Tensor or bool(rest and type(atom) is not Tensor))
        if words <= {"float", "int", "str", "bool", "complex", "Number", "NoneType", "bytes"}:
            return _split(subject, value, lambda atom: type(atom) in (Const, Light))
        return None, {}, {}
    if name == "is_tensor":
        return _split(subject, value, lambda atom: type(atom) is Tensor)
    if name == "hasattr" and arguments[1][0] == m.CONST and arguments[1][1] in ("detach", "item", "cpu", "grad_fn"):
        return _split(subject, value, lambda atom: type(atom) is Tensor)
    return None, {}, {}


def _split(name: str, value: Value, holds: Any) -> tuple[bool | None, Narrowing, Narrowing]:
    maybe = tuple(atom for atom in value if type(atom) is Opaque)
    yes = tuple(atom for atom in value if holds(atom)) + maybe
    no = tuple(atom for atom in value if not holds(atom) and type(atom) is not Opaque) + maybe
    return None, {name: yes}, {name: no}


def _type_words(expr: Expr) -> set[str]:
    if expr[0] in (m.NAME, m.ATTR):
        return {expr[-1]}
    if expr[0] == m.NEW:
        return {word for item in expr[3] for word in _type_words(item)}
    if expr[0] == m.ARITH:
        return _type_words(expr[2]) | _type_words(expr[3])
    return set()


def _truth_of_comparison(
    machine: Machine, frame: Frame, test: Expr
) -> tuple[bool | None, Narrowing, Narrowing]:
    operator, left, right = test[1], test[2], test[3]
    if left == (m.NAME, "__name__"):
        return operator == "Equal", {}, {}
    if operator in ("Is", "IsNot") and right == (m.CONST, None):
        value = machine.eval(frame, left)
        nothing = tuple(atom for atom in value if type(atom) is Const and atom.value is None)
        rest = tuple(atom for atom in value if atom not in nothing)
        if left[0] != m.NAME or not value:
            return None, {}, {}
        positive: Narrowing = {left[1]: nothing}
        negative: Narrowing = {left[1]: rest}
        if nothing and not rest:
            return operator == "Is", {}, {}
        if rest and not nothing and all(type(atom) in (Obj, Tensor, Function) for atom in rest):
            known = operator == "IsNot"
            return (known if not any(type(a) is Obj and a.unknown for a in rest) else None), {}, {}
        if not nothing:
            return None, {}, {}
        return (None, positive, negative) if operator == "Is" else (None, negative, positive)
    left_value = machine.eval(frame, left)
    right_value = machine.eval(frame, right)
    known_left, known_right = constant(left_value), constant(right_value)
    if (
        operator in ("Equal", "NotEqual")
        and isinstance(known_left, str)
        and isinstance(known_right, str)
        and left[0] == m.NAME
    ):
        return (known_left == known_right) is (operator == "Equal"), {}, {}
    return None, {}, {}


Machine.iterate = iterate  # type: ignore[method-assign]
Machine.elements = elements  # type: ignore[method-assign]
