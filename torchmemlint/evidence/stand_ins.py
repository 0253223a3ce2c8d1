"""A model that an attribute lets go of by getting another one, for the memory, while a whole beside it still has it.

`self.encoder = StandIn()`, then the cache is emptied, and `self.pipeline` was made with the encoder before. An
attribute that has the same model itself, or a table, keeps it on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.program import Place, Program, expressions, targets
from ..facts.walk import calls, statements
from ..interpreter.holders import has_parameters
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..lexical.cleanup import empties, may_clean_up
from .still_held import StillHeld, reaches, rest_of

_WHOLES = ("instance", "module")


def held_by_wholes(machine: Machine, program: Program) -> Iterator[StillHeld]:
    """Models that are replaced right before the cache is emptied, and the objects beside that have them."""
    if not program.empties:
        return
    places = {place.facts.place: place for place in program.places}
    seen = set[int]()
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind == "replaced-part" else None
        if place is None or note.site in seen or not may_clean_up(program, place.facts):
            continue
        rest = rest_of(place.facts.body, note.site)
        if rest is None or not any(empties(program, call) for call in calls(rest.following)):
            continue
        owner, name, before, value = note.detail
        gone = {id(atom) for atom in before if has_parameters(atom)}
        holders = [other for other in _holders(owner, name, gone, value) if not _has_its_turn(program, place, other)]
        if gone and holders:
            seen.add(note.site)
            whose = _whose(place, note.site, name)
            yield StillHeld(note.site, f"{whose}.{name}", tuple(f"{whose}.{other}" for other in holders), -1)


def _holders(owner: Obj, name: str, gone: set[int], value: Value) -> list[str]:
    """The attributes with an object that has what is gone; none if one has it as it is, or the new one is made of it,
    or is what another one has, which takes turns with it."""
    others = {other: kept for other, kept in owner.fields.items() if other != name and other[:1] != "$"}
    new = {id(atom) for atom in value if type(atom) is Obj}
    if any(id(atom) in gone | new for kept in others.values() for atom in kept) or reaches(value, gone):
        return []
    if any(reaches(kept, new, but=owner) for kept in others.values() if _is_table(kept)):
        return []
    return [other for other, kept in others.items() if reaches(_wholes(kept), gone, but=owner, kinds=_WHOLES)]


def _wholes(value: Value) -> Value:
    return tuple(atom for atom in value if type(atom) is Obj and atom.kind in _WHOLES)


def _is_table(value: Value) -> bool:
    return any(type(atom) is Obj and atom.kind not in _WHOLES for atom in value)


def _has_its_turn(program: Program, place: Place, attribute: str) -> bool:
    """Whether the function does something with an attribute, or one that calls it binds it."""
    if any(part[0] == m.ATTR and part[2] == attribute for part in expressions(place.facts.body)):
        return True
    callers = (other.facts for other in program.places if place.facts.name in other.facts.calls)
    bound = (one for facts in callers for statement in statements(facts.body) for one in targets(statement))
    return any(one[0] == m.ATTR and one[2] == attribute for one in bound)


def _whose(place: Place, site: int, name: str) -> str:
    """The name of the object whose attribute a statement binds."""
    bound = (one for statement in statements(place.facts.body) if statement[1] == site for one in targets(statement))
    owners = (one[1][1] for one in bound if one[0] == m.ATTR and one[2] == name and one[1][0] == m.NAME)
    return next(owners, "self")
