"""Objects that put themselves where they stay, and that nobody tells to take themselves out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import expressions
from ..interpreter.contexts import is_module_level
from ..interpreter.cycles import refers_to
from ..interpreter.values import Class, Function, Obj
from ..interpreter.written_parts import PLAIN_BASES

if TYPE_CHECKING:
    from ..interpreter.frames import Frame
    from ..interpreter.machine import Machine

_TAKES_OVER = frozenset(("enter_context", "closing", "aclosing", "enter_async_context", "ExitStack"))


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
    if any(doing in _mentioned(own) and doing not in own.calls for own in methods_of(cls).values()):
        return True  # `Thread(target=self.work)`
    return is_asked(machine, obj, methods_that(cls, doing) | {doing})


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
    """A base class that calls no method of those that inherit from it, but for `forward`."""
    return base.startswith(PLAIN_BASES)


def is_asked(machine: Machine, obj: Obj, methods: frozenset[str]) -> bool:
    """Whether others may call one of the methods of an object: in the run, of something that is not seen, in a
    function that was not run, or through what takes the object over."""
    if not methods.isdisjoint(machine.asked.get(obj, ())) or not methods.isdisjoint(machine.asked_unseen):
        return True
    for function in machine.facts.functions:
        if not _TAKES_OVER.isdisjoint(function.calls):
            return True
        if id(function) not in machine.reached and function.name not in ("<module>", "__del__"):
            own = isinstance(obj.cls, Class) and any(function is facts for facts in methods_of(obj.cls).values())
            if not own and not methods.isdisjoint(_mentioned(function)):
                return True
    return False


def _mentioned(function: FunctionFacts) -> set[str]:
    return {expr[2] for expr in expressions(function.body) if expr[0] == m.ATTR}


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
            cls, obj = whole.cls, whole
            doing = frozenset(method for one in doing for method in methods_that(cls, one))
        if current.receiver is not obj:
            break
        site, current = current.call_site, current.caller
    return obj, site, doing


def used_at(obj: Obj, frame: Frame, site: Site) -> Site:
    """The line of the user of an object from which its method came to a site."""
    current: Frame | None = frame
    while current is not None and current.receiver is obj:
        site, current = current.call_site, current.caller
    return site
