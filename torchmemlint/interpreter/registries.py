"""Tables of another file that decorators fill: `MODELS[cfg.name](...)`, with `@register("vae")` in a third file.

Python fills such a table when the files are imported; a run executes only what is asked for. So when the table is, it
asks for the definitions that enter themselves: in the file of the table, and in those that files of the run import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..facts.model import (
    ASSIGN,
    ATTR,
    CALL,
    EXPR,
    ITEM,
    MODE,
    NAME,
    NAMESPACE,
    NEW,
    ClassFacts,
    Expr,
    FunctionFacts,
    Stmt,
)
from ..facts.walk import calls_of, last_name, once, root_of, statements
from .values import Bound, Class, Function, Obj, Value

if TYPE_CHECKING:
    from .frames import Frame
    from .linking import Unit
    from .machine import Machine

_ADDS = ("append", "add", "setdefault")
_MOST = 12  # definitions
_SELF = (NAME, "self")
_LONG = 12  # statements


def registering(unit: Unit, name: str, value: Value) -> frozenset[str]:
    """The decorators of a file that enter what they are given into its table of a name, which is empty yet; or the
    class of this name, if it enters all that is derived from it."""
    if len(value) == 1 and type(value[0]) is Class:
        told = value[0].facts.methods.get("__init_subclass__", -1)
        return frozenset({name}) if told >= 0 and enters(unit.facts.functions[told]) else frozenset()
    if len(value) == 1 and type(value[0]) is Obj and value[0].kind == "instance":
        return frozenset(f"{name}.{method}" for method in _filling(value[0]))
    if len(value) != 1 or not _is_empty(value[0], nested=True):
        return frozenset()
    functions = unit.facts.functions
    found = {index for index, function in enumerate(functions) if enters(function, name)}
    outer = {index for index, function in enumerate(functions) if not found.isdisjoint(function.inner)}
    return frozenset(functions[index].name for index in found | outer) - {"<module>"}


def _filling(registry: Obj) -> set[str]:
    """The methods of an object that enter what they are given into a table of it, which is empty yet: of
    `METERS = Registry()`, for `@METERS.register`."""
    if type(registry.cls) is not Class or not any(map(_is_empty_table, registry.fields.values())):
        return set()
    found: set[str] = set()
    for entry in registry.cls.mro:
        functions = entry.frame.unit.facts.functions
        for name, index in entry.facts.methods.items():
            if name[:2] != "__" and any(_fills(functions, one) for one in _decorating(functions, functions[index])):
                found.add(name)
    return found


def _decorating(functions: Sequence[FunctionFacts], method: FunctionFacts) -> Iterator[FunctionFacts]:
    """What gets the class under `@METERS.method` or `@METERS.method(...)`."""
    if sum(param.default is None and not param.kind for param in method.params) <= 2:  # `self` and the class
        yield method
    yield from (functions[index] for index in method.inner)


def _is_empty_table(value: Value) -> bool:
    return len(value) == 1 and type(value[0]) is Obj and value[0].kind == "dict" and not value[0].fields


def _fills(functions: Sequence[FunctionFacts], function: FunctionFacts, kinds: tuple[int, ...] = (ASSIGN,)) -> bool:
    """Whether a function, or a method that it hands what it is given to, enters that into a table of `self`."""
    if any(_SELF in map(root_of, places) for one, places in _entering(function) if one[0] in kinds):
        return True
    given = {(NAME, param.name) for param in function.params}
    return any(
        call[2][:2] == (ATTR, _SELF)
        and not given.isdisjoint((*call[3], *(value for _, value in call[4])))
        and any(
            other.name == call[2][2] and other is not function and any(one[0] in kinds for one, _ in _entering(other))
            for other in functions
        )
        for one in statements(function.body)
        if one[0] == EXPR
        for call in calls_of(one)
    )


def _is_empty(atom: object, nested: bool = False) -> bool:
    """`{}` and `[]`, and a table whose lists are empty: `defaultdict(list)`, `{"start": [], "end": []}`."""
    if type(atom) is not Obj or atom.kind not in ("dict", "list"):
        return False
    return all(nested and len(inner) == 1 and _is_empty(inner[0]) for inner in atom.fields.values())


def enters(function: FunctionFacts, name: str = "") -> bool:
    """Whether a function puts what it is given into a table or list, of this name if there is one: `TABLE[key] = cls`,
    `KINDS.append(cls)`, `HANDLERS[event].append(fn)`."""
    return any(not name or (NAME, name) in map(_table_of, places) for _, places in _entering(function))


def _entering(function: FunctionFacts) -> Iterator[tuple[Stmt, list[Expr]]]:
    """The statements that put what a function is given into something, with what that is."""
    given = {(NAME, param.name) for param in function.params}
    for one in statements(function.body):
        places: list[Expr] = []
        if one[0] == ASSIGN and one[3] in given:
            places = [target[1] for target in one[2] if target[0] == ITEM]
        elif one[0] == EXPR and one[2][0] == CALL and one[2][2][0] == ATTR and one[2][2][2] in _ADDS:
            places = [] if given.isdisjoint(_entries(one[2][3])) else [one[2][2][1]]
        if places:
            yield one, places


def _entries(given: tuple[Expr, ...]) -> Iterator[Expr]:
    """What a container gets, or a tuple that it gets has: `self.handlers.append((handler, args))`."""
    for one in given:
        yield from one[3] if one[0] == NEW and one[2] == "tuple" else (one,)


def entering_of(machine: Machine, decorator: object, kinds: tuple[int, ...] = (ASSIGN,)) -> Function | Bound | None:
    """What a decorator does that enters what it is given into a table: a function, or a method of a registry, itself
    or by the function that it makes, `@METERS.register("mean")`."""
    function = decorator.function if type(decorator) is Bound else decorator
    if type(function) is not Function:
        return None
    alone = entering(machine, function) if function is decorator else None
    if alone is not None or (function is decorator and function.frame.receiver is None):
        return alone
    fills = _fills(function.frame.unit.facts.functions, function.facts, kinds)
    return decorator if fills else None  # type: ignore[return-value]


def only_marks(machine: Machine, frame: Frame, decorator: Expr) -> bool:
    """Whether `@requires("torch")` is by a function of another file that neither enters a class anywhere nor has
    to do with grad modes."""
    made_by = machine.eval(frame, decorator[2]) if decorator[0] == CALL else ()
    return bool(made_by) and all(type(atom) is Function and _makes_marks(machine, atom) for atom in made_by)


def _makes_marks(machine: Machine, function: Function) -> bool:
    unit, facts = function.frame.unit, function.facts
    if unit is machine.home or not facts.inner or function.kind or function.cached:
        return False
    around = (facts, *(unit.facts.functions[index] for index in facts.inner))
    return not any(one.flags & MODE or _enters_anything(one) for one in around)


@once
def _enters_anything(function: FunctionFacts) -> bool:
    return enters(function)


def entering(machine: Machine, function: Function) -> Function | None:
    """A function that enters what it is given, as far as it does that: one that also writes a card of each of two
    thousand models, with everything it asks for on the way, is run for the entry alone."""
    known = machine.entering.get(id(function.facts))
    if known is None:
        facts = function.facts
        body = tuple(one for one, _ in _entering(facts))
        if len(list(islice(statements(facts.body), _LONG))) == _LONG:
            facts = facts._replace(body=body)
        known = machine.entering[id(function.facts)] = (facts, bool(body))
    facts, enters_it = known
    if not enters_it:
        return None
    return function if facts is function.facts else Function(facts, function.frame, function.owner)


def _table_of(place: Expr) -> Expr:
    """The table that a list for one key is in: of `HANDLERS[event]`, of `HANDLERS.setdefault(event, [])`."""
    table: Expr = place
    if place[0] == CALL and place[2][0] == ATTR and place[2][2] == "setdefault":
        table = place[2][1]
    elif place[0] == ITEM:
        table = place[1]
    return table


def definitions(machine: Machine, unit: Unit, decorators: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The files, and the names in them, of what such decorators enter."""
    assert machine.project is not None
    paths = dict.fromkeys((unit.path, *_imported(machine)))
    left = _MOST
    for path in paths:
        if not any(machine.project.may_have(path, name.partition(".")[0]) for name in decorators):
            continue
        outline = machine.project.outline(path)
        facts = NAMESPACE if outline is None else outline.facts
        entries: list[FunctionFacts | ClassFacts] = [one for one in facts.functions if one.owner < 0]
        for one in (*entries, *facts.classes):
            asked = [
                *map(_called, one.decorators),
                *map(_asked_of, one.decorators),
                *map(last_name, one.bases if type(one) is ClassFacts else ()),
            ]
            if left and not decorators.isdisjoint(asked):
                left -= 1
                yield path, one.name


def _called(decorator: Expr) -> str:
    callee = decorator[2] if decorator[0] == CALL else decorator
    return last_name(callee) if callee[0] in (NAME, ATTR) else ""


def _asked_of(decorator: Expr) -> str:
    """`METERS.register` of `@METERS.register()`"""
    callee = decorator[2] if decorator[0] == CALL else decorator
    return f"{last_name(callee[1])}.{callee[2]}" if callee[0] == ATTR else ""


def _imported(machine: Machine) -> Iterator[str]:
    """The files of the project that files of the run import."""
    project = machine.project
    assert project is not None
    for unit in list(machine.units.values()):
        for level, module, names in unit.outline.imported():
            path = project.resolve(unit.path, level, module)
            if path is not None:
                yield path
                yield from (inner for name in names if (inner := project.submodule(path, name)) is not None)
