"""Dictionaries whose keys are weak references: an entry goes with what its key stands for, unless its value keeps that.

`WeakKeyDictionary` is one; so is a dictionary with `weakref.ref(x, callback)` as keys, where the callback takes the
key out.
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.knowledge import MAYBE_ITSELF
from ..facts.model import Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.program import keyword, targets
from ..facts.walk import expressions_of, statements
from .arguments import argument
from .cycles import refers_to
from .frames import Frame
from .holders import captured
from .machine import Machine
from .values import CONTAINERS, LIGHT, Class, External, Function, Obj, Partial, Tensor, Value
from .weak_values import is_made_with

_MOST = 40  # values that are looked at
_TAKES_OUT = ("pop", "discard", "remove", "__delitem__")


def note_weak_key(
    machine: Machine, frame: Frame, table: Obj, target: Expr, index: Value, value: Value, site: Site
) -> None:
    """Of `table[key] = value`: whether the key is weak, and whether the value keeps what it stands for."""
    referent = _referent(machine, frame, target[2])
    if referent is not None:
        machine.put(table.fields, "$weak", LIGHT)
    note_inside(machine, frame, table, value, site)
    if "$weak" not in table.fields:
        return
    key = target[2] if referent is None else referent
    weak = index if key is target[2] or key[0] != m.NAME else machine.eval(frame, key)
    known = machine.under_weak_keys
    fresh = tuple(atom for atom in value if type(atom) is not Obj or atom not in known)  # of others it was said inside
    note_first(machine, weak, value)
    if refers_to(machine, fresh, weak) or _closes_over(fresh, weak):
        machine.note("weak-held", site, frame)
        return
    statement = _statement_at(frame.facts, site)
    if statement is not None and statement[0] == m.ASSIGN:
        seen = any(type(atom) is Obj for atom in weak)
        if not seen and is_made_with(machine, frame, key, statement[3], site):
            machine.note("weak-held", site, frame)
        else:
            _note_itself(machine, frame, key, statement[3], site)


def _closes_over(value: Value, key: Value) -> bool:
    """Whether a value is a closure, or a partial, over the tensor that is its key: a tensor is known by its node. Of
    one that is the value, or was made from the key, `_note_itself` says more."""
    nodes = {atom.node for atom in key if type(atom) is Tensor}
    queue = [atom for atom in value if type(atom) is not Tensor] if nodes else []
    for _ in range(_MOST):
        if not queue:
            break
        atom = queue.pop()
        if type(atom) is Tensor and atom.node in nodes:
            return True
        if type(atom) is Partial:
            queue += [part for given in (atom.callee, *atom.args, *(one for _, one in atom.kwargs)) for part in given]
        elif type(atom) is Function and atom.facts.owner < 0:
            queue += [part for _, bound in captured(atom) for part in bound]
    return False


def note_first(machine: Machine, key: Value, value: Value) -> None:
    """Of containers that weak keys get: what is put into them later may keep the keys."""
    for atom in value:
        if type(atom) is Obj and atom.kind in CONTAINERS:
            machine.under_weak_keys[atom] = key


def note_inside(machine: Machine, frame: Frame, inner: Obj, value: Value, site: Site) -> None:
    """Of a container that is the value of a weak key: `TABLE.setdefault(model, {})[name] = Patched(model)`."""
    key = machine.under_weak_keys.get(inner)
    if key is not None and refers_to(machine, value, key):
        machine.note("weak-held", site, frame)


def _referent(machine: Machine, frame: Frame, key: Expr) -> Expr | None:
    """`x` of `weakref.ref(x, callback)`, where the callback takes something out of a container."""
    if key[0] == m.NAME:
        bound = [one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and one[2] == (key,)]
        key = bound[0] if len(bound) == 1 else key
    if key[0] != m.CALL or not key[3]:
        return None
    callback = keyword(key, "callback", 1)
    if callback is None or not any(_takes_out(one) for one in _functions(frame, callback)):
        return None
    made = machine.eval(frame, key[2]) if key[2][0] in (m.NAME, m.ATTR) else ()
    weak = any(
        (type(atom) is External and _is_reference(atom.dotted))
        or (type(atom) is Class and any(map(_is_reference, atom.external)))
        for atom in made
    )
    return key[3][0] if weak else None


def _is_reference(dotted: str) -> bool:
    return dotted in ("weakref.ref", "weakref.ReferenceType", "weakref.KeyedRef")


def _functions(frame: Frame, callback: Expr) -> list[FunctionFacts]:
    """What a callback may be, by the text: a lambda, a function or method of the file."""
    functions = frame.unit.facts.functions
    if callback[0] == m.LAMBDA:
        return [functions[callback[1]]]
    return [one for one in functions if callback[0] in (m.NAME, m.ATTR) and one.name == callback[-1]]


def _takes_out(function: FunctionFacts) -> bool:
    deletes = any(one[0] == m.DELETE for one in statements(function.body))
    return deletes or not set(_TAKES_OUT).isdisjoint(function.calls)


def _note_itself(machine: Machine, frame: Frame, key: Expr, value: Expr, site: Site) -> None:
    """`table[x] = x.to(device)`: where there is nothing to do, that is `x`."""
    for _ in range(3):
        given = _given(frame, key, value)
        if given is None or frame.caller is None:
            break
        site, frame = frame.call_site, frame.caller
        key, value = given
    if _may_be_itself(frame.facts, key, value, site):
        machine.note("weak-itself", site, frame, value)


def _given(frame: Frame, key: Expr, value: Expr) -> tuple[Expr, Expr] | None:
    """What the caller gives for two parameters: `owner.put(x, y)`, `owner[x] = y`."""
    if key[0] != m.NAME or value[0] != m.NAME or frame.caller is None:
        return None
    params = [param.name for param in frame.facts.params]
    if frame.name == "__setitem__" and params[1:3] == [key[1], value[1]]:
        statement = _statement_at(frame.caller.facts, frame.call_site)
        if statement is not None and statement[0] == m.ASSIGN:
            return next(((one[2], statement[3]) for one in statement[2] if one[0] == m.ITEM), None)
    one, other = argument(frame, key[1]), argument(frame, value[1])
    return None if one is None or other is None else (one, other)


def _may_be_itself(facts: FunctionFacts, key: Expr, value: Expr, site: Site) -> bool:
    """Whether a value is what a conversion of its key gives, and nobody asks whether that is the key. On another way
    its name may be bound to the entry that is there already."""
    if key[0] != m.NAME or any(_compares(one, key, value) for one in statements(facts.body)):
        return False
    if value[0] == m.NAME:
        bound = [one for one in statements(facts.body) if value in targets(one) and one[0] == m.ASSIGN]
        value = next((one[3] for one in reversed(bound) if one[1] < site), value)
    if value[0] != m.CALL or value[2][0] != m.ATTR or value[2][1] != key or value[2][2] not in MAYBE_ITSELF:
        return False
    given = [*value[3], *(one for _, one in value[4])]
    return not any(name == "copy" for name, _ in value[4]) and not any(one[0] == m.CONST for one in given)


def _compares(statement: Stmt, one: Expr, other: Expr) -> bool:
    return any(node[0] == m.COMPARE and {node[2], node[3]} == {one, other} for node in expressions_of(statement))


def _statement_at(facts: FunctionFacts, site: Site) -> Stmt | None:
    number = statement_of(site)
    return next((one for one in statements(facts.body) if statement_of(one[1]) == number), None)
