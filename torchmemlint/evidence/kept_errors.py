"""Caught exceptions that end up in a container of another file, or by a way that the text of one does not show."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Site, Stmt
from ..facts.walk import calls, calls_of, last_name, loops, statements
from ..interpreter.events import Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.machine import Machine
from ..interpreter.values import CONTAINERS, Caught, Obj, Tensor
from ..lexical.at_work import started
from ..lexical.caught import lets_go, tries
from ..lexical.device_threads import PER_TASK
from ..lexical.devices import handed
from ..lexical.handlers import Kept, only_asserts
from .lifetimes import Lifetimes
from .places import holder_of

_DEEPEST = 3
_TELL = frozenset(("print", "info", "debug", "warning"))


def kept_errors(machine: Machine, lifetimes: Lifetimes) -> Iterator[tuple[Kept, bool]]:
    """Those that a place gains in round after round, and whether the frames are seen to have tensors."""
    said = set[Site]()
    for store, caught in machine.errors:
        if caught.tried in machine.frames_asked_for:
            continue
        site = _own_line(machine, store, caught)
        if site is None or site in said:
            continue
        if (isinstance(store.owner, Obj) and store.owner.bounded) or _lets_go(store.frame, store.frame.facts.body):
            continue
        clauses = [body for _, _, body in machine.tried[caught.tried][3]]
        holder = holder_of(machine, store)
        growing = [] if _thins_out(store) else growing_by_errors(store, holder.kind == "local")
        if not growing or any(_lets_go(caught.frame, body) for body in clauses):
            continue
        if any(lifetimes.covered(store, loop, graph=False) for loop in growing):
            continue
        said.add(site)
        function = caught.frame.facts
        tried = machine.tried[caught.tried][2] or tuple(part for one in tries(function) for part in one[2])
        names = started(tried) if tried else frozenset(handed(lifetimes.program, PER_TASK))  # of a future
        if (tried and names and names <= _TELL) or only_asserts(tried):
            continue  # nothing is tried that could fail with a tensor at hand
        put_at = _put_on(machine, store, caught) if site == store.site else store.site
        kept = Kept(site, holder.text, holder.text, True, function, names, rounds=True, stored=put_at)
        yield kept, _has_tensors(caught.frame)


def goes_with_its_object(machine: Machine, kept: Kept) -> bool:
    """Whether all that the run sees there are objects that a round of a loop makes for itself: `Task(steps).advance()`,
    which puts what it has caught on the task, and nobody has that afterwards."""
    owners = [store.owner for store, _ in machine.errors if store.site in (kept.site, kept.stored)]
    return bool(owners) and all(isinstance(owner, Obj) and _is_for_a_round(machine, owner) for owner in owners)


def _is_for_a_round(machine: Machine, obj: Obj) -> bool:
    if obj.kind != "instance" or obj in machine.given_away or any(one is not obj for one in obj.holders):
        return False
    kept = obj.home is not None and isinstance(obj.home[0], Obj)
    return not kept and bool(obj.birth) and obj.birth[-1].kind in ("loop", "items")


def _lets_go(frame: Frame, body: tuple[Stmt, ...]) -> bool:
    """Whether a suite takes the frames off an exception, itself or by a helper of its file: `clear_chain(error)`."""
    called = {last_name(call[2]) for call in calls(body)}
    helpers = (one.body for one in frame.unit.facts.functions if one.name in called)
    return lets_go(body) or any(map(lets_go, helpers))


def growing_by_errors(store: Store, local: bool) -> list[Loop]:
    """The loops each of whose rounds leaves one more: in a container that is older, or on an object of its own that one
    holds."""
    in_place = store.how in ("grow", "keyed") or (isinstance(store.owner, Obj) and _is_one_of_many(store.owner))
    if not in_place:
        return []  # it replaces the one before
    repeats = [loop for loop in store.loops if loop.kind == "loop" or (loop.kind == "call" and not local)]
    return [loop for loop in repeats if loop not in store.birth]


def _thins_out(store: Store) -> bool:
    """`for one in self.waiting: if not one.done: left.append(one)`, then `self.waiting = left`: what stays was there
    before."""
    body = store.frame.facts.body
    rebound = {(target, one[3]) for one in statements(body) if one[0] == m.ASSIGN for target in one[2]}
    for loop, inside in loops(body):
        if loop[0] != m.FOR or not any(call[1] == store.site for one in inside for call in calls_of(one)):
            continue
        put = next(call for one in inside for call in calls_of(one) if call[1] == store.site)
        return put[2][0] == m.ATTR and put[3] == (loop[2],) and (loop[3], put[2][1]) in rebound
    return False


def _is_one_of_many(obj: Obj) -> bool:
    return obj.home is not None and isinstance(obj.home[0], Obj) and obj.home[0].kind in CONTAINERS


def _put_on(machine: Machine, store: Store, caught: Caught) -> Site:
    """Where an exception was put on what a container gets: `call.error = error`, then `calls.append(call)`."""
    return next(
        (
            other.site
            for other, one in machine.errors
            if one == caught and other.site != store.site and machine.is_home(other.site)
            if other.how == "set" and isinstance(other.owner, Obj) and other.owner.kind == "instance"
        ),
        -1,
    )


def _own_line(machine: Machine, store: Store, caught: Caught) -> Site | None:
    """The line of the home file that stores an exception, or hands over what its own clause has caught."""
    if machine.is_home(store.site):
        return store.site
    if not machine.is_home(caught.tried):
        return None
    return next((site for site in reversed(store.trail) if machine.is_home(site)), None)


def _has_tensors(frame: Frame, depth: int = _DEEPEST) -> bool:
    """Whether a tensor was at hand in an activation, or in one that it called."""
    if any(type(atom) is Tensor and atom.weight > 1 for value in frame.vars.values() for atom in value):
        return True
    return depth > 0 and any(_has_tensors(inner, depth - 1) for inner in frame.children.values())
