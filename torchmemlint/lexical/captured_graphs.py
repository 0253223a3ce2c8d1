"""Captured CUDA graphs that are kept in a table, one for each key that the input decides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts import model as m
from ..facts.emptying import drained
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls, calls_of, expressions_of, last_name, nodes, statements
from .devices import Slip
from .piled import ENGINES

_MAKES = frozenset(("CUDAGraph", "make_graphed_callables"))
_SIZED = re.compile(r"shape|size|height|width|resolution|(^|_)hw($|_)|length|batch")
_COUNTED = re.compile(r"(^|_)(pos|positions?|offset|steps?|index)($|_)")
_DATA = re.compile(
    r"loader|dataset|stream|queue"
    r"|(batche|request|frame|image|prompt|quer|sample|input|clip|message|text)s?(_?len(gth)?s)?$"
)
_READIES = re.compile(r"warm|capture|compile|record|build|prepare|precompute")
_ROUNDS = re.compile(r"bucket|pad|round|bisect|ceil|pow|align|nearest|closest|quantiz")
_TELLS = ("print", "debug", "info", "warning", "log", "write")
_CONTAINERS = ("tuple", "list", "dict", "partial", "SimpleNamespace")
_PICKS = ("next", "min", "max")


def graphs_by_shape(program: Program) -> Iterator[Slip]:
    """Captured CUDA graphs put into a table without a limit, by a key that the input decides; engines, by a size."""
    said = set[int]()
    for made, kind in ((_MAKES, "graph"), (ENGINES, "engine")):
        makers = _makers(program, made) if made & program.called else frozenset[str]()
        for place in program.places if makers else ():
            holding = _holding(program, place, makers)
            listed = _listed(place)
            for statement in statements(place.facts.body):
                for table, key, value in _entries(statement):
                    last = last_name(table)
                    if key[0] == m.CONST or _is_captured(key, value) or not _keeps(value, holding, makers):
                        continue
                    makes = _made_around(program, place, table)
                    if not makes and not _stays(program, table):
                        continue
                    if (
                        drained(program, last, passing=makes)
                        or _limited(program, last)
                        or _is_known(program, place, key, listed, 2)
                        or _asks_for_few(program, place, last)
                    ):
                        continue
                    if statement[1] not in said and (kind == "graph" or _is_size(_resolved(place, key))):
                        said.add(statement[1])
                        yield Slip(statement[1], text(table), -1, 2, kind)


def _is_captured(key: Expr, value: Expr) -> bool:
    """Whether a key is the module that is captured: `table[part] = make_graphed_callables(part, inputs)`. There are as
    many of them as the model has parts."""
    part = key[3][0] if key[0] == m.CALL and last_name(key[2]) == "id" and key[3] else key
    return any(
        call[0] == m.CALL and last_name(call[2]) == "make_graphed_callables" and call[3][:1] == (part,)
        for call in nodes(value)
    )


def _resolved(place: Place, key: Expr) -> Expr:
    """`(height, width)` of `key`, where that is what the function binds the name to."""
    bound = (one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and key in one[2])
    return next(bound, key) if key[0] == m.NAME else key


def _is_size(key: Expr) -> bool:
    """`shape`, `(batch, length)`, `x.shape`: not the name of one of a few engines."""
    return any(part[0] in (m.NAME, m.ATTR) and _SIZED.search(str(part[-1]).lower()) for part in nodes(key))


def _entries(statement: Stmt) -> Iterator[tuple[Expr, Expr, Expr]]:
    """What a statement puts into a table: table, key and value."""
    if statement[0] == m.ASSIGN:
        for target in targets(statement):
            if target[0] == m.ITEM:
                yield target[1], target[2], statement[3]
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == "setdefault" and len(call[3]) == 2:
            yield call[2][1], call[3][0], call[3][1]


def _stays(program: Program, table: Expr) -> bool:
    """Whether a table is on an object or class, or a global of the file."""
    holder = text(table)
    if holder.startswith(("self.", "cls.")):
        return True
    return any(table in targets(one) for one in program.facts.functions[0].body)


def _made_around(program: Program, place: Place, table: Expr) -> set[str]:
    """The function that makes a table and an inner one that fills it, and hands that out."""
    functions = program.facts.functions
    outer = (one for one in functions[1:] if _returns(one, place.facts, functions))
    return {one.name for one in outer if any(table in targets(bound) for bound in statements(one.body))}


def _returns(outer: FunctionFacts, inner: FunctionFacts, functions: tuple[FunctionFacts, ...]) -> bool:
    """Whether a function defines another one and hands it out: `return call`, `model.forward = call`."""
    if not any(functions[index] is inner for index in outer.inner):
        return False
    given = [
        one[2] if one[0] == m.RETURN else one[3]
        for one in statements(outer.body)
        if one[0] == m.RETURN or (one[0] == m.ASSIGN and any(target[0] == m.ATTR for target in one[2]))
    ]
    name = (m.NAME, inner.name)
    parts = [part for value in given if value is not None for part in (value, *nodes(value))]
    return name in given or any(part[0] in (m.NEW, m.CALL) and name in part[3] for part in parts)


# -- what holds a graph ---------------------------------------------------------------------------


def _makers(program: Program, makers: frozenset[str]) -> frozenset[str]:
    """The functions of the file that return a captured graph, and the classes whose objects own one."""
    while True:
        more = {place.facts.name for place in program.places if _returns_graph(program, place, makers)}
        more |= {place.cls for place in program.places if place.cls and _owns_graph(program, place, makers)}
        if more <= makers:
            return makers
        makers |= more


def _returns_graph(program: Program, place: Place, makers: frozenset[str]) -> bool:
    if makers.isdisjoint(place.facts.calls):
        return False
    holding = _holding(program, place, makers)
    body = list(statements(place.facts.body))
    return any(one[0] == m.RETURN and one[2] is not None and _keeps(one[2], holding, makers) for one in body)


def _owns_graph(program: Program, place: Place, makers: frozenset[str]) -> bool:
    """Whether a constructor puts a graph on its object."""
    if place.facts.name != "__init__" or makers.isdisjoint(place.facts.calls):
        return False
    holding = _holding(program, place, makers)
    return any(
        one[0] == m.ASSIGN and any(target[0] == m.ATTR for target in targets(one)) and _keeps(one[3], holding, makers)
        for one in statements(place.facts.body)
    )


def _holding(program: Program, place: Place, makers: frozenset[str]) -> set[str]:
    """The names of a function that stand for a graph, or for something that has one: `entry` of `entry.graph = g`,
    and a function defined inside that uses it."""
    held: set[str] = set()
    for statement in statements(place.facts.body):
        if statement[0] == m.DEF:
            inner = program.facts.functions[statement[2]]
            if any(part[0] == m.NAME and part[1] in held for one in statements(inner.body) for part in _parts(one)):
                held.add(inner.name)
        if statement[0] != m.ASSIGN or not _keeps(statement[3], held, makers):
            continue
        for target in targets(statement):
            root = target[1] if target[0] == m.ATTR else target
            if root[0] == m.NAME and root[1] not in ("self", "cls"):
                held.add(root[1])
    return held


def _parts(statement: Stmt) -> Iterator[Expr]:
    for call in calls_of(statement):
        yield from nodes(call)


def _keeps(value: Expr, holding: set[str], makers: frozenset[str]) -> bool:
    """Whether a value is a graph, or an object, function or container that has one."""
    if value[0] == m.NAME:
        return value[1] in holding
    if value[0] == m.NEW:
        return any(_keeps(item, holding, makers) for item in value[3])
    if value[0] == m.DICT:
        return any(_keeps(item, holding, makers) for _, item in value[2])
    if value[0] != m.CALL:
        return False
    name = last_name(value[2])
    if name in makers:
        return True
    given = (*value[3], *(item for _, item in value[4]))
    return (name[:1].isupper() or name in _CONTAINERS) and any(_keeps(item, holding, makers) for item in given)


# -- which keys -----------------------------------------------------------------------------------


def _listed(place: Place) -> set[str]:
    """The names that a `for` goes over: sizes that somebody has listed; not data, nor a count that a caller gives."""
    readies = _READIES.search(place.facts.name) is not None
    return {
        part[1]
        for one in statements(place.facts.body)
        if one[0] == m.FOR and (readies or not _is_of_data(place, one[3]))
        for target in targets(one)
        for part in nodes(target)
        if part[0] == m.NAME
    }


def _is_of_data(place: Place, over: Expr) -> bool:
    """`for batch in loader`, `for i, image in enumerate(images)`, `for position in range(steps)`."""
    while over[0] == m.CALL and over[3] and last_name(over[2]) in ("enumerate", "tqdm", "iter", "zip"):
        over = over[3][0]
    if over[0] == m.CALL and last_name(over[2]) == "range":
        params = {param.name for param in place.facts.params}
        return any(part[0] == m.NAME and part[1] in params for given in over[3] for part in nodes(given))
    return _DATA.search(last_name(over[2] if over[0] == m.CALL else over).lower()) is not None


def _is_known(program: Program, place: Place, key: Expr, listed: set[str], depth: int) -> bool:
    """Whether a key is one of a few: rounded up, or taken from a list, here or by whoever calls; of a tuple, all that
    could be one of many."""
    if key[0] == m.NEW and key[3]:
        known = [_is_known(program, place, part, listed, depth) for part in key[3]]
        return any(known) and all(
            one or part[0] != m.NAME or not _COUNTED.search(part[1].lower())
            for one, part in zip(known, key[3], strict=True)
        )
    if key[0] == m.CONST:
        return True
    for part in nodes(key):
        if part[0] == m.ARITH and part[1] in ("FloorDivide", "Modulo", "LeftShift", "Power"):
            return True
        if part[0] == m.CALL and len(part) == 5 and _ROUNDS.search(last_name(part[2]).lower()):
            return True
        if part[0] in (m.NAME, m.ATTR) and _ROUNDS.search(str(part[-1]).lower()):
            return True
        if part[0] == m.NAME and (part[1] in listed or _made_of_few(program, place, part, listed, depth)):
            return True
        if part[0] == m.CALL and len(part) == 5 and _is_picked(place, part):
            return True
    return False


def _asks_for_few(program: Program, filled: Place, name: str) -> bool:
    """Whether other functions of the class look whether a graph is there by keys of which there are few: `nearest not
    in self.graphs`. The inputs that the graph is captured with have been padded to that."""
    asked = [
        _is_known(program, place, node[2], _listed(place), 2)
        for place in program.places
        if place.cls and place.cls == filled.cls and place.facts is not filled.facts
        for one in statements(place.facts.body)
        for node in expressions_of(one)
        if node[0] == m.COMPARE and node[1] in ("In", "NotIn") and last_name(node[3]) == name
    ]
    return bool(asked) and all(asked)


def _is_picked(place: Place, call: Expr) -> bool:
    """Whether a call takes one out of a list of sizes: `next(one for one in SIDES if one >= side)`."""
    if last_name(call[2]) not in _PICKS or not call[3] or call[3][0][0] != m.COMP:
        return False
    picked = call[3][0]
    target, iterated, _ = picked[5][0]
    return len(picked[5]) == 1 and picked[3] == target and not _is_of_data(place, iterated)


def _made_of_few(program: Program, place: Place, name: Expr, listed: set[str], depth: int) -> bool:
    """Whether a name was bound to one of a few values, or is a parameter that every caller gives one."""
    if not depth:
        return False
    for one in statements(place.facts.body):
        if one[0] == m.ASSIGN and name in one[2] and _is_known(program, place, one[3], listed, depth - 1):
            return True
    position = next((i for i, param in enumerate(place.facts.params) if param.name == name[1]), -1)
    if position >= 0 and "warm" in place.facts.name:
        return True  # it runs before there is any input
    if position < 0:
        return False
    given = list(_arguments(program, place, position, name[1]))
    return bool(given) and all(_is_known(program, at, value, _listed(at), depth - 1) for at, value in given)


def _arguments(program: Program, place: Place, position: int, name: str) -> Iterator[tuple[Place, Expr]]:
    """What the file's calls of a function give it for a parameter, and where."""
    for other in program.places:
        if place.facts.name not in other.facts.calls:
            continue
        for call in calls(other.facts.body):
            if last_name(call[2]) != place.facts.name:
                continue
            index = position - (1 if place.cls and call[2][0] == m.ATTR else 0)
            value = next((item for key, item in call[4] if key == name), None)
            if value is None and 0 <= index < len(call[3]):
                value = call[3][index]
            if value is not None:
                yield other, value


def _limited(program: Program, name: str) -> bool:
    """Whether the length of a table counts for something: not if it is only told, `logger.info("%d", len(table))`."""
    return any(
        name in (last_name(call[3][0]) for call in calls_of(one) if call[2] == (m.NAME, "len") and call[3])
        for place in program.places
        if "len" in place.facts.calls
        for one in statements(place.facts.body)
        if not _tells(one)
    )


def _tells(statement: Stmt) -> bool:
    """`print(len(table))`, `self.log.debug("captured %d", len(table))`, `return len(table)`"""
    if statement[0] not in (m.EXPR, m.RETURN) or statement[2] is None or statement[2][0] != m.CALL:
        return False
    return last_name(statement[2][2]) in (_TELLS if statement[0] == m.EXPR else ("len",))
