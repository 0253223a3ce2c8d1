"""One exception object that is raised again and again: its traceback gets longer with each raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.program import Program
from ..facts.walk import last_name, statements
from .at_work import is_called_at_work

_ENDINGS = ("Error", "Exception")


class SharedError(NamedTuple):
    """A `raise` of an exception that the module made once."""

    site: Site
    name: str
    made: Site


def raised_again_and_again(program: Program) -> Iterator[SharedError]:
    """`raise NOT_READY`, where the module has bound `NOT_READY = ServiceError("not ready")`, from where tensors are at
    hand. Raising puts the frames in front of those that the object has [Python: The raise statement, `__traceback__`].
    """
    shared = dict(_made_once(program))
    if not shared or takes_tracebacks_off(program):
        return
    for place in program.places:
        for one in statements(place.facts.body):
            name = one[2][1] if one[0] == m.RAISE and one[2] is not None and one[2][0] == m.NAME else None
            if name in shared and place.facts.name != "<module>" and is_called_at_work(program, place.facts):
                yield SharedError(one[1], name, shared[name])


def takes_tracebacks_off(program: Program) -> bool:
    """`error.with_traceback(None)`, `error.__traceback__ = None`, wherever that is done."""
    if "with_traceback" in program.called:
        return True
    bound = (one for place in program.places for one in statements(place.facts.body) if one[0] == m.ASSIGN)
    return any(target[0] == m.ATTR and target[2] == "__traceback__" for one in bound for target in one[2])


def _made_once(program: Program) -> Iterator[tuple[str, Site]]:
    """The names of the module that are bound to an exception object."""
    for one in statements(program.facts.functions[0].body):
        if one[0] == m.ASSIGN and is_made_exception(program, one[3]):
            yield from ((target[1], one[1]) for target in one[2] if target[0] == m.NAME)


def is_made_exception(program: Program, value: Expr) -> bool:
    return bool(value[0] == m.CALL) and is_exception_class(program, last_name(value[2]))


def is_exception_class(program: Program, name: str) -> bool:
    """By its name, or by that of a base, in this file."""
    pending, seen = [name], set[str]()
    while pending:
        name = pending.pop()
        if name.endswith(_ENDINGS):
            return True
        seen.add(name)
        bases = (base for cls in program.facts.classes if cls.name == name for base in cls.bases)
        pending += [one for one in map(last_name, bases) if one not in seen]
    return False
