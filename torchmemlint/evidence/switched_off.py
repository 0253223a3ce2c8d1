"""What is kept only if somebody asks for it: where nobody does, or whoever asks says how."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts
from ..facts.program import keyword
from ..facts.walk import calls, expressions_of, last_name, places_with_values, statements
from ..interpreter.events import Store
from ..interpreter.values import Class, Obj

_SELF = (m.NAME, "self")
_OFF = ((m.CONST, False), (m.CONST, None))
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
    for one in statements(store.frame.facts.body) if init is not None else ():
        if one[0] == m.IF and one[2][:2] == (m.ATTR, _SELF) and any(x[1] == here for x in statements(one[3])):
            files = _files(store, facts)
            set_to = [value for file in files for value in _set_to(file, one[2][2], files)]
            if len(set_to) == 1 and set_to[0][0] == m.NAME and _is_never_on(facts, init or 0, set_to[0][1]):
                return True
            if set_to and all(value in _OFF for value in set_to):
                return True
    return False


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
        if one[0] == m.ASSIGN
        for target, value in places_with_values(one)
        if target[0] == m.ATTR and target[2] == attribute
        if function.owner < 0 or function.name == "__init__" or _comes_up(files, function.name)
    ]


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
