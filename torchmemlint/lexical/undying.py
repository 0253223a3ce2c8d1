"""Objects that a thread of their own keeps alive, so that the `__del__` which would end the thread never runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword
from ..facts.walk import calls, last_name, statements
from .endless import until_told, work_of

_PIPES = ("stdout", "stderr")
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
        if _stays(run):
            yield next(started, run.site), "run"
    for index in cls.methods.values():
        function = program.facts.functions[index]
        for call in calls(function.body) if "Thread" in function.calls else ():
            target = keyword(call, "target", 1) if last_name(call[2]) == "Thread" else None
            work = None if target is None else work_of(program, Place(function, cls.name, ()), call, target)
            if work is not None and work.cls == cls.name and _stays(work.function):
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


def _follows_weakly(statement: Stmt) -> bool:
    """`owner = self._owner_ref()`: what a weak reference gives, None when the object is gone."""
    value = statement[3] if statement[0] == m.ASSIGN else None
    if value is None or value[0] != m.CALL or value[3]:
        return False
    return not {"ref", "weakref", "weak", "wref"}.isdisjoint(last_name(value[2]).lower().split("_"))
