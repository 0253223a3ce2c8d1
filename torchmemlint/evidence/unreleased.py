"""Objects that put themselves where they stay, and that nobody tells to take themselves out again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import expressions
from ..facts.walk import calls
from ..interpreter.contexts import is_module_level
from ..interpreter.cycles import refers_to
from ..interpreter.values import Class, Function, Obj
from ..interpreter.written_parts import PLAIN_BASES

if TYPE_CHECKING:
    from ..interpreter.frames import Frame
    from ..interpreter.machine import Machine

_TAKES_OVER = frozenset(("enter_context", "closing", "aclosing", "enter_async_context", "ExitStack"))
_MARKS = frozenset("@dataclass @define @frozen @attrs @s @total_ordering @final".split())  # they write methods, if any


def methods_that(cls: Class, doing: str) -> frozenset[str]:
    """The methods of a class that call something of this name, themselves or through one another."""
    members = methods_of(cls)
    found = {name for name, facts in members.items() if any(doing in called for called in facts.calls)}
    while True:
        more = {name for name, facts in members.items() if name not in found and not found.isdisjoint(facts.calls)}
        if not more:
            break
        found |= more
    return frozenset(found - {"__init__", "__post_init__", "__del__"})


def goes_by_itself(machine: Machine, keeper: Obj, doing: str, kept: Obj | Frame) -> bool:
    """Whether the `__del__` of an object does so: what it has put away is another object, which does not refer to it,
    so that nothing keeps it alive."""
    last = methods_of(keeper.cls).get("__del__") if isinstance(keeper.cls, Class) else None
    if last is None or type(kept) is not Obj or refers_to(machine, (kept,), (keeper,)):
        return False
    assert isinstance(keeper.cls, Class)
    return not (methods_that(keeper.cls, doing) | {doing}).isdisjoint(last.calls)


def methods_of(cls: Class) -> dict[str, FunctionFacts]:
    """The methods of a class by their names."""
    return {
        name: atom.facts
        for entry in reversed(cls.mro)
        for name, value in entry.members.items()
        for atom in value
        if type(atom) is Function
    }


def may_be_asked_from_afar(machine: Machine, owner: Obj | Frame, doing: str) -> bool:
    """Whether the object that something belongs to has a method of this name, and nobody in sight makes it: whoever
    does may call it."""
    found = owner_of(owner)
    if found is None or not found[0].unknown or doing not in methods_of(found[1]):
        return False  # or it is made in sight, if not under the name of its class: `METRICS[name]()`
    names = {entry.facts.name for entry in found[1].mro}
    return all(names.isdisjoint(function.calls) for function in machine.facts.functions)


def owner_of(owner: Obj | Frame) -> tuple[Obj, Class] | None:
    """The object of a class of the project that a container belongs to."""
    for obj in owner.holders if type(owner) is Obj else ():
        if type(obj) is Obj and obj.kind in ("instance", "module"):
            return (obj, obj.cls) if isinstance(obj.cls, Class) else None
    return None


def kept_in_sight(machine: Machine, owner: Obj | Frame) -> bool:
    """Whether the object that something belongs to is made in sight, and nobody who is not in sight has it."""
    found = owner_of(owner)
    return found is not None and _is_made_and_kept_in_sight(machine, found[0])


def may_be_asked(machine: Machine, owner: Obj | Frame, doing: str) -> bool:
    """Whether anybody may call a method of this name, of the object that something belongs to, after all: nobody who
    is in sight does, or has given the object to somebody who is not."""
    found = owner_of(owner)
    if found is None or doing not in methods_of(found[1]):
        return True
    obj, cls = found
    if not _is_made_and_kept_in_sight(machine, obj):
        return True
    if _is_handed_on(cls, doing):
        return True
    return is_asked(machine, obj, methods_that(cls, doing) | {doing}, wholes_of(machine, obj))


def wholes_of(machine: Machine, obj: Obj) -> list[Obj]:
    """The objects that have another one as a part, from the inside out, where all of them are in sight."""
    if not _is_made_and_kept_in_sight(machine, obj):
        return []
    return [one for one in obj.holders if one is not obj and type(one) is Obj]


def _is_made_and_kept_in_sight(machine: Machine, obj: Obj) -> bool:
    """Whether an object is made by code that is run, is of no class that others drive, and only local variables, and
    objects of the same kind, have it."""
    for current in obj.holders:
        if type(current) is not Obj:
            return not is_module_level(current)
        foreign = isinstance(current.cls, Class) and not all(map(_is_plain, current.cls.external))
        if current.unknown or foreign or current in machine.given_away:
            return False
    return True


def _is_plain(base: str) -> bool:
    """A base class that calls no method of those that inherit from it, but for `forward`; or a decorator like that."""
    return base.startswith(PLAIN_BASES) or base in _MARKS


def is_asked(machine: Machine, obj: Obj, methods: frozenset[str], wholes: Sequence[Obj] = ()) -> bool:
    """Whether others may call one of the methods of an object: in the run, of something that is not seen, in a
    function that was not run, or through what takes the object over. Of what it is a part of, where all of that is in
    sight, a method does so only if anybody may call that one."""
    if not methods.isdisjoint(machine.asked_unseen):
        return True
    asking = {frame for name, frames in machine.asked.get(obj, {}).items() if name in methods for frame in frames}
    if any(_may_be_come_to(machine, frame, wholes) for frame in asking):
        return True
    for function in machine.facts.functions:
        if not _TAKES_OVER.isdisjoint(function.calls):
            return True
        if id(function) not in machine.reached and function.name not in ("<module>", "__del__"):
            own = isinstance(obj.cls, Class) and any(function is facts for facts in methods_of(obj.cls).values())
            if not own and not methods.isdisjoint(_mentioned(function)) and _may_run(machine, function, wholes):
                return True
    return False


def _is_handed_on(cls: Class, name: str) -> bool:
    """`Thread(target=self.work)`"""
    return any(name in _mentioned(own) and name not in own.calls for own in methods_of(cls).values())


def _may_be_come_to(machine: Machine, frame: Frame, wholes: Sequence[Obj]) -> bool:
    """Whether the run comes to a call by itself, or by a method that it has entered which somebody may call."""
    while wholes and frame.caller is not None:
        frame = frame.caller
    return not any(frame.receiver is whole for whole in wholes) or _may_run(machine, frame.facts, wholes)


def _may_run(machine: Machine, function: FunctionFacts, wholes: Sequence[Obj]) -> bool:
    """Whether anybody may call a function that nobody is seen to call: of a method of one of these it is known."""
    for at, whole in enumerate(wholes):
        if isinstance(whole.cls, Class) and any(function is one for one in methods_of(whole.cls).values()):
            name = function.name
            if function.decorators or name.startswith(("__", "on_")) or name == "run" or _is_handed_on(whole.cls, name):
                return True
            return is_asked(machine, whole, methods_that(whole.cls, name) | {name}, wholes[at + 1 :])
    return True


def _mentioned(function: FunctionFacts) -> set[str]:
    return {expr[2] for expr in expressions(function.body) if expr[0] == m.ATTR}


def called_by(obj: Obj, frame: Frame, site: Site) -> tuple[Frame, Site]:
    """The call of an object's method that a site lies in, and where it does: a part may have done it for the object."""
    current, at = frame, site
    while current.receiver is not obj and current.caller is not None:
        current, at = current.caller, current.call_site
    return (current, at) if current.receiver is obj else (frame, site)


