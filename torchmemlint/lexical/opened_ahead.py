"""Files that are opened one after another ahead of their use, and stay open.

`self.files = [h5py.File(path) for path in self.paths]` in a data set that is as long as that: one for each item.

PIL's `Image.open(path)` reads the head of a file, and keeps the file open until somebody asks for the pixels: a record
that gets the picture unread has a descriptor for as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, BUILDERS, emptyings
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, expressions, text
from ..facts.walk import calls_of, expressions_of, last_name, loops, statements
from ..interpreter.weights import HANDLES

_PICTURE = "PIL.Image.open"
_OPENS = frozenset(name.rpartition(".")[2] for name in (*HANDLES, _PICTURE))
_ADDS = ("append", "add", "appendleft")
_HEAD = frozenset("size width height mode format filename info readonly n_frames is_animated getexif getbands".split())
_MAKERS = ("__init__", "__new__", "__post_init__")
_THROUGH = ("sorted", "enumerate", "tqdm", "list", "reversed", "track")
_OF_PATHS = ("join", "str", "Path", "fspath", "joinpath", "format", "expanduser", "abspath", "as_posix")


class OpenedAhead(NamedTuple):
    """Where a loop opens files, each of which something keeps."""

    site: Site
    holder: str
    picture: bool  # which stays open until its pixels are asked for


def opened_ahead(program: Program) -> Iterator[OpenedAhead]:
    """Each place once."""
    for place in program.places if not program.called.isdisjoint(_OPENS) else ():
        if _OPENS.isdisjoint(place.facts.calls):
            continue
        said = {one.site: one for one in (*_for_all_items(program, place), *_in_records(program, place))}
        yield from said.values()


def _for_all_items(program: Program, place: Place) -> Iterator[OpenedAhead]:
    """What the constructor of a data set opens: as many files as it has items."""
    found = next((one for one in program.facts.classes if one.name == place.cls), None)
    if found is None or not {"__getitem__", "__len__"} <= found.methods.keys():
        return
    begins = [program.facts.functions[found.methods[name]] for name in BUILDERS if name in found.methods]
    if all(place.facts is not one and place.facts.name not in one.calls for one in begins):
        return
    asked = expressions(program.facts.functions[found.methods["__len__"]].body)
    counted = {one[3][0] for one in asked if one[0] == m.CALL and one[2] == (m.NAME, "len") and one[3]}
    for call, holder, over in _kept_by_loops(program, place.facts):
        own = holder[0] == m.ATTR and holder[1] == (m.NAME, "self") and over[0] != m.NEW  # `(left, right)` are few
        if (
            own
            and not counted.isdisjoint(_names_for(place.facts, holder, over))
            and not _let_go(program, place, holder[2])
        ):
            yield OpenedAhead(call[1], text(holder), _is_picture(program, call))


def _let_go(program: Program, place: Place, name: str) -> bool:
    """Whether something takes files out again, or binds the name anew: other than where they are opened."""
    return any(
        one.how != BOUND or (other.facts is not place.facts and other.facts.name not in BUILDERS)
        for other in program.places
        for one in emptyings(other.facts, name)
    )


def _kept_by_loops(program: Program, facts: FunctionFacts) -> Iterator[tuple[Expr, Expr, Expr]]:
    """What is opened in each round, the container that gets it, and what the loop goes over."""
    for one in statements(facts.body):
        if one[0] == m.ASSIGN and one[3][0] == m.COMP and len(one[3][5]) == 1:
            made = one[3][3] if one[3][4] is None else one[3][4]
            if _opens(program, facts, made):
                yield made, one[2][0], _gone_over(one[3][5][0][1])
    for loop, inside in loops(facts.body):
        for opened, value in _opened_in(program, facts, inside) if loop[0] == m.FOR else ():
            for holder, added in _added(inside):
                if added in value and not _is_read(inside, value):
                    yield opened, holder, _gone_over(loop[3])


def _in_records(program: Program, place: Place) -> Iterator[OpenedAhead]:
    """Pictures that go unread into records, in a list that the function returns or an object keeps."""
    for loop, inside in loops(place.facts.body):
        for opened, value in _opened_in(program, place.facts, inside) if loop[0] == m.FOR else ():
            if not _is_picture(program, opened) or _is_read(inside, value, program):
                continue
            records = {one for one in _all(inside) if _is_record(program, one) and not value.isdisjoint(_parts(one))}
            named = {t for one in inside if one[0] == m.ASSIGN and one[3] in records for t in one[2]}
            for holder, added in _added(inside):
                if added in (*records, *named) and _outlives(place.facts, holder):
                    yield OpenedAhead(opened[1], text(holder), picture=True)


def _opened_in(program: Program, facts: FunctionFacts, inside: list[Stmt]) -> Iterator[tuple[Expr, set[Expr]]]:
    """Each call of a loop that opens a file, and what stands for that: the call itself, and its name."""
    for one in inside:
        for call in calls_of(one):
            if _opens(program, facts, call):
                named = one[2] if one[0] == m.ASSIGN and one[3] == call else ()
                yield call, {call, *(name for name in named if name[0] == m.NAME)}


def _opens(program: Program, facts: FunctionFacts, call: Expr) -> bool:
    """Whether a call opens what is on a disk, by a path: not what is in memory, or open already."""
    if call[0] != m.CALL or len(call) != 5 or last_name(call[2]) not in _OPENS or not call[3]:
        return False
    if program.dotted(call[2]) not in (*HANDLES, _PICTURE):
        return False
    path = call[3][0]
    if path[0] == m.CALL:
        return last_name(path[2]) in _OF_PATHS
    opened = {t for one in statements(facts.body) if one[0] == m.WITH for _, t in one[2]}
    made = (one[3] for one in statements(facts.body) if one[0] == m.ASSIGN and path in one[2])
    return path not in opened and all(one[0] != m.CALL or last_name(one[2]) in _OF_PATHS for one in made)


def _is_picture(program: Program, call: Expr) -> bool:
    return program.dotted(call[2]) == _PICTURE


def _is_read(inside: list[Stmt], value: set[Expr], program: Program | None = None) -> bool:
    """Whether a loop does more with what it has opened than to look at the head of a file, or to put it away: it may
    read and close it. With a `program`, records are no more than that."""
    for part in _all(inside):
        if part[0] == m.ATTR and part[1] in value and part[2] not in _HEAD:
            return True
        if part[0] == m.CALL and len(part) == 5 and not value.isdisjoint(_parts(part)):
            puts = last_name(part[2]) in _ADDS
            if not puts and (program is None or not _is_record(program, part)):
                return True
    return any(one[0] == m.WITH and any(context in value for context, _ in one[2]) for one in inside)


def _is_record(program: Program, expr: Expr) -> bool:
    """A dict or tuple, or an object of a class of the file that only has fields: making one asks nothing of them."""
    if expr[0] in (m.DICT, m.NEW):
        return True
    if expr[0] != m.CALL or len(expr) != 5 or expr[2][0] != m.NAME:
        return False
    found = [one for one in program.facts.classes if one.name == expr[2][1]]
    return len(found) == 1 and found[0].methods.keys().isdisjoint(_MAKERS)


def _parts(expr: Expr) -> list[Expr]:
    """What a record, or a call, is given."""
    if expr[0] == m.DICT:
        return [value for _, value in expr[2]]
    return list(expr[3]) if expr[0] == m.NEW else [*expr[3], *(value for _, value in expr[4])]


def _added(inside: list[Stmt]) -> Iterator[tuple[Expr, Expr]]:
    """The containers that a loop adds to, and what they get."""
    for one in inside:
        for target in one[2] if one[0] == m.ASSIGN else ():
            if target[0] == m.ITEM:
                yield target[1], one[3]
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][2] in _ADDS and len(call[3]) == 1:
                yield call[2][1], call[3][0]


def _outlives(facts: FunctionFacts, holder: Expr) -> bool:
    """Whether a container is more than a variable of the function: part of an object, or what is returned."""
    returned = (one[2] for one in statements(facts.body) if one[0] == m.RETURN and one[2] is not None)
    return holder[0] == m.ATTR or any(holder in (one, _gone_over(one), *_shown(one)) for one in returned)


def _shown(value: Expr) -> list[Expr]:
    return _parts(value) if value[0] in (m.NEW, m.DICT) else []


def _names_for(facts: FunctionFacts, *known: Expr) -> set[Expr]:
    """Those of a list of paths, `self.paths = paths`, and of what is made of it."""
    found = set(known)
    for one in statements(facts.body):
        if one[0] == m.ASSIGN and one[3] in known:
            found.update(one[2])
        elif one[0] == m.ASSIGN and not found.isdisjoint(one[2]):
            found.add(one[3])
    return found


def _gone_over(iterated: Expr) -> Expr:
    while iterated[0] == m.CALL and last_name(iterated[2]) in _THROUGH and iterated[3]:
        iterated = iterated[3][0]
    return iterated


def _all(inside: list[Stmt]) -> Iterator[Expr]:
    return (part for one in inside for part in expressions_of(one))
