"""Keys that are made of settings alone: of sizes and types, and of what the object that asks has been made with. Each
item that is loaded asks for the same entry again."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import targets
from ..facts.walk import last_name, statements
from ..interpreter.arguments import argument, call_of
from ..interpreter.frames import Frame
from ..interpreter.keys import says_few

_DEEPEST = 4  # calls, and names, that a part of a key is followed through
_MADE_IN = ("__init__", "__post_init__")
_OF_NUMBERS = ("int", "float", "str", "bool", "round", "min", "max", "len", "abs", "get", "getattr")


def is_one_of_few(key: Expr, frame: Frame) -> bool:
    """`x.shape`, `(height, width)`, `i % slots`, `f"{n_fft}_{hop}_{x.device}"` of a function that is called with
    `self.n_fft`: by its own words, or by what they stand for."""
    return all(_is_setting(part, frame, _DEEPEST) for part in _parts(key, frame, _DEEPEST))


def _parts(key: Expr, frame: Frame, depth: int) -> Iterator[Expr]:
    """What a key is put together from: the items of a tuple, what is filled into a text, the terms of a sum."""
    if key[0] == m.NAME and depth and not says_few(key):
        bound = [one for one in statements(frame.facts.body) if key in targets(one)]
        if len(bound) == 1 and bound[0][0] == m.ASSIGN:
            yield from _parts(bound[0][3], frame, depth - 1)
            return
    if key[0] == m.CALL and key[2] in ((m.NAME, "str"), (m.NAME, "int"), (m.NAME, "tuple")) and len(key[3]) == 1:
        yield from _parts(key[3][0], frame, depth)
    elif key[0] == m.NEW or (key[0] == m.TEXT and len(key) > 1):
        for part in key[3] if key[0] == m.NEW else key[1]:
            yield from _parts(part, frame, depth)
    elif key[0] == m.ARITH and (key[1] == "Add" or _is_text(key[2])):
        yield from _parts(key[2], frame, depth)
        yield from _parts(key[3], frame, depth)
    else:
        yield key


def _is_setting(part: Expr, frame: Frame, depth: int) -> bool:
    """Whether a part of a key is the same for each item, or one of a few."""
    if part[0] == m.CONST or says_few(part):
        return True
    if part[0] == m.ATTR and part[1] == (m.NAME, "self"):
        return _is_made_with(part, frame)
    return part[0] == m.NAME and depth > 1 and _is_given_as_setting(part, frame, depth)


def _is_given_as_setting(name: Expr, frame: Frame, depth: int) -> bool:
    """Whether the call that entered the function gives a setting for a parameter, or leaves it at its default."""
    param = next((one for one in frame.facts.params if one.name == name[1] and not one.kind), None)
    call = call_of(frame)
    if param is None or call is None or frame.caller is None or _is_bound(name, frame):
        return False
    given = argument(frame, param.name)
    if given is None:
        spread = any(one[0] == m.STAR for one in call[3]) or any(not word for word, _ in call[4])
        return not spread and param.default is not None and param.default[0] == m.CONST
    parts = _parts(given, frame.caller, depth - 1)
    return all(_is_setting(one, frame.caller, depth - 1) for one in parts)


def _is_made_with(attribute: Expr, frame: Frame) -> bool:
    """`self.n_fft`, which only the constructor of the class sets, to what it is given or to a number."""
    facts = frame.unit.facts
    owner = facts.classes[frame.facts.owner] if frame.facts.owner >= 0 else None
    if owner is None:
        return False
    setting = [
        (method, one)
        for method, index in owner.methods.items()
        for one in statements(facts.functions[index].body)
        if attribute in targets(one)
    ]
    return bool(setting) and all(
        method in _MADE_IN and one[0] == m.ASSIGN and not _is_an_object(one[3]) for method, one in setting
    )


def _is_an_object(value: Expr) -> bool:
    """Whether a value is made by a call, `partial(build, dim)`: an object is its own key, and another one in each
    process and task that it is sent to."""
    return value[0] == m.CALL and last_name(value[2]) not in _OF_NUMBERS


def _is_text(expr: Expr) -> bool:
    return expr[0] == m.TEXT or (expr[0] == m.CONST and isinstance(expr[1], str))


def _is_bound(name: Expr, frame: Frame) -> bool:
    """Whether a function binds a name itself."""
    return any(name in targets(one) for one in statements(frame.facts.body))
