"""What piles up in `threading.local` objects: only the thread that put it there can take it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.program import Program, targets
from ..facts.walk import call_at, calls_of, expressions_of, last_name, loops, statements
from ..interpreter.contexts import Kept
from ..interpreter.events import Reset
from ..interpreter.frames import Frame, kept_since
from ..interpreter.keys import FIXED, FRESH, IDENTITY, KNOWN, THREAD, kind_of_key
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj
from ..lexical.device_threads import PER_TASK
from ..lexical.once import is_repeated
from .let_go import measured
from .places import describe

_THREADS = frozenset(("Thread",))
_POOLS = frozenset(("ThreadPoolExecutor", "ThreadPool"))


class Own(NamedTuple):
    """A container of a thread's own that gains something heavy with each task."""

    site: Site
    holder: str
    what: str
    weight: int
    started: Site


def grown_by_threads(machine: Machine) -> Iterator[Own]:
    """Containers in thread-local objects that the tasks of a thread fill, and that no task empties; each place once."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "thread-store" or note.site in seen or not machine.is_home(note.site):
            continue
        kept: Kept = note.detail
        if kept.how not in ("grow", "keyed") or kept.key != "*" or kept.what not in ("tensor", "array"):
            continue
        owner = kept.owner
        if kept.weight < 2 or not isinstance(owner, Obj) or owner.bounded or not is_thread_local(owner):
            continue
        holder = describe(owner, kept.key, machine).text
        missing = statement_of(owner.site) in note.frame.unit.outline.made_when_missing
        birth = kept_since(owner, owner.birth) if missing else owner.birth
        grows = any(loop.kind in ("loop", "call") and loop not in birth for loop in kept.loops)
        if not grows or measured(note.frame, holder) or any(_empties(reset, owner) for reset in machine.resets):
            continue
        if kept.how == "keyed" and kept.key_kind in (FIXED, KNOWN, THREAD):
            continue
        seen.add(note.site)
        weight = kept.weight if kept.how == "grow" or kept.key_kind in (FRESH, IDENTITY) else 1
        yield Own(note.site, holder, kept.what, weight, kept.context.site)


def left_by_tasks(machine: Machine) -> Iterator[Own]:
    """What a task of a pool puts on a thread-local object for itself, `_local.logits = net(image)`, reads there, and
    does not take away: an idle thread has that of its last task. What a later task or another function may ask for, or
    is made once for each thread, is there to stay."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "thread-store" or note.site in seen or not machine.is_home(note.site):
            continue
        kept: Kept = note.detail
        owner, facts = kept.owner, note.frame.facts
        plain = kept.how == "set" and kept.what in ("tensor", "array") and kept.weight > 1 and not kept.conditions
        if not plain or not isinstance(owner, Obj) or not is_thread_local(owner) or not _is_for_a_pool(kept):
            continue
        asked = [one for one in note.frame.unit.facts.functions if _names(one, kept.key)]
        let_go = (reset for reset in machine.resets if reset.owner is owner and reset.key == kept.key)
        if asked == [facts] and not _is_read_before(facts, kept.key, note.site):
            if any(reset.site != note.site for reset in let_go):
                continue
            seen.add(note.site)
            holder = describe(owner, kept.key, machine).text
            yield Own(note.site, holder, kept.what, kept.weight, kept.context.site)


def _is_for_a_pool(kept: Kept) -> bool:
    """Whether the thread is one of an executor's that goes on when its task is done, and whoever has handed it in."""
    creator = kept.context.creator
    call = call_at(creator.body, kept.context.site) if creator is not None else None
    if creator is None or call is None or last_name(call[2]) not in PER_TASK or call[2][0] != m.ATTR:
        return False
    pool = call[2][1]
    own = (target for one in statements(creator.body) for target in (*targets(one), *_entered(one)))
    return pool[0] == m.ATTR or (creator.name != "<module>" and pool not in own)


def _entered(statement: Stmt) -> list[Expr]:
    """`pool` of `with ThreadPoolExecutor() as pool:`"""
    return [target for _, target in statement[2] if target is not None] if statement[0] == m.WITH else []


def _names(facts: FunctionFacts, attribute: str) -> bool:
    every = (part for one in statements(facts.body) for part in expressions_of(one))
    return any(part[0] == m.ATTR and part[2] == attribute for part in every)


def _is_read_before(facts: FunctionFacts, attribute: str, site: Site) -> bool:
    """Whether a function asks for what the task before has left, or by a name that is written out."""
    for one in statements(facts.body):
        parts = expressions_of(one)
        if any(part == (m.CONST, attribute) for part in parts):
            return True
        named = sum(part[0] == m.ATTR and part[2] == attribute for part in parts)
        own = one[1] == site - site % CALLS_PER_STATEMENT
        if one[1] <= site and named > own:
            return True
    return False


def is_thread_local(owner: Obj | Frame) -> bool:
    """Whether a place belongs to an object of which each thread has its own."""
    for holder in owner.holders if isinstance(owner, Obj) else ():
        bases = holder.cls.external if isinstance(holder, Obj) and isinstance(holder.cls, Class) else ()
        if (isinstance(holder, Obj) and "$local" in holder.fields) or "threading.local" in bases:
            return True
    return False


def one_for_each(program: Program) -> bool:
    """Whether the file starts a thread, or a pool of them, for each request or task: by a threading server, in a loop
    without end, or in one that waits for those of a round before the next."""
    if any(last_name(base).startswith("Threading") for cls in program.facts.classes for base in cls.bases):
        return True
    if any(name.startswith("Threading") for name in program.called):
        return True
    kinds = _THREADS | {cls.name for cls in program.facts.classes if "Thread" in map(last_name, cls.bases)}
    for place in program.places if not program.called.isdisjoint(kinds | _POOLS) else ():
        if kinds.isdisjoint(place.facts.calls) and _POOLS.isdisjoint(place.facts.calls):
            continue
        for loop, inside in loops(place.facts.body):
            made = {last_name(call[2]) for one in inside for call in calls_of(one)} & (kinds | _POOLS)
            if made & _POOLS or (made and (loop[0] == m.WHILE or kind_of_key((), loop[2]) == FRESH)):
                return True  # `for request in requests: Thread(target=handle, args=(request,)).start()`
            if made and any(_waits(call) for one in inside for call in calls_of(one)):
                return True  # `for step in range(n): job = Job(step); job.start(); job.join()`
        if place.facts.name != "__init__" and is_repeated(program, place):
            return True
    return False


def _waits(call: Expr) -> bool:
    """`thread.join()`, `thread.join(5)`; not `", ".join(names)`."""
    seconds = len(call[3]) == 1 and (
        call[3][0] == (m.TEXT,) or (call[3][0][0] == m.CONST and type(call[3][0][1]) is int)
    )
    return bool(call[2][0] == m.ATTR and call[2][2] == "join" and (not call[3] or seconds))


def _empties(reset: Reset, owner: Obj) -> bool:
    """Whether a reset empties a container, or what holds it, from within a task: elsewhere it is another thread's."""
    places = [(owner, "*"), *([owner.home] if owner.home is not None else [])]
    number = statement_of(reset.site)
    if reset.how == "replace" and number in reset.frame.unit.outline.made_when_missing:
        return False  # there was nothing
    if reset.frame.name == "__init__" or not any(reset.owner is one and reset.key in (key, "*") for one, key in places):
        return False
    return reset.threaded
