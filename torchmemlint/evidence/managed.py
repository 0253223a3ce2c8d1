"""What processes put into the containers of a manager, round after round: its own process keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, BUILDERS, emptyings
from ..facts.model import Site, statement_of
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, loops, statements
from ..interpreter.contexts import Kept
from ..interpreter.events import Plain
from ..interpreter.frames import Loop
from ..interpreter.keys import FRESH, IDENTITY, KNOWN, UNSURE
from ..interpreter.machine import Machine
from ..interpreter.values import Obj
from .cached_by_workers import is_of_the_task, settings_of
from .kept import is_loaded
from .led_from import line_of_home
from .let_go import emptied, measured
from .memo import looks_up
from .places import describe, last_part
from .service_loops import while_serving
from .task_keys import key_of


class Managed(NamedTuple):
    site: Site
    holder: str
    started: Site  # where the processes that fill it are made, or given their tasks


def kept_by_managers(machine: Machine, program: Program) -> Iterator[Managed]:
    """`results[game] = record` in processes that each round of a loop starts and waits for, or that serve a queue of
    tasks, where `results` is a `manager.dict()` from before the loop and nothing is taken out of it."""
    starts = {note.detail[0].site: note for note in machine.plain if note.kind == "worker"}
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "worker-store" or note.detail.context.kind != "process":
            continue
        kept: Kept = note.detail
        start = starts.get(kept.context.site)
        if start is None or not isinstance(kept.owner, Obj) or "$shared" not in kept.owner.fields:
            continue
        heavy = kept.what in ("tensor", "array") or (kept.what == "item" and is_loaded(note))
        if not heavy or kept.how not in ("grow", "keyed") or kept.key_kind == KNOWN:
            continue
        rounds = [loop for loop in start.loops if loop.kind == "loop" and loop not in kept.owner.birth]
        holder = describe(kept.owner, "*", machine).text
        answered = while_serving(note, kept) and _is_answered(program, last_part(holder))
        if not (answered or _waits_in(start, rounds)) or emptied(machine, kept.owner, "*"):
            continue
        site = line_of_home(machine, note.site, *reversed(note.trail), kept.context.site, loops=note.loops)
        if site is not None and site not in seen and not _is_drained(program, last_part(holder)):
            seen.add(site)
            yield Managed(site, holder, start.site)


def cached_in_managers(machine: Machine, program: Program) -> Iterator[Managed]:
    """`cache[path] = features`, in a task of a pool that has asked for it first, where `cache` is a `manager.dict()`:
    an entry for each file that the tasks of one pass are about. What is gone through again is there for the next pass;
    what a loader's workers share is, too."""
    starts = {note.detail[0].site: note for note in machine.plain if note.kind == "worker"}
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "worker-store" or note.detail.context.kind != "process":
            continue
        kept: Kept = note.detail
        start, owner = starts.get(kept.context.site), kept.owner
        if start is None or kept.context.setup or not isinstance(owner, Obj) or "$shared" not in owner.fields:
            continue
        heavy = kept.what in ("tensor", "array") and kept.weight > 1
        if not heavy or kept.how != "keyed" or kept.key_kind not in (FRESH, IDENTITY, UNSURE):
            continue
        holder = describe(owner, "*", machine).text
        if any(loop.kind == "loop" and loop not in owner.birth for loop in start.loops):
            continue
        names = {last_part(holder), _called_there(note)}  # by whom it is made, and by the task
        if not looks_up(note.frame.facts, _called_there(note)) or not _is_of_its_task(machine, note, kept):
            continue
        if emptied(machine, owner, "*") or any(measured(note.frame, n) or _is_drained(program, n) for n in names):
            continue
        site = line_of_home(machine, note.site, *reversed(note.trail), kept.context.site, loops=note.loops)
        if site is not None and site not in seen:
            seen.add(site)
            yield Managed(site, holder, start.site)


def _called_there(note: Plain) -> str:
    """What the function that fills a container calls it."""
    for one in statements(note.frame.facts.body):
        if statement_of(one[1]) == statement_of(note.site):
            return next((last_name(target[1]) for target in targets(one) if target[0] == m.ITEM), "")
    return ""


def _is_of_its_task(machine: Machine, note: Plain, kept: Kept) -> bool:
    key = key_of(note)
    return key is not None and is_of_the_task(key, note.frame, kept.context, settings_of(machine, kept.context))


def _is_drained(program: Program, name: str) -> bool:
    """Whether a text takes something out of the container, or puts another one on the object that has it."""
    return any(
        one.how != BOUND or (one.place[0] == m.ATTR and place.facts.name not in BUILDERS)
        for place in program.places
        for one in emptyings(place.facts, name)
    )


def _is_answered(program: Program, name: str) -> bool:
    """Whether a loop puts one task after another into a queue and looks at its result, `results[number]`, in the same
    round: who collects all of them reads them when the last one is there."""
    for place in program.places:
        for _, inside in loops(place.facts.body):
            puts = any(call[2][0] == m.ATTR and call[2][2] == "put" for one in inside for call in calls_of(one))
            bound = {target for one in inside for target in targets(one)}
            read = (part for one in inside for part in expressions_of(one) if part[0] == m.ITEM and part not in bound)
            if puts and any(last_name(part[1]) == name for part in read):
                return True
    return False


def _waits_in(start: Plain, rounds: list[Loop]) -> bool:
    """Whether a round of one of these loops ends with the end of the processes that it has started: several that run
    at once are started in one loop, and waited for in the next."""
    body = start.frame.facts.body
    number = statement_of(start.site)
    around = [inside for _, inside in loops(body) if any(statement_of(one[1]) == number for one in inside)]
    if any(last_name(call[2]) == "join" for inside in around for one in inside for call in calls_of(one)):
        return bool(rounds)
    return not around and "join" in start.frame.facts.calls and any(loop in start.frame.loops for loop in rounds)
