"""Tests: what their outcome is where that is known, and what they say about names either way."""

from __future__ import annotations

import functools
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import targets
from ..facts.type_tests import as_isinstance, gone_through
from ..facts.walk import calls_of, statements
from .asked_modes import asked_before
from .frames import Frame
from .machine import Machine
from .passes import in_eval_mode, put_in_mode
from .settings import compared, in_parts, is_a_setting, is_certain, is_in_the_rest, is_named_after_a_setting
from .values import (
    ATTACHED,
    FREE,
    LEAF,
    MAYBE,
    NOTHING,
    OFF,
    SERIES,
    UNKNOWN,
    Class,
    Const,
    Function,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
)

_TENSOR_WORDS = ("Tensor", "Parameter", "Variable", "FloatTensor", "LongTensor", "is_tensor", "Number")
_KINDS = {"Module": "module", "Optimizer": "optimizer", "DataLoader": "loader"}
_TYPE_TESTS = ((m.NAME, "isinstance"), (m.NAME, "hasattr"))
_CONTAINER_WORDS = frozenset(("list", "tuple", "dict", "set", "Mapping", "Sequence", "Iterable", "OrderedDict"))
_OF_TENSORS = ("detach", "item", "cpu", "grad_fn")
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
        asked = as_isinstance(test)
        if asked is not None and asked[0][3][0][0] == m.NAME:
            known, positive, negative = _truth_of_call(machine, frame, asked[0])
            return (known, positive, negative) if asked[1] else (None, negative, positive)
        parts = in_parts(test)
        return truth(machine, frame, parts) if parts is not None else _truth_of_comparison(machine, frame, test)
    value = machine.eval(frame, test)
    if op in (m.CONST, m.NAME):
        known = constant(value)
        if (known is None or isinstance(known, bool)) and (op == m.CONST or is_certain(frame, test[1])):
            return bool(known), {}, {}
        if op == m.NAME and isinstance(known, bool) and is_named_after_a_setting(machine, frame, test):
            return known, {}, {}
        if op == m.NAME and test[1] == "TYPE_CHECKING":
            return False, {}, {}
    if op == m.ATTR and isinstance(constant(value), int) and is_a_setting(machine, frame, test):
        return bool(constant(value)), {}, {}
    if op == m.ATTR and test[2] == "training":
        given = _is_given_for_evaluation(machine, frame, test[1])
        return False if given else asked_before(machine, frame, test[1]), {}, {}
    if op == m.ATTR and test[2] == "requires_grad" and test[1][0] == m.NAME:
        return None, {}, _without_graph(machine, frame, test[1])
    return None, {}, {}


def _is_given_for_evaluation(machine: Machine, frame: Frame, place: Expr) -> bool:
    """Whether a helper's parameter is a module that its caller has put in eval mode."""
    if place[0] != m.NAME or all(param.name != place[1] for param in frame.facts.params) or frame.caller is None:
        return False
    seen = [atom for atom in machine.eval(frame, place) if type(atom) is not Opaque]
    return bool(seen) and all(type(atom) is Obj and atom.kind == "module" and in_eval_mode(atom) for atom in seen)


def _without_graph(machine: Machine, frame: Frame, name: Expr) -> Narrowing:
    """What is left of a name whose tensors are said to have no graph: `x.detach() if x.requires_grad else x`."""
    value = machine.eval(frame, name)
    if not any(type(atom) is Tensor and atom.graph in (ATTACHED, MAYBE) for atom in value):
        return {}
    cut = (atom._replace(graph=FREE) if type(atom) is Tensor and atom.graph != LEAF else atom for atom in value)
    return {name[1]: tuple(dict.fromkeys(cut))}


def holds_as_long_as_it_lives(machine: Machine, frame: Frame, test: Expr) -> bool:
    """Whether a test asks for the type of an object, which it has for good, or for a setting that is true."""
    if test[0] == m.ATTR:
        return constant(machine.eval(frame, test)) is True
    return test[0] == m.CALL and test[2] in _TYPE_TESTS and bool(test[3]) and test[3][0][0] == m.NAME


