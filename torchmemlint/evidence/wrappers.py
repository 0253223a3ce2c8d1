"""Functions that are put around what an object's attribute was, round after round, and never taken off.

`original = layer.forward`, `layer.forward = recording`, with a `recording` that calls `original`: the next time it is
put around itself, and the object keeps all of them with what they refer to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.walk import calls, statements
from ..interpreter.frames import Frame
from ..interpreter.holders import captured
from ..interpreter.values import CONTAINERS, Bound, Function, Method, Obj, Tensor, Value

if TYPE_CHECKING:
    from ..facts.model import FunctionFacts, Site
    from ..interpreter.machine import Machine

_ASKS = frozenset(("hasattr", "getattr"))  # whether it is there already
_SETS = ("setattr", "delattr", "__setattr__", "setitem")


class Wrapped(NamedTuple):
    site: Site
    place: str  # `weights`, the attribute
    function: str  # that is put there


def put_around_again(machine: Machine) -> Iterator[Wrapped]:
    """Of objects that were there before the loop, and by functions that keep more than what they are put around."""
    said: set[Site] = set()
    for note in machine.plain:
        if note.kind != "wrapped" or note.site in said or not machine.is_home(note.site):
            continue
        owner, name, function = note.detail
        again = any(loop.kind == "loop" and loop not in owner.birth for loop in note.loops)
        if _goes_down(note.frame):
            continue  # each round wraps another part: `child.parallelize()` in `parallelize`
        if not again or not _ASKS.isdisjoint(note.frame.facts.calls) or not _is_around(owner, name, function):
            continue
        if not any(_may_put_back(one, name, note.site) for u in machine.units.values() for one in u.facts.functions):
            said.add(note.site)
            yield Wrapped(note.site, name, function.facts.name)


def _goes_down(frame: Frame) -> bool:
    """Whether a function is called by itself."""
    caller = frame.caller
    while caller is not None and caller.facts is not frame.facts:
        caller = caller.caller
    return caller is not None


def _is_around(owner: Obj, name: str, function: Function) -> bool:
    """Whether a function refers to what the attribute was before, and to something that has its own size."""
    around = keeps = False
    for value in _held(function):
        for atom in value:
            if type(atom) is Bound:
                around = around or (atom.receiver is owner and atom.function.facts.name == name)
            elif type(atom) is Method:
                around = around or (atom.receiver is owner and atom.name == name)
            elif type(atom) is Function:
                around = around or atom.facts is function.facts
            elif atom is not owner:
                keeps = keeps or type(atom) is Tensor or (type(atom) is Obj and atom.kind in (*CONTAINERS, "instance"))
    return around and keeps


def _held(function: Function) -> Iterator[Value]:
    """What a function refers to: variables around it, and those that its parameters have got when it was defined,
    `def scaled(x, plain=plain)`."""
    yield from (value for _, value in captured(function))
    for param in function.facts.params:
        if param.default is not None and param.default[0] == m.NAME:
            yield function.frame.vars.get(param.default[1], ())


def _may_put_back(function: FunctionFacts, name: str, put: Site) -> bool:
    """Whether a function sets an attribute of this name otherwise, `layer.forward = original`, or deletes it."""
    for one in statements(function.body):
        if one[1] == put:
            continue
        if one[0] in (m.ASSIGN, m.DELETE) and any(target[0] == m.ATTR and target[2] == name for target in one[2]):
            return True
    return any(call[1] != put and call[2][-1] in _SETS for call in calls(function.body))
