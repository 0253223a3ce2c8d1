"""Queues between threads or processes that take tensors without a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.batches import is_loader
from ..facts.idle import is_idle
from ..facts.model import Expr, Site, Stmt, statement_of
from ..facts.program import Block, Place, Program, names_in, targets
from ..facts.walk import (
    blocks,
    calls,
    calls_of,
    expressions_of,
    last_name,
    loops,
    nodes,
    places_with_values,
    root_of,
    statements,
    with_tests,
)
from ..interpreter.contexts import Kept
from ..interpreter.events import Loops, Plain, Trail
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import SCALAR, Class, Function, Obj
from ..lexical.serialized import is_serialized
from .kept import is_loaded
from .kept_short import keeps_short, limit_not_given, limit_says
from .led_from import line_of_home
from .let_go import measured
from .places import describe

_HOLDS_BACK = ("acquire", "join", "wait", "result", "recv")
_TAKES = ("get", "recv")
_FRACTION: Expr = (m.TEXT,)  # of a number, all that the facts keep
_PUTS = ("put", "put_nowait")
_ASKS = ("get", "qsize", "full")  # of a queue, without arguments: `torch.full` has some


class Put(NamedTuple):
    site: Site  # in the home file: of the put, or of the call that leads to it
    name: str
    made: Site
    weight: int
    put: Site
    deque: bool = False
    limit: str = ""  # that keeps it short, and was not given here


def unbounded_puts(machine: Machine, reaching: Callable[[], Program]) -> Iterator[Put]:
    """Puts of heavy values into queues without a limit whose other end is elsewhere."""
    read_elsewhere = {id(note.detail) for note in machine.plain if note.kind == "queue-get" and not _drains(note)}
    seen: set[Site] = set()
    for site, trail, queue, frame, around, weight, elsewhere in _puts(machine, reaching):
        if queue.bounded or queue.unknown or site in seen or not (elsewhere or id(queue) in read_elsewhere):
            continue
        if not any(loop.kind in ("loop", "call") and loop not in queue.birth for loop in around):
            continue
        if _held_back(machine, frame, loops(frame.facts.body)) or _callers_wait(machine, frame):
            continue
        if _answered(frame, site):
            continue
        if _waits_for_what_it_put(frame, site) or keeps_short(machine, frame, site):
            continue
        if _waited_for(frame, site) or _follow_one_another(frame, site) or _are_parts_of_one(frame, site):
            continue
        unset = limit_not_given(machine, frame, site)
        way = _of_who_gives_none(machine, frame, unset) if unset is not None else ()
        anchor = line_of_home(machine, *(way or (site, *reversed(trail))), loops=around)
        if anchor is None or anchor in seen:
            continue
        seen.add(anchor)
        name, limit = describe(queue, "*", machine).text, "" if unset is None or not way else last_name(unset)
        yield Put(anchor, name, queue.site, min(weight, 2), site, queue.kind == "deque", limit)


def _of_who_gives_none(machine: Machine, frame: Frame, limit: Expr) -> tuple[Site, ...]:
    """The way outwards from the call that leaves a limit as it is: of the function, or of the object's class."""
    if limit[0] == m.NAME:
        return tuple(reversed(frame.trail()))
    maker = machine.makers.get(frame.receiver) if isinstance(frame.receiver, Obj) else None
    return () if maker is None else (maker[1], *reversed(maker[0].trail()))


def _puts(
    machine: Machine, reaching: Callable[[], Program]
) -> Iterator[tuple[Site, Trail, Obj, Frame, Loops, int, bool]]:
    for note in machine.plain:
        if note.kind == "queue-put":
            kept: Kept = note.detail
            batch = kept.what == "item" and (_is_batch(note.frame, note.site) or is_loaded(note))
            if isinstance(kept.owner, Obj) and (kept.what in ("tensor", "array") or batch):
                yield note.site, note.trail, kept.owner, note.frame, kept.loops, kept.weight, True
        elif note.kind == "array-put":
            yield note.site, note.trail, note.detail[0], note.frame, note.loops, note.detail[1], False
        elif note.kind == "light-put" and _is_serialized(machine, reaching, note):
            yield note.site, note.trail, note.detail, note.frame, note.loops, 2, False
        elif note.kind == "thread-store" and _is_line(machine, note):
            kept = note.detail
            assert isinstance(kept.owner, Obj)
            yield note.site, note.trail, kept.owner, note.frame, kept.loops, kept.weight, True
    for store in machine.stores:
        owner = store.owner
        if isinstance(owner, Obj) and owner.kind == "queue":
            weight = max((tensor.weight for tensor in store.tensors if tensor.size != SCALAR), default=0)
            if weight > 1:
                yield store.site, store.trail, owner, store.frame, store.loops, weight, False


