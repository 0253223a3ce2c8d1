"""Tables of models that are cleared to have the memory back, while what was made around one of them stays.

`def clear(self): self.models.clear(); gc.collect(); torch.cuda.empty_cache()`, and `self.last`, which `use(name)` has
made around a model of the table, `Hook(self.load(name))`, still has it. A model that an attribute has as it is may be
the one in use, which the clean-up leaves on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT
from ..facts.program import Place, Program, expressions, targets
from ..facts.walk import calls, calls_of, statements
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..lexical.cleanup import collects, empties
from .forgotten import is_let_go
from .still_held import StillHeld, is_told_to, moves_off, reaches, rest_of

_SELF = (m.NAME, "self")
_LEAVES_SOME = frozenset("trim evict prune shrink limit others unused except but old stale expired".split())


def held_after_clearing(machine: Machine, program: Program) -> Iterator[StillHeld]:
    """The objects that methods make around models, where another method clears the table and empties the cache."""
    if not program.empties and "collect" not in program.called:
        return
    places = {place.facts.place: place for place in program.places}
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind == "cleared-models" else None
        owner = note.frame.receiver
        if place is None or not isinstance(owner, Obj) or not _LEAVES_SOME.isdisjoint(place.facts.name.split("_")):
            continue
        rest = rest_of(place.facts.body, note.site - note.site % CALLS_PER_STATEMENT)
        following = () if rest is None else tuple(calls(rest.following))
        if not any(empties(program, call) or collects(program, call) for call in following):
            continue
        models, beside = note.detail
        gone = {id(model) for model in models if model.weight > 1}
        for name, value in beside:
            around = _objects_around(value, gone, owner)
            told = is_told_to(following, f"self.{name}") or moves_off(place.facts.body, f"self.{name}")
            if not around or told or not _is_made_anew(program, place, name) or is_let_go(program, name):
                continue
            if not _goes_on_with(program, place, name):
                yield StillHeld(note.site, "", (f"self.{name}",), -1)


def _objects_around(value: Value, gone: set[int], owner: Obj) -> bool:
    """Whether a value is an object, made for this, that has one of these models as a part."""
    objects = tuple(one for one in value if type(one) is Obj and one.kind == "instance" and one is not owner)
    return reaches(objects, gone, 3, but=owner, kinds=("instance",))


def _is_made_anew(program: Program, clearing: Place, name: str) -> bool:
    """Whether a method makes what an attribute has, each time; and the one that clears does nothing with it."""
    made = False
    for place in program.places:
        if place.cls != clearing.cls or place.facts.name == "__init__":
            continue
        for one in statements(place.facts.body):
            if (m.ATTR, _SELF, name) in targets(one):
                if place is clearing or one[0] != m.ASSIGN:
                    return False
                made = made or one[3][0] == m.CALL
    return made


def _goes_on_with(program: Program, clearing: Place, name: str) -> bool:
    """Whether a function that clears the table goes on with a method that reads the attribute as it is: then it holds
    what is in use."""
    own = {place.facts.name: place for place in program.places if place.cls == clearing.cls}
    touching = {one for one in own if _touches(own[one], name)} - {clearing.facts.name}
    for place in program.places if clearing.facts.name in program.called else ():
        every = [call for one in statements(place.facts.body) for call in calls_of(one) if call[2][0] == m.ATTR]
        cleared = next((call[1] for call in every if call[2][2] == clearing.facts.name), None)
        later = (call[2][2] for call in every if cleared is not None and call[1] > cleared)
        first = next((one for one in later if one in touching), "")
        if first and not any((m.ATTR, _SELF, name) in targets(one) for one in statements(own[first].facts.body)):
            return True
    return False


def _touches(place: Place, name: str) -> bool:
    return (m.ATTR, _SELF, name) in expressions(place.facts.body) or any(
        (m.ATTR, _SELF, name) in targets(one) for one in statements(place.facts.body)
    )
