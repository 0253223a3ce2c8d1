"""Methods that a class inherits and that call what it defines: run for the class, with what it puts in. And those of
its own that give something to what it inherits."""

from __future__ import annotations

from collections.abc import Container

from ..facts import model as m
from ..facts.walk import calls
from .machine import Machine
from .values import Class, Function

_OWN = (m.ATTR, (m.NAME, "self"))


def templates(machine: Machine, cls: Class) -> list[Function]:
    """Methods that a class inherits from another file and that call what the class defines."""
    own = {name for entry in cls.mro if entry.frame.unit is machine.home for name in entry.facts.methods}
    found: dict[str, Function] = {}
    for entry in cls.mro:
        unit = entry.frame.unit
        if unit is machine.home or own.isdisjoint(unit.outline.called_by_methods(entry.facts)):
            continue
        for name, index in entry.facts.methods.items():
            function = unit.facts.functions[index]
            if name in own or name in found or name == "__init__" or own.isdisjoint(function.calls):
                continue
            if not unit.is_worth_running(function):
                continue
            for member in entry.own(name) or ():
                if type(member) is Function and member.kind in ("", "class"):
                    found[name] = member
    return list(found.values())


def giving(machine: Machine, cls: Class, own: list[Function]) -> list[Function]:
    """Methods that give something to an inherited one of another file, which adds it to what its object has:
    `self.collect(loss=loss)`."""
    bases = [entry for entry in cls.mro[1:] if entry.frame.unit is not machine.home]
    adding = {name for entry in bases for name in entry.frame.unit.outline.growing_methods(entry.facts)}
    adding -= cls.facts.methods.keys()
    if not adding:
        return []
    return [
        one
        for one in own
        if one.facts.name != "__init__"
        and not adding.isdisjoint(one.facts.calls)
        and any(call[2][:2] == _OWN and call[2][2] in adding and (call[3] or call[4]) for call in calls(one.facts.body))
    ]


def filled(machine: Machine, cls: Class, worth: Container[int]) -> list[Function]:
    """Methods that a class inherits in its file and that lead to what it defines where its base raises, if nobody has
    come to that: run with the base alone, they show nothing of it. Before them what it defines, for that is offered
    to others as well."""
    home, own = cls.frame.unit, cls.facts.methods
    bases = [entry for entry in cls.mro[1:] if entry.frame.unit is home]
    defined = [
        name
        for name, index in own.items()
        if any(_is_abstract(entry, name) for entry in bases) and id(home.facts.functions[index]) not in machine.reached
    ]
    if not defined:
        return []
    methods = {
        name: member
        for entry in reversed(bases)
        for name in entry.facts.methods
        for member in entry.own(name) or ()
        if type(member) is Function and member.kind in ("", "class") and name not in own and name != "__init__"
    }
    leading, found = set(defined), set[str]()
    while more := {n for n, member in methods.items() if n not in found and not leading.isdisjoint(member.facts.calls)}:
        found |= more
        leading |= more
    called = {name for n in found for name in methods[n].facts.calls if name != n}
    leads = [methods[name] for name in methods if name in found - called and id(methods[name].facts) in worth]
    offered = [member for name in defined if name[:1] != "_" for member in cls.members[name]]
    return [f for f in offered if leads and type(f) is Function and f.kind == ""] + leads


def _is_abstract(cls: Class, name: str) -> bool:
    return any(type(member) is Function and member.kind == "abstract" for member in cls.own(name) or ())
