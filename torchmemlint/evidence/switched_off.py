"""What is kept only if somebody asks for it: where nobody does, or whoever asks says how."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Stmt
from ..facts.program import keyword, targets
from ..facts.walk import calls, expressions_of, last_name, places_with_values, statements
from ..interpreter.events import Store
from ..interpreter.values import Class, Obj

_SELF = (m.NAME, "self")
_OFF = ((m.CONST, False), (m.CONST, None), (m.CONST, 0))
_IS_ON = ("GreaterThan", "NotEqual")
_DEPTH = 6


def is_switched_off(store: Store) -> bool:
    """`if self.keep_maps: self.maps = maps`, where all that the file makes of the class is made with False for it, or
    where it begins as that and no function that something calls turns it on."""
    receiver = store.frame.receiver
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    cls, facts = receiver.cls.facts, receiver.cls.frame.unit.facts
    init = cls.methods.get("__init__")
    here = store.site - store.site % m.CALLS_PER_STATEMENT
    return init is not None and any(
        _is_off_for_all(store, facts, init, switch)
        for one in statements(store.frame.facts.body)
        if one[0] == m.IF and any(x[1] == here for x in statements(one[3]))
        for switch in _switches(one[2])
    )


def _switches(test: Expr) -> list[str]:
    """The attributes that have to be on for a test to hold: `self.training and self.aux_weight > 0`."""
    if test[0] == m.BOOL and test[1] == "and":
        return [name for part in test[2] for name in _switches(part)]
    if test[0] == m.COMPARE and test[1] in _IS_ON and test[3] in _OFF and not test[4]:
        return _switches(test[2])
    return [test[2]] if test[:2] == (m.ATTR, _SELF) and test[2] != "training" else []


def _is_off_for_all(store: Store, facts: FileFacts, init: int, switch: str) -> bool:
    files = _files(store, facts)
    set_to = [value for file in files for value in _set_to(file, switch, files)]
    if len(set_to) == 1 and set_to[0][0] == m.NAME:
        return _is_never_on(facts, init, set_to[0][1])
    return bool(set_to) and all(value in _OFF for value in set_to)


def _files(store: Store, own: FileFacts) -> list[FileFacts]:
    """The file of a class, and those from which its method was come to."""
    found, frame = [own], store.frame.caller
    while frame is not None:
        if not any(frame.unit.facts is one for one in found):
            found.append(frame.unit.facts)
        frame = frame.caller
    return found


def _set_to(facts: FileFacts, attribute: str, files: list[FileFacts]) -> list[Expr]:
    """What an attribute of this name is set to, of whatever object; not by a method that nobody in these files calls,
    such as `enable_logging()`."""
    return [
        value
        for function in facts.functions
        for one in statements(function.body)
        for target, value in _bound_by(one)
        if target[0] == m.ATTR and target[2] == attribute
        if function.owner < 0 or function.name == "__init__" or _comes_up(files, function.name)
    ]


def _bound_by(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    pairs = list(places_with_values(statement)) if statement[0] == m.ASSIGN else []
    yield from pairs
    yield from ((place, (m.TEXT,)) for place in targets(statement) if all(place != known for known, _ in pairs))


def _comes_up(files: list[FileFacts], method: str) -> bool:
    return any(
        node[0] == m.ATTR and node[2] == method
        for facts in files
        for function in facts.functions
        for one in statements(function.body)
        for node in expressions_of(one)
    )


def _is_never_on(facts: FileFacts, index: int, name: str, depth: int = _DEPTH) -> bool:
    """Whether each call of a function in its file gives False for a parameter, or leaves it at that."""
    function = facts.functions[index]
    called = facts.classes[function.owner].name if function.name == "__init__" else function.name
    place = next((i for i, param in enumerate(function.params) if param.name == name), -1)
    if place < 0 or not depth or _is_bound(function, name):
        return False
    found = False
    for number, caller in enumerate(facts.functions):
        for call in calls(caller.body) if called in caller.calls else ():
            if last_name(call[2]) != called:
                continue
            found = True
            given = keyword(call, name, place - (function.owner >= 0))
            if given is None:
                handed_on = any(one[0] == m.STAR for one in call[3]) or any(not key for key, _ in call[4])
                if handed_on or function.params[place].default not in _OFF:
                    return False
            elif given not in _OFF and not _is_off(facts, number, given, depth):
                return False
    return found


def _is_off(facts: FileFacts, index: int, given: Expr, depth: int) -> bool:
    if given[0] != m.NAME:
        return False
    values = [one[3] for one in statements(facts.functions[index].body) if one[0] == m.ASSIGN and given in one[2]]
    if values:
        return all(value in _OFF for value in values)
    return _is_never_on(facts, index, given[1], depth - 1)


def _is_bound(function: FunctionFacts, name: str) -> bool:
    return any(one[0] == m.ASSIGN and (m.NAME, name) in one[2] for one in statements(function.body))


def may_be_detached(store: Store) -> bool:
    """`self.output = copy(output, detach=detach)`: whoever has it kept chooses."""
    return any(
        part[0] == m.CALL and any(key == "detach" and value[0] == m.NAME for key, value in part[4])
        for one in statements(store.frame.facts.body)
        if one[1] == store.site and one[0] == m.ASSIGN
        for part in expressions_of(one)
    )
