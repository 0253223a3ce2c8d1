"""Worker processes that a function starts and hands out, and that whoever gets them drops without ending them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, heads, in_loops, last_name, nodes, statements
from .lent import ENDS
from .once import ONCE, is_repeated
from .serving import serves, supplies

_OF_LIBRARIES = ("start_multi_process_pool",)  # [docs: SentenceTransformer]
_USES = ("encode_multi_process", "encode", "len", "print", "isinstance", "enumerate", "zip", "range")
_ENDING = frozenset("stop close terminate kill join shutdown shut end finish exit cleanup teardown destroy".split())


class Dropped(NamedTuple):
    """Processes that a function has got from another one, and lets go."""

    site: Site
    maker: str
    started: Site | None


def dropped_processes(program: Program) -> Iterator[Dropped]:
    """What a function that runs again and again gets of such processes, where nothing that has them ends them."""
    makers: dict[str, Site | None] = dict(_makers(program))
    makers |= {name: None for name in _OF_LIBRARIES if name in program.called and name not in program.by_name}
    for place in program.places if makers else ():
        if makers.keys().isdisjoint(place.facts.calls) or place.facts.name in ONCE or place.facts.inner:
            continue
        for statement, looped in in_loops(place.facts.body):
            made = statement[3] if statement[0] == m.ASSIGN and len(statement[2]) == 1 else ()
            name = last_name(made) if made[:1] == (m.CALL,) else ""
            if name not in makers or not (looped or is_repeated(program, place)):
                continue
            names = targets(statement)  # `worker, batches = start_reader(paths)`
            if any(one[0] != m.NAME for one in names):
                continue
            if not any(_may_end(program, place.facts, one, statement) for one in names):
                yield Dropped(statement[1], name, makers[name])


def _makers(program: Program) -> Iterator[tuple[str, Site]]:
    """The functions that start processes which take work until they are told to stop, and give them back."""
    if program.called.isdisjoint(PROCESSES):
        return
    serving = {
        place.facts.name
        for place in program.places
        if (serves(place) and not _gives_up(place)) or supplies(program, place)
    }
    for place in program.places:
        if place.facts.name in ONCE or "start" not in place.facts.calls or len(program.by_name[place.facts.name]) > 1:
            continue
        for call in calls(place.facts.body) if not set(PROCESSES).isdisjoint(place.facts.calls) else ():
            target = keyword(call, "target", 1) if last_name(call[2]) in PROCESSES else None
            if target is not None and last_name(target) in serving and _gives_back(place, call):
                yield place.facts.name, call[1]


def _gives_up(place: Place) -> bool:
    """Whether a worker waits for so long only: `tasks.get(timeout=60)`."""
    return any(last_name(call[2]) == "get" and "timeout" in dict(call[4]) for call in calls(place.facts.body))


def _gives_back(place: Place, made: Expr) -> bool:
    """Whether a function returns a process that it makes, or a container which that went into."""
    names: set[Expr] = set()
    returned = False
    for one in statements(place.facts.body):
        if one[0] == m.ASSIGN and made in nodes(one[3]):
            names.update(one[2])
        for call in calls_of(one) if one[0] == m.EXPR else ():
            if last_name(call[2]) in ("append", "add") and any(
                part in names for given in call[3] for part in nodes(given)
            ):
                names.add(call[2][1])
        returned |= one[0] == m.RETURN and one[2] is not None and not names.isdisjoint(nodes(one[2]))
    return returned


def _may_end(program: Program, function: FunctionFacts, name: Expr, made: Stmt | None, depth: int = 2) -> bool:
    """Whether a function ends something, or does more with what it has got than to read it and to lend it to
    functions that end nothing."""
    for one in statements(function.body):
        if one is made:
            continue
        for call in calls_of(one):
            word = last_name(call[2])
            if word in ENDS or not _ENDING.isdisjoint(word.split("_")):
                return True
            if word in ("put", "put_nowait", "send") and call[3][:1] == ((m.CONST, None),):
                return True
            given = [*call[3], *(value for _, value in call[4])]
            if name in given and word not in _USES and not (depth and _lends(program, call, name, depth)):
                return True
        if one[0] in (m.RETURN, m.ASSIGN, m.WITH, m.FOR):
            values = (one[-1],) if one[0] in (m.RETURN, m.ASSIGN) else heads(one)
            if any(value == name or _holds(value, name) for value in values if value is not None):
                return True
    return any(part == (m.YIELD, name) for one in statements(function.body) for part in expressions_of(one))


def _holds(value: Expr, name: Expr) -> bool:
    """`(pool, 1)`, `{"pool": pool}`"""
    return value[0] in (m.NEW, m.COND, m.BOOL) and name in nodes(value)


def _lends(program: Program, call: Expr, name: Expr, depth: int) -> bool:
    """Whether a function of the file, the only one of its name, ends nothing of what it is given."""
    found = program.by_name.get(last_name(call[2]), ())
    if len(found) != 1 or call[2][0] not in (m.NAME, m.ATTR):
        return False
    params = [param for param in found[0].facts.params if param.name not in ("self", "cls")]
    given = [param.name for param, value in zip(params, call[3], strict=False) if value == name]
    given += [key for key, value in call[4] if value == name and key]
    return len(given) == 1 and not _may_end(program, found[0].facts, (m.NAME, given[0]), None, depth - 1)
