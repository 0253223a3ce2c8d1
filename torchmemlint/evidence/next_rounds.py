"""Models and arrays of CuPy of a loop's round that are still bound when its cache is emptied, and while the next round
makes its own."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import blocks, calls_of, expressions_of, last_name, names_of, statements
from ..interpreter.frames import Frame
from ..interpreter.holders import has_parameters, heavy_objects
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..lexical.cleanup import Slip
from .emptied import emptied_in, frames_that_empty, is_array_of_cupy
from .still_held import moved_off, reaches

_CACHES = ("lru_cache", "cache", "cached", "cached_property", "cache_resource")
_PUTS = frozenset("append appendleft add insert extend update setdefault put put_nowait".split())


def left_for_next_round(machine: Machine, program: Program) -> Iterator[Slip]:
    """`for name in names: model = load(name); score(model); empty_cache()`: there are two models while one loads."""
    if not program.empties:
        return
    frames = frames_that_empty(machine)
    for place in program.places:
        frame = frames.get(place.facts.place)
        if place.facts.generator or (frame is None and "free_all_blocks" not in place.facts.calls):
            continue
        for loop in statements(place.facts.body):
            if loop[0] in (m.FOR, m.WHILE):
                yield from _arrays_left(program, place, loop)
                if frame is not None:
                    yield from _left(machine, program, place, frame, loop)


def _left(machine: Machine, program: Program, place: Place, frame: Frame, loop: Stmt) -> Iterator[Slip]:
    body = next(blocks(loop))
    each_time = tuple(_each_time(body))
    for emptied in each_time:
        site = emptied_in(program, emptied)
        for made in each_time if site is not None else ():
            if site is None or made[0] != m.ASSIGN or not _is_made(program, made[3]):
                continue
            for target in targets(made):
                name = str(target[1]) if target[0] == m.NAME else ""
                models = _models(frame.vars.get(name, ()))
                if not models or _held_elsewhere(machine, frame, name, models):
                    continue
                if _is_only_of_round(program, place, body, made, emptied, name):
                    yield Slip(site, name, made[1], 2, "round")


def _arrays_left(program: Program, place: Place, loop: Stmt) -> Iterator[Slip]:
    """`chunk = cupy.asarray(part); ...; pool.free_all_blocks()`: the pool gives back what no array has."""
    body = next(blocks(loop))
    each_time = tuple(_each_time(body))
    emptied = next((one for one in each_time if any(map(_empties_pool, calls_of(one)))), None)
    site = None if emptied is None else emptied_in(program, emptied)
    if emptied is None or site is None:
        return
    made = [one for one in each_time if one[0] == m.ASSIGN and is_array_of_cupy(program, one[3])]
    named = {str(target[1]): one for one in made for target in one[2] if target[0] == m.NAME}
    left = [name for name, one in named.items() if _is_only_of_round(program, place, body, one, emptied, name)]
    if left:
        yield Slip(site, ", ".join(left[:3]), named[left[0]][1], 2, "arrays")


def _empties_pool(call: Expr) -> bool:
    """`pool.free_all_blocks()`, not of pinned memory, which is the host's."""
    callee = call[2]
    return callee[0] == m.ATTR and callee[2] == "free_all_blocks" and "pinned" not in str(callee[1])


def _each_time(block: Block) -> Iterator[Stmt]:
    """The statements that every round comes to."""
    for statement in block:
        yield statement
        if statement[0] in (m.WITH, m.TRY):
            suites = list(blocks(statement))
            yield from _each_time(suites[0])
            if statement[0] == m.TRY and len(suites) > 1:
                yield from _each_time(suites[-1])


def _is_made(program: Program, value: Expr) -> bool:
    """Whether a call makes something new, `load(name).to(device)`, and is not of an object that may have had it."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][1][0] == m.CALL:
        value = value[2][1]
    if value[0] != m.CALL:
        return False
    callee = value[2]
    return callee[0] == m.NAME or (callee[0] == m.ATTR and _is_of_package(program, callee))


def _is_of_package(program: Program, callee: Expr) -> bool:
    """`AutoModel.from_pretrained`, `models.resnet18`, `self.build`"""
    while callee[0] == m.ATTR:
        callee = callee[1]
    return callee == (m.NAME, "self") or (callee[0] == m.NAME and callee[1] in program.imports)


def _models(value: Value) -> set[int]:
    """The models of a value: itself, or those that a trainer has, `trainer = Trainer(rate)`."""
    modules = [atom for atom in value if type(atom) is Obj and atom.kind == "module"]
    modules += heavy_objects(tuple(atom for atom in value if type(atom) is Obj and atom.kind == "instance"))
    return {id(one) for one in modules if one.kind == "module" and one.weight > 1 and has_parameters(one)}


def _made_by_cached(machine: Machine, value: Value) -> bool:
    """Whether a model comes from a function that gives the same one again: `@lru_cache`, `@cache`."""
    found = [atom for atom in value if type(atom) is Obj]
    made = {one.site - one.site % m.CALLS_PER_STATEMENT for one in (*found, *heavy_objects(tuple(found)))}
    functions = (one for unit in machine.units.values() for one in unit.facts.functions if one.decorators)
    return any(
        any(last_name(given[2] if given[0] == m.CALL else given) in _CACHES for given in function.decorators)
        and any(statement[1] in made for statement in statements(function.body))
        for function in functions
    )


def _held_elsewhere(machine: Machine, frame: Frame, name: str, models: set[int]) -> bool:
    """Whether the model is there for longer than a round: in another variable, an attribute, a table of the module."""
    if _made_by_cached(machine, frame.vars[name]):
        return True
    others = [value for other, value in frame.vars.items() if other != name]
    others += machine.module_frame.vars.values() if frame is not machine.module_frame else ()
    if type(frame.receiver) is Obj:
        others += [part for key, part in frame.receiver.fields.items() if key[:1] != "$"]
    return any(reaches(value, models) for value in others)


def _is_only_of_round(program: Program, place: Place, body: Block, made: Stmt, emptied: Stmt, name: str) -> bool:
    """Whether nothing but the rest of a round reads a name, and nothing lets go of it or puts the model away."""
    inside = {one for index in place.facts.inner for one in names_of(program.facts.functions[index].body)}
    if name in inside or name.startswith("_") or moved_off(place.facts.body, name, emptied[1]):
        return False
    here = {one[1] for one in statements(body)}
    for one in statements(place.facts.body):
        if one is made or (m.NAME, name) not in list(expressions_of(one)):
            continue
        before_emptied = made[1] < one[1] and not made[1] < emptied[1] < one[1]
        if one[1] not in here or not before_emptied or one[0] in (m.DELETE, m.GLOBAL, m.NONLOCAL, m.RETURN):
            return False
        if (m.NAME, name) in targets(one) or _puts_away(one, name):
            return False
    return True


def _puts_away(statement: Stmt, name: str) -> bool:
    """`best = model`, `self.models[name] = model`, `models.append(model)`"""
    if statement[0] == m.ASSIGN and (m.NAME, name) in (
        statement[3],
        *(statement[3][3] if statement[3][0] == m.NEW else ()),
    ):
        return True
    return any(last_name(call[2]) in _PUTS and (m.NAME, name) in call[3] for call in calls_of(statement))
