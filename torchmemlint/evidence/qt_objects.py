"""Objects with tensors that Qt keeps for the rest of the process: one more is made each time, nobody deletes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import Site
from ..facts.program import Program, expressions
from ..facts.walk import calls, last_name
from ..interpreter.events import Loops, Plain
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj, Tensor

if TYPE_CHECKING:
    from .evidence import Evidence

_ENDS = frozenset("deleteLater setParent WA_DeleteOnClose DeleteWhenStopped delete".split())
_DEPTH = 8  # a dialog has a presenter, with a model, which has a task, which has a result


class KeptByQt(NamedTuple):
    site: Site
    cls: str
    by: str  # the parent's class, or the signal


def children(evidence: Evidence) -> Iterator[KeptByQt]:
    """Objects that are made as children of one that stays, and that stay with it."""
    for note in _kept(evidence, "qt-child"):
        child, parent = note.detail
        assert isinstance(parent.cls, Class)
        rounds = tuple(loop for loop in child.made if loop not in parent.birth)
        site = _where_made(evidence.machine, note)
        if site and any(loop.kind in ("loop", "call") for loop in rounds) and _weighs(child, rounds, {id(parent)}):
            yield KeptByQt(site, child.cls.facts.name, parent.cls.facts.name)


def connected(evidence: Evidence) -> Iterator[KeptByQt]:
    """Objects to which a function refers that is connected to a signal of theirs."""
    for note in _kept(evidence, "qt-slot"):
        owner, signal = note.detail
        rounds = tuple(loop for loop in owner.made if loop.kind == "loop")
        if evidence.machine.is_home(note.site) and rounds and _weighs(owner, rounds, set()):
            yield KeptByQt(note.site, owner.cls.facts.name, signal)


def connected_to_another(evidence: Evidence) -> Iterator[KeptByQt]:
    """Objects to which a function refers that is connected to a signal of something which was there before: it goes
    when that does, also if the object is deleted."""
    said = set[Site]()
    for note in evidence.machine.plain:
        if note.kind != "qt-slot-of-another" or note.site in said or not evidence.machine.is_home(note.site):
            continue
        kept, signal, sender = note.detail
        rounds = tuple(loop for loop in kept.made if loop not in sender.made)
        again = any(loop.kind in ("loop", "call") for loop in rounds)
        if not again or kept.unknown or sender.unknown or not _weighs(kept, rounds, {id(sender)}):
            continue
        if not _disconnects(evidence.whole, signal):
            said.add(note.site)
            yield KeptByQt(note.site, kept.cls.facts.name, f"{sender.cls.facts.name}.{signal}")


def _disconnects(program: Program, signal: str) -> bool:
    if "disconnect" not in program.called:
        return False
    ends = (call[2] for place in program.places for call in calls(place.facts.body))
    return any(one[0] == m.ATTR and one[2] == "disconnect" and last_name(one[1]) in (signal, "QObject") for one in ends)


def _kept(evidence: Evidence, kind: str) -> Iterator[Plain]:
    """What was noted, once for each place; nothing where the program deletes such objects itself."""
    notes = {note.site: note for note in evidence.machine.plain if note.kind == kind}
    if notes and not _deletes(evidence.whole):
        yield from (note for note in notes.values() if not note.detail[0].unknown)


def _deletes(program: Program) -> bool:
    if not _ENDS.isdisjoint(program.called):
        return True
    return any(last_name(one) in _ENDS for place in program.places for one in expressions(place.facts.body))


def _where_made(machine: Machine, note: Plain) -> Site:
    """Where the home file makes the object: what calls its constructor; 0 if that is another file."""
    frame = note.frame
    while frame.receiver is note.detail[0] and frame.caller is not None:
        site, frame = frame.call_site, frame.caller
        if frame.receiver is not note.detail[0]:
            return site if machine.is_home(site) else 0
    return 0


def _weighs(obj: Obj, rounds: Loops, seen: set[int], depth: int = _DEPTH) -> bool:
    """Whether an object has a tensor, itself or by what was made for it: not what others have as well."""
    seen.add(id(obj))
    for key, value in obj.fields.items() if depth and not obj.is_put_off else ():
        for atom in value if key[:1] != "$" else ():
            if type(atom) is Tensor and atom.weight > 1:
                return True
            own = type(atom) is Obj and id(atom) not in seen and atom.kind not in ("module", "optimizer")
            if own and not set(rounds).isdisjoint(atom.made) and _weighs(atom, rounds, seen, depth - 1):
                return True
    return False
