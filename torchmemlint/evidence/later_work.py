"""Lists of an object that one loop fills, and that stay full while other loops go on with the object.

`for batch in train: detector.training_step(batch)`, then `for batch in test: detector.test_step(batch)`, in the same
function or in one after the other: `engine.fit(detector, train)`, `engine.validate(detector, test)`. What reads the
list between the two uses it up; what the later loop calls, and what comes after it, may need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.program import expressions
from ..facts.walk import call_at, calls, expressions_of, last_name, nodes, statements
from ..interpreter.values import Class, Obj
from ..lexical.epoch_lists import reads
from .places import last_part
from .unreleased import methods_of

if TYPE_CHECKING:
    from ..interpreter.frames import Frame
    from .retentions import Retention

_PASS = "forward"


def works_on(retention: Retention) -> bool:
    """Whether there is more work for the object when the loop that fills its list is over, which does without it, as
    the list has been used up."""
    store, name = retention.store_event, retention.holder.text
    wholes = store.owner.holders if isinstance(store.owner, Obj) else ()
    cls = next((one.cls for one in wholes if isinstance(one, Obj) and isinstance(one.cls, Class)), None)
    if cls is None:
        return False
    work, methods = _Work(), methods_of(cls)
    _find_work(store.frame, work)
    if work.asked.isdisjoint(methods):
        return False
    facts, name = store.frame.unit.facts, last_part(name)
    readers = {one for one, method in methods.items() if reads(method, name)}
    needed = not readers.isdisjoint(_called(facts, work.asked | work.then))
    return bool(readers) and not needed and not _is_spoken_of_outside(facts, name)


def _is_spoken_of_outside(facts: FileFacts, name: str) -> bool:
    """Whether other code knows the list: it may read it or empty it, `detector.embeddings = []`."""
    return any(
        part[0] == m.ATTR and part[2] == name and part[1] != (m.NAME, "self")
        for function in facts.functions
        for part in expressions(function.body)
    )


class _Work:
    """What comes after a loop, by the names that are called."""

    def __init__(self) -> None:
        self.asked: set[str] = set()  # the methods of the object in later loops
        self.then: set[str] = set()  # what is called when the first of those has begun


def _called(facts: FileFacts, names: set[str]) -> list[str]:
    """These functions and methods of the file, and those that they call."""
    by_name: dict[str, list[FunctionFacts]] = {}
    for function in facts.functions:
        by_name.setdefault(function.name, []).append(function)
    queue = [name for name in sorted(names) if name in by_name]
    for name in queue:
        queue += sorted({one for function in by_name[name] for one in function.calls if one in by_name} - {*queue})
    return queue


def _find_work(frame: Frame, work: _Work) -> None:
    while frame.caller is not None:
        body, site = frame.caller.facts.body, frame.call_site
        call = call_at(body, site)
        owner = call[2][1] if call is not None and call[2][0] == m.ATTR else None
        around = [one for one in statements(body) if one[0] == m.FOR and call_at(one[4], site) is not None]
        if owner is not None and around:
            end = max(one[1] for one in calls(around[0][4]))
            return _find_after(frame.caller, owner, end, work)
        frame = frame.caller
    return None


def _find_after(frame: Frame, owner: Expr, since: Site, work: _Work) -> None:
    """What a function does with an object after a statement, what it hands it to, and what who called it does then."""
    begun = _find_in_loops(frame.facts, owner, since, work)
    for call in calls(frame.facts.body):
        if call[1] > since:
            for function, place in _handed(frame.unit.facts, call, owner):
                if _find_in_loops(function, place, -1, work) is not None:
                    begun = min(begun or call[1], call[1])
    if work.asked:
        work.then |= {last_name(call[2]) for call in calls(frame.facts.body) if call[1] > (begun or since)}
    given = _as_given(frame, owner)
    if given is not None and frame.caller is not None:
        _find_after(frame.caller, given, frame.call_site, work)


def _find_in_loops(function: FunctionFacts, owner: Expr, since: Site, work: _Work) -> Site | None:
    """`for batch in loader: owner.step(batch)`, `[owner.step(batch) for batch in loader]`: where the first begins."""
    begun = None
    for statement in statements(function.body):
        if statement[1] <= since:
            continue
        inside = list(calls(statement[4])) if statement[0] == m.FOR else []
        inside += [one for part in expressions_of(statement) if part[0] == m.COMP for one in nodes(part)]
        asked = set(_asked_of(owner, inside))
        work.asked |= asked
        if asked and begun is None:
            begun = statement[1]
    if begun is not None:
        work.then |= {last_name(call[2]) for call in calls(function.body) if call[1] > begun}
    return begun


def _asked_of(owner: Expr, parts: list[Expr]) -> Iterator[str]:
    for part in parts:
        if part[0] == m.CALL and part[2] == owner:
            yield _PASS
        elif part[0] == m.CALL and part[2][:2] == (m.ATTR, owner):
            yield part[2][2]


def _handed(facts: FileFacts, call: Expr, owner: Expr) -> Iterator[tuple[FunctionFacts, Expr]]:
    """The functions of the file that a call may mean, with what they call an object that it hands over; also a part of
    the one whose method is called, `trainer.model` in `trainer.test(data)`."""
    name, own = last_name(call[2]), call[2][0] == m.ATTR
    part = own and owner[:2] == (m.ATTR, call[2][1])
    index = call[3].index(owner) if owner in call[3] else -1
    named = [key for key, value in call[4] if value == owner]
    for function in facts.functions if part or index >= 0 or named else ():
        if function.name != name:
            continue
        if part and function.owner >= 0:
            yield function, (m.ATTR, (m.NAME, "self"), owner[2])
        at = index + (own and function.owner >= 0)
        given = [one.name for one in function.params[at : at + 1] if index >= 0] + named
        yield from ((function, (m.NAME, one)) for one in given)


def _as_given(frame: Frame, owner: Expr) -> Expr | None:
    """What who called a function calls the object that it knows as a parameter, or as a part of `self`."""
    call = call_at(frame.caller.facts.body, frame.call_site) if frame.caller is not None else None
    if call is None:
        return None
    names = [param.name for param in frame.facts.params]
    own = call[2][0] == m.ATTR and frame.facts.owner >= 0
    if own and owner[:2] == (m.ATTR, (m.NAME, "self")):
        return (m.ATTR, call[2][1], owner[2])
    if owner[0] != m.NAME or owner[1] not in names:
        return None
    at = names.index(owner[1]) - own
    return call[3][at] if 0 <= at < len(call[3]) else dict(call[4]).get(owner[1])
