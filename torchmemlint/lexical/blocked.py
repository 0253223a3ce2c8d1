"""Threads and processes that fill a queue of limited size for a reader who leaves before the end: they wait in `put`
for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, keyword, targets
from ..facts.walk import blocks, calls, calls_of, heads, in_loops, is_count, last_name, loops, nodes, statements
from .left_running import construction, setup_of, thread_base
from .lent import is_given
from .once import called_as, is_repeated

_QUEUES = ("Queue", "LifoQueue", "PriorityQueue")
_STARTS = ("Thread", "Process", "SpawnProcess", "ForkProcess", "submit")
_ROUND = ("iter", "enumerate", "zip", "islice", "tqdm", "trange", "track")


class Filler(NamedTuple):
    """A thread or process, and where it waits for room in a queue."""

    put: Site
    what: str  # "thread", "process"
    started: Site


class Producer(NamedTuple):
    """What starts a thread or process that fills a queue: a class, or a generator."""

    name: str
    end: str  # the method that ends it; "" if there is none
    filler: Filler
    alone: bool = False  # a generator: only it can end what it starts
    anew: bool = False  # each pass over it starts one of its own
    deaf: bool = False  # its end only sets a flag, which nobody looks at who waits in `put`


class Blocked(NamedTuple):
    """A producer that is left in the middle, again and again."""

    site: Site  # where it is made
    producer: Producer
    left: Site  # the loop that leaves


def blocked_producers(program: Program) -> Iterator[Blocked]:
    """Producers of the file whose reader breaks off, and which nobody ends."""
    if "put" not in program.called or program.called.isdisjoint(_QUEUES):
        return
    queues = _limited_queues(program)
    producers = {one.name: one for one in (*_classes(program, queues), *_generators(program, queues))}
    seen = set[Site]()
    for blocked in _left_producers(program, producers):
        started = blocked.producer.filler.started
        at = started if blocked.producer.alone else blocked.site
        if at not in seen:
            seen.add(at)
            yield blocked._replace(site=at)


def unended_iterators(program: Program) -> Iterator[Producer]:
    """Iterators over what a thread of theirs puts into a limited queue, which a reader can only read to the end: the
    thread is none that the interpreter ends, and nothing else ends it."""
    if "put" not in program.called or program.called.isdisjoint(_QUEUES) or "Thread" not in program.called:
        return
    for producer in _classes(program, _limited_queues(program)):
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


def closable_producers(program: Program) -> dict[str, Producer]:
    """The classes whose objects fill a limited queue from a thread of theirs until their `close()` ends it."""
    if "put" not in program.called or program.called.isdisjoint(_QUEUES) or "Thread" not in program.called:
        return {}
    found = _classes(program, _limited_queues(program))
    return {one.name: one for one in found if one.end and not one.deaf and one.filler.what == "thread"}


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


# -- producers ------------------------------------------------------------------------------------


def _limited_queues(program: Program) -> set[str]:
    """The last names of what is bound to a queue with a limit."""
    found = set[str]()
    for function in program.facts.functions:
        for statement in statements(function.body) if not set(_QUEUES).isdisjoint(function.calls) else ():
            value = _value(statement)
            if value is not None and value[0] == m.CALL and last_name(value) in _QUEUES:
                limit = keyword(value, "maxsize", 0)
                if limit is not None and limit not in ((m.CONST, 0), (m.CONST, None)) and limit[0] != m.UNARY:
                    found |= {last_name(target) for target in targets(statement)}
    return found - {""}


def _value(statement: Stmt) -> Expr | None:
    if statement[0] == m.ASSIGN:
        return statement[3]  # type: ignore[no-any-return]
    return statement[4] if statement[0] == m.ANNOTATE else None


def _classes(program: Program, queues: set[str]) -> Iterator[Producer]:
    """The classes whose constructor starts a thread or process that fills a queue."""
    for cls in program.facts.classes:
        setup, end = setup_of(program, cls)
        if not any("start" in function.calls or "submit" in function.calls for function in setup):
            continue
        filler = next(_fillers_of(program, cls, setup, queues), None)
        if filler is not None:
            deaf = bool(end) and _only_tells(program, cls, end) and not _looks_up(program, filler)
            yield Producer(cls.name, end, filler, deaf=deaf)


def _looks_up(program: Program, filler: Filler) -> bool:
    """Whether a thread waits for a time only, and then looks whether it is to go on."""
    found = (call for place in program.places for call in calls(place.facts.body) if call[1] == filler.put)
    return any(keyword(call, "timeout", 2) is not None for call in found)


def _only_tells(program: Program, cls: ClassFacts, end: str) -> bool:
    """Whether a method only sets flags and events, and takes nothing out of the queue: `self.stopping = True`."""
    body = program.facts.functions[cls.methods[end]].body
    told = [one for one in body if one[0] != m.EXPR or any(calls_of(one))]  # without its docstring
    return bool(told) and all(
        (one[0] == m.ASSIGN and one[3][0] == m.CONST)
        or (one[0] == m.EXPR and one[2][0] == m.CALL and last_name(one[2]) == "set" and not one[2][3])
        for one in told
    )


def _fillers_of(program: Program, cls: ClassFacts, setup: list[FunctionFacts], queues: set[str]) -> Iterator[Filler]:
    """What the threads and processes of a class wait for."""
    base = thread_base(cls)
    if base and "run" in cls.methods:
        put = _fills(program, program.facts.functions[cls.methods["run"]], queues)
        if put is not None:
            yield Filler(put[1], _what(base), -1)
    for function in setup:
        yield from _fillers(program, function, queues)
        yield from _threads_of_its_own(program, function, queues)


def _threads_of_its_own(program: Program, function: FunctionFacts, queues: set[str]) -> Iterator[Filler]:
    """What the objects that a function makes wait for, of the file's classes that are threads: `Feeder(self.queue)`."""
    for call in calls(function.body):
        for cls in program.facts.classes:
            base = thread_base(cls) if cls.name == last_name(call[2]) else ""
            if base and "run" in cls.methods:
                known = queues | _kept_from(program, cls, call, queues)
                put = _fills(program, program.facts.functions[cls.methods["run"]], known)
                if put is not None:
                    yield Filler(put[1], _what(base), _started_at(function, call))


