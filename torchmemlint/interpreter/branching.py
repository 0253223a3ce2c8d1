"""How a run branches and joins: each arm starts from the same state; a loop goes round, twice if need be, and once more
for what the second round was the first to put into a container."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..facts.model import Site
from .frames import JUMPED, NEVER_RUN, RETURNED, Frame, Loop
from .joining import join, same_kind
from .machine import Journal, Machine
from .values import LIGHT, UNKNOWN, Obj, Tensor, Value, is_light

_OLD = (0, None, None)
_DEEPEST = 4  # containers in one another
_Written = dict[tuple[int, Any], tuple[dict[Any, Value], Any, "Value | None"]]  # place -> where, key, value


def skip() -> None:
    """The arm of a branch in which nothing is done."""


def branch(
    machine: Machine,
    frame: Frame,
    arms: Sequence[Callable[[], None]],
    conditional: bool = True,
    modes_hold: bool = False,
    places: set[str] | None = None,
) -> bool:
    """Run each arm from the same state, then join their ends.

    Modes of modules are those at the end of the first arm if `modes_hold`: a loop over the parameters of a module
    goes round. Returns whether anything that was there before has changed; `places` gets the attributes that this is
    or is in, and "" for what is none of an object.
    """
    outer, since, made = machine.journal, machine.serial, machine.made
    ends: list[tuple[_Written, int]] = []
    before: _Written = {}
    machine.conditions += conditional
    for arm in arms:
        if arm is skip:
            ends.append(({}, 0))
            continue
        journal: Journal = []
        machine.journal = journal
        frame.dead = 0
        arm()
        written: _Written = {}
        for where, key, old in reversed(journal):  # the last write comes first, the state before comes last
            if made.get(id(where), _OLD)[0] > since:
                continue  # of what the arm itself has made no other arm knows
            place = (id(where), key)
            if place not in written:
                written[place] = (where, key, where.get(key))
            before[place] = (where, key, old)
            if old is None:
                where.pop(key, None)
            else:
                where[key] = old
        ends.append((written, frame.dead))
    machine.conditions -= conditional
    machine.journal = outer
    ends = [end for end in ends if end[1] != NEVER_RUN] or [(written, RETURNED) for written, _ in ends]
    alive = [end for end in ends if not end[1]]
    frame.dead = 0 if alive else min((end[1] for end in ends), default=0)
    machine.first_filled = ""
    if not before:
        return False
    return _merge(machine, frame, before, ends, bool(alive), modes_hold, since, places)


def _merge(
    machine: Machine,
    frame: Frame,
    before: _Written,
    ends: list[tuple[_Written, int]],
    any_alive: bool,
    modes_hold: bool,
    since: int,
    places: set[str] | None,
) -> bool:
    changed = False
    own, derivation = frame.vars, machine.derivation
    late = places is not None or machine.again == 1
    for place, (where, key, old) in before.items():
        merged: Value = UNKNOWN
        local = where is own
        for written, dead in ends:
            # A returned arm's locals are gone; what it wrote elsewhere stays.
            if local and dead == RETURNED and any_alive:
                continue
            entry = written.get(place)
            value = old if entry is None or entry[2] is None else entry[2]
            if value and value is not merged:
                merged = join(merged, value, derivation) if merged else value
        if key == "$mode" or key == "$frozen":
            # what follows is not reached by an arm that set the mode back and returned or raised
            said = ends[:1] if modes_hold else [end for end in ends if not any_alive or end[1] != RETURNED]
            kept = {written[place][2] if place in written else old for written, _ in said}
            merged = kept.pop() or UNKNOWN if len(kept) == 1 else UNKNOWN
        if merged is old:
            continue
        if old is not None:
            differs = (places is not None or not changed) and not same_kind(old, merged)
        else:  # something that was there before may have a part that it had not
            part = merged and not local and not is_light(merged)
            differs = bool(part) and machine.made.get(id(where), _OLD)[0] <= since
        if key == "*" and late and not old and merged and not machine.first_filled:
            machine.first_filled = _filled(machine, where, merged, since)
        changed = changed or differs
        if differs and places is not None:
            places.add(_attribute(machine, where, key))
        machine.put(where, key, merged)
    return changed


def _attribute(machine: Machine, where: dict[Any, Value], key: Any) -> str:
    """The attribute that a place is, or that holds what it is in."""
    holder: Any = machine.made.get(id(where), _OLD)[2]
    for _ in range(_DEEPEST):
        if type(holder) is not Obj:
            break
        if key[:1] not in ("[", "*"):
            return str(key)
        holder, key = holder.home or (None, "")
    return ""


def _filled(machine: Machine, where: dict[Any, Value], items: Value, since: int) -> str:
    """The attribute of an object whose container, made before, was empty and has got objects or tensors."""
    serial, _, container = machine.made.get(id(where), _OLD)
    if serial > since or type(container) is not Obj or container.home is None:
        return ""
    owner, name = container.home
    heavy = any(type(item) is Tensor or (type(item) is Obj and item.kind == "instance") for item in items)
    return name if heavy and type(owner) is Obj and owner.kind == "instance" else ""


def loop_at(machine: Machine, frame: Frame, site: Any, kind: str = "loop") -> Loop:
    """The loop that stands at this place in this activation."""
    loop: Any = frame.allocs.get(("loop", site))
    if loop is None:
        loop = Loop(kind, site, machine.conditions)
        frame.allocs[("loop", site)] = loop
    elif kind == "items" and loop.kind == "loop" and not (loop.runs or loop.backward):
        loop.kind = kind  # what it goes over was empty the first time
    loop.conditions = machine.conditions
    return loop  # type: ignore[no-any-return]


def begin_round(machine: Machine, loop: Loop) -> None:
    machine.clock += 1
    loop.started = machine.clock
    loop.first_node = len(machine.derivation.parents)


def go_round(machine: Machine, frame: Frame, loop: Loop, body: Callable[[], Any], whole: bool = True) -> None:
    """Run a loop's body: once, and again if that changed what was there before. `whole`: it is gone through to its end,
    of each item."""
    outer = machine.loops
    machine.loops = (*outer, loop)

    def once() -> None:
        begin_round(machine, loop)
        body()
        if frame.dead == JUMPED:
            frame.dead = 0

    layers = loop.kind == "layers"
    changed = branch(machine, frame, [once, skip], conditional=False, modes_hold=layers and whole)
    # in a second round of a loop around it, a second one of this loop would show nothing new
    if changed and not machine.exhausted and not is_building(frame) and not (machine.again and loop.twice):
        loop.twice = True
        machine.again += 1
        branch(machine, frame, [once, skip], conditional=False)
        if machine.again == 1 and machine.first_filled:  # what takes it out of there has not met any
            branch(machine, frame, [once, skip], conditional=False)
        machine.again -= 1
    machine.loops = outer


def is_building(frame: Frame) -> bool:
    """Whether a module's constructor runs: the parts that its loops make differ in size, not in kind."""
    return frame.name == "__init__" and type(frame.receiver) is Obj and frame.receiver.kind == "module"