def _is_serialized(machine: Machine, reaching: Callable[[], Program], note: Plain) -> bool:
    """Whether what is put was made of tensors by `torch.save` or `pickle`, here or in a function of the files."""
    put = next((call for call in calls(note.frame.facts.body) if call[1] == note.site and call[3]), None)
    if put is None:
        return False
    near = reaching() if note.frame.unit is machine.home else Program(note.frame.unit.facts)
    return is_serialized(near, Place(note.frame.facts, "", ()), put[3][0])


def _is_batch(frame: Frame, site: Site) -> bool:
    """Whether what is put is what a loader gives, `for batch in self.loader: self.queue.put(batch)`."""
    put = next((call for call in calls(frame.facts.body) if call[1] == site and call[3]), None)
    for loop, _ in loops(frame.facts.body):
        if put is not None and loop[0] == m.FOR and put[3][0] in targets(loop):
            return is_loader(loop[3])
    return False


def _drains(note: Plain) -> bool:
    """Whether what takes goes on until nothing is left, `while not jobs.empty(): jobs.get_nowait()`: one that comes
    when all has been put, or takes all that has come at once."""
    body = note.frame.facts.body
    for loop, inside in loops(body):
        if not any(
            call[1] == note.site and last_name(call[2]) == "get_nowait" for one in inside for call in calls_of(one)
        ):
            continue
        if loop[0] == m.WHILE and any(last_name(call[2]) in ("empty", "qsize") for call in calls_of(loop)):
            return True
        around = [one for one in inside if one[0] == m.TRY and any(call[1] == note.site for call in calls(one[2]))]
        clauses = [clause for one in around for _, _, clause in one[3]]
        return not clauses or any(one[0] == m.RETURN or one[::2] == (m.JUMP, True) for one in statements(clauses[0]))
    return False


def _is_line(machine: Machine, note: Plain) -> bool:
    """Whether a thread adds to a `deque` that others take from at its other end, and no limit holds it back."""
    kept: Kept = note.detail
    owner = kept.owner
    if (
        not isinstance(owner, Obj)
        or owner.kind != "deque"
        or kept.how != "grow"
        or kept.what not in ("tensor", "array")
    ):
        return False
    taken = any(reset.owner is owner and reset.how == "pop" and not reset.threaded for reset in machine.resets)
    return taken and not measured(note.frame, describe(owner, "*", machine).text)


def _callers_wait(machine: Machine, frame: Frame) -> bool:
    """Whether a loop that calls what puts goes on only when something has come back."""
    inner, outer = frame, frame.caller
    while outer is not None:
        number = statement_of(inner.call_site)
        around = (one for one in loops(outer.facts.body) if any(statement_of(s[1]) == number for s in one[1]))
        if _held_back(machine, outer, around, number):
            return True
        inner, outer = outer, outer.caller
    return False


def _waited_for(frame: Frame, site: Site) -> bool:
    """Whether a function that gives each of many queues something waits for the answers before it returns:
    `works = [channel.submit(part) for channel in channels]`, and then `work.wait()` for each."""
    at: Frame | None = frame
    while at is not None:
        body = at.facts.body
        put = next((call for call in calls(body) if call[1] == site), None)
        around = [loop for loop, inside in loops(body) if any(put == call for one in inside for call in calls_of(one))]
        root = (m.TEXT,) if put is None else root_of(put[2])
        if put is not None and not around and _is_of_one_list(body, put) and any(waits(call) for call in calls(body)):
            return True
        if any(loop[0] != m.FOR or loop[2] != root for loop in around):
            return False
        if around and any(waits(call) for call in calls(body)):
            return True
        site, at = at.call_site, at.caller
    return False


def _is_of_one_list(body: tuple[Stmt, ...], put: Expr) -> bool:
    """Whether a comprehension gives the parts of one thing that is there, `[pool.submit(half) for half in halves]`:
    what waits then is in the list anyway. A loader's batches are not."""
    for part in (part for one in statements(body) for part in expressions_of(one) if part[0] == m.COMP):
        if any(put == inner for given in part[3:5] if given is not None for inner in nodes(given)):
            return all(over[0] in (m.NAME, m.ATTR) and not is_loader(over) for _, over, _ in part[5])
    return False


