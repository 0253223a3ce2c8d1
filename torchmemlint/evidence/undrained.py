"""Containers that a method of their object empties, in programs that never call it once they have been filled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..facts import model as m
from ..facts.emptying import BOUND, BUILDERS, DELETED, emptyings, goes_on_beside
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import Program
from ..facts.walk import calls_of, heads, last_name, loops, nodes, statements
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj
from .unreleased import methods_of

_BY_ITSELF = frozenset("__exit__ __aexit__ __del__ __iter__ __next__ __call__ __len__ __enter__".split())


def method_not_called(machine: Machine, program: Program, note: Plain, container: Obj, name: str) -> str:
    """The method that would empty a container which was filled in a loop, if it stays as it is: only methods of its
    object empty it, the whole way to the loop is in sight, and nothing on it calls one of them there or later."""
    first, emptying = emptying_methods(machine, program, note, container, name)
    return first if emptying and _never_calls(machine, note, emptying, name) else ""


def emptied_after_the_loop(machine: Machine, program: Program, note: Plain, container: Obj, name: str) -> bool:
    """Whether methods of its object are all that empties a container, and none of them is called while the loops that
    fill it go on, all of which are in sight."""
    _, emptying = emptying_methods(machine, program, note, container, name)
    around = [loop for loop in note.loops if loop not in container.birth]
    return bool(emptying) and all(loop.kind != "call" for loop in around) and _is_left_alone(machine, note, emptying)


def emptying_methods(
    machine: Machine, program: Program, note: Plain, container: Obj, name: str
) -> tuple[str, set[str]]:
    """The methods of its object that empty a container, and those that call them, with one that does it itself; none
    where something else may do so, or call them."""
    owner = container.home[0] if container.home is not None else None
    if not isinstance(owner, Obj) or not isinstance(owner.cls, Class):
        return "", set()
    methods = methods_of(owner.cls)
    emptying = {method for method, facts in methods.items() if _takes_out(facts, name)} - set(BUILDERS)
    own = {id(facts) for facts in methods.values()}
    on_the_way = [frame.unit.facts for frame in callers(note.frame)]
    units = {id(unit): unit for unit in (*on_the_way, program.facts, machine.facts)}
    others = (one for facts in units.values() for one in facts.functions if id(one) not in own)
    if not emptying or note.frame.name in emptying or any(_takes_out(one, name) for one in others):
        return "", set()
    first = min(emptying)
    while more := {one for one, facts in methods.items() if one not in emptying and emptying & set(facts.calls)}:
        emptying |= more
    if not _BY_ITSELF.isdisjoint(emptying) or any(_hands_on(facts, emptying) for facts in units.values()):
        return "", set()
    return first, emptying


def callers(frame: Frame | None) -> Iterator[Frame]:
    """A function that runs, and those that wait for it."""
    while frame is not None:
        yield frame
        frame = frame.caller


def _hands_on(facts: FileFacts, methods: set[str]) -> bool:
    """Whether one of the methods is named without being called: for a thread, a callback; or is a coroutine that goes
    on beside what fills the container, `create_task(self.work())`. So is what a function of another one calls, where
    that is named: `job.add_done_callback(lambda done: self.finished(done))`."""
    inner = _inner_functions_that_call(facts, methods)
    if "<lambda>" in inner:
        return True
    for function in facts.functions:
        for statement in statements(function.body):
            called = {id(call[2]): last_name(call[2]) for call in calls_of(statement)}
            if not methods.isdisjoint(called.values()) and any(
                goes_on_beside(call, methods) for call in calls_of(statement)
            ):
                return True
            for head in heads(statement):
                if any(
                    id(p) not in called and ((p[0] == m.ATTR and p[2] in methods) or (p[0] == m.NAME and p[1] in inner))
                    for p in nodes(head)
                ):
                    return True
    return False


def _inner_functions_that_call(facts: FileFacts, methods: set[str]) -> set[str]:
    """The names of functions within functions, and of lambdas, that call one of these methods."""
    outermost = {0, *(cls.body for cls in facts.classes)}
    inner = {index for one, each in enumerate(facts.functions) if one not in outermost for index in each.inner}
    return {
        each.name
        for index, each in enumerate(facts.functions)
        if (index in inner or each.name == "<lambda>") and not methods.isdisjoint(each.calls)
    }


def _takes_out(function: FunctionFacts, name: str, start: Site = 0) -> bool:
    """Whether a function takes something out of what goes by this name, or binds it anew; from a site on."""
    every = emptyings(function, name) if function.name not in BUILDERS else ()
    return any(
        (one.how not in (BOUND, DELETED) or one.place[0] == m.ATTR) and one.statement[1] >= start for one in every
    )


def _never_calls(machine: Machine, note: Plain, names: set[str], emptied: str) -> bool:
    """Whether no function on the way, from the program's start to the loop, calls one of these from there on. A method
    on the way may do itself what it is called for: a generator that fills a table ahead and takes each entry out."""
    programs = [unit.outline.program for unit in machine.units.values()]
    frame: Frame | None = note.frame
    site: Site = note.site
    entered = ""
    while frame is not None:
        start, around = _goes_on(frame.facts, site)
        if _takes_out(frame.facts, emptied, start):
            return False
        active = {one.name for one in callers(frame)}
        later = [one for one in statements(frame.facts.body) if one[1] >= start]
        if _leads_to(programs, _called(later, active) - ({entered} if not around else set()), names, active):
            return False
        if frame.caller is None:
            return frame.name == "<module>"
        site, entered, frame = frame.call_site, frame.name, frame.caller
    return False


def _is_left_alone(machine: Machine, note: Plain, names: set[str]) -> bool:
    """Whether nothing that runs in each round of the outermost loop around a site calls one of these."""
    programs = [unit.outline.program for unit in machine.units.values()]
    way = list(callers(note.frame))
    active = {one.name for one in way}
    called, entered = set[str](), ""
    looped = False
    for frame, site in zip(way, (note.site, *(one.call_site for one in way)), strict=False):
        start = site - site % m.CALLS_PER_STATEMENT
        around = [inside for _, inside in loops(frame.facts.body) if any(one[1] == start for one in inside)]
        inside = _called(around[-1], active) - {entered} if around else set()
        if around and _leads_to(programs, called | inside, names, active):
            return False
        looped = looped or bool(around)
        called |= _called_by(frame.facts, active) - {entered}
        entered = frame.name
    return looped


def _goes_on(function: FunctionFacts, site: Site) -> tuple[Site, bool]:
    """Where what runs after a site begins: there, or at the start of the loop that it is in, if it is in one."""
    start = site - site % m.CALLS_PER_STATEMENT
    around = [loop[1] for loop, inside in loops(function.body) if any(one[1] == start for one in inside)]
    return min(around, default=start), bool(around)


def _leads_to(programs: list[Program], called: set[str], names: set[str], active: set[str]) -> bool:
    """Whether functions of these names call one of the others. What is entered on the way there has been looked at,
    from where it leads on."""
    for _ in range(4):
        if not names.isdisjoint(called):
            return True
        known = (place.facts for program in programs for one in called for place in program.by_name.get(one, ()))
        called = called.union(*(_called_by(facts, active) for facts in known))
    return not names.isdisjoint(called)


def _called_by(function: FunctionFacts, active: set[str]) -> set[str]:
    """The names of what a function calls. Where `train` waits for it, as one of the `active` functions, the
    `self.model.train()` at the end of an evaluation is a module's and does not begin all over again."""
    return set(function.calls) if active.isdisjoint(function.calls) else _called(statements(function.body), active)


def _called(block: Iterable[Stmt], active: set[str]) -> set[str]:
    found = (call[2] for one in block for call in calls_of(one))
    return {last_name(one) for one in found if not (last_name(one) in active and _is_of_another(one))}


def _is_of_another(callee: Expr) -> bool:
    """Whether this is a method of something else than the object itself: `self.model.train`, `model.train`."""
    return callee[0] == m.ATTR and callee[1] != (m.NAME, "self") and callee[1][0] in (m.NAME, m.ATTR)
