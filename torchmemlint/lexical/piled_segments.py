"""Shared memory segments that pile up in a table, and that only the end of all work unlinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import emptyings
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls_of, expressions_of, last_name, statements
from ..interpreter.keys import FRESH, kind_of_key
from .once import SETUPS, called_last, is_repeated
from .segments import has_segments, made_in


class PiledSegments(NamedTuple):
    """A table that gains a segment at each call of a function."""

    site: Site
    holder: str
    made: Site
    end: str  # the function that unlinks them


def piled_segments(program: Program) -> Iterator[PiledSegments]:
    """`self.blocks[version] = SharedMemory(create=True, ...)` or `self.blocks.append(block)` in a function that runs
    again and again, where all that unlinks, or takes out, is what the program calls once, when it ends."""
    if "unlink" not in program.called or not has_segments(program):
        return
    ends = [place for place in program.places if "unlink" in place.facts.calls]
    for place in program.places:
        if place.facts.name in SETUPS or place in ends:
            continue
        for call, statement in made_in(program, place):
            if keyword(call, "create", 1) != (m.CONST, True) or not is_repeated(program, place, driven=True):
                continue
            for site, holder in _put_away(program, place, call, statement):
                if _is_kept(program, holder, ends) and all(called_last(program, one) for one in ends):
                    yield PiledSegments(site, f"self.{holder}", call[1], ends[0].facts.name)


def _put_away(program: Program, place: Place, made: Expr, binding: Stmt) -> Iterator[tuple[Site, str]]:
    """Where the function puts a segment into a table of its object, under a key of its own, or into a list that nobody
    asks for one: those that are there to be written into again are few."""
    segment = {made, *(target for target in targets(binding) if target[0] == m.NAME)}
    for one in statements(place.facts.body):
        for target in targets(one) if one[0] == m.ASSIGN and one[3] in segment else ():
            if target[0] == m.ITEM and _is_own(target[1]) and _is_new(program, target[2]):
                yield one[1], target[1][2]
        for call in calls_of(one):
            adds = call[2][0] == m.ATTR and call[2][2] == "append" and _is_own(call[2][1])
            if adds and segment.intersection(call[3]) and not _is_asked(program, call[2][1][2]):
                yield call[1], call[2][1][2]


def _is_asked(program: Program, holder: str) -> bool:
    """Whether a function takes segments out of a list other than to end them, or hands the list out."""
    for place in program.places:
        if "unlink" in place.facts.calls or place.facts.name in SETUPS:
            continue
        parts = [part for one in statements(place.facts.body) for part in expressions_of(one)]
        named = sum(part[0] == m.ATTR and part[2] == holder for part in parts)
        told = [part for part in parts if part[0] == m.CALL and len(part) == 5]
        added = sum(one[2][0] == m.ATTR and one[2][2] == "append" and last_name(one[2][1]) == holder for one in told)
        counted = sum(one[2] == (m.NAME, "len") and last_name(one[3][0]) == holder for one in told if one[3])
        if named > added + counted:
            return True
    return False


def _is_own(place: Expr) -> bool:
    return place[:2] == (m.ATTR, (m.NAME, "self"))


def _is_new(program: Program, key: Expr) -> bool:
    """Whether a key is another one each time: by its name, other than a place among several, or because it is what a
    method counts up."""
    if kind_of_key((), key) == FRESH and last_name(key).strip("_") not in ("index", "idx", "pos", "position"):
        return True
    return key[0] == m.ATTR and any(
        one[0] == m.AUGMENT and one[2] == key for place in program.places for one in statements(place.facts.body)
    )


def _is_kept(program: Program, holder: str, ends: list[Place]) -> bool:
    """Whether nothing but what unlinks, and the constructor, takes anything out of a container or replaces it."""
    return not any(
        True
        for place in program.places
        if place not in ends and place.facts.name not in SETUPS
        for _ in emptyings(place.facts, holder)
    )
