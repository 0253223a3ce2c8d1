"""`del model` before the cache is emptied, while something else that the function has bound still holds the model."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.file_releases import LETS_GO
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, targets, text
from ..facts.walk import blocks, calls, calls_of, expressions_of, names_of, nodes, statements
from ..interpreter.frames import Frame
from ..interpreter.holders import captured, has_parameters, heavy_objects
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Function, Obj, Partial, Value
from ..lexical.cleanup import collects, empties, given_up
from ..lexical.library_pipelines import pipelines_of
from ..lexical.parts_that_stay import is_part_of_what_stays
from ..lexical.weights_apart import weights_of
from .emptied import is_work, optimizers_of
from .unneeded_parts import held_by_unneeded_parts

_DEPTH = 4
_FREES = (*LETS_GO, "clean", "close", "delete", "destroy", "dispose", "drop", "forget", "unload")
_PHASES = ("train", "eval")
_OWNERS = ("instance", "list", "tuple", "dict")  # what goes for what it has
_HOST: frozenset[Expr] = frozenset({(m.CONST, "cpu"), (m.CONST, "meta")})


class StillHeld(NamedTuple):
    """A name that is let go of, and the other names that hold the same."""

    site: Site
    name: str
    holders: tuple[str, ...]
    bound: Site  # where the first of them is


class Rest(NamedTuple):
    """What a function does after a statement."""

    following: tuple[Stmt, ...]
    loop: Stmt | None  # the innermost loop around it, whose next round follows as well


def still_held(machine: Machine, program: Program) -> Iterator[StillHeld]:
    """Models whose name goes, then the cache is emptied and more is done, while a wrapper keeps the model."""
    if not program.empties:
        return
    places = {place.facts.place: place for place in program.places}
    seen = set[Site]()
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind == "dropped" else None
        if place is None or note.site in seen:
            continue
        name, value = note.detail
        rest = rest_of(place.facts.body, note.site)
        if rest is None or not goes_on(program, rest) or _is_of_what_goes_on(program, place, name, rest):
            continue
        holders = list(_holders(program, place, note.frame, name, value, note.site, rest))
        if holders and not _stay_anyway(program, place, rest, name, [one for one, _ in holders]):
            seen.add(note.site)
            yield StillHeld(note.site, name, tuple(one for one, _ in holders), holders[0][1])


def _stay_anyway(program: Program, place: Place, rest: Rest, name: str, holders: list[str]) -> bool:
    """Whether a name, or all that holds the same, are names for a part of what stays: `layer = layers[i]`."""
    used = read_after(program, place, rest) | (names_of((rest.loop,)) if rest.loop is not None else set())
    parts = functools.partial(is_part_of_what_stays, place.facts, used=used)
    return parts(name) or all(map(parts, holders))


def _is_of_what_goes_on(program: Program, place: Place, name: str, rest: Rest) -> bool:
    """Whether a name is the variable of a loop over what is in use afterwards: then it goes for order's sake, and not
    for the memory: `for encoder in encoders: ...`, `del encoder`, `embed(encoders)`."""
    over = {
        part[1]
        for one in statements(place.facts.body)
        if one[0] == m.FOR and (m.NAME, name) in targets(one)
        for part in nodes(one[3])
        if part[0] == m.NAME
    }
    return bool(over) and not over.isdisjoint(read_after(program, place, rest))


def still_held_beside(machine: Machine, program: Program) -> Iterator[StillHeld]:
    """Models that an attribute lets go of, for the memory, while another one of the object keeps what has them."""
    if not program.empties and "collect" not in program.called:
        return
    places = {place.facts.place: place for place in program.places}
    seen = set[Site]()
    together = {note.site: note.detail for note in machine.plain if note.kind == "deleted-together"}
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind == "dropped-part" else None
        if place is None or note.site in seen or place.facts.name.startswith("__"):
            continue
        owner, name, value = note.detail
        rest = rest_of(place.facts.body, note.site)
        following = () if rest is None else tuple(calls(rest.following))
        if rest is None or not any(empties(program, call) or collects(program, call) for call in following):
            continue
        gone = {id(atom) for atom in value if type(atom) is Obj and atom.weight > 1 and has_parameters(atom)}
        with_it = {name, *together.get(note.site, ())}
        others = [other for other in owner.fields if other not in with_it and other[:1] != "$"]
        held = [other for other in others if reaches(_no_optimizer(owner.fields[other]), gone, but=owner)]
        held = held or (_optimizers_beside(owner, others) if gone else [])
        spared = _let_go_with(program, place) if held else set[str]()
        whose = _whose(place, note.site, name)
        held = [other for other in held if not is_told_to(following, f"{whose}.{other}")]
        if moves_off(place.facts.body, f"{whose}.{name}"):
            continue
        if held and spared.isdisjoint(held):
            seen.add(note.site)
            yield StillHeld(note.site, f"{whose}.{name}", tuple(f"{whose}.{other}" for other in held), -1)
        elif gone and goes_on(program, rest):
            local = list(_holders(program, place, note.frame, "", value, note.site, rest))
            if local:
                seen.add(note.site)
                yield StillHeld(note.site, f"{whose}.{name}", tuple(one for one, _ in local), local[0][1])


def is_told_to(following: tuple[Expr, ...], holder: str) -> bool:
    """Whether a holder is told afterwards to let go of things: `self.launcher.free_memory()`."""
    told = (call[2] for call in following if call[2][0] == m.ATTR and text(call[2][1]) == holder)
    return any(word in callee[2] for callee in told for word in _FREES)


def still_held_by_globals(machine: Machine, program: Program) -> Iterator[StillHeld]:
    """Models that a global lets go of, for the memory, while another global beside it is an object that has them: a
    pipeline, a wrapper. A table may be what keeps them on purpose."""
    if not program.empties and "collect" not in program.called:
        return
    places = {place.facts.place: place for place in program.places}
    seen = set[Site]()
    for note in machine.plain:
        place = places.get(note.frame.facts.place) if note.kind == "dropped-global" else None
        if place is None or note.site in seen:
            continue
        scope, name, value = note.detail
        rest = rest_of(place.facts.body, note.site)
        following = () if rest is None else tuple(calls(rest.following))
        if not any(empties(program, call) or collects(program, call) for call in following):
            continue
        gone = {id(atom) for atom in value if type(atom) is Obj and atom.weight > 1 and has_parameters(atom)}
        held = [other for other, kept in scope.vars.items() if other != name and reaches(_objects(kept), gone)]
        if held and _let_go_with(program, place, wholes=True).isdisjoint(held):
            seen.add(note.site)
            whose = _whose(place, note.site, name, "")
            whose = f"{whose}." if whose else ""
            if moves_off(place.facts.body, whose + name):
                continue
            yield StillHeld(note.site, whose + name, tuple(whose + other for other in held), -1)


def _objects(value: Value) -> Value:
    """What is an object with attributes in a value, or a model, or a function that has been given some."""
    return tuple(
        atom
        for atom in value
        if type(atom) in (Bound, Partial) or (type(atom) is Obj and atom.kind in ("module", "instance"))
    )


def _whose(place: Place, site: Site, name: str, usual: str = "self") -> str:
    """The name of the object whose attribute a statement lets go of."""
    given = (one for statement in statements(place.facts.body) if statement[1] == site for one in given_up(statement))
    return next((owner for owner, _, part in (one.rpartition(".") for one in given) if part == name and owner), usual)


def _optimizers_beside(owner: Obj, others: list[str]) -> list[str]:
    """The optimizers that an object has where its one model goes."""
    kinds = {other: {atom.kind for atom in owner.fields[other] if type(atom) is Obj} for other in others}
    if any("module" in found for found in kinds.values()):
        return []
    return [other for other, found in kinds.items() if "optimizer" in found]


def _no_optimizer(value: Value) -> Value:
    """A value without optimizers, of which another rule speaks."""
    return tuple(atom for atom in value if type(atom) is not Obj or atom.kind != "optimizer")


def _let_go_with(program: Program, place: Place, *, wholes: bool = False) -> set[str]:
    """The attributes that a function binds, lets go of or takes entries out of, itself or one that it calls, or that
    calls it; with the `wholes` that have them, `noise` of `noise.sampler = None`."""
    name = place.facts.name
    callers = {other.facts.name for other in program.places if name in other.facts.calls}
    around = [other for one in {name, *callers, *place.facts.calls} for other in program.by_name.get(one, ())]
    around += [one for caller in callers for other in program.by_name[caller] for called in other.facts.calls
               for one in program.by_name.get(called, ())]  # fmt: skip
    names = {
        one
        for other in around
        for statement in statements(other.facts.body)
        for one in (
            *given_up(statement),
            *_taken_from(statement),
            *(map(text, targets(statement)) if other.facts is place.facts else ()),
        )
    }
    return {part for one in names for part in (one.split(".") if wholes else (one.rpartition(".")[2],))}


def _taken_from(statement: Stmt) -> Iterator[str]:
    """The tables of `del self.models[name]`, `self.models.pop(name)` and `self.models.clear()`."""
    for target in statement[2] if statement[0] == m.DELETE else ():
        if target[0] == m.ITEM:
            yield text(target[1])
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in ("pop", "popitem", "clear"):
            yield text(call[2][1])


def rest_of(block: Block, site: Site, loop: Stmt | None = None) -> Rest | None:
    for index, statement in enumerate(block):
        after = tuple(block[index + 1 :])
        if statement[1] == site:
            return Rest(after, loop)
        inside = statement if statement[0] in (m.FOR, m.WHILE) else loop
        for inner in blocks(statement):
            found = rest_of(inner, site, inside)
            if found is not None:
                leaves = any(one[0] in (m.RETURN, m.RAISE) for one in found.following)
                return found if leaves else Rest((*found.following, *after), found.loop)
    return None


def goes_on(program: Program, rest: Rest) -> bool:
    """Whether the cache is emptied afterwards, and more is computed after that."""
    calls = [call for one in statements(rest.following) for call in calls_of(one)]
    emptied = next((call[1] for call in calls if empties(program, call)), None)
    if emptied is None:
        return False
    return rest.loop is not None or any(call[1] > emptied and _is_begun(program, call) for call in calls)


def _is_begun(program: Program, call: Expr) -> bool:
    """Whether a call does some work: also the file's own `train(model)`, which is no `model.train()`."""
    own = call[2][0] == m.NAME and call[2][1] in _PHASES and call[2][1] in program.by_name
    return own or is_work(program, call)


