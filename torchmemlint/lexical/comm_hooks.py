"""Wrappers of distributed training whose communication hook refers to them.

`ddp.register_comm_hook(state, hook)` hands both to the reducer, which is C++ and belongs to the wrapper. If one of them
has the wrapper, the circle goes through a place where the cyclic collector does not look.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, expressions, keyword, targets
from ..facts.walk import calls_of, in_loops, last_name, statements
from .once import is_repeated

_REGISTERS = "register_comm_hook"
_WRAPPERS = ("DistributedDataParallel", "DDP")
_SELF = (m.NAME, "self")


class OwnHook(NamedTuple):
    """A wrapper that is given a hook, or a state for it, which refers to the wrapper."""

    site: Site
    name: str
    state: bool  # the state refers to it, not the hook


def own_hooks(program: Program) -> Iterator[OwnHook]:
    """Of wrappers that are made again and again."""
    for place in program.places if _REGISTERS in program.called else ():
        if _REGISTERS not in place.facts.calls:
            continue
        for statement, looped in in_loops(place.facts.body):
            for call in calls_of(statement):
                wrapper = call[2][1] if call[2][0] == m.ATTR and call[2][2] == _REGISTERS else None
                if wrapper is None or not _is_made_here(program, place, wrapper):
                    continue
                part = _part_that_holds(program, place, call, wrapper)
                if part and (looped or is_repeated(program, place, driven=True)):
                    yield OwnHook(call[1], last_name(wrapper), part == "state")


def _part_that_holds(program: Program, place: Place, call: Expr, wrapper: Expr) -> str:
    for number, name in enumerate(("state", "hook")):
        given = keyword(call, name, number)
        if given is not None and _holds(program, place, given, wrapper):
            return name
    return ""


def _is_made_here(program: Program, place: Place, wrapper: Expr) -> bool:
    """Whether all that a function binds to the name is a wrapper that it makes."""
    bound = [one for one in statements(place.facts.body) if one[0] == m.ASSIGN and wrapper in one[2]]
    own = wrapper[0] == m.ATTR and wrapper[1] == _SELF and place.facts.name == "__init__"
    return (wrapper[0] == m.NAME or own) and bool(bound) and all(_wraps(program, one) for one in bound[-1:])


def _wraps(program: Program, bound: Stmt) -> bool:
    return bool(bound[3][0] == m.CALL and program.dotted(bound[3][2]).rpartition(".")[2] in _WRAPPERS)


def _holds(program: Program, place: Place, value: Expr, wrapper: Expr, depth: int = 3) -> bool:
    """Whether a value refers to the wrapper: by itself, by what it was made with, or by what a function uses."""
    if value in (wrapper, _SELF):
        return value == wrapper or wrapper[0] == m.ATTR
    if value[0] == m.ATTR and value[1] == _SELF:  # a method has its object, and that has the wrapper
        return wrapper[0] == m.ATTR and any(one.cls == place.cls for one in program.by_name.get(value[2], ()))
    if value[0] == m.NEW:
        return any(_holds(program, place, part, wrapper, depth) for part in value[3])
    if value[0] == m.DICT:
        return any(_holds(program, place, part, wrapper, depth) for _, part in value[2])
    if value[0] == m.LAMBDA:
        return _mentions(program, program.facts.functions[value[1]], wrapper)
    if value[0] == m.NAME:
        inner = (program.facts.functions[index] for index in place.facts.inner)
        if any(one.name == value[1] and _mentions(program, one, wrapper) for one in inner):
            return True
        bound = [one for one in statements(place.facts.body) if one[0] == m.ASSIGN and value in one[2]]
        return len(bound) == 1 and depth > 0 and _holds(program, place, bound[0][3], wrapper, depth - 1)
    if value[0] == m.CALL and len(value) == 5 and depth > 0:
        return _made_with(program, place, value, wrapper, depth - 1)
    return False


def _made_with(program: Program, place: Place, call: Expr, wrapper: Expr, depth: int) -> bool:
    """Whether what a call gives refers to the wrapper that it was given."""
    name = last_name(call[2])
    every = [*enumerate(call[3]), *call[4]]
    given = [at for at, value in every if _holds(program, place, value, wrapper, depth)]
    if not given or call[2][0] != m.NAME:
        return bool(given) and program.dotted(call[2]) == "functools.partial"
    if program.dotted(call[2]) == "functools.partial":
        return True
    cls = next((one for one in program.facts.classes if one.name == name), None)
    if cls is not None and "__init__" in cls.methods:
        init = program.facts.functions[cls.methods["__init__"]]
        return any(_keeps(init, param) for param in _params(init, given, 1))
    found = [one for one in program.by_name.get(name, ()) if not one.cls]
    return len(found) == 1 and any(
        _returns_user(program, found[0].facts, param) for param in _params(found[0].facts, given, 0)
    )


def _params(function: FunctionFacts, given: list[int | str], first: int) -> Iterator[Expr]:
    for number, param in enumerate(function.params):
        if number - first in given or param.name in given:
            yield (m.NAME, param.name)


def _keeps(init: FunctionFacts, param: Expr) -> bool:
    """`self.ddp = ddp`."""
    return any(
        one[0] == m.ASSIGN and one[3] == param and one[2][0][0] == m.ATTR and one[2][0][1] == _SELF
        for one in statements(init.body)
    )


def _returns_user(program: Program, maker: FunctionFacts, param: Expr) -> bool:
    """Whether a function returns an inner one that uses a parameter."""
    returned = [one[2] for one in statements(maker.body) if one[0] == m.RETURN and one[2] is not None]
    functions = program.facts.functions
    named = {functions[index].name: functions[index] for index in maker.inner}
    users = [functions[one[1]] for one in returned if one[0] == m.LAMBDA]
    users += [named[one[1]] for one in returned if one[0] == m.NAME and one[1] in named]
    return any(_mentions(program, user, param) for user in users)


def _mentions(program: Program, function: FunctionFacts, name: Expr) -> bool:
    """Whether a function, or one inside it, reads a name that is not its own; of an attribute, its object's."""
    name = name if name[0] == m.NAME else _SELF
    if any(param.default == name for param in function.params):
        return True
    if any((m.NAME, param.name) == name for param in function.params) or _binds(function, name):
        return False
    if any(part == name for part in expressions(function.body)):
        return True
    return any(_mentions(program, program.facts.functions[index], name) for index in function.inner)


def _binds(function: FunctionFacts, name: Expr) -> bool:
    """`ddp = ddp_ref()` makes the name one of the function's own, unless it says `nonlocal`."""
    body = list(statements(function.body))
    own = not any(one[0] == m.NONLOCAL and name[1] in one[2] for one in body)
    return own and any(name in targets(one) for one in body)
