"""Objects that own a device context or raw memory, and whose maker drops them without telling them to free it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import BUILTINS, REPORTERS
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, expressions, targets
from ..facts.walk import calls, calls_of, in_loops, last_name, names_of, nodes, statements
from .allocations import FREED_BY, allocates_raw
from .exits import moves
from .once import is_repeated

CONTEXT, MEMORY = "context", "memory"
ALLOCATIONS = ("make_context", *FREED_BY)
_FREES = frozenset(one for names in FREED_BY.values() for one in names)
_SELF: Expr = (m.NAME, "self")
_NO_END = ("__init__", "__exit__", "__enter__")
_DEEPEST = 3  # helpers of helpers
_ADDS = ("append", "add", "extend")


class Owner(NamedTuple):
    """A class whose objects free something only when they are told to."""

    cls: str
    end: str  # the method that frees it
    what: str
    made: Site  # where it gets it


class Maker(NamedTuple):
    """What gives such an object when it is called, or a tuple of which some parts are such objects or lists of them."""

    owner: Owner
    parts: frozenset[int] | None = None


class LeftOnDevice(NamedTuple):
    """A statement that makes such an object, which nothing tells to free what it has."""

    site: Site
    owner: Owner


def left_on_device(program: Program) -> Iterator[LeftOnDevice]:
    """Objects with a context or raw memory that are made again and again, and dropped without their end."""
    if program.called.isdisjoint(ALLOCATIONS):
        return
    owners = dict(_owners(program))
    makers = _makers(program, owners) if owners else {}
    for place in program.places if makers else ():
        if makers.keys().isdisjoint(place.facts.calls):
            continue
        for statement, looped in in_loops(place.facts.body):
            value = statement[3] if statement[0] == m.ASSIGN else None
            maker = makers.get(last_name(value[2])) if value is not None and value[0] == m.CALL else None
            names = frozenset[Expr]() if maker is None else _bound(statement, maker)
            if maker is None or not names or not (looped or is_repeated(program, place)):
                continue
            if place.cls != maker.owner.cls and not _is_seen_to(program, place, statement, names, maker.owner):
                yield LeftOnDevice(statement[1], maker.owner)


def _owners(program: Program) -> Iterator[tuple[str, Owner]]:
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        if "__init__" not in methods:
            continue
        setup = [methods["__init__"], *(methods[one] for one in methods["__init__"].calls if one in methods)]
        owner = _owner_of_memory(cls, setup, methods) or _owner_of_context(cls, setup, methods)
        last = methods.get("__del__")
        if owner is not None and (last is None or not {owner.end, "pop", "detach", *_FREES}.intersection(last.calls)):
            yield cls.name, owner


def _owner_of_memory(cls: ClassFacts, setup: list[FunctionFacts], methods: Mapping[str, FunctionFacts]) -> Owner | None:
    """`self.device = cudaMalloc(n)` of a class with a method that frees it."""
    for made in (one for function in setup for one in statements(function.body)):
        own = any(target[:2] == (m.ATTR, _SELF) for target in targets(made))
        found = (
            next((call for call in calls_of(made) if allocates_raw(call, last_name(call[2]))), None) if own else None
        )
        if found is not None:
            frees = set(FREED_BY[last_name(found[2])])
            ends = [name for name, one in methods.items() if name not in _NO_END and not frees.isdisjoint(one.calls)]
            ends = [name for name in ends if methods[name] not in setup and name != "__del__"]
            return Owner(cls.name, ends[0], MEMORY, found[1]) if ends else None
    return None


def _owner_of_context(
    cls: ClassFacts, setup: list[FunctionFacts], methods: Mapping[str, FunctionFacts]
) -> Owner | None:
    """`self.ctx = device.make_context()`, which stays on the stack of contexts until another method pops it. One that
    the constructor pops goes with the object."""
    for made in (one for function in setup for one in statements(function.body)):
        found = next((call for call in calls_of(made) if last_name(call[2]) == "make_context"), None)
        own = [target for target in targets(made) if target[:2] == (m.ATTR, _SELF)] if found is not None else []
        if found is not None and own:
            popping = {name for name, one in methods.items() if _pops(one, own[0])}
            ends = [name for name in methods if name in popping and "push" not in methods[name].calls]
            ends = [name for name in ends if name not in (*_NO_END, "__del__")]
            if not ends or any(_pops(one, own[0]) for one in setup):
                return None
            return Owner(cls.name, ends[0], CONTEXT, found[1])
    return None


def _pops(function: FunctionFacts, context: Expr) -> bool:
    return any(
        call[2][0] == m.ATTR
        and call[2][2] in ("pop", "detach")
        and (call[2][1] == context or last_name(call[2][1]) == "Context")
        for call in calls(function.body)
    )


def _makers(program: Program, owners: Mapping[str, Owner]) -> dict[str, Maker]:
    """The classes, and the functions that return an object of one, a list of them, or a tuple with such."""
    makers = {name: Maker(owner) for name, owner in owners.items()}
    for place in program.places:
        made = [name for name in owners if name in place.facts.calls]
        if place.cls or not made or len(program.by_name[place.facts.name]) > 1:
            continue
        body = list(statements(place.facts.body))
        held = _holding(body, owners)
        for value in (one[2] for one in body if one[0] == m.RETURN and one[2] is not None):
            parts = frozenset(at for at, part in enumerate(value[3]) if part in held) if value[0] == m.NEW else None
            if parts or value in held or (value[0] == m.CALL and last_name(value[2]) in owners):
                makers[place.facts.name] = Maker(owners[made[0]], parts)
    return makers


def _holding(body: list[Stmt], owners: Mapping[str, Owner]) -> set[Expr]:
    """The variables that a function binds to such objects, or puts them into."""
    found: set[Expr] = set()

    def is_one(value: Expr) -> bool:
        return value in found or any(one[0] == m.CALL and last_name(one[2]) in owners for one in nodes(value))

    for one in body:
        if one[0] == m.ASSIGN and is_one(one[3]):
            found |= {target for target in one[2] if target[0] == m.NAME}
        for call in calls_of(one):
            if last_name(call[2]) in _ADDS and call[2][0] == m.ATTR and any(map(is_one, call[3])):
                found.add(call[2][1])
    return found


def _bound(statement: Stmt, maker: Maker) -> frozenset[Expr]:
    """The variables that a statement binds to such objects; none if something else than a variable gets one."""
    target: Expr = statement[2][0]
    parts: tuple[Expr, ...] = (target,)
    if maker.parts is not None and target[0] == m.NEW:
        parts = tuple(part for at, part in enumerate(target[3]) if at in maker.parts)
    plain = len(statement[2]) == 1 and all(part[0] == m.NAME for part in parts)
    return frozenset(parts) if plain else frozenset()


def _is_seen_to(program: Program, place: Place, made: Stmt, names: frozenset[Expr], owner: Owner) -> bool:
    """Whether somebody frees what one of the names stands for, or gets it and may."""
    body = list(statements(place.facts.body))
    if _mentions(place.facts, owner.end) or moves(body, names, made):
        return True
    if any(_names(program, index) & names for index in place.facts.inner):
        return True
    for one in body:
        managed = [context for context, _ in one[2]] if one[0] == m.WITH else []
        managed += [part for part in expressions((one,)) if part[0] in (m.YIELD, m.YIELD_FROM)]
        if any(not names.isdisjoint(nodes(part)) for part in managed):
            return True
        if any(_may_end(program, place, call, names, owner) for call in calls_of(one)):
            return True
    return False


def _names(program: Program, index: int) -> set[Expr]:
    return {(m.NAME, name) for name in names_of(program.facts.functions[index].body)}


def _may_end(program: Program, place: Place, call: Expr, names: frozenset[Expr], owner: Owner) -> bool:
    """Whether a call gets one of the objects and may free it, or keep it for somebody who does."""
    given = (*call[3], *(value for _, value in call[4]))
    given = tuple(value[1] if value[0] == m.STAR else value for value in given)
    if not any(part in names for value in given for part in (value, *(value[3] if value[0] == m.NEW else ()))):
        return False
    called = last_name(call[2])
    if call[2][0] == m.NAME and called in BUILTINS | REPORTERS and called not in program.by_name:
        return False
    if any(cls.name == called for cls in program.facts.classes):
        return any(_mentions(one.facts, owner.end) for one in program.places if one.cls != owner.cls)
    helpers = [one for one in program.by_name.get(called, ()) if one is not place]
    return not helpers or any(_ends(program, one, owner, _DEEPEST) or _keeps(one, given, names) for one in helpers)


def _ends(program: Program, place: Place, owner: Owner, depth: int) -> bool:
    if _mentions(place.facts, owner.end):
        return True
    inside = (one for name in place.facts.calls for one in program.by_name.get(name, ()) if one is not place)
    return depth > 0 and any(_ends(program, one, owner, depth - 1) for one in inside)


def _keeps(helper: Place, given: tuple[Expr, ...], names: frozenset[Expr]) -> bool:
    """Whether a helper puts away or hands back what it is given."""
    params = helper.facts.params[bool(helper.cls) :]
    meant = {(m.NAME, param.name) for param, value in zip(params, given, strict=False) if value in names}
    return len(params) < len(given) or moves(list(statements(helper.facts.body)), meant, ())


def _mentions(function: FunctionFacts, name: str) -> bool:
    return any(part[0] == m.ATTR and part[2] == name for part in expressions(function.body))
