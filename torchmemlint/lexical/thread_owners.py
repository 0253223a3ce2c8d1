"""Threads that go round until they are told to stop, and the classes whose objects start and tell them."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts
from ..facts.program import Program, keyword, targets
from ..facts.walk import calls, last_name, statements
from .once import SETUPS
from .serving import goes_on
from .starters import Owner, construction, setup_of, thread_base
from .words_in_queues import idle_parts, told_by_word, worker_of

_SELF: Expr = (m.NAME, "self")


def owners_of_threads(program: Program) -> Iterator[tuple[str, Owner]]:
    """The classes whose constructor starts a thread over a method that asks in each round whether to go on, and those
    that are such threads."""
    for cls in program.facts.classes:
        if "run" in cls.methods and thread_base(cls).endswith("Thread"):
            asked = goes_on(program.facts.functions[cls.methods["run"]])
            served = asked is None and worker_of(program, cls, (m.ATTR, _SELF, "run")) is not None
            end = told_by_word(program, cls) if served else "" if asked is None else _told_by(program, cls, asked)
            if end:
                yield cls.name, Owner(end, cls.site)
            continue
        setup, end = setup_of(program, cls)
        setup += _started_by_others(program, cls) if setup else []
        if not any("start" in function.calls for function in setup):
            continue
        for call in (call for function in setup for call in calls(function.body) if last_name(call[2]) == "Thread"):
            target = keyword(call, "target", 1)
            own = target is not None and target[0] == m.ATTR and target[1] == (m.NAME, "self")
            if target is None:
                continue
            by_word = told_by_word(program, cls) if worker_of(program, cls, target) is not None else ""
            if by_word:
                yield cls.name, Owner(by_word, call[1], frozenset(idle_parts(setup)), whole=own)
            if not own or target[2] not in cls.methods:
                continue
            worker = program.facts.functions[cls.methods[target[2]]]
            asked = goes_on(worker)
            end = end if asked is None else end or _told_by(program, cls, asked)
            if asked is not None and end:
                fed = () if _tells(worker, asked) else _queues(setup)
                yield cls.name, Owner(end, call[1], frozenset(fed))
    yield from _told_by_owner(program)


def _told_by_owner(program: Program) -> Iterator[tuple[str, Owner]]:
    """The classes whose constructor starts a thread of such a class, and of which a method tells it to end, by an
    attribute of the thread: `self._thread.done = True`."""
    asking: dict[str, str] = {}
    for cls in program.facts.classes:
        if "run" in cls.methods and thread_base(cls).endswith("Thread"):
            asked = goes_on(program.facts.functions[cls.methods["run"]])
            if asked is not None and asked[:2] == (m.ATTR, _SELF):
                asking[cls.name] = asked[2]
    for cls in program.facts.classes if asking else ():
        setup, _ = setup_of(program, cls)
        if not any("start" in function.calls for function in setup):
            continue
        for one in (one for function in setup for one in statements(function.body) if one[0] == m.ASSIGN):
            made = construction(one[3])
            name = last_name(made) if made[0] == m.CALL else ""
            own = [target for target in one[2] if target[:2] == (m.ATTR, _SELF)]
            if name in asking and own:
                end = _told_by(program, cls, (m.ATTR, own[0], asking[name]))
                if end:
                    yield cls.name, Owner(end, made[1])


def _started_by_others(program: Program, cls: ClassFacts) -> list[FunctionFacts]:
    """The methods that start a thread when somebody else calls them: `self.sessions[name].render()`."""
    own = (program.facts.functions[index] for index in cls.methods.values())
    starts = [one for one in own if {"Thread", "start"} <= set(one.calls)]
    return [
        one for one in starts if any(one.name in place.facts.calls for place in program.places if place.cls != cls.name)
    ]


def _queues(setup: list[FunctionFacts]) -> Iterator[str]:
    for one in (one for function in setup for one in statements(function.body)):
        value = one[-1] if one[0] in (m.ASSIGN, m.ANNOTATE) else None
        if value is not None and value[0] == m.CALL and last_name(value).endswith("Queue"):
            yield from (target[2] for target in targets(one) if target[0] == m.ATTR)


def _told_by(program: Program, cls: ClassFacts, asked: Expr) -> str:
    """The method that sets what a thread asks for: `self.done.set()`, `self.running = False`."""
    for name, index in cls.methods.items():
        if _tells(program.facts.functions[index], asked, turns=name not in SETUPS):
            return name
    return ""


def _tells(function: FunctionFacts, asked: Expr, *, turns: bool = True) -> bool:
    """Whether a function sets an event, or `turns` a flag."""
    if any(call[2] == (m.ATTR, asked, "set") for call in calls(function.body)):
        return True
    bound = (one for one in statements(function.body) if one[0] == m.ASSIGN and asked in one[2]) if turns else ()
    return any(one[3][0] == m.CONST for one in bound)
