"""Threads and tasks that go round and wait for the next item: what they still have bound while they do."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import targets
from ..facts.walk import (
    ALWAYS,
    blocks,
    calls,
    calls_of,
    expressions_of,
    last_name,
    nodes,
    places_with_values,
    root_of,
    statements,
)
from .frames import Frame
from .machine import Machine
from .values import ATTACHED, UNKNOWN, Bound, Obj
from .weights import heavy

_CONTAINERS = ("list", "tuple", "dict", "set", "deque")
_NUMBERS = ("weight", "factor", "ratio", "count", "coef", "lr")  # names of single numbers

_ANSWERS = ("set_result", "put", "put_nowait", "send", "send_pyobj")
_OF_SIGNALS = frozenset(("set", "is_set", "set_result", "set_exception"))  # what events and futures have, not tensors


def end_of_round(machine: Machine, frame: Frame, loop: Stmt) -> None:
    """Note what the loop of a thread, or of a task that serves, still has bound when it waits for the next item."""
    in_thread = machine.context is not None and machine.context.kind == "thread"
    if frame.dead or not (in_thread or frame.facts.coroutine) or _ends_when_empty(loop):
        return
    body = loop[4] if loop[0] == m.FOR else loop[3]
    every = [call for statement in _straight(body) for call in calls_of(statement)]
    waits = next((call for call in every if _blocks(call)), None)
    if not in_thread and (waits is None or not _serves(frame, loop, waits)):
        return
    if waits is None:
        waits = next((call for call in every if _waited_in(machine, frame, call) is not None), None)
    names: dict[str, None] = {}
    if loop[0] == m.FOR and _is_iter_of_get(loop[3]):
        waits = loop[3]
        names = {target[1]: None for target in targets(loop) if target[0] == m.NAME}
    if waits is None:
        return
    for statement in statements(body):
        if not (statement[0] == m.FOR and _is_kept_anyway(machine, frame, statement[3])):
            names.update({target[1]: None for target in targets(statement) if target[0] == m.NAME})
    kept = {}
    for name in names:
        what, weight = heavy(machine, frame.vars.get(name, UNKNOWN))
        if name.rpartition("_")[2] in _NUMBERS or not _OF_SIGNALS.isdisjoint(frame.facts.uses.get(name, ())):
            continue
        if what in ("tensor", "array") and weight > 1 and not _dropped_before(body, waits, name):
            kept[name] = (what, weight)
    awaited = _awaited(machine, frame, loop, body) if not kept else {}
    if kept or awaited:
        passing = _passed_on(machine, frame, loop, body)
        machine.note("kept-while-waiting", waits[1], frame, (kept, awaited, machine.context, passing))


def _serves(frame: Frame, loop: Stmt, waits: Expr) -> bool:
    """Whether a method that is a coroutine takes from a queue of its object for ever, `await self.requests.get()`, and
    nobody waits until that queue is done with, who would then cancel the task."""
    queue = waits[2][1]
    if loop[0] != m.WHILE or loop[2] not in ALWAYS or waits[2][2] != "get" or queue[:2] != (m.ATTR, (m.NAME, "self")):
        return False
    if all((m.AWAIT, waits) not in expressions_of(one) for one in statements(loop[3])):
        return False
    joined = (m.ATTR, queue, "join")
    return not any(
        call[2] == joined for one in frame.unit.facts.functions if "join" in one.calls for call in calls(one.body)
    )


def _straight(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements of a round that each round comes to, also in a `try` or `with`: but for a `try` that leaves the
    loop when nothing has come in time."""
    for statement in body:
        yield statement
        if statement[0] == m.WITH or (statement[0] == m.WHILE and all(one[0] == m.EXPR for one in statement[3])):
            yield from _straight(statement[3])  # `with ready: while not items: ready.wait()`
        elif statement[0] == m.TRY and not any(_leaves(block) for _, _, block in statement[3]):
            yield from _straight(statement[2])


def _leaves(block: tuple[Stmt, ...]) -> bool:
    return any(one[0] in (m.RETURN, m.RAISE) or (one[0] == m.JUMP and one[2]) for one in statements(block))


def _ends_when_empty(loop: Stmt) -> bool:
    """`while not queue.empty()`: what is left is taken out, and nothing is waited for."""
    test = loop[2] if loop[0] == m.WHILE else None
    called = test[1] if test is not None and test[0] == m.NOT else test
    if called is None or called[0] != m.CALL or called[2][0] != m.ATTR:
        return False
    return bool(called[2][2] == ("empty" if test is not called else "qsize"))


def _is_kept_anyway(machine: Machine, frame: Frame, iterated: Expr) -> bool:
    """Whether a loop goes over what lies in a container that the thread has all the time: its variable keeps nothing
    that would go without it."""
    while iterated[0] == m.CALL and iterated[2][0] == m.ATTR and iterated[2][2] in ("values", "items"):
        iterated = iterated[2][1]
    if iterated[0] not in (m.NAME, m.ATTR):
        return False
    return any(
        type(atom) is Obj and atom.kind in _CONTAINERS and len(atom.birth) < len(machine.loops)
        for atom in machine.eval(frame, iterated)
    )


