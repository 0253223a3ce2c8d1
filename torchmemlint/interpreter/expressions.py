"""Abstract evaluation of expressions: names, attributes, operators."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr
from .attributes import get_attribute
from .elements import elements, iterate
from .frames import Frame
from .imagined import imagine_name
from .library import get_builtin
from .machine import EVALUATE, Machine, evaluates
from .narrowing import perhaps, truth
from .own_operators import by_own_operator
from .parts import note_items
from .settings import asks_for_a_text, is_certain
from .tensors import arithmetic, comparison, note_terms
from .values import (
    AN_ARRAY,
    ARRAY,
    COUNT,
    IDENT,
    LIGHT,
    UNKNOWN,
    Caught,
    Const,
    Function,
    Imported,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)
from .web_apps import current_application

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
    if expr[2] == "app" and not owners:
        return current_application(machine)  # `request.app`
    if expr[2] == "name" and owners and all(type(atom) is Obj and atom.kind == "field" for atom in owners):
        return tuple(name for atom in owners for name in atom.fields["name"])  # one of these, and no other text
    result: Value = UNKNOWN
    for atom in owners:
        result = machine.join(result, get_attribute(machine, frame, atom, expr[2]))
    return result


# -- operators ------------------------------------------------------------------------------------


@evaluates(m.ARITH)
def _arith(machine: Machine, frame: Frame, expr: Expr) -> Value:
    left: Value = EVALUATE[expr[2][0]](machine, frame, expr[2])
    right: Value = EVALUATE[expr[3][0]](machine, frame, expr[3])
    if expr[1] == "Modulo" and left and all(type(atom) is Const and isinstance(atom.value, str) for atom in left):
        return LIGHT  # `"%.3f" % loss`
    if is_light(left) and is_light(right):
        if AN_ARRAY in left or AN_ARRAY in right:
            return ARRAY
        return _number_or_text(expr[1], left, right)
    if expr[1] == "Add" and (_is_text(left) or _is_text(right)):
        machine.derivation.refuted.update(atom.node for atom in (*left, *right) if type(atom) is Tensor)
        return LIGHT  # `"label: " + label`
    if expr[1] == "Add":
        merged = _concatenate(machine, frame, left, right)
        if merged is not None:
            return merged
    if expr[1] == "Multiply":
        for side in (left, right):
            if any(type(atom) is Obj and atom.kind == "list" for atom in side):
                return side
    own = by_own_operator(machine, frame, expr[1], left, right)
    if own:
        return own
    result = arithmetic(machine, (left, right))
    note_terms(machine, expr[1], left, right, result)
    return result


_ONE_TO_ONE = ("Add", "Subtract", "Multiply")  # with a number: another one for each


def _is_text(value: Value) -> bool:
    return isinstance(constant(value), str)


def _number_or_text(operator: str, left: Value, right: Value) -> Value:
    """`"request-" + str(count)`: as new as what is in it; `"on_" + event` is known if both are."""
    texts = constant(left), constant(right)
    if operator == "Add" and isinstance(texts[0], str) and isinstance(texts[1], str):
        return (Const(texts[0] + texts[1]),)
    if IDENT in left or IDENT in right:
        return (IDENT,)
    for one, other in ((left, right), (right, left)):
        if COUNT in one and operator == "Add" and isinstance(constant(other), str):
            return (COUNT,)
        if COUNT in one and operator in _ONE_TO_ONE and type(constant(other)) is int and constant(other) != 0:
            return (COUNT,)  # `64 + i`
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
    if not expr[4] and asks_for_a_text(expr) and all(map(_is_text, values)) and is_certain(frame, expr[2][1]):
        return (Const((values[0] == values[1]) is (expr[1] == "Equal")),)
    return LIGHT if expr[1] in _OF_OBJECTS else comparison(machine, values)


@evaluates(m.NOT)
def _not(machine: Machine, frame: Frame, expr: Expr) -> Value:
    known = constant(machine.eval(frame, expr[1]))
    return (Const(not known),) if isinstance(known, bool) else LIGHT


@evaluates(m.BOOL)
def _bool(machine: Machine, frame: Frame, expr: Expr) -> Value:
    result: Value = UNKNOWN
    for operand in expr[2]:
        value = machine.eval(frame, operand)
        if machine.tried and expr[1] == "and" and operand is not expr[2][-1]:  # an error is true: the next one it is
            value = tuple(atom for atom in value if type(atom) is not Caught)
        if expr[1] == "or" and operand is not expr[2][-1] and any(type(atom) is Const for atom in value):
            value = tuple(atom for atom in value if type(atom) is not Const or atom.value)  # `name or cls.__name__`
        result = machine.join(result, value)
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
        if _is_number_of(expr[3 if wanted else 2], arm) and any(type(atom) in (Const, Light) for atom in value):
            value = tuple(atom for atom in value if type(atom) is not Tensor)  # of `loss.item() if used else loss`
        result = machine.join(result, value)
        for name, old in saved.items():
            if old is None:
                frame.vars.pop(name, None)
            else:
                frame.vars[name] = old
    return result


def _is_number_of(expr: Expr, place: Expr) -> bool:
    """`loss.item()`, beside `loss` itself: where that is asked for, it is a number already, if it is ever one."""
    return bool(expr[0] == m.CALL and expr[2] == (m.ATTR, place, "item"))


@evaluates(m.UNARY)
def _unary(machine: Machine, frame: Frame, expr: Expr) -> Value:
    value = machine.eval(frame, expr[1])
    return value if is_light(value) else arithmetic(machine, (value,))


@evaluates(m.TEXT)
def _text(machine: Machine, frame: Frame, expr: Expr) -> Value:
    """Of a formatted string that may be a key the parts are known: what they make, if they are constants, and whether
    one of them is new each time."""
    if len(expr) == 1:
        return LIGHT
    values = [machine.eval(frame, part) for part in expr[1]]
    parts = [constant(value) for value in values]
    if all(type(part) in (str, int) for part in parts):
        return (Const("".join(map(str, parts))),)
    return next(((kind,) for kind in (IDENT, COUNT) if any(kind in value for value in values)), LIGHT)


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
        frame.yielded_in = machine.loops[len(frame.loops) :]
        note_items(machine, frame.yielded_in, value)
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