def _are_parts_of_one(frame: Frame, site: Site) -> bool:
    """Whether a function cuts what it was given into parts, `for start in range(0, len(texts), size)`, puts all of
    them, and then takes the results of all, before it returns."""
    params = {param.name for param in frame.facts.params}
    for loop, inside in loops(frame.facts.body):
        if all(call[1] != site for one in inside for call in calls_of(one)):
            continue
        cut = loop[0] == m.FOR and last_name(loop[3]) == "range" and not params.isdisjoint(names_in(loop[3]))
        last = max(one[1] for one in inside)
        return cut and any(call[1] > last and waits(call) and call[2][2] == "get" for call in calls(frame.facts.body))
    return False


def _follow_one_another(frame: Frame, site: Site) -> bool:
    """Whether each item is made from the one before, as many as one request has steps: a model that writes token after
    token is hardly ahead of who reads them, and what it writes is small beside it."""
    for loop, inside in loops(frame.facts.body):
        put = next((call for one in inside for call in calls_of(one) if call[1] == site), None)
        if put is None:
            continue
        if loop[0] != m.FOR or last_name(loop[3]) != "range":
            return False
        made_from: dict[Expr, set[Expr]] = {}
        for one in inside:
            for target in targets(one) if one[0] == m.ASSIGN else ():
                made_from.setdefault(target, set()).update(part for part in nodes(one[3]) if part[0] == m.NAME)
        found = {part for given in put[3] for part in nodes(given) if part in made_from}
        for item in found:
            before = set(made_from[item])
            for _ in range(3):
                before |= {part for name in before for part in made_from.get(name, ())}
            if item in before:
                return True
        return False
    return False


def _held_back(machine: Machine, frame: Frame, around: Iterable[tuple[Stmt, list[Stmt]]], leads: Site = 0) -> bool:
    """Whether the loop that puts, or has the statement that `leads` there, waits for something else: another queue, a
    semaphore, an answer; or sleeps until something is so. A pause in each round waits for nobody, and one that is over
    before there is room, or for which there is no limit, holds nobody."""
    for loop, every in around:
        if _never_is(machine, frame, loop):
            continue
        short = [statement for one in every if _is_short_pause(frame, one) for statement in (one, *one[3])]
        short += [part for one in every if _never_is(machine, frame, one) for part in (one, *statements(one[3]))]
        inside = [statement for statement in every if statement not in short]
        if _begins_with_waiting(loop) or any(waits(call) for statement in inside for call in calls_of(statement)):
            return True
        for statement, tests in with_tests(next(blocks(loop))):
            sleeps = statement in inside and any(last_name(call[2]) == "sleep" for call in calls_of(statement))
            if sleeps and (tests or not (leads or _puts_in(inside)) or (leads and _is_aside(inside, statement, leads))):
                return True
    return False


def _is_aside(inside: list[Stmt], pause: Stmt, leads: Site) -> bool:
    """Whether a pause is in an inner loop of its own, `while len(waiting) > 4: time.sleep(0.1)`."""
    found = ([*statements(next(blocks(one)))] for one in inside if one[0] in (m.FOR, m.WHILE))
    return any(pause in within and all(one[1] != leads for one in within) for within in found)


def _never_is(machine: Machine, frame: Frame, statement: Stmt) -> bool:
    """Whether nothing in a statement ever runs, `while limit is not None and jobs.qsize() >= limit:`."""
    return statement[0] in (m.IF, m.WHILE) and limit_says(machine, frame, statement[2]) is False


def _begins_with_waiting(loop: Stmt) -> bool:
    """`while (job := jobs.get()) is not None:`, `for job in iter(jobs.get, None):`; not `while not stop.wait(1):`"""
    if loop[0] == m.WHILE:
        return any(waits(call) and call[2][2] in _TAKES for call in calls_of(loop))
    rounds = loop[3]
    asks = rounds[3][0] if rounds[0] == m.CALL and rounds[2] == (m.NAME, "iter") and len(rounds[3]) == 2 else rounds
    return bool(asks[0] == m.ATTR and asks[2] in _TAKES)


def _is_short_pause(frame: Frame, statement: Stmt) -> bool:
    """`if queue.qsize() > limit: time.sleep(0.01)`, and then what follows is done all the same."""
    if not is_idle(statement):
        return False
    asks = any(last_name(call[2]) in ("qsize", "full", "len") for call in calls_of(statement))
    pauses = [one[2] for one in statement[3] if one[0] == m.EXPR and last_name(one[2]) == "sleep"]
    return asks and bool(pauses) and all(_is_short(frame, call) for call in pauses)


