"""Threads and processes that fill a queue of limited size for a reader who leaves before the end: they wait in `put`
for ever."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt, file_of
from ..facts.program import Block, Place, Program, expressions, keyword, targets
from ..facts.walk import blocks, calls, calls_of, heads, in_loops, is_count, last_name, nodes, statements
from .lent import is_given
from .once import called_as, is_repeated
from .producers import (
    QUEUES,
    Producer,
    limited_queues,
    producing_classes,
    producing_generators,
    producing_iterables,
    value_of,
)
from .relays import relaying
from .starters import construction

_ROUND = ("iter", "enumerate", "zip", "islice", "tqdm", "trange", "track")


class Blocked(NamedTuple):
    """A producer that is left in the middle, again and again."""

    site: Site  # where it is made
    producer: Producer
    left: Site  # the loop that leaves


def blocked_producers(program: Program) -> Iterator[Blocked]:
    """Producers of the file whose reader breaks off, and which nobody ends."""
    if "put" not in program.called or program.called.isdisjoint(QUEUES):
        return
    queues = limited_queues(program)
    made = [*producing_classes(program, queues), *producing_generators(program, queues)]
    made += producing_iterables(program, made)
    producers = {one.name: one for one in (*relaying(program, made), *made)}
    seen = set[Site]()
    for blocked in _left_producers(program, producers):
        started = blocked.producer.filler.started
        own = blocked.producer.alone and file_of(started) == file_of(blocked.site)
        at = started if own else blocked.site  # what another file starts is its affair
        if at not in seen:
            seen.add(at)
            yield blocked._replace(site=at)


def unended_iterators(program: Program) -> Iterator[Producer]:
    """Iterators over what a thread of theirs puts into a limited queue, which a reader can only read to the end: the
    thread is none that the interpreter ends, and nothing else ends it."""
    if "put" not in program.called or program.called.isdisjoint(QUEUES) or "Thread" not in program.called:
        return
    for producer in producing_classes(program, limited_queues(program)):
        cls = next(cls for cls in program.facts.classes if cls.name == producer.name)
        methods = [program.facts.functions[index] for index in cls.methods.values()]
        told = any(
            one[0] == m.ASSIGN and last_name(one[2][0]) == "daemon" for f in methods for one in statements(f.body)
        )
        told = told or any("setDaemon" in f.calls or "interrupt" in f.calls for f in methods)
        made = [call for f in methods for call in calls(f.body) if last_name(call[2]) == "Thread"]
        daemon = any(keyword(call, "daemon") not in (None, (m.CONST, False)) for call in made)
        open_ended = "__next__" in cls.methods and not producer.end and "__exit__" not in cls.methods
        if open_ended and made and not told and not daemon and producer.filler.started >= 0:
            yield producer


def _left_producers(program: Program, producers: dict[str, Producer]) -> Iterator[Blocked]:
    for place in program.places if producers else ():
        if producers.keys().isdisjoint(place.facts.calls):
            continue
        for made, looped in in_loops(place.facts.body):
            name = next((last_name(call[2]) for call in calls_of(made) if last_name(call[2]) in producers), "")
            left = _left(program, place, made, producers[name]) if name else None
            if left is not None and (looped or is_repeated(program, place)):
                yield Blocked(made[1], producers[name], left[1])
    for producer in producers.values():
        if producer.anew:
            yield from _left_anew(program, producer)


def _left(program: Program, place: Place, made: Stmt, producer: Producer) -> Stmt | None:
    """The loop that reads from a producer and leaves before the end, if nobody else has the producer."""
    name = producer.name
    if made[0] == m.FOR:
        over = _read(made[3])
        return made if over[0] == m.CALL and last_name(over) == name and _breaks_off(made) else None
    if made[0] != m.ASSIGN or last_name(_read(made[3])) != name:
        return None
    bound, left = made[2][0], None
    own = bound[0] == m.ATTR and bound[1] == (m.NAME, "self")
    if bound[0] != m.NAME and not own:
        return None
    names = {bound}  # `batches = iter(loader)` is another one for it
    for other in program.places if own else (place,):
        for statement in statements(other.facts.body):
            if statement is made or _lets_it_be(statement, bound, producer):
                continue
            if other is place and _is_iterator_of(statement, names):
                names.add(statement[2][0])
            elif other is place and statement[0] == m.FOR and _read(statement[3]) in names:
                left = statement if _breaks_off(statement) else left
            elif other is place and statement[0] == m.FOR and _asks_a_few(program, place, statement, names):
                left = statement
            elif any(_has(program, other, head, name) for head in heads(statement) for name in names):
                return None
    return left


def _is_iterator_of(statement: Stmt, names: set[Expr]) -> bool:
    """`batches = iter(loader)`"""
    value: Expr = statement[3] if statement[0] == m.ASSIGN and statement[2][0][0] == m.NAME else (m.CONST, None)
    return bool(value[0] == m.CALL and value[2] == (m.NAME, "iter") and len(value[3]) == 1 and value[3][0] in names)


def _lets_it_be(statement: Stmt, bound: Expr, producer: Producer) -> bool:
    """Whether a statement calls an end that nobody hears, or only lets something else take its place."""
    if statement[0] in (m.ASSIGN, m.ANNOTATE) and bound[0] == m.ATTR:
        value = value_of(statement)
        bare = value is None or not any(_is_it(part, bound) for part in nodes(value))
        return bare and any(_is_it(target, bound) for target in targets(statement))
    if not producer.deaf or statement[0] != m.EXPR or statement[2][0] != m.CALL:
        return False
    told = statement[2][2]
    return told[0] == m.ATTR and told[2] == producer.end and _is_it(told[1], bound)


def _is_it(expr: Expr, bound: Expr) -> bool:
    """`reader`; `self.reader` also as `trainer.reader`."""
    return expr == bound or (bound[0] == m.ATTR and expr[0] == m.ATTR and expr[2] == bound[2])


def _has(program: Program, place: Place, head: Expr, bound: Expr) -> bool:
    named = {bound, *(part for part in nodes(head) if _is_it(part, bound))}
    return any(is_given(head, part, functools.partial(_takes_one, program, place, part)) for part in named)


def _takes_one(program: Program, place: Place, bound: Expr, call: Expr) -> bool:
    """`batch = self.read(source)`: a helper of the file that asks for the next item, and no more."""
    found = [one for one in program.by_name.get(last_name(call[2]), ()) if one.cls in ("", place.cls)]
    if len(found) != 1 or call[3].count(bound) != 1:
        return False
    helper = found[0].facts
    index = call[3].index(bound) + (helper.owner >= 0 and "staticmethod" not in map(last_name, helper.decorators))
    if index >= len(helper.params):
        return False
    name = (m.NAME, helper.params[index].name)
    whole = (m.CALL, (m.NAME, "iter"), (name,))  # `next(iter(source))`
    asked = [one for one in calls(helper.body) if one[2] == (m.NAME, "next") and len(one[3]) == 1]
    taken = sum(one[3][0] == name or (one[3][0][0], *one[3][0][2:4]) == whole for one in asked)
    return bool(0 < taken == sum(part == name for part in expressions(helper.body)))


def _left_anew(program: Program, producer: Producer) -> Iterator[Blocked]:
    """Loops over an attribute or a parameter that leave early, and are gone through again and again."""
    kept = {target for place in program.places for target in _made_in(place, producer.name) if target[0] == m.ATTR}
    for place in program.places:
        for over, loop, looped in _loops_that_leave(program, place):
            if not (over in kept or _is_handed(program, place, over, producer.name)):
                continue
            if looped or is_repeated(program, place):
                yield Blocked(loop[1], producer, loop[1])


def _loops_that_leave(program: Program, place: Place) -> Iterator[tuple[Expr, Stmt, bool]]:
    """What is gone over and left before its end, the loop that does it, and whether it is begun again and again: also
    by `batches = iter(loader)`, of which a loop asks for a few."""
    begun = dict[Expr, tuple[Expr, bool]]()
    for one, looped in in_loops(place.facts.body):
        value: Expr = one[3] if one[0] == m.ASSIGN else (m.CONST, None)
        if value[0] == m.CALL and value[2] == (m.NAME, "iter") and len(value[3]) == 1 and one[2][0][0] == m.NAME:
            begun[one[2][0]] = (value[3][0], looped)
        elif one[0] == m.FOR and _breaks_off(one):
            yield _read(one[3]), one, looped
        elif one[0] == m.FOR:
            asked = (made for name, made in begun.items() if _asks_a_few(program, place, one, {name}))
            yield from ((over, one, again) for over, again in asked)


def _made_in(place: Place, name: str) -> Iterator[Expr]:
    """What a function binds such objects to."""
    for one in statements(place.facts.body) if name in place.facts.calls else ():
        if one[0] == m.ASSIGN and any(last_name(call[2]) == name for call in calls_of(one)):
            yield from one[2]


def _is_handed(program: Program, place: Place, param: Expr, name: str) -> bool:
    """Whether the callers of a function give it such an object by a parameter: one that they make for it, or have."""
    index = next((i for i, one in enumerate(place.facts.params) if param == (m.NAME, one.name)), -1)
    callee = called_as(place)
    for other in program.places if index >= 0 else ():
        for call in calls(other.facts.body) if callee in other.facts.calls else ():
            given = keyword(call, param[1], index - (place.facts.owner >= 0)) if last_name(call[2]) == callee else None
            if given is not None and (
                (given[0] == m.CALL and last_name(given) == name) or given in _made_in(other, name)
            ):
                return True
    return False


def _read(iterated: Expr) -> Expr:
    """What a loop goes over: `batches` of `enumerate(tqdm(batches))`."""
    while iterated[0] == m.CALL and last_name(iterated[2]) in _ROUND and iterated[3]:
        iterated = iterated[3][0]
    return construction(iterated)


def _breaks_off(loop: Stmt) -> bool:
    """Whether a loop may leave before what it goes over has ended: `break`, `return`, or as many as are wanted."""
    for part in nodes(loop[3]):
        if part[0] == m.CALL and len(part) == 5:
            counted = any(map(is_count, part[3][1:]))
            if last_name(part[2]) == "islice" or (last_name(part[2]) == "zip" and counted):
                return True
    items: tuple[Expr, ...] = (loop[2],)
    if loop[2][0] == m.NEW:  # `for number, item in enumerate(...)`: the number is no item
        items = loop[2][3][last_name(loop[3]) == "enumerate" :]
    return _leaves(loop[4], {part for item in items for part in nodes(item) if part[0] == m.NAME})


def _asks_a_few(program: Program, place: Place, loop: Stmt, names: set[Expr]) -> bool:
    """`for _ in range(batches): x = next(reader)`, which is not as many as there are: `range(len(loader))`."""
    counted = loop[3][0] == m.CALL and last_name(loop[3]) == "range"
    if not counted or any(part[0] == m.CALL and last_name(part) == "len" for part in nodes(loop[3])):
        return False
    return any(
        (call[2] == (m.NAME, "next") and call[3] == (name,)) or _takes_one(program, place, name, call)
        for call in calls(loop[4])
        for name in names
    )


def _leaves(block: Block, items: set[Expr]) -> bool:
    for statement in block:
        if statement[0] == m.RETURN or (statement[0] == m.JUMP and statement[2]):
            return True
        if statement[0] == m.IF and _is_end(statement[2], items):
            block_of = statement[4:5]
        elif statement[0] in (m.FOR, m.WHILE):
            continue
        else:
            block_of = tuple(blocks(statement))
        if any(_leaves(inner, items) for inner in block_of):
            return True
    return False


def _is_end(test: Expr, items: set[Expr]) -> bool:
    """`item is None`, `item is STOP`: the producer said that this was all."""
    return bool(test[0] == m.COMPARE and test[1] in ("Is", "Equal") and test[2] in items)