def in_charge(
    obj: Obj, frame: Frame, site: Site, doing: frozenset[str], at_home: Callable[[Site], bool]
) -> tuple[Obj, Site, frozenset[str]]:
    """The object that the home file uses for what one of another file does: that one, or what has it as a part; with
    the line that uses it, and its methods that call those of the part."""
    current: Frame | None = frame
    while current is not None:
        whole = current.receiver
        if whole is not obj and type(whole) is Obj and isinstance(whole.cls, Class) and not at_home(site):
            if whole not in obj.holders:
                break
            doing = _of_whole(whole, obj, whole.cls, doing)
            obj = whole
        if current.receiver is not obj:
            break
        site, current = current.call_site, current.caller
    return obj, site, doing


def _of_whole(whole: Obj, part: Obj, cls: Class, doing: frozenset[str]) -> frozenset[str]:
    """The methods of an object that call those of a part of it: by the name of the part, `self.hooks.detach()`, where
    any does, so that what others do to something else, `x.detach()`, is not taken for it."""
    places = {
        (m.ATTR, (m.NAME, "self"), name)
        for name, value in whole.fields.items()
        if any(type(atom) is Obj and atom.serial == part.serial for atom in value)
    }
    named = frozenset(
        name
        for name, facts in methods_of(cls).items()
        if not doing.isdisjoint(facts.calls)
        and any(call[2][0] == m.ATTR and call[2][2] in doing and call[2][1] in places for call in calls(facts.body))
    )
    if not named:
        return frozenset(method for one in doing for method in methods_that(cls, one))
    return named.union(*(methods_that(cls, one) for one in named)) - {"__init__", "__post_init__", "__del__"}


def told_by(obj: Obj, doing: frozenset[str], wholes: Sequence[Obj]) -> tuple[Obj, frozenset[str]]:
    """The object that has another one as a part and tells it what to do, if one does, and its methods for that."""
    for whole in wholes:
        methods = _of_whole(whole, obj, whole.cls, doing) if isinstance(whole.cls, Class) else frozenset[str]()
        if not methods:
            break
        obj, doing = whole, methods
    return obj, doing


def used_at(obj: Obj, frame: Frame, site: Site) -> Site:
    """The line of the user of an object from which its method came to a site."""
    current: Frame | None = frame
    while current is not None and current.receiver is obj:
        site, current = current.call_site, current.caller
    return site