def _kept_from(program: Program, cls: ClassFacts, made: Expr, queues: set[str]) -> set[str]:
    """The attributes by which an object has a queue that it is made with."""
    if "__init__" not in cls.methods:
        return set()
    init = program.facts.functions[cls.methods["__init__"]]
    given = ((param.name, keyword(made, param.name, i)) for i, param in enumerate(init.params[1:]))
    taken = {(m.NAME, name) for name, value in given if value is not None and last_name(value) in queues}
    stored = (one for one in statements(init.body) if one[0] == m.ASSIGN and one[3] in taken)
    return {last_name(target) for one in stored for target in one[2]}


def _fillers(program: Program, function: FunctionFacts, queues: set[str]) -> Iterator[Filler]:
    """What the threads and processes that a function starts wait for."""
    for call in calls(function.body):
        started = last_name(call[2])
        target = keyword(call, "target", 0 if started == "submit" else 1) if started in _STARTS else None
        meant = _meant(program, function, target) if target is not None else None
        if target is not None and meant is not None:
            put = _fills(program, meant, queues | _given(call, target, meant, queues))
            if put is not None:
                yield Filler(put[1], _what(started), _started_at(function, call))


def _started_at(function: FunctionFacts, made: Expr) -> Site:
    """Where a function starts a thread or process that it has made: there, or further down, by its name."""
    names = {target for one in statements(function.body) if one[0] == m.ASSIGN and one[3] == made for target in one[2]}
    later = (call for call in calls(function.body) if call[2][0] == m.ATTR and call[2][2] == "start")
    return int(next((call[1] for call in later if call[2][1] in names), made[1]))


def _what(started: str) -> str:
    return "process" if started.endswith("Process") else "thread"


def _given(call: Expr, target: Expr, meant: FunctionFacts, queues: set[str]) -> set[str]:
    """The parameters by which a function that is started has a queue."""
    listed = keyword(call, "args")
    given = call[3][1:] if last_name(call[2]) == "submit" else listed[3] if listed and listed[0] == m.NEW else ()
    params = meant.params[meant.owner >= 0 and target[0] == m.ATTR :]
    return {param.name for param, value in zip(params, given, strict=False) if last_name(value) in queues}


def _meant(program: Program, function: FunctionFacts, named: Expr) -> FunctionFacts | None:
    """The function of the file that an expression names: of its own class first."""
    if named[0] == m.ATTR and named[1] == (m.NAME, "self") and function.owner >= 0:
        own = program.facts.classes[function.owner].methods
        if named[2] in own:
            return program.facts.functions[own[named[2]]]
    found = program.by_name.get(last_name(named), ())
    return found[0].facts if len(found) == 1 else None