def _holders(
    program: Program, place: Place, frame: Frame, name: str, value: Value, site: Site, rest: Rest
) -> Iterator[tuple[str, Site]]:
    """The other names of a function that hold what one name held, and that nothing reads any more."""
    gone = {id(atom) for atom in value if type(atom) is Obj and atom.kind != "instance"}
    owners = tuple(atom for atom in value if type(atom) is Obj and atom.kind in _OWNERS)
    owned = heavy_objects(owners)
    gone |= {id(obj) for obj in owned if obj.kind == "module"}
    bound = _bound(place, site)
    there = not moved_off(place.facts.body, name, site)
    held = [other for other in bound if other != name and reaches(frame.vars.get(other, ()), gone)] if there else []
    kept = [(other, bound[other]) for other in held]
    kept += [one for one in pipelines_of(program, place, name) if one[0] in bound] if gone and there else []
    kept += [one for one in weights_of(place, name, site) if one[0] in bound] if gone and there else []
    for model in (name, *held) if held else ():
        kept += [(one, at) for one, at in optimizers_of(program, place, "", model) if one in bound]
    read = read_after(program, place, rest)
    read |= _gone_by(place.facts.body, site)
    for other, at in dict(kept).items():
        again = rest.loop is not None and not rest.loop[1] < at
        if other not in read and not again and not other.startswith("_"):
            yield other, at
    if held and rest.loop is None and _read_inside(program, place).isdisjoint(held):
        has_it = functools.partial(reaches, wanted=gone)
        in_use = {other: bound[other] for other in held if other in read}
        yield from held_by_unneeded_parts(program, place, frame, rest.following, in_use, has_it)


