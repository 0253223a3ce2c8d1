"""What threads and processes run, and whether it ever comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, expressions, keyword, targets
from ..facts.walk import ALWAYS, blocks, calls, calls_of, heads, last_name, loops, nodes, statements, with_tests
from .ending_errors import ends_by_error

SELF: Expr = (m.NAME, "self")
_KINDS = {"Thread": "thread", **dict.fromkeys(PROCESSES, "process")}
_EXITS = ("exit", "_exit", "quit", "interrupt_main")
_RAISES = frozenset("next accept recv recvfrom recv_bytes readline read get_nowait popleft __next__".split())
_STOPS = {"process": ("terminate", "kill"), "thread": ("PyThreadState_SetAsyncExc",)}
_ENDS = ("close", "stop", "shutdown", "terminate", "cleanup", "teardown", "disconnect", "__exit__", "__del__")
_WITHOUT_END = ("count", "repeat", "cycle")  # of itertools
_TIMERS = frozenset(("Timer", "call_later"))
_MAIN = ("<module>", "main", "_main", "cli")


class Work(NamedTuple):
    """What a thread or process runs."""

    function: FunctionFacts
    cls: str  # the class of the object that it keeps, or ""


class Endless(NamedTuple):
    """A thread or process that nothing can end."""

    site: Site
    what: str
    target: str
    cls: str  # of the object that it keeps, or ""
    end: str  # the method that is called when this object is done with, if the program can end; or ""


def endless(program: Program) -> Iterator[Endless]:
    """Threads and processes, no daemons, whose loop has no way out; and daemons that keep an object whose end is not
    theirs."""
    kinds = _KINDS.keys() | {cls.name for cls in program.facts.classes if _kind(cls.bases)}
    if program.called.isdisjoint(kinds | _TIMERS) or program.called & {"_exit", "killpg"}:
        return
    kinds = kinds | (_TIMERS if "cancel" not in program.called else set())
    for place in program.places:
        if kinds.isdisjoint(place.facts.calls):
            continue
        for statement, tests in with_tests(place.facts.body):
            for call in calls_of(statement):
                timed = last_name(call[2]) in _TIMERS & kinds and not tests
                found = _started(program, place, statement, call) or (_rearmed(program, place, call) if timed else None)
                if found is not None:
                    yield found


def _kind(bases: tuple[Expr, ...]) -> str:
    return next((_KINDS[last_name(base)] for base in bases if last_name(base) in _KINDS), "")


def _started(program: Program, place: Place, statement: Stmt, call: Expr) -> Endless | None:
    """The thread or process that a call makes, if it goes on for ever."""
    name = last_name(call[2])
    kind, work, daemon = _KINDS.get(name, ""), None, _is_daemon(place, call)
    target = keyword(call, "target", 1) if kind else None
    if target is not None:
        work = work_of(program, place, call, target)
    elif not kind:
        kind, work, own = own_worker(program, name)
        daemon = daemon or own
    if work is None or place.cls == name or not never_ends(program, work) or _is_another_s(program, place, statement):
        return None
    end = _end_of(program, work.cls) if work.cls and kind == "thread" else ""
    if daemon and not end:
        return None
    if not daemon and (not program.called.isdisjoint(_STOPS[kind]) or _is_waited_for(program, place, statement, work)):
        return None
    return Endless(call[1], kind, work.function.name, work.cls, end if daemon else "")


def _rearmed(program: Program, place: Place, call: Expr) -> Endless | None:
    """A timer over a method of its object, which sets the next one whatever happens."""
    target = keyword(call, "function" if last_name(call[2]) == "Timer" else "callback", 1)
    work = work_of(program, place, call, target) if target is not None else None
    if work is None or not work.cls or work.cls != place.cls or not _sets_again(work.function, place.facts):
        return None
    daemon = last_name(call[2]) != "Timer" or _is_daemon(place, call)
    end = _end_of(program, work.cls)
    if daemon and not end:
        return None
    return Endless(call[1], "timer", work.function.name, work.cls, end if daemon else "")


def _sets_again(function: FunctionFacts, setting: FunctionFacts) -> bool:
    """Whether a function is the one that sets a timer, or always calls it."""
    chain = [setting] if function is setting else [function, setting]
    if any(one[0] in (m.RETURN, m.RAISE) for each in chain for one in statements(each.body)):
        return False
    again = (s for s, tests in with_tests(function.body) if not tests)
    return function is setting or any(call[2] == (m.ATTR, SELF, setting.name) for s in again for call in calls_of(s))


def _is_another_s(program: Program, place: Place, made: Stmt) -> bool:
    """Whether a thread is returned, or started by nobody in sight: others may know how to end it."""
    near = program.places if place.cls else (place,)
    if made[0] == m.RETURN or not any("start" in one.facts.calls for one in near if one.cls == place.cls):
        return True
    names = targets(made)
    back = (one[2] for one in statements(place.facts.body) if one[0] == m.RETURN and one[2] is not None)
    return any(part in names for value in back for part in nodes(value))


def own_worker(program: Program, name: str) -> tuple[str, Work | None, bool]:
    """A class of the file that is a thread or process: its kind, what it runs, and whether it is a daemon."""
    for cls in program.facts.classes:
        if cls.name == name and _kind(cls.bases) and "run" in cls.methods:
            functions = [program.facts.functions[index] for index in (cls.body, *cls.methods.values())]
            daemon = any(_sets_daemon(function.body, None) for function in functions)
            return _kind(cls.bases), Work(program.facts.functions[cls.methods["run"]], name), daemon
    return "", None, False


def _is_daemon(place: Place, call: Expr) -> bool:
    """Whether a thread is a daemon, or may be one."""
    given = keyword(call, "daemon")
    if any(key == "" for key, _ in call[4]):
        return True
    return (given is not None and given[:2] not in ((m.CONST, False), (m.CONST, None))) or _sets_daemon(
        place.facts.body, call
    )


def _sets_daemon(body: Block, made: Expr | None) -> bool:
    """Whether `daemon` is set in a body, for what was made there or for all; by an argument only of another call."""
    for statement in statements(body):
        if any(last_name(target) == "daemon" for target in targets(statement)):
            return True
        for call in calls_of(statement):
            if last_name(call[2]) in ("setDaemon", "set_daemon"):
                return True
            if made is None and (keyword(call, "daemon") is not None or any(key == "" for key, _ in call[4])):
                return True
    return False


def work_of(program: Program, place: Place, call: Expr, target: Expr) -> Work | None:
    """The function that a thread runs, and the class of the object that it keeps by it: a bound method, one that is
    given `self`, or one that uses it."""
    if target[0] == m.CALL and last_name(target[2]) == "partial" and target[3]:
        return work_of(program, place, target, target[3][0])
    if target[0] == m.LAMBDA:
        inside = program.facts.functions[target[1]]
        first = next(calls(inside.body), None)
        found = work_of(program, place, first, first[2]) if first is not None else None
        return found and found._replace(cls=place.cls if SELF in expressions(inside.body) else found.cls)
    functions = program.facts.functions
    given = place.cls if _is_given(call) else ""
    if target[0] == m.ATTR and target[1][0] == m.NAME:
        bound = [one for one in program.by_name.get(target[2], ()) if one.cls]
        if target[1] == SELF:
            bound = [one for one in bound if one.cls == place.cls]
        if len(bound) == 1:
            params = bound[0].facts.params
            keeps = bool(params) and params[0].name == "self"
            return Work(bound[0].facts, bound[0].cls if keeps else given)
    if target[0] != m.NAME:
        return None
    for inner in (functions[index] for index in place.facts.inner):
        if inner.name == target[1]:
            own = all(param.name != "self" for param in inner.params) and SELF in expressions(inner.body)
            return Work(inner, place.cls if own else given)
    plain = next((one.facts for one in program.by_name.get(target[1], ()) if not one.cls), None)
    return Work(plain, given) if plain is not None else None


def _is_given(call: Expr) -> bool:
    """`args=(self,)`, `kwargs={"owner": self}`, `partial(serve, self)`: not a weak reference, nor a part of it."""
    values = [*call[3], *(value for _, value in call[4])]
    for value in list(values):
        if value[0] == m.NEW:
            values += value[3]
        elif value[0] == m.DICT:
            values += (item for _, item in value[2])
    return SELF in values


def never_ends(program: Program, work: Work) -> bool:
    """Whether a function, or a method that it calls, goes round for ever."""
    if work.function.generator:
        return False
    if _goes_on(program, work.function.body):
        return True
    for statement in work.function.body:
        call: Expr = statement[2] if statement[0] == m.EXPR else (m.CONST, None)
        if call[0] == m.CALL and call[2][0] == m.ATTR and call[2][1] == SELF:
            for one in program.by_name.get(call[2][2], ()):
                if one.cls == work.cls and _goes_on(program, one.facts.body):
                    return True
    return False


def _goes_on(program: Program, body: Block) -> bool:
    """Whether a function comes to a loop without a way out."""
    for loop, _ in loops(body):
        forever = goes_round(loop) or (loop[0] == m.WHILE and _is_never_told(program, loop[2]))
        if forever and not leaves(next(blocks(loop))) and not ends_by_error(body, loop):
            return True
    return False


def goes_round(statement: Stmt) -> bool:
    """`while True:`, `for step in itertools.count():`, `for shard in itertools.cycle(shards):`"""
    if statement[0] == m.FOR:
        over = statement[3]
        if over[0] == m.CALL and last_name(over) == "enumerate" and over[3]:
            over = over[3][0]
        return bool(over[0] == m.CALL and last_name(over) in _WITHOUT_END and len(over[3]) < 2)
    return bool(statement[0] == m.WHILE and statement[2] in ALWAYS)


def leaves(block: Block, *, inner: bool = False, caught: bool = False) -> bool:
    """Whether anything in a loop leaves it: also an error that is as good as the news that all is over."""
    for statement in block:
        op = statement[0]
        if op in (m.RETURN, m.RAISE) or (op == m.JUMP and statement[2] and not inner):
            return True
        for call in calls_of(statement):
            name = last_name(call[2])
            if name in _EXITS or (not caught and (name in _RAISES or (name == "get" and keyword(call, "timeout")))):
                return True
        within = inner or op in (m.FOR, m.WHILE)
        for suite in blocks(statement):
            safe = caught or (op == m.TRY and bool(statement[3]) and suite is statement[2])
            if leaves(suite, inner=within, caught=safe):
                return True
    return False


def _is_never_told(program: Program, test: Expr) -> bool:
    """`self.running`, `not self._stop.is_set()`: where nobody in the file sets it, or could hand it to who does."""
    wanted = test[0] != m.NOT
    asked: Expr = test if wanted else test[1]
    event = asked[0] == m.CALL and asked[2][0] == m.ATTR and asked[2][2] in ("is_set", "wait", "isSet")
    flag: Expr = asked[2][1] if event else asked
    if flag[0] != m.ATTR or flag[1] != SELF:
        return False
    made = False
    for place in program.places:
        for statement in statements(place.facts.body):
            if any(last_name(target) == flag[2] for target in targets(statement)):
                made = True
                if not _leaves_it(statement, (m.CONST, wanted), event):
                    return False
            bound = targets(statement)
            if any(tells(head, flag[2], event) for head in heads(statement) if head not in bound):
                return False
    return made


def _leaves_it(statement: Stmt, value: Expr, event: bool) -> bool:
    """Whether a binding of a flag makes it what it is while the work goes on; of an event: a new one."""
    given: Expr | None = statement[-1] if statement[0] in (m.ASSIGN, m.ANNOTATE) else None
    return given is not None and (last_name(given) == "Event" if event else given == value)


def tells(expr: Expr, name: str, event: bool, starting: Expr | None = None) -> bool:
    """Whether an expression does anything with an event but ask for it, or with a flag but read it; `starting`: the
    call that makes the thread, which is given it."""
    if expr == starting:
        return False
    if not event:
        return expr[0] == m.CALL and last_name(expr[2]) == "setattr"
    if expr[0] == m.CALL and expr[2][0] == m.ATTR and last_name(expr[2][1]) == name:
        return expr[2][2] not in ("is_set", "wait", "isSet")
    if expr[0] == m.ATTR and expr[2] == name:
        return True
    stack: list[object] = list(expr)
    while stack:
        part = stack.pop()
        if type(part) is tuple and part:
            if type(part[0]) is int:
                if tells(part, name, event, starting):
                    return True
            else:
                stack.extend(part)
    return False


def _end_of(program: Program, name: str) -> str:
    """The method that is called when an object of this class is done with."""
    methods = next((cls.methods for cls in program.facts.classes if cls.name == name), {})
    return next((end for end in _ENDS if end in methods), "")


def _is_waited_for(program: Program, place: Place, made: Stmt, work: Work) -> bool:
    """Whether who starts it stays as long: it waits for it, or goes round itself; or is the program, and what it
    starts is not there to serve it."""
    joins = (call for call in calls(place.facts.body) if last_name(call[2]) == "join" and not call[3] and not call[4])
    if any(joins) or _goes_on(program, place.facts.body):
        return True
    serves = any(call[2][0] == m.ATTR and call[2][2] == "get" and not call[3] for call in calls(work.function.body))
    return place.facts.name in _MAIN and not serves


def until_told(test: Expr) -> bool:
    """`True`, `self.running`, `not self._stop.is_set()`; `owner.running`, `stop.is_set()`, where it is given. Also
    where there may be more to do then: `not self.done or not self.inbox.empty()`."""
    if test[0] == m.BOOL and test[1] == "or":
        return any(map(until_told, test[2]))
    while test[0] == m.NOT:
        test = test[1]
    if test[0] == m.CALL and test[2][0] == m.ATTR and test[2][2] in ("is_set", "wait"):
        test = test[2][1]
        return bool(test[0] == m.NAME or (test[0] == m.ATTR and test[1][0] == m.NAME))
    return test in ALWAYS or (test[0] == m.ATTR and test[1][0] == m.NAME)
