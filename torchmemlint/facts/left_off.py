"""Calls that stand under a switch which is off by default, and which nobody who is in sight turns on.

`if self.return_relevance: self.backtrace.clear()`: what such a call leads to does not happen as long as callers leave
the switch as it is. A switch is a parameter of the calling function, or an attribute that a constructor's parameter
becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import model as m
from .model import Expr, FileFacts, FunctionFacts
from .walk import calls, calls_of, expressions_of, heads, last_name, nodes, statements, with_conditions

UNSET = ((m.CONST, None), (m.CONST, 0), (m.CONST, -1))
_IS_SET = ("IsNot", "NotEqual", "GreaterThan")
_SELF = (m.NAME, "self")
_FIRST = ("__init__", "__post_init__")


class _Call(NamedTuple):
    """A call, with the tests that must hold where it stands."""

    cls: str
    function: FunctionFacts
    tests: tuple[Expr, ...]


def must_be_set(test: Expr) -> Iterator[Expr]:
    """The names and attributes that are something for a test to hold: `self.limit and ...`, `limit is not None`."""
    if test[0] == m.BOOL and test[1] == "and":
        for operand in test[2]:
            yield from must_be_set(operand)
    elif test[0] in (m.ATTR, m.NAME):
        yield test
    elif test[0] == m.COMPARE and test[1] in _IS_SET and test[2][0] in (m.ATTR, m.NAME) and test[3] in UNSET:
        yield test[2]


def sets(call: Expr, param: str, place: int) -> bool:
    """Whether a call may give a parameter, the `place`th one, something else than the values that stand for none."""
    if any(given[0] == m.STAR for given in call[3]) or any(not keyword for keyword, _ in call[4]):
        return True
    given = [*call[3][place : place + 1], *(value for keyword, value in call[4] if keyword == param)]
    return any(value not in UNSET for value in given)


def is_left_off(files: Sequence[FileFacts], name: str, place: str, is_never_set: Callable[[str, str], bool]) -> bool:
    """Whether all calls of a function that empties a place stand under switches which are off. `is_never_set` says
    this of the attribute of a class."""
    if name.startswith(("__", "on_")):
        return False
    found = list(_calls_to(files, name, place))
    off = all(
        any(_is_off(files, one, switch, name, is_never_set) for test in one.tests for switch in must_be_set(test))
        for one in found
    )
    return bool(found) and off and not is_handed_over(files, name)  # which all the text is gone through for


def _calls_to(files: Sequence[FileFacts], name: str, place: str) -> Iterator[_Call]:
    """The calls of functions of this name; `self.node_io.clear()` empties the place itself, and is none."""
    for file in files:
        owners = {index: cls.name for cls in file.classes for index in cls.methods.values()}
        for index, function in enumerate(file.functions):
            if name not in function.calls or function.name == name:
                continue
            for statement, literals in with_conditions(function.body):
                for call in calls_of(statement):
                    on = call[2][1] if call[2][0] == m.ATTR else ()
                    if last_name(call[2]) == name and last_name(on or None) != place:
                        tests = tuple(test for test, holds in literals if holds)
                        yield _Call(owners.get(index, ""), function, tests)


def is_handed_over(files: Sequence[FileFacts], name: str) -> bool:
    """Whether a function of this name is decorated, or given to who may call it: `atexit.register(x.clear)`."""
    for file in files:
        for function in file.functions:
            if function.name == name and function.decorators:
                return True
            for statement in statements(function.body):
                called = {id(call[2]) for call in calls_of(statement)}
                for node in expressions_of(statement):
                    if node[0] in (m.ATTR, m.NAME) and node[-1] == name and id(node) not in called:
                        return True
    return False


def _is_off(
    files: Sequence[FileFacts], one: _Call, switch: Expr, name: str, is_never_set: Callable[[str, str], bool]
) -> bool:
    if switch[0] == m.ATTR and switch[1] == _SELF:
        methods = [
            file.functions[index]
            for file in files
            for cls in file.classes
            if cls.name == one.cls
            for index in cls.methods.values()
        ]
        return is_never_set(one.cls, switch[2]) and all(_is_only_for(method, switch, name) for method in methods)
    if switch[0] != m.NAME or not _is_only_for(one.function, switch, name):
        return False
    return _is_left_at_default(files, one, switch[1])


def _is_left_at_default(files: Sequence[FileFacts], one: _Call, name: str) -> bool:
    """Whether a parameter is off by default, and all calls of the function in sight leave it so."""
    function = one.function
    places = [place for place, param in enumerate(function.params) if param.name == name and param.default in UNSET]
    if not places or function.decorators or function.name.startswith("__"):
        return False
    place = places[0] - 1 if one.cls else places[0]
    made = [
        call
        for file in files
        for other in file.functions
        if function.name in other.calls
        for call in calls(other.body)
        if last_name(call[2]) == function.name
    ]
    return bool(made) and not is_handed_over(files, function.name) and not any(sets(one, name, place) for one in made)


def _is_only_for(function: FunctionFacts, switch: Expr, name: str) -> bool:
    """Whether a function asks for a switch only where it calls a function of this name, or for what it returns: it says
    nothing of what is kept, or when."""
    for statement in statements(function.body):
        if statement[0] == m.RETURN or (function.name in _FIRST and statement[0] in (m.ASSIGN, m.ANNOTATE)):
            continue
        if not any(switch in nodes(head) for head in heads(statement)):
            continue
        if statement[0] != m.IF or not any(last_name(call[2]) == name for call in calls(statement[3])):
            return False
    return True
