"""Classes and generators that start a thread or process which fills a queue of limited size, and what ends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, expressions, keyword, targets
from ..facts.walk import calls, calls_of, last_name, loops, nodes, statements
from .starters import setup_of, thread_base

QUEUES = ("Queue", "LifoQueue", "PriorityQueue")
_STARTS = ("Thread", *PROCESSES, "submit")


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


def closable_producers(program: Program) -> dict[str, Producer]:
    """The classes whose objects fill a limited queue from a thread of theirs until their `close()` ends it."""
    if "put" not in program.called or program.called.isdisjoint(QUEUES) or "Thread" not in program.called:
        return {}
    found = producing_classes(program, limited_queues(program))
    return {one.name: one for one in found if one.end and not one.deaf and one.filler.what == "thread"}


def limited_queues(program: Program) -> set[str]:
    """The last names of what is bound to a queue with a limit."""
    found = set[str]()
    for function in program.facts.functions:
        for statement in statements(function.body) if not set(QUEUES).isdisjoint(function.calls) else ():
            value = value_of(statement)
            if value is not None and value[0] == m.CALL and last_name(value) in QUEUES:
                limit = keyword(value, "maxsize", 0)
                if limit is not None and limit not in ((m.CONST, 0), (m.CONST, None)) and limit[0] != m.UNARY:
                    found |= {last_name(target) for target in targets(statement)}
    return found - {""}


def value_of(statement: Stmt) -> Expr | None:
    """What an assignment or annotation binds its targets to."""
    if statement[0] == m.ASSIGN:
        return statement[3]  # type: ignore[no-any-return]
    return statement[4] if statement[0] == m.ANNOTATE else None


def producing_classes(program: Program, queues: set[str]) -> Iterator[Producer]:
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


def producing_generators(program: Program, queues: set[str]) -> Iterator[Producer]:
    """The generators that start a thread or process which fills a queue, and do nothing when they are closed; the
    classes that one goes over."""
    for place in program.places:
        function = place.facts
        if not function.generator or set(_STARTS).isdisjoint(function.calls):
            continue
        if any(_goes_on_when_closed(one) for one in statements(function.body)):
            continue
        filler = next(_fillers(program, function, queues), None)
        if filler is not None and function.name == "__iter__":
            yield Producer(place.cls, "", filler, True, True)
        elif filler is not None:
            yield Producer(function.name, "", filler, True)


def _goes_on_when_closed(one: Stmt) -> bool:
    """Whether a statement does something when a generator is closed at a `yield` in it."""
    inside: Block = one[3] if one[0] == m.WITH else one[2] if one[0] == m.TRY and one[5] else ()
    return any(part[0] in (m.YIELD, m.YIELD_FROM) for part in expressions(inside))


def producing_iterables(program: Program, producers: list[Producer]) -> Iterator[Producer]:
    """The classes whose `__iter__` gives such an object that it has made, as a loader that reads ahead in a thread
    does; where nobody calls a method by which it, or the object, could be ended."""
    by_name = {one.name: one for one in producers}
    for cls in program.facts.classes if by_name else ():
        index = cls.methods.get("__iter__")
        read = program.facts.functions[index] if index is not None else None
        if read is None or by_name.keys().isdisjoint(read.calls):
            continue
        body = list(statements(read.body))
        given = [one[2] for one in body if one[0] == m.RETURN and one[2] is not None]
        made = [(one, ()) for one in given] + [(one[3], one[2]) for one in body if one[0] == m.ASSIGN]
        for call, bound in made:
            inner = by_name.get(last_name(call)) if call[0] == m.CALL else None
            back = (m.NAME, "self") in given and "__next__" in cls.methods  # by which its own object is asked
            if inner is None or not (call in given or set(bound) & set(given) or (back and bound)):
                continue
            if not _has_an_end(program, cls, bound, inner.end):
                yield Producer(cls.name, "", inner.filler._replace(started=call[1]), True, True)


def _has_an_end(program: Program, cls: ClassFacts, bound: tuple[Expr, ...], end: str) -> bool:
    """Whether anybody calls what ends such an object, or a method of its owner that uses it."""
    own = {target[2] for target in bound if target[0] == m.ATTR}
    ways = {end} if end else set[str]()
    for name, index in cls.methods.items():
        used = (part for expr in expressions(program.facts.functions[index].body) for part in nodes(expr))
        if name not in ("__iter__", "__next__", "__init__") and any(
            part[0] == m.ATTR and part[2] in own for part in used
        ):
            ways.add(name)
    return not ways.isdisjoint(program.called)


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
