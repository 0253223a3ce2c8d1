"""Functions and iterables that give on what a generator with a thread of its own gives: who leaves one of them before
its end leaves that, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import Place, Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, loops, statements
from .producers import Producer, value_of

_LAZY = frozenset(
    "iter enumerate zip zip_longest map filter starmap islice chain from_iterable takewhile tqdm track batched".split()
)
_ASKS = ("next", "islice")
_ADDS = ("append", "add", "appendleft")
_DEPTH = 4  # a loader over instances over threads that take turns


def relaying(program: Program, producers: Collection[Producer]) -> Iterator[Producer]:
    """What gives on the items of producers that nothing but their own reader could end."""
    known = {one.name: one for one in producers if one.alone or one.end not in program.called}
    for _ in range(_DEPTH if known else 0):
        more = dict[str, Producer]()
        for place in program.places:
            iterable = place.facts.name == "__iter__"
            name = place.cls if iterable else place.facts.name
            if name in known or known.keys().isdisjoint(place.facts.calls):
                continue
            alone = iterable or len(program.by_name.get(name, ())) == 1
            inner = _Reading(program, place, known).inner() if name and alone else None
            if inner is not None:
                more[name] = inner._replace(name=name, anew=iterable)
        yield from more.values()
        if not more:
            return
        known |= more


def _made_by(producer: Producer, made: Expr) -> Producer:
    """A producer as the reader has it that makes it: only that reader can end what it starts there."""
    if producer.alone:
        return producer
    return producer._replace(filler=producer.filler._replace(started=made[1]), alone=True)


class _Reading:
    """What a function reads from, of what starts a producer when it is called or gone over."""

    def __init__(self, program: Program, place: Place, known: dict[str, Producer]) -> None:
        self._program = program
        self._facts = place.facts
        self._body = list(statements(place.facts.body))
        ends = any(one[0] == m.WITH or (one[0] == m.TRY and one[5]) for one in self._body)
        self._known = {name: one for name, one in known.items() if one.alone or not ends}
        self._readers: dict[Expr, Producer] = {}  # the names that have a reader, or a list of such

    def inner(self) -> Producer | None:
        """The producer that the function is a reader of for as long as its own reader goes on."""
        for one in self._body:
            self._bind(one)
        if self._facts.generator:
            read = list(self._read_between())
        else:
            read = [one[2] for one in self._body if one[0] == m.RETURN and one[2] is not None]
        return next((found for expr in read if (found := self._has(expr)) is not None), None)

    def _bind(self, statement: Stmt) -> None:
        """`reader = ahead(source)`, `readers.append(ahead(source))`"""
        value = value_of(statement)
        found = self._has(value) if value is not None else None
        if found is not None:
            self._readers |= dict.fromkeys((one for one in targets(statement) if one[0] == m.NAME), found)
        for call in calls_of(statement) if statement[0] == m.EXPR else ():
            if call[2][0] == m.ATTR and call[2][2] in _ADDS and call[3]:
                found = self._has(call[3][0])
                if found is not None:
                    self._readers[call[2][1]] = found

    def _read_between(self) -> Iterator[Expr]:
        """What a generator still reads from when it has given an item."""
        for one in self._body:
            yield from (part[1] for part in expressions_of(one) if part[0] == m.YIELD_FROM)
        for loop, inside in loops(self._facts.body):
            if not any(part[0] == m.YIELD for one in inside for part in expressions_of(one)):
                continue
            if loop[0] == m.FOR:
                yield loop[3]
            for call in (call for one in (loop, *inside) for call in calls_of(one)):
                if last_name(call[2]) in _ASKS and call[3]:
                    yield call[3][0]

    def _has(self, expr: Expr) -> Producer | None:
        """The producer that the value of an expression reads from when it is gone over."""
        if expr[0] == m.NAME:
            return self._readers.get(expr)
        parts: tuple[Expr, ...] = ()
        if expr[0] == m.CALL and len(expr) == 5:
            name = last_name(expr[2])
            if name in self._known:
                return _made_by(self._known[name], expr)
            if name in _LAZY or self._is_generator(name):
                parts = expr[3]
        elif expr[0] == m.NEW:
            parts = expr[3]
        elif expr[0] == m.COMP:
            lazy = expr[2] == "generator"
            parts = (expr[3], *((iterable for _, iterable, _ in expr[5]) if lazy else ()))
        elif expr[0] == m.STAR:
            parts = expr[1:]
        return next((one for part in parts if (one := self._has(part)) is not None), None)

    def _is_generator(self, name: str) -> bool:
        found = self._program.by_name.get(name, ())
        return len(found) == 1 and found[0].facts.generator