def _gone_by(block: Block, site: Site) -> set[str]:
    """The names that a function has let go of when a statement is done, `del encoders, text_encoder`, on the way that
    leads there: what is bound at its end comes from all ways, also from those that let go of nothing."""
    gone = set[str]()
    for statement in block:
        arms = [arm for arm in blocks(statement) if any(one[1] == site for one in statements(arm))]
        if arms:
            return gone | _gone_by(arms[0], site)
        gone -= {target[1] for target in targets(statement) if target[0] == m.NAME}
        gone |= {*given_up(statement), *_emptied(statement)}
        if statement[1] == site:
            break
    return gone


def _emptied(statement: Stmt) -> set[str]:
    """The lists and tables that a statement empties by name: `encoders.clear()`."""
    owners = (call[2][1] for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][2] == "clear")
    return {owner[1] for owner in owners if owner[0] == m.NAME}


def moved_off(block: Block, name: str, site: Site, moved: bool = False) -> bool:
    """Whether a name's module has left the device when the name goes: it moves in place, whoever else has it."""
    for statement in block:
        if statement[1] == site:
            return moved
        arms = list(blocks(statement))
        around = next((arm for arm in arms if any(one[1] == site for one in statements(arm))), None)
        if around is not None:
            return moved_off(around, name, site, moved)
        moves = [] if arms else [call for call in calls_of(statement) if _moves(call, name)]
        if moves:
            moved = all(call[2][2] == "cpu" or not _HOST.isdisjoint(nodes(call)) for call in moves)
        elif (m.NAME, name) in targets(statement):
            moved = False
    return False