def _generators(program: Program, queues: set[str]) -> Iterator[Producer]:
    """The generators that start a thread or process which fills a queue, and do nothing when they are closed; the
    classes that one goes over."""
    for place in program.places:
        function = place.facts
        if not function.generator or set(_STARTS).isdisjoint(function.calls):
            continue
        if any(one[0] == m.WITH or (one[0] == m.TRY and one[5]) for one in statements(function.body)):
            continue
        filler = next(_fillers(program, function, queues), None)
        if filler is not None and function.name == "__iter__":
            yield Producer(place.cls, "", filler, True, True)
        elif filler is not None:
            yield Producer(function.name, "", filler, True)


def _fills(program: Program, function: FunctionFacts, queues: set[str]) -> Expr | None:
    """The call by which each round of a thread waits for room in a queue."""
    for _, inside in loops(function.body):
        for call in (call for one in inside for call in calls_of(one)):
            if _waits(call, function.body, queues):
                return call
            helper = _meant(program, function, call[2]) if call[2][0] == m.ATTR else None
            put = None if helper is None else _put_in(helper, queues)
            if put is not None:
                return put
    for call in calls(function.body):  # somebody else's loop: `generate(callback=put_it)`
        for given in (*call[3], *(value for _, value in call[4])):
            helper = _meant(program, function, given) if given[0] in (m.NAME, m.ATTR) else None
            put = None if helper is None else _put_in(helper, queues)
            if put is not None:
                return put
    return None


def _put_in(helper: FunctionFacts, queues: set[str]) -> Expr | None:
    found = calls(helper.body) if "put" in helper.calls else ()
    return next((put for put in found if _waits(put, helper.body, queues)), None)


def _waits(call: Expr, body: Block, queues: set[str]) -> bool:
    """Whether a call is a `put` that waits until there is room, or tries until there is."""
    if call[2][0] != m.ATTR or call[2][2] != "put" or last_name(call[2][1]) not in queues:
        return False
    if keyword(call, "block", 1) == (m.CONST, False):
        return False
    if keyword(call, "timeout", 2) is None:
        return True
    return any(loop[0] == m.WHILE and any(call in calls_of(one) for one in inside) for loop, inside in loops(body))


# -- readers --------------------------------------------------------------------------------------


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
    for other in program.places if own else (place,):
        for statement in statements(other.facts.body):
            if statement is made or _lets_it_be(statement, bound, producer):
                continue
            if other is place and statement[0] == m.FOR and _read(statement[3]) == bound:
                left = statement if _breaks_off(statement) else left
            elif other is place and statement[0] == m.FOR and _asks_a_few(statement, bound):
                left = statement
            elif any(_has(head, bound) for head in heads(statement)):
                return None
    return left


def _lets_it_be(statement: Stmt, bound: Expr, producer: Producer) -> bool:
    """Whether a statement calls an end that nobody hears, or only lets something else take its place."""
    if statement[0] in (m.ASSIGN, m.ANNOTATE) and bound[0] == m.ATTR:
        value = _value(statement)
        bare = value is None or not any(_is_it(part, bound) for part in nodes(value))
        return bare and any(_is_it(target, bound) for target in targets(statement))
    if not producer.deaf or statement[0] != m.EXPR or statement[2][0] != m.CALL:
        return False
    told = statement[2][2]
    return told[0] == m.ATTR and told[2] == producer.end and _is_it(told[1], bound)


def _is_it(expr: Expr, bound: Expr) -> bool:
    """`reader`; `self.reader` also as `trainer.reader`."""
    return expr == bound or (bound[0] == m.ATTR and expr[0] == m.ATTR and expr[2] == bound[2])


def _has(head: Expr, bound: Expr) -> bool:
    return any(is_given(head, part) for part in {bound, *(part for part in nodes(head) if _is_it(part, bound))})


def _left_anew(program: Program, producer: Producer) -> Iterator[Blocked]:
    """Loops over an attribute or a parameter that leave early, and are gone through again and again."""
    kept = {target for place in program.places for target in _made_in(place, producer.name) if target[0] == m.ATTR}
    for place in program.places:
        for loop, looped in in_loops(place.facts.body):
            if loop[0] != m.FOR or not _breaks_off(loop):
                continue
            over = _read(loop[3])
            if not (over in kept or _is_handed(program, place, over, producer.name)):
                continue
            if looped or is_repeated(program, place):
                yield Blocked(loop[1], producer, loop[1])


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


def _asks_a_few(loop: Stmt, bound: Expr) -> bool:
    """`for _ in range(batches): x = next(reader)`, which is not as many as there are: `range(len(loader))`."""
    counted = loop[3][0] == m.CALL and last_name(loop[3]) == "range"
    if not counted or any(part[0] == m.CALL and last_name(part) == "len" for part in nodes(loop[3])):
        return False
    return any(call[2] == (m.NAME, "next") and call[3] == (bound,) for call in calls(loop[4]))


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
