"""What starts workers of its own, constructors and what they call; and who waits for what it has started."""

from __future__ import annotations

from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site
from ..facts.program import Program
from ..facts.walk import calls, last_name
from .lent import ENDS

_FIRST_ITEM = ("__iter__", "__next__")  # what starts a worker when it is first asked for something
_OF_QUEUES = ("put", "put_nowait", "get", "get_nowait", "task_done")
_LATE = ("start", "launch", "begin", "open")  # what who makes an object calls next: `Reader(path).start()`


class Owner(NamedTuple):
    """A class whose objects have workers that go on until they are told to stop."""

    end: str  # the method that tells them
    started: Site
    fed: frozenset[str] = frozenset()  # its queues, where no word in them ends a worker
    whole: bool = True  # whether a worker keeps the object, and not only what it was given
    gone_over: bool = True  # whether its workers may end when it has been gone over: `for batch in reader:`
    part: str = ""  # the class of the part that has them, where the object itself has no end


def setup_of(program: Program, cls: ClassFacts) -> tuple[list[FunctionFacts], str]:
    """The constructor of a class with the methods that it calls, and the method that ends what it starts."""
    methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
    init = methods.get("__init__")
    if init is None or "__del__" in methods:
        return [], ""
    end = next((name for name in methods if name.lstrip("_") in ENDS), "")
    late = [methods[name] for name in _LATE if name in methods]
    first = [init, *late, *(methods[name] for name in _FIRST_ITEM if name in methods)]
    return [init, *late, *(methods[name] for one in first for name in one.calls if name in methods)], end


def thread_base(cls: ClassFacts) -> str:
    """The base by which a class is a thread or process."""
    return next((last_name(base) for base in cls.bases if last_name(base).endswith(("Thread", "Process"))), "")


def construction(value: Expr) -> Expr:
    """`Reader(path)` of `Reader(path).start()`."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _LATE and value[2][1][0] == m.CALL:
        value = value[2][1]
    return value


def joins_what_it_starts(*starters: FunctionFacts) -> bool:
    """Whether the function that starts a thread waits for its end, `thread.join()`, `thread.join(timeout=5)`: not for
    a queue, and not for words that are joined."""
    called = [call for one in starters for call in calls(one.body) if call[2][0] == m.ATTR]
    queues = [call[2][1] for call in called if call[2][2] in _OF_QUEUES]
    return any(call[2][2] == "join" and call[2][1] not in queues and all(map(_is_timeout, call[3])) for call in called)


def is_joined_by_owner(facts: FileFacts, *own: FunctionFacts | None) -> bool:
    """Whether a class that starts a thread, or is one, has a method that waits for its end, `close()`; `own` are
    methods of such classes."""
    owners = {one.owner for one in own if one is not None and one.owner >= 0 and one in facts.functions}
    methods = (facts.classes[owner].methods.values() for owner in owners)
    return any(joins_what_it_starts(*(facts.functions[index] for index in indices)) for indices in methods)


def _is_timeout(given: Expr) -> bool:
    return given[0] == m.TEXT or (given[0] == m.CONST and type(given[1]) is not str) or "timeout" in last_name(given)