def moves_off(block: Block, name: str) -> bool:
    """Whether a function moves a module to the host by this name, `self.model.cpu()`, or takes its weights away."""
    owners = (call for call in calls(block) if call[2][0] == m.ATTR and text(call[2][1]) == name)
    return any(call[2][2] == "cpu" or (call[2][2] == "to" and not _HOST.isdisjoint(nodes(call))) for call in owners)


def _moves(call: Expr, name: str) -> bool:
    """`net.cpu()`, `net.half().to(device)`"""
    if call[2][0] != m.ATTR or call[2][2] not in ("cpu", "to", "cuda"):
        return False
    owner: Expr = call[2][1]
    while owner[0] == m.CALL and owner[2][0] == m.ATTR:
        owner = owner[2][1]
    return owner == (m.NAME, name)


def _bound(place: Place, before: Site) -> dict[str, Site]:
    """The variables that assignments of the function bind."""
    found: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and statement[1] < before:
            found.update({target[1]: statement[1] for target in targets(statement) if target[0] == m.NAME})
    return {name: site for name, site in found.items() if name not in {one.name for one in place.facts.params}}


def _read_inside(program: Program, place: Place) -> set[str]:
    """The names that functions mention which see the variables of this one."""
    inner = range(len(program.facts.functions)) if place.facts.name == "<module>" else place.facts.inner
    return {name for index in inner if index for name in names_of(program.facts.functions[index].body)}


def read_after(program: Program, place: Place, rest: Rest) -> set[str]:
    """The names that are mentioned afterwards, or in functions that see the variables of this one."""
    found = _read_inside(program, place)
    for statement in statements(rest.following):
        found |= {part[1] for part in expressions_of(statement) if part[0] == m.NAME}
        found |= set(statement[2]) if statement[0] in (m.GLOBAL, m.NONLOCAL) else set()
    return found


def reaches(
    value: Value,
    wanted: set[int],
    depth: int = _DEPTH,
    *,
    but: Obj | Frame | None = None,
    kinds: Container[str] | None = None,
) -> bool:
    """Whether a value keeps one of these objects: it is one, or has it in an attribute, element or argument, or in a
    variable of a function that it defined. Not by way of the object which lets go of it, `but`, that others may well
    have, `on_unload=lambda: self.loaded.pop(key)`; and only through objects of these `kinds`, if they are given."""
    for atom in value:
        kind = type(atom)
        parts: list[Value] = []
        if kind is Obj:
            if id(atom) in wanted:
                return True
            if atom is not but and (kinds is None or atom.kind in kinds):
                parts = [part for key, part in atom.fields.items() if key[:1] != "$"] if depth else []
        elif kind is Bound:
            parts = [(atom.receiver,)]
        elif kind is Partial:
            parts = [atom.callee, *atom.args, *(part for _, part in atom.kwargs)]
        elif kind is Function and depth:
            parts = [part for _, part in captured(atom)]
        if depth and any(reaches(part, wanted, depth - 1, but=but, kinds=kinds) for part in parts):
            return True
    return False
