"""What data sets of one file each keep of what they have read, where a concatenation holds one for each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt, statement_of
from ..facts.program import Program, keyword, targets
from ..facts.walk import calls, calls_of, in_loops, last_name, nodes, places_with_values, statements
from ..interpreter.events import Plain
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj
from ..interpreter.weights import heavy

_JOINS = ("ConcatDataset", "ChainDataset")
_TAKES_OUT = ("pop", "delattr", "__delattr__")
_BEGINS = ("__init__", "__post_init__", "__getstate__", "__setstate__", "<module>")


class KeptByPart(NamedTuple):
    """What each of many data sets keeps from its first item on."""

    site: Site
    cls: str
    attribute: str
    what: str
    weight: int


def kept_by_parts(machine: Machine, program: Program) -> Iterator[KeptByPart]:
    """Properties that keep their value, and attributes that are set when they are missing, where nothing lets it go."""
    listed = frozenset(_one_for_each(program))
    said: set[Site] = set()
    for note in machine.plain if listed else ():
        found = _of_property(machine, note) or _set_when_missing(note)
        if found is None or found.site in said or found.cls not in listed or not machine.is_home(found.site):
            continue
        if (
            found.what in ("tensor", "array")
            and found.weight > 1
            and not _lets_go(program, found.attribute, found.site)
        ):
            said.add(found.site)
            yield found


def _of_property(machine: Machine, note: Plain) -> KeptByPart | None:
    if note.kind != "property-kept":
        return None
    owner, name, value = note.detail
    return KeptByPart(note.site, owner.cls.facts.name, name, *heavy(machine, value))


def _set_when_missing(note: Plain) -> KeptByPart | None:
    """`if self._pages is None: self._pages = load(self.path)`"""
    if note.kind != "worker-store":
        return None
    kept = note.detail
    if kept.context.kind != "loader" or kept.how != "set" or type(kept.owner) is not Obj:
        return None
    missing = statement_of(note.site) in note.frame.unit.outline.made_when_missing
    if not missing or not isinstance(kept.owner.cls, Class):
        return None
    return KeptByPart(note.site, kept.owner.cls.facts.name, kept.key, kept.what, min(kept.weight, 2))


def _one_for_each(program: Program) -> Iterator[str]:
    """The classes of which a concatenation is given one for each item of something."""
    joins = {cls.name for cls in program.facts.classes if _is_join(cls.bases)}
    for place in program.places if joins or not program.called.isdisjoint(_JOINS) else ():
        body = place.facts.body
        for call in calls(body):
            to_base = last_name(call[2]) == "__init__" and place.cls in joins
            if to_base or last_name(call[2]) in (*_JOINS, *joins):
                given = keyword(call, "datasets", 0)
                yield from _made_in(body, given) if given is not None else ()


def _is_join(bases: tuple[Expr, ...]) -> bool:
    return any(last_name(base) in _JOINS for base in bases)


def _made_in(body: tuple[Stmt, ...], given: Expr) -> Iterator[str]:
    """The classes of what a list has, one for each round of a comprehension or a loop."""
    lists = [given]
    for one, looped in in_loops(body):
        if one[0] == m.ASSIGN:
            lists += [value for place, value in places_with_values(one) if place == given]
        for call in calls_of(one) if looped else ():
            if call[2] == (m.ATTR, given, "append") and call[3] and call[3][0][0] == m.CALL:
                yield last_name(call[3][0])
    for value in lists:
        for part in nodes(value):
            if part[0] == m.COMP and part[3][0] == m.CALL:
                yield last_name(part[3])


def is_let_go(program: Program, site: Site) -> bool:
    """Whether a site is that of a property whose value something takes from the object again: `del record.image`."""
    found = (one for one in program.facts.functions if one.site == site and one.decorators)
    return any(_lets_go(program, one.name, site) for one in found)


def _lets_go(program: Program, attribute: str, site: Site) -> bool:
    """Whether anything deletes the attribute, takes it out of the object's table, or binds it to something else."""
    for function in program.facts.functions:
        for statement in statements(function.body):
            told = (m.CONST, attribute)
            if any(last_name(call[2]) in _TAKES_OUT and told in call[3] for call in calls_of(statement)):
                return True
            bound = statement[2] if statement[0] == m.DELETE else () if function.name in _BEGINS else targets(statement)
            if statement_of(statement[1]) != statement_of(site) and _names(bound, attribute):
                return True
    return False


def _names(bound: Iterable[Expr], attribute: str) -> bool:
    return any(target[0] == m.ATTR and target[2] == attribute for target in bound)