def renews_what_is_there(test: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether an `if` binds what it asks for anew, `if self.h is not None: self.h = self.h.detach()`: where there is
    nothing, there is nothing to let go."""
    if test[0] != m.COMPARE or test[1] != "IsNot" or test[2][0] != m.ATTR or test[3] != (m.CONST, None):
        return False
    return any(test[2] in targets(statement) for statement in body if statement[0] == m.ASSIGN)


def narrow_attribute(machine: Machine, frame: Frame, test: Expr, outcome: bool) -> None:
    """Leave of an object's attribute what an outcome of `self.mean is None` says of it: what follows such a test
    replaces nothing."""
    asked = test[0] == m.COMPARE and test[1] in ("Is", "IsNot") and test[3] == (m.CONST, None)
    if not asked or test[2][0] != m.ATTR or test[2][1][0] != m.NAME:
        return
    for owner in machine.eval(frame, test[2][1]):
        value = owner.fields.get(test[2][2], ()) if type(owner) is Obj else ()
        rest = tuple(atom for atom in value if type(atom) is not Const or atom.value is not None)
        if rest:
            machine.put(owner.fields, test[2][2], NOTHING if (test[1] == "Is") is outcome else rest)


def narrow_mode(machine: Machine, frame: Frame, test: Expr, outcome: bool) -> None:
    """Note what an outcome of `model.training`, or of its opposite, says of a model's mode."""
    place = _asked_mode(test)
    for atom in machine.eval(frame, place) if place is not None else ():
        if type(atom) is Obj and atom.kind == "module":
            put_in_mode(machine, atom, outcome is not (test[0] == m.NOT))


def sees_to_mode(test: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether an `if` asks for a model's mode to set it, `if self.training: self.eval()`: either way it has it then."""
    place = _asked_mode(test)
    return place is not None and any(
        call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in ("eval", "train")
        for statement in body
        for call in calls_of(statement)
    )


def _asked_mode(test: Expr) -> Expr | None:
    place = test[1] if test[0] == m.NOT else test
    return place[1] if place[0] == m.ATTR and place[2] == "training" else None


def _truth_of_all(machine: Machine, frame: Frame, test: Expr) -> tuple[bool | None, Narrowing, Narrowing]:
    both: Narrowing = {}
    either: list[Narrowing] = []
    outcomes: list[bool | None] = []
    conjunction = test[1] == "and"
    for operand in test[2]:
        known, positive, negative = truth(machine, frame, operand)
        outcomes.append(known)
        both.update(positive if conjunction else negative)
        either.append(negative if conjunction else positive)
    if conjunction:
        known = False if False in outcomes else (True if all(o is True for o in outcomes) else None)
        return known, both, _said_by_each(machine, either)
    known = True if True in outcomes else (False if all(o is False for o in outcomes) else None)
    return known, _said_by_each(machine, either), both


def _said_by_each(machine: Machine, outcomes: list[Narrowing]) -> Narrowing:
    """What one of several outcomes leaves of the names that each of them speaks of."""
    names = set(outcomes[0]).intersection(*outcomes[1:])
    return {name: functools.reduce(machine.join, (outcome[name] for outcome in outcomes)) for name in names}


def _truth_of_call(machine: Machine, frame: Frame, test: Expr) -> tuple[bool | None, Narrowing, Narrowing]:
    callee, arguments = test[2], test[3]
    name = callee[-1] if callee[0] in (m.NAME, m.ATTR) else ""
    if callee[0] == m.ATTR and name not in ("is_grad_enabled", "is_tensor"):
        name = ""  # `config.hasattr("name")` is a method of its own
    if name == "is_grad_enabled":
        if machine.grad == OFF:
            return False, {}, {}
        return None, {}, {}
    if name == "callable" and arguments and arguments[0][0] == m.CALL and arguments[0][2] == (m.NAME, "getattr"):
        name, arguments = "hasattr", arguments[0][3]  # `callable(getattr(value, "detach", None))`
    if name == "issubclass" and arguments and arguments[0][0] == m.CALL and arguments[0][2] == (m.NAME, "type"):
        name, arguments = "isinstance", (*arguments[0][3], *arguments[1:])  # `issubclass(type(value), Tensor)`
    if name in ("any", "all") and len(arguments) == 1 and arguments[0][0] == m.COMP:
        machine.eval(frame, test)
        left = _left_of_entries(machine, frame, arguments[0], name == "all")
        return (None, left, {}) if name == "all" else (None, {}, left)
    subject = arguments[0][1] if arguments and arguments[0][0] == m.NAME else None
    if subject is None or name not in ("isinstance", "is_tensor", "hasattr"):
        machine.eval(frame, test)
        return None, {}, {}
    value = machine.eval(frame, arguments[0])
    if not value:
        return None, {}, {}
    if name == "isinstance" and len(arguments) > 1:
        words = _type_words(arguments[1])
        if words & set(_TENSOR_WORDS):
            rest = words - set(_TENSOR_WORDS)
            return _split(
                subject,
                value,
                lambda atom: type(atom) is Tensor or bool(rest and type(atom) is not Tensor),
                lambda atom: type(atom) is not Tensor or (atom.bundle and not rest),
            )
        if words and words <= _CONTAINER_WORDS:
            known, positive, negative = _split(subject, value, _may_be_container, lambda atom: not _is_list(atom))
            return known, positive, {subject: tuple(perhaps(atom) for atom in negative[subject])}
        if words and words <= {"float", "int", "str", "bool", "complex", "Number", "NoneType", "bytes"}:
            return _split(
                subject, value, lambda atom: type(atom) in (Const, Light), lambda atom: type(atom) is not Const
            )
        if words and words <= _KINDS.keys():
            kinds = {_KINDS[word] for word in words}
            return _split(
                subject, value, lambda atom: _kind(atom) in (*kinds, ""), lambda atom: _kind(atom) not in kinds
            )
        classes = machine.eval(frame, arguments[1])
        if classes and all(type(atom) is Class for atom in classes):
            _, positive, _ = _split(subject, value, lambda atom: _may_be_one_of(atom, classes))
            return None, positive, {}
        return None, {}, {}
    if name == "is_tensor":
        return _split(
            subject, value, lambda atom: type(atom) is Tensor, lambda atom: type(atom) is not Tensor or atom.bundle
        )
    if name == "hasattr" and len(arguments) > 1 and arguments[1][0] == m.CONST and arguments[1][1] in _OF_TENSORS:
        return _split(subject, value, lambda atom: type(atom) is Tensor)
    return None, {}, {}


def _left_of_entries(machine: Machine, frame: Frame, each: Expr, holds: bool) -> Narrowing:
    """What is left of the containers that `any(isinstance(x, Tensor) for x in args)` goes through, where what it asks
    holds for none of their entries, or for all of them."""
    element, clauses = each[3], each[5]
    if len(clauses) != 1 or clauses[0][0][0] != m.NAME or clauses[0][2] or element[0] not in (m.CALL, m.COMPARE, m.NOT):
        return {}
    name, found = clauses[0][0][1], Narrowing()
    outer = frame.vars.get(name)
    for subject in gone_through(clauses[0][1]):
        value = machine.eval(frame, (m.NAME, subject))
        if len(value) != 1 or type(value[0]) is not Obj or value[0].kind not in ("tuple", "dict") or value[0].home:
            continue
        whole = value[0]
        kept = Obj(whole.kind, whole.cls, whole.birth, whole.site, whole.weight)
        kept.serial, kept.unknown = whole.serial, whole.unknown
        for key, entry in whole.fields.items():
            frame.vars[name] = entry
            _, positive, negative = truth(machine, frame, element)
            kept.fields[key] = (positive if holds else negative).get(name, entry) if key[:1] != "$" else entry
        if all(kept.fields[key] for key, entry in whole.fields.items() if entry):
            found[subject] = (kept,)
        elif all(len(entry) == 1 for entry in whole.fields.values()):
            found[subject] = ()
    if outer is None:
        frame.vars.pop(name, None)
    else:
        frame.vars[name] = outer
    return found


def _split(name: str, value: Value, holds: Any, fails: Any = None) -> tuple[bool | None, Narrowing, Narrowing]:
    """What of a value is left where a test holds, and where it fails: by default where it does not hold."""
    known = [atom for atom in value if type(atom) is not Opaque]
    maybe = tuple(atom for atom in value if type(atom) is Opaque)
    yes = tuple(atom for atom in known if holds(atom)) + maybe
    no = tuple(atom for atom in known if (fails(atom) if fails else not holds(atom))) + maybe
    return None, {name: yes}, {name: no}


def is_told_no_tensor(body: tuple[Stmt, ...], site: Site, name: Expr) -> bool:
    """Whether a statement stands where a test says that a name is no tensor: what a module gave, and can be added to
    something, is a number then."""
    for one in statements(body):
        if one[0] == m.IF:
            negated = one[2][0] == m.NOT
            test, arm = one[2][1] if negated else one[2], one[3] if negated else one[4]
            if _asks_for_tensor(test, name) and any(inner[1] == site for inner in statements(arm)):
                return True
    return False


def _asks_for_tensor(test: Expr, name: Expr) -> bool:
    if test[0] != m.CALL or not test[3] or test[3][0] != name:
        return False
    if test[2][-1] == "isinstance" and len(test[3]) > 1:
        return _type_words(test[3][1]) == {"Tensor"}
    return bool(test[2][-1] == "is_tensor")


def without_method(machine: Machine, frame: Frame, body: tuple[Stmt, ...], caught: Expr | None) -> Narrowing:
    """What an `except` clause says of the name that a `try` does nothing but to call a method of, like `hasattr`:
    `try: return value.detach()`, `except AttributeError: return value`."""
    if len(body) != 1 or body[0][0] not in (m.EXPR, m.ASSIGN, m.RETURN):
        return {}
    expr, method = body[0][-1], ""
    while expr is not None and expr[0] == m.CALL and expr[2][0] == m.ATTR:
        expr, method = expr[2][1], expr[2][2]
    if expr is None or expr[0] != m.NAME or method not in _OF_TENSORS:
        return {}
    if method != "detach" and (caught is None or not _type_words(caught) <= {"AttributeError", "TypeError"}):
        return {}  # `item()` raises other errors
    _, _, negative = _split(expr[1], machine.eval(frame, expr), lambda atom: type(atom) is Tensor)
    return negative if machine.eval(frame, expr) else {}


def _kind(atom: Any) -> str:
    """Which of torch's own kinds of objects something is; "" if it may be any."""
    if type(atom) is Tensor:
        return "" if atom.bundle else "tensor"
    if type(atom) is not Obj or atom.unknown:
        return ""
    return atom.kind if atom.kind in _KINDS.values() else ""


def _may_be_one_of(atom: Any, classes: Value) -> bool:
    """Whether an object may be of one of the project's classes: what is known of it may be a base of them."""
    if type(atom) is not Obj or atom.unknown or type(atom.cls) is not Class:
        return True
    return any(cls in atom.cls.mro or atom.cls in cls.mro for cls in classes)


def _is_list(atom: Any) -> bool:
    return type(atom) is Obj and atom.kind in SERIES


def _may_be_container(atom: Any) -> bool:
    if type(atom) is Light:
        return not atom.what  # of light things, as settings are
    return (type(atom) is Tensor and atom.bundle) or (type(atom) is Obj and atom.kind in (*SERIES, "instance"))


def perhaps(atom: Any) -> Any:
    """What a module gave and is no list, or no dictionary: nothing is claimed of it any more."""
    return atom._replace(graph=MAYBE) if type(atom) is Tensor and atom.bundle and atom.graph == ATTACHED else atom


def _type_words(expr: Expr) -> set[str]:
    if expr[0] in (m.NAME, m.ATTR):
        return {expr[-1]}
    if expr[0] == m.NEW:
        return {word for item in expr[3] for word in _type_words(item)}
    if expr[0] == m.ARITH:
        return _type_words(expr[2]) | _type_words(expr[3])
    return set()


def _truth_of_comparison(machine: Machine, frame: Frame, test: Expr) -> tuple[bool | None, Narrowing, Narrowing]:
    operator, left, right = test[1], test[2], test[3]
    if left == (m.NAME, "__name__"):
        return operator == "Equal", {}, {}
    if operator in ("Is", "IsNot") and right == (m.CONST, None):
        if left[0] == m.ATTR and left[2] == "grad_fn" and left[1][0] == m.NAME:
            without = _without_graph(machine, frame, left[1])
            return (None, without, {}) if operator == "Is" else (None, {}, without)
        value = machine.eval(frame, left)
        nothing = tuple(atom for atom in value if type(atom) is Const and atom.value is None)
        if left[0] == m.ATTR and value and nothing in ((), value) and is_a_setting(machine, frame, left):
            return bool(nothing) is (operator == "Is"), {}, {}
        rest = tuple(atom for atom in value if atom not in nothing)
        if left[0] != m.NAME or not value:
            return None, {}, {}
        positive: Narrowing = {left[1]: nothing}
        negative: Narrowing = {left[1]: rest}
        if nothing and not rest:
            return operator == "Is" if is_certain(frame, left[1]) else None, {}, {}
        if rest and not nothing and all(type(atom) in (Obj, Tensor, Function) for atom in rest):
            known = operator == "IsNot"
            return (known if not any(type(a) is Obj and a.unknown for a in rest) else None), {}, {}
        if not nothing:
            return None, {}, {}
        return (None, positive, negative) if operator == "Is" else (None, negative, positive)
    left_value = machine.eval(frame, left)
    right_value = machine.eval(frame, right)
    known_left, known_right = constant(left_value), constant(right_value)
    if operator in ("In", "NotIn") and isinstance(known_left, str) and is_in_the_rest(frame, right, known_left):
        return operator == "In", {}, {}
    if operator in ("In", "NotIn") and isinstance(known_left, str) and _is_made_already(frame, right_value, known_left):
        return operator == "In", {}, {}
    if (
        operator in ("Equal", "NotEqual")
        and isinstance(known_left, str)
        and isinstance(known_right, str)
        and (
            is_a_setting(machine, frame, left)
            if left[0] == m.ATTR
            else left[0] == m.NAME and is_certain(frame, left[1])
        )
    ):
        return (known_left == known_right) is (operator == "Equal"), {}, {}
    return compared(machine, frame, test), {}, {}


def _is_made_already(frame: Frame, table: Value, key: str) -> bool:
    """Whether a table has the entry that an earlier round made because it was not there: no round makes it again."""
    if len(table) != 1 or type(table[0]) is not Obj or table[0].kind != "dict":
        return False
    entry = table[0].fields.get(f"[{key}]", UNKNOWN)
    made = frame.unit.outline.made_when_missing if entry else frozenset()
    return bool(entry) and all(type(atom) is Obj and m.statement_of(atom.site) in made for atom in entry)
