"""A model that its owner lets go of to have the memory back, while an object that belongs to a module keeps what was
made with it: the sampler that was given to it last, the pipeline that is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import FileFacts, Site
from ..facts.program import Place, Program
from ..facts.walk import calls, statements
from ..interpreter.events import Reset, Store
from ..interpreter.frames import Frame
from ..interpreter.holders import has_parameters
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj
from ..lexical.cleanup import collects, empties, given_up
from .still_held import reaches, rest_of

_OWNERS = ("instance", "module")


class HeldElsewhere(NamedTuple):
    site: Site  # where the object gets what has the model, or else where the model's owner lets go of it
    dropped: str  # the attribute or global that lets go
    drop: Site
    holder: str


def held_elsewhere(machine: Machine, program: Program) -> Iterator[HeldElsewhere]:
    """Only what has one place is meant: tables and caches may keep models on purpose."""
    if not program.empties and "collect" not in program.called:
        return
    places = {place.facts.place: place for place in program.places}
    said = set[str]()
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind in ("dropped-part", "dropped-global") else None
        if place is None or not _for_the_memory(program, place, note.site):
            continue
        owner, name, value = note.detail
        gone = {id(atom) for atom in value if type(atom) is Obj and atom.weight > 1 and has_parameters(atom)}
        parts = chain(_parts_of_globals(machine, owner), _parts_beside(machine, owner, name)) if gone else ()
        for text, holder, part in parts:
            if (
                text not in said
                and reaches(holder.fields[part], gone, but=owner, kinds=_OWNERS)
                and not _let_go(machine, holder, part)
            ):
                said.add(text)
                kept = min(_given_at(machine, holder, part), default=-1)
                yield HeldElsewhere(kept if machine.is_home(kept) else note.site, name, note.site, text)


def _for_the_memory(program: Program, place: Place, site: Site) -> bool:
    """Whether the collector, or the cache, is called after something has been let go of."""
    rest = rest_of(place.facts.body, site)
    return rest is not None and any(empties(program, call) or collects(program, call) for call in calls(rest.following))


def _parts_of_globals(machine: Machine, owner: Obj | Frame) -> Iterator[tuple[str, Obj, str]]:
    """The attributes of objects that are globals of a module, but for those of the owner, and of those beside it."""
    for unit in machine.units.values():
        if unit.frame is owner:
            continue
        imported = {name for _, _, names in unit.outline.imported() for name in names}
        for name, value in unit.frame.vars.items():
            if name in imported:
                continue  # what it is where it comes from
            for atom in value:
                if type(atom) is Obj and atom.kind == "instance" and atom is not owner and not atom.unknown:
                    yield from ((f"{name}.{part}", atom, part) for part in atom.fields if part[:1] != "$")


def _parts_beside(machine: Machine, owner: Obj | Frame, dropped: str) -> Iterator[tuple[str, Obj, str]]:
    """What objects that are globals beside the one that lets go, in the file itself, were given after they were made,
    but for such an object: that is spoken of by its own name."""
    if owner is not machine.module_frame:
        return
    values = {name: value for name, value in machine.module_frame.vars.items() if name != dropped}
    known = [atom for value in values.values() for atom in value if type(atom) is Obj]
    for name, value in values.items():
        for atom in value:
            if type(atom) is Obj and atom.kind == "instance" and not atom.unknown and not atom.is_put_off:
                for part, inside in atom.fields.items():
                    named = part[:1] == "$" or any(one is other for one in inside for other in known)
                    if not named and _given_at(machine, atom, part):
                        yield f"{name}.{part}", atom, part


def _let_go(machine: Machine, holder: Obj, part: str) -> bool:
    """Whether somebody lets go of an attribute, in this file or in that of its class, or several statements bind it:
    what it has then is not all the same."""
    files: list[FileFacts] = [machine.facts]
    if isinstance(holder.cls, Class):
        files += [one.frame.unit.facts for one in holder.cls.mro]
    emptied = any(one.owner is holder and one.key == "*" for one in machine.resets)
    given_up = (one.rpartition(".")[2] for facts in files for one in _given_up(facts))
    return emptied or part in given_up or len(_given_at(machine, holder, part)) > 1


def _given_at(machine: Machine, holder: Obj, part: str) -> set[Site]:
    """The statements that bind an attribute after its object was made."""
    events: list[Store | Reset] = [*machine.stores, *machine.resets]
    return {
        one.site
        for one in events
        if one.owner is holder
        and one.key == part
        and not (one.frame.receiver is holder and one.frame.facts.name == "__init__")
    }


def _given_up(facts: FileFacts) -> Iterator[str]:
    bodies = {0, *(cls.body for cls in facts.classes)}
    for index, function in enumerate(facts.functions):
        if index not in bodies and function.name != "__init__":  # what it begins with
            for statement in statements(function.body):
                if statement[0] in (m.ASSIGN, m.DELETE, m.EXPR):
                    yield from given_up(statement)
