"""Objects that a thread of their own keeps alive, so that the `__del__` which would end the thread never runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, keyword
from ..facts.walk import calls, last_name, nodes, statements
from .endless import until_told, work_of

_PIPES = ("stdout", "stderr")
_SELF: Expr = (m.NAME, "self")
_STARTS_ITSELF: Expr = (m.ATTR, (m.NAME, "self"), "start")


class Undying(NamedTuple):
    """A thread that refers to its owner, and whose end is the business of the owner's `__del__`."""

    site: Site  # where the thread is made
    cls: str
    target: str
    end: Site  # what `__del__` would do


def kept_by_own_thread(program: Program) -> Iterator[Undying]:
    """Threads over a method of their owner, or a function that uses it, which run until the owner is deleted."""
    if "Thread" not in program.called and not any(map(_is_thread, program.facts.classes)):
        return
    for cls in program.facts.classes:
        end = _ending(program, cls.methods)
        found = _threads(program, cls) if end is not None else iter(())
        for site, target in found:
            yield Undying(site, cls.name, target, end or -1)
            break  # one is enough to keep the object


def _is_thread(cls: ClassFacts) -> bool:
    return any(last_name(base) == "Thread" for base in cls.bases) and "run" in cls.methods


def _threads(program: Program, cls: ClassFacts) -> Iterator[tuple[Site, str]]:
    if _is_thread(cls):
        run = program.facts.functions[cls.methods["run"]]
        own = (program.facts.functions[index] for index in cls.methods.values())
        started = (call[1] for function in own for call in calls(function.body) if call[2] == _STARTS_ITSELF)
        if _stays(run) and not _ends_itself(program, cls, run):
            yield next(started, run.site), "run"
    for index in cls.methods.values():
        function = program.facts.functions[index]
        for call in calls(function.body) if "Thread" in function.calls else ():
            target = keyword(call, "target", 1) if last_name(call[2]) == "Thread" else None
            work = None if target is None else work_of(program, Place(function, cls.name, ()), call, target)
            if work is None or work.cls != cls.name or not _stays(work.function):
                continue
            if not _ends_itself(program, cls, work.function):
                yield call[1], work.function.name


def _ending(program: Program, methods: dict[str, int]) -> Site | None:
    """The first thing that `__del__` does, itself or by a method of the object."""
    if "__del__" not in methods:
        return None
    function = program.facts.functions[methods["__del__"]]
    own = [call[1] for call in calls(function.body) if call[2][0] == m.ATTR]
    own += [
        one[1]
        for one in statements(function.body)
        if one[0] == m.ASSIGN and any(target[0] == m.ATTR for target in one[2]) and one[3][0] == m.CONST
    ]
    return min(own, default=None)


def _stays(worker: FunctionFacts) -> bool:
    """Whether a thread goes on until it is told to stop, or until the other end of a pipe is closed."""
    if any(map(_follows_weakly, statements(worker.body))):
        return False  # it ends when what it works for is gone
    for statement in statements(worker.body):
        if statement[0] == m.WHILE and until_told(statement[2]):
            return True
        if statement[0] == m.FOR:
            over = statement[3]
            piped = over[0] == m.CALL and over[2] == (m.NAME, "iter") and len(over[3]) == 2
            if piped or last_name(over) in _PIPES:
                return True
    return False


def _ends_itself(program: Program, cls: ClassFacts, worker: FunctionFacts) -> bool:
    """Whether a round of the worker sets the flag that ends it, or calls a method of the object that does: when what it
    works for fails, it is over without `__del__`, which then runs."""
    for loop in statements(worker.body):
        if loop[0] != m.WHILE:
            continue
        flags = [part for part in nodes(loop[2]) if part[0] == m.ATTR and part[1] == _SELF]
        own = {
            name
            for name, index in cls.methods.items()
            if name != "__del__" and _sets(program.facts.functions[index].body, flags)
        }
        called = (call[2] for call in calls(loop[3]) if call[2][0] == m.ATTR and call[2][1] == _SELF)
        if _sets(loop[3], flags) or any(callee[2] in own for callee in called):
            return True
    return False


def _sets(block: Block, flags: list[Expr]) -> bool:
    """Whether a block binds one of the flags to a constant, or sets the event that it is."""
    for one in statements(block):
        if one[0] == m.ASSIGN and one[3][0] == m.CONST and any(flag in one[2] for flag in flags):
            return True
    return any(call[2][0] == m.ATTR and call[2][2] == "set" and call[2][1] in flags for call in calls(block))


def _follows_weakly(statement: Stmt) -> bool:
    """`owner = self._owner_ref()`: what a weak reference gives, None when the object is gone."""
    value = statement[3] if statement[0] == m.ASSIGN else None
    if value is None or value[0] != m.CALL or value[3]:
        return False
    return not {"ref", "weakref", "weak", "wref"}.isdisjoint(last_name(value[2]).lower().split("_"))
