"""Threads and tasks that never end and are started again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import Program
from ..facts.walk import blocks, call_at, calls, last_name, loops, nodes, statements, with_conditions
from ..interpreter.events import Plain
from ..interpreter.frames import Frame, Loop
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Class, Function, Obj
from ..lexical.done_once import is_done_once
from ..lexical.ending_errors import ends_by_error
from ..lexical.endless import goes_round, leaves


class EndlessWorker(NamedTuple):
    """A thread whose function never returns, started repeatedly."""

    site: Site
    function: str
    owner: str  # the class whose method it runs
    weight: int


_ONCE = frozenset(
    """__init__ __enter__ start run setup main launch begin connect open serve listen initialize init start_workers
    start_threads <module>""".split()
)
_ALIVE = frozenset("is_alive isAlive done cancelled".split())
_PER_CALL = frozenset("__call__ handle process predict infer submit on forward step generate request".split())


def endless_workers(machine: Machine, program: Program) -> Iterator[EndlessWorker]:
    """Threads and executor tasks that run `while True` without a way out, started in a loop or per call. Of what starts
    one in another file the line that leads there is told, if it stands in the loop."""
    seen: set[Site] = set()
    for note in machine.plain:
        site = next(filter(machine.is_home, (note.site, *reversed(note.trail))), None)
        if note.kind != "thread-start" or site is None or site in seen:
            continue
        target, conditions = note.detail
        if _asks_for_the_last(note) or _is_started_once(program, note):
            continue
        for atom in target:
            function = atom.function if type(atom) is Bound else atom
            if type(function) is not Function or not _never_returns(function.facts):
                continue
            receiver = atom.receiver if type(atom) is Bound else None
            loops = [
                loop for loop in note.loops if loop.kind in ("loop", "call") and not _is_of_a_list(loop, note.frame)
            ]
            born = receiver.birth if isinstance(receiver, Obj) else ()
            again = [loop for loop in loops if loop.kind == "loop" and (note.frame.name != "__init__" or loop in born)]
            if site != note.site:  # a loop of the other file is that one's affair
                again = [loop for loop in again if type(loop.site) is int and machine.is_home(loop.site)]
            fixed = _bounded_range(note.frame)
            if again and not fixed:
                weight = 3
            elif site == note.site and loops and not conditions and note.frame.name not in _ONCE and not fixed:
                weight = 2 if note.frame.name.split("_")[0] in _PER_CALL or note.frame.name in _PER_CALL else 1
            else:
                continue
            seen.add(site)
            owner = receiver.cls.facts.name if isinstance(receiver, Obj) and isinstance(receiver.cls, Class) else ""
            yield EndlessWorker(site, function.facts.name, owner, weight)


def has_an_endless_thread(machine: Machine, place: Obj | Frame) -> bool:
    """Whether a place is on an object one of whose methods a thread runs for ever: it does not go before that ends,
    whoever made it."""
    holders = {id(one) for one in place.holders} if isinstance(place, Obj) else set()
    return any(
        type(atom) is Bound and id(atom.receiver) in holders and _never_returns(atom.function.facts)
        for note in (machine.plain if holders else ())
        if note.kind == "thread-start"
        for atom in note.detail[0]
    )


def _asks_for_the_last(note: Plain) -> bool:
    """Whether one is started only where the last is no more: `if worker is None or not worker.is_alive():`, by the
    function that starts it or by one that calls that."""
    site: Site = note.site
    frame: Frame | None = note.frame
    while frame is not None:
        for statement, conditions in with_conditions(frame.facts.body):
            asked = {last_name(part[2]) for test, _ in conditions for part in nodes(test) if part[0] == m.CALL}
            if not asked.isdisjoint(_ALIVE) and call_at((statement,), site) is not None:
                return True
        site, frame = frame.call_site, frame.caller
    return False


def _is_started_once(program: Program, note: Plain) -> bool:
    """`if self.worker is None: self.worker = Thread(...)`"""
    place = next((one for one in program.places if one.facts is note.frame.facts), None)
    return place is not None and is_done_once(program, place, note.site)


def _is_of_a_list(loop: Loop, made: Frame) -> bool:
    """Whether a loop is that of a comprehension, `cameras = [Camera(url) for url in urls]`: as many as there are, all
    of which the list has, as after `cameras.append(Camera(url))`. `[serve(user) for user in users]` has the answers."""
    here = made.caller is not None and loop not in made.caller.loops
    return here and isinstance(loop.site, tuple) and loop.site[:1] == ("comp",)


def _bounded_range(frame: Frame) -> bool:
    """Whether the threads are started in a `for ... in range(...)` of their function: a pool of workers."""
    return any(
        statement[0] == m.FOR and statement[3][0] == m.CALL and statement[3][2] == (m.NAME, "range")
        and any(last_name(call[2]) in ("Thread", "submit", "start") for call in calls(statement[4]))
        for statement in statements(frame.facts.body)
    )  # fmt: skip


def _never_returns(facts: FunctionFacts) -> bool:
    around = [loop for loop, _ in loops(facts.body) if goes_round(loop) and not leaves(next(blocks(loop)))]
    return any(not ends_by_error(facts.body, loop) for loop in around)