def _is_short(frame: Frame, sleep: Expr) -> bool:
    """A fraction of a second, as far as the facts keep that: a number with a point, also by the name of a parameter
    with such a default, or of what is set to one."""
    if len(sleep) != 5 or len(sleep[3]) != 1:
        return False
    [pause] = sleep[3]
    if pause == _FRACTION or pause[0] not in (m.NAME, m.ATTR):
        return bool(pause == _FRACTION)
    name = pause[-1]
    for function in frame.unit.facts.functions:
        if any(param.name == name and param.default == _FRACTION for param in function.params):
            return True
        for one in statements(function.body):
            bound = places_with_values(one) if one[0] == m.ASSIGN else ()
            if any(value == _FRACTION and last_name(place) == name for place, value in bound):
                return True
    return False


def waits(call: Expr) -> bool:
    if call[2][0] != m.ATTR:
        return False
    # `jobs.get()`, `jobs.get(True, 0.1)`: whoever finds none goes on without; `table.get(key)` takes nothing
    takes = call[2][2] in _ASKS and call[3][:1] in ((), ((m.CONST, True),))
    return call[2][2] in _HOLDS_BACK or takes


def _answered(frame: Frame, site: Site) -> bool:
    """Whether the object that puts into its queue waits for what comes back in another: who asks is not far ahead. What
    the same function puts into others, beside, is no answer, and who looks whether there is one waits for none."""
    short = {one[2][0]: one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and _is_own(one[3])}
    filled = (queue for call in calls(frame.facts.body) if call[1] == site for queue in _filled_by(call))
    queues = {short.get(queue, queue) for queue in filled}
    if not all(_is_own(one) for one in queues):
        return False
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    puts = (queue for call in calls(frame.facts.body) for queue in _filled_by(call) if last_name(call[2]) in _PUTS)
    beside = {short.get(queue, queue) for queue in puts}
    functions = [member for value in receiver.cls.members.values() for member in value if type(member) is Function]
    return any(
        waits(call) and call[2][2] == "get" and _is_own(call[2][1]) and call[2][1] not in beside | queues
        for one in functions
        for call in calls(one.facts.body)
        if not _looks_first(one.facts.body, call)
    )


def _looks_first(body: Block, taking: Expr) -> bool:
    """`while not self.notes.empty(): self.notes.get()`"""
    return any(
        loop[0] == m.WHILE
        and any(call[2] == (m.ATTR, taking[2][1], "empty") for call in calls_of(loop))
        and any(call is taking for one in inside for call in calls_of(one))
        for loop, inside in loops(body)
    )


def _waits_for_what_it_put(frame: Frame, site: Site) -> bool:
    """Whether a function waits for a part of the one item that it puts: `jobs.put((image, answer))`, and then
    `answer.result()`, `await answer`, `item["done"].wait()`. As many items wait as there are callers."""
    body = frame.facts.body
    put = next((call for call in calls(body) if call[1] == site), None)
    if put is None or any(put in calls_of(one) for _, inside in loops(body) for one in inside):
        return False
    given = {part for value in put[3] for part in nodes(value) if part[0] == m.NAME}
    for one in statements(body):
        if one[0] == m.ASSIGN and not given.isdisjoint(one[2]):
            given |= {part for part in nodes(one[3]) if part[0] == m.NAME}
    for one in statements(body):
        for part in expressions_of(one) if one[1] > site else ():
            if part[0] == m.AWAIT and part[1] in given:
                return True
            if part[0] == m.CALL and len(part) == 5 and waits(part) and root_of(part[2]) in given:
                return True
    return False


def _filled_by(call: Expr) -> Iterator[Expr]:
    """The queue of `queue.put(x)`, and of `loop.call_soon_threadsafe(queue.put_nowait, x)`."""
    methods = [one for one in (call[2], *call[3]) if one[0] == m.ATTR]
    puts = [one for one in methods if one[2] in _PUTS]
    yield from (one[1] for one in puts or methods[:1])


def _is_own(queue: Expr) -> bool:
    return bool(queue[0] == m.ATTR and queue[1] == (m.NAME, "self"))


def _puts_in(inside: list[Stmt]) -> bool:
    return any(last_name(call[2]) in _PUTS for statement in inside for call in calls_of(statement))