@contextlib.contextmanager
def round_of_its_own(frame: Frame, site: Site, number: int) -> Iterator[None]:
    """What the round of one item makes, itself or in the functions that it calls, is not what the next one's makes."""
    outer = frame.allocs, frame.children
    made: Any = frame.allocs.setdefault(("round", site, number), ({}, {}))  # type: ignore[arg-type]
    frame.allocs, frame.children = made
    try:
        yield
    finally:
        frame.allocs, frame.children = outer


@contextlib.contextmanager
def gathering(machine: Machine, frame: Frame, over: Value, site: Site) -> Iterator[None]:
    """What a container gets of a generator that goes through steps, `list(train(loader))`: something in each round."""
    outer = machine.loops
    if any(type(atom) is Obj and "$rounds" in atom.fields for atom in over):
        loop = loop_at(machine, frame, ("gathered", site))
        goes_with(loop, over)
        machine.loops = (*outer, loop)
        begin_round(machine, loop)
    yield
    machine.loops = outer


def note_rounds(generator: Obj, loops: tuple[Loop, ...]) -> None:
    """In which loops of its own a generator gives its items."""
    for mark, told in (
        ("$rounds", any(loop.kind == "loop" for loop in loops)),
        ("$backward", any(loop.backward for loop in loops)),
        ("$steps", any(loop.steps for loop in loops)),
    ):
        if told:
            generator.fields[mark] = LIGHT


def goes_with(loop: Loop, over: Value) -> None:
    """What goes through a generator comes, in each round, after what that has done for it: a step of training."""
    for atom in over:
        if type(atom) is Obj and atom.kind == "generator":
            loop.backward |= "$backward" in atom.fields
            loop.steps |= "$steps" in atom.fields
            loop.generated = True
        elif type(atom) is Obj and atom.kind == "zipped":  # `enumerate(train(loader))`
            for part in atom.fields.values():
                goes_with(loop, part)