def _awaited(machine: Machine, frame: Frame, loop: Stmt, body: tuple[Stmt, ...]) -> dict[str, tuple[Obj, int]]:
    """The names that the last item of a queue has at the end of a round, where nothing is in the queue yet: threads
    are started before they are given something; with the index of each in what is taken apart, else -1. What is made
    of an item under its own name, `batch = pin(batch)`, is only known when the thread goes on with one."""
    got = list(_taken(machine, frame, loop, body))
    taking = [statement for statement, _, _ in got]
    let_go: list[Expr] = []
    made_over: list[Expr] = []
    for statement in statements(body):
        if not any(statement is one for one in taking):
            let_go += statement[2] if statement[0] == m.DELETE else targets(statement)
            if statement[0] == m.ASSIGN:
                made_over += [one for one in statement[2] if one[0] == m.NAME and one in nodes(statement[3])]
    taken = [(target, -1, expr) for _, target, expr in got]
    taken += [(part, index, expr) for _, one, expr in got if one[0] == m.NEW for index, part in enumerate(one[3])]
    found: dict[str, tuple[Obj, int]] = {}
    for name, index, expr in taken:
        for queue in machine.eval(frame, expr) if name[0] == m.NAME else ():
            if type(queue) is not Obj or queue.kind != "queue":
                continue
            if name not in let_go:
                found[name[1]] = queue, index
            elif name in made_over:
                machine.made_over.add(queue.serial)
    return found


def _taken(machine: Machine, frame: Frame, loop: Stmt, body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, Expr, Expr]]:
    """The statements that take an item, what they bind it to, and what they take it from."""
    if loop[0] == m.FOR and _is_iter_of_get(loop[3]):
        yield loop, loop[2], loop[3][3][0][1]
    for statement in statements(body):
        call = statement[3] if statement[0] == m.ASSIGN and statement[3][0] == m.CALL else None
        waits = call if call is None or _blocks(call) else _waited_in(machine, frame, call)
        if waits is not None:
            yield from ((statement, target, waits[2][1]) for target in statement[2])


def _passed_on(machine: Machine, frame: Frame, loop: Stmt, body: tuple[Stmt, ...]) -> frozenset[str]:
    """The names of what a round only passes on: the item that it has taken, or a part of it, as it is, and what it puts
    somewhere or answers with. With a graph it is more than what the others have of it."""
    taken = [one for _, target, _ in _taken(machine, frame, loop, body) for one in nodes(target) if one[0] == m.NAME]
    for statement in statements(body):
        for place, value in places_with_values(statement) if statement[0] == m.ASSIGN else ():
            taken += [one for one in nodes(place) if one[0] == m.NAME and root_of(value) in taken]
        if statement[0] == m.FOR and root_of(statement[3]) in taken:
            taken += [one for one in targets(statement) if one[0] == m.NAME]
    answers = [call for call in calls(body) if last_name(call[2]) in _ANSWERS]
    given = {part for call in answers for one in call[3] for part in (one, *(one[3] if one[0] == m.NEW else ()))}
    names = {one[1] for one in {*taken, *given} if one[0] == m.NAME}
    elsewhere = [one for store in machine.stores if type(store.owner) is Obj for one in store.tensors]
    put = {node for one in elsewhere for node in machine.derivation.names_of(one.node)}
    for name, value in frame.vars.items():
        tensors = machine.reach(value)
        if tensors and all(one.node in put for one in tensors):
            names.add(name)
        if any(one.graph == ATTACHED for one in tensors):
            names.discard(name)
    return frozenset(names)


def _blocks(call: Expr) -> bool:
    """`queue.get()`, `event.wait()`, `connection.recv()`: returns when somebody else does something."""
    callee = call[2]
    return callee[0] == m.ATTR and callee[2] in ("get", "recv", "wait", "accept", "recv_multipart") and not call[3]


def _waited_in(machine: Machine, frame: Frame, call: Expr) -> Expr | None:
    """What another method of the thread's object does for it: `def next_item(self): return self.queue.get()`."""
    callee = call[2]
    if callee[0] != m.ATTR or callee[1] != (m.NAME, "self") or call[3] or call[4]:
        return None
    for atom in machine.eval(frame, callee):
        for statement in atom.function.facts.body if type(atom) is Bound else ():
            value = statement[2] if statement[0] == m.RETURN else None
            if value is not None and value[0] == m.CALL and _blocks(value):
                return value  # type: ignore[no-any-return]
    return None


def _is_iter_of_get(expr: Expr) -> bool:
    """`iter(queue.get, None)`"""
    return bool(
        expr[0] == m.CALL
        and expr[2] == (m.NAME, "iter")
        and expr[3]
        and expr[3][0][0] == m.ATTR
        and expr[3][0][2] == "get"
    )


def _dropped_before(body: tuple[Stmt, ...], waits: Expr, name: str) -> bool:
    """Whether the round begins by letting go of a name, before it waits."""
    for statement in body:
        if any(call is waits for call in calls((statement,))):
            inner = (block for block in blocks(statement) if any(call is waits for call in calls(block)))
            in_time = statement[3] if statement[0] == m.TRY else ()  # `except queue.Empty: batch = None; continue`
            return any(_lets_go(one, name) for _, _, block in in_time for one in block) or any(
                _dropped_before(block, waits, name) for block in inner
            )
        if _lets_go(statement, name):
            return True
    return False


def _lets_go(statement: Stmt, name: str) -> bool:
    bound = statement[2] if statement[0] == m.DELETE else targets(statement) if statement[0] == m.ASSIGN else ()
    return (m.NAME, name) in bound
