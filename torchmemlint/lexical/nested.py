"""Prefetchers over prefetchers, of which only the outer one is ended.

`Prefetch(Map(Prefetch(source)))`: each has a thread that fills a queue of limited size. Who has the outer one calls its
`close()`, which ends its own thread; the thread of the inner one waits for room, for ever, with what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, heads, in_loops, last_name, nodes, statements
from .lent import is_given
from .once import is_repeated
from .producers import Producer, closable_producers

_SELF = (m.NAME, "self")


class Nested(NamedTuple):
    """A producer that another one reads from, and that nobody ends."""

    site: Site  # where the inner one is made
    inner: Producer
    outer: Producer
    source: str  # the attribute by which the outer one has it
    ended: Site  # the method that ends the outer one


def left_inside(program: Program) -> Iterator[Nested]:
    """Producers that are made again and again for another producer, whose end leaves them running."""
    producers = closable_producers(program)
    outer = dict(_readers(program, producers))
    for place in program.places if outer else ():
        if outer.keys().isdisjoint(place.facts.calls):
            continue
        for statement, looped in in_loops(place.facts.body):
            for call in calls_of(statement):
                name = last_name(call[2])
                given = _source_of(call, outer[name][1]) if name in outer else None
                found = None if given is None else _made(program, place, statement, given, producers)
                if found is not None and (looped or is_repeated(program, place)):
                    reader, source, end = outer[name]
                    yield Nested(found[0], producers[found[1]], reader, source.name, end)


def _source_of(call: Expr, source: _Source) -> Expr | None:
    return keyword(call, source.param, source.position)


class _Source(NamedTuple):
    name: str  # the attribute
    param: str
    position: int


def _readers(program: Program, producers: dict[str, Producer]) -> Iterator[tuple[str, tuple[Producer, _Source, Site]]]:
    """The producers that go over what they are given, and whose end, which somebody calls, does nothing to it."""
    for cls in program.facts.classes:
        producer = producers.get(cls.name)
        if producer is None or len([one for one in program.facts.classes if one.name == cls.name]) > 1:
            continue
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        if not _ended_from_outside(program, producer.end, cls):
            continue
        for source in _sources(methods["__init__"]):
            read = any(_goes_over(function, source) for function in methods.values())
            if read and not any(_tells(one, source.name) for one in methods.values()) and not _is_base(program, cls):
                yield cls.name, (producer, source, methods[producer.end].site)


def _is_base(program: Program, cls: ClassFacts) -> bool:
    return any(last_name(base) == cls.name for one in program.facts.classes for base in one.bases)


def _ended_from_outside(program: Program, end: str, cls: ClassFacts) -> bool:
    """Whether a function that is no method of a producer calls its end."""
    return any(
        place.cls != cls.name and not _same_end(place, end) and end in place.facts.calls for place in program.places
    )


def _same_end(place: Place, end: str) -> bool:
    """A `close` that calls another's `close`."""
    return bool(place.cls) and place.facts.name == end


def _sources(init: FunctionFacts) -> Iterator[_Source]:
    """`self.parent = parent`, also `iter(parent)`."""
    order = {param.name: index for index, param in enumerate(init.params)}
    for statement in statements(init.body):
        if statement[0] != m.ASSIGN:
            continue
        value = statement[3]
        if value[0] == m.CALL and last_name(value) == "iter" and len(value[3]) == 1:
            value = value[3][0]
        target = statement[2][0]
        if value[0] == m.NAME and value[1] in order and target[0] == m.ATTR and target[1] == _SELF:
            yield _Source(target[2], value[1], order[value[1]] - 1)


def _goes_over(function: FunctionFacts, source: _Source) -> bool:
    """Whether a method takes items from the source: `for item in self.parent`, `next(self.parent)`."""
    own = (m.ATTR, _SELF, source.name)
    for statement in statements(function.body):
        if statement[0] == m.FOR and any(part == own for part in nodes(statement[3])):
            return True
        if any(last_name(call[2]) == "next" and call[3][:1] == (own,) for call in calls_of(statement)):
            return True
    return False


def _tells(function: FunctionFacts, name: str) -> bool:
    """Whether a method does more with the source than to go over it: it may end it, or hand it to who does."""
    own = (m.ATTR, _SELF, name)
    for statement in statements(function.body):
        given_on = (call for call in calls_of(statement) if last_name(call[2]) not in ("next", "iter", "len"))
        if statement[0] != m.FOR and any(part == own for call in given_on for part in nodes(call)):
            return True
        if statement[0] == m.ASSIGN and statement[3] == own:
            return True
    return False


def _made(
    program: Program, place: Place, outer: Stmt, given: Expr, producers: dict[str, Producer]
) -> tuple[Site, str] | None:
    """Where the producer that another one is given is made, if the other one alone has it."""
    for _ in range(6):
        if given[0] == m.CALL and len(given) == 5:
            name = last_name(given)
            if name in producers and given[2][0] == m.NAME:
                return given[1] if given[1] else outer[1], name
            given_on = _handed_through(program, given)
            if given_on is None:
                return None
            given = given_on
            continue
        if given[0] != m.NAME:
            return None
        bound = [s for s in statements(place.facts.body) if given in targets(s)]
        if len(bound) != 1 or bound[0][0] != m.ASSIGN or bound[0][1] >= outer[1]:
            return None
        if _is_seen_to(program, place, bound[0], given, outer):
            return None
        outer, given = bound[0], bound[0][3]
    return None


def _handed_through(program: Program, made: Expr) -> Expr | None:
    """What an object of a class that only passes items on is made of: `Map(read, stage)`."""
    cls = next((one for one in program.facts.classes if one.name == last_name(made)), None)
    if cls is None or "__init__" not in cls.methods or made[2][0] != m.NAME:
        return None
    methods = [program.facts.functions[index] for index in cls.methods.values()]
    for source in _sources(program.facts.functions[cls.methods["__init__"]]):
        if any(_goes_over(function, source) for function in methods):
            return _source_of(made, source)
    return None


def _is_seen_to(program: Program, place: Place, made: Stmt, name: Expr, taken: Stmt) -> bool:
    """Whether anything but the constructor that takes it gets hold of an object."""
    others = (one for one in statements(place.facts.body) if one is not made and one is not taken)
    if any(is_given(head, name) for one in others for head in heads(one)):
        return True
    inner = (program.facts.functions[index] for index in place.facts.inner)
    if any(name in nodes(head) for function in inner for one in statements(function.body) for head in heads(one)):
        return True
    uses = [part for part in expressions_of(taken) if part == name]
    return len(uses) > 1 or any(call[2] == (m.ATTR, name, "close") for call in calls((taken,)))
