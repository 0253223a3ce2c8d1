"""Finalizers that keep what they wait for: by the object of a method, which has it in a table of its own.

`weakref.finalize(tensor, self.forget, key)` is in a list of the process until `tensor` goes. The method keeps its
object; if that keeps `tensor`, as an entry that only `forget` would take out, neither of them ever goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.model import FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls, calls_of, last_name, statements
from ..interpreter.events import Plain
from ..interpreter.holders import captured
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Class, Function, Method, Obj, Partial, Tensor, Value, functions_behind

_DEPTH = 6
_HANDLED = ("detach", "peek", "alive")

Path = tuple[str, ...]


class Holding(NamedTuple):
    """A finalizer whose callback keeps what the finalizer watches."""

    site: Site
    what: str  # that is watched
    owner: str  # in words: whose method it is
    place: str  # where the owner keeps what is watched; "" if the callback itself does


def holding_finalizers(machine: Machine, program: Program) -> Iterator[Holding]:
    """Those that can never run, because nothing but themselves would let the watched thing go."""
    notes = [note for note in machine.plain if note.kind == "finalize"]
    callbacks = {function.name for note in notes for value in note.detail[1:] for function in functions_behind(value)}
    for note in notes:
        if not machine.is_home(note.site) or _is_handled(program, note):
            continue
        watched, *given = note.detail
        for owner, path in _paths(machine, watched, given):
            if path and (_is_let_go(program, path, callbacks) or not _stays(program, path)):
                continue
            place = next((part for part in path if part != "*"), "")
            yield Holding(note.site, _words(watched), owner, place)
            break


def _words(watched: Value) -> str:
    atom = next(atom for atom in watched if type(atom) in (Tensor, Obj))
    if type(atom) is Obj:
        return f"the {atom.cls.facts.name}" if isinstance(atom.cls, Class) else f"the {atom.kind}"
    return "the tensor"


def _paths(machine: Machine, watched: Value, given: list[Value]) -> Iterator[tuple[str, Path]]:
    """How a callback and its arguments come to what is watched: by whom, and through which attributes and elements;
    whom it watches itself another part of the rule speaks about."""
    for kept in _kept(given):
        if type(kept) is Obj and kept not in watched:
            owner = f"the {kept.cls.facts.name}" if isinstance(kept.cls, Class) else f"the {kept.kind}"
            yield from ((owner, path) for path in _ways(machine, kept, watched, _DEPTH, {id(kept)}))
        elif type(kept) is Tensor and _is_same(machine, kept, watched):
            yield "the callback", ()


def _kept(values: list[Value], depth: int = 4) -> Iterator[Obj | Tensor]:
    """The objects and tensors that a callback and its arguments refer to."""
    for value in values if depth else ():
        for atom in value:
            if type(atom) in (Obj, Tensor):
                yield atom
            elif type(atom) in (Bound, Method) and type(atom.receiver) is Obj:
                yield atom.receiver
            elif type(atom) is Partial:
                yield from _kept([atom.callee, *atom.args, *(part for _, part in atom.kwargs)], depth - 1)
            elif type(atom) is Function and atom.facts.owner < 0:
                yield from _kept([part for _, part in captured(atom)], depth - 1)


def _ways(machine: Machine, holder: Obj, watched: Value, depth: int, seen: set[int]) -> Iterator[Path]:
    """The ways from an object to what is watched, by strong references."""
    if holder.is_put_off or not depth:
        return
    for key, value in list(holder.fields.items()):
        if key[:1] == "$":
            continue
        for atom in value:
            if (type(atom) is Tensor and _is_same(machine, atom, watched)) or (type(atom) is Obj and atom in watched):
                yield (key,)
            elif type(atom) is Obj and id(atom) not in seen and atom.kind not in ("module", "optimizer"):
                seen.add(id(atom))
                yield from ((key, *way) for way in _ways(machine, atom, watched, depth - 1, seen))


def _is_same(machine: Machine, tensor: Tensor, watched: Value) -> bool:
    """Whether a tensor is one that is watched, under another name."""
    nodes = {atom.node for atom in watched if type(atom) is Tensor}
    return bool(nodes) and not nodes.isdisjoint(machine.derivation.names_of(tensor.node))


def _stays(program: Program, path: Path) -> bool:
    """Whether what is on the way is still there when the next one has come: an element among many, or an attribute
    that only constructors set."""
    if "*" in path:
        return True
    attributes = {part for part in path if part[:1] != "["}
    return "[" not in {part[:1] for part in path} and not any(
        target[0] == m.ATTR and target[2] in attributes
        for place in program.places
        if place.facts.name not in ("__init__", "__post_init__")
        for one in statements(place.facts.body)
        for target in targets(one)
    )


def _is_let_go(program: Program, path: Path, callbacks: set[str]) -> bool:
    """Whether something other than finalizers takes out of the places on the way, or does by hand what they do."""
    called = {name for one in callbacks for place in program.by_name.get(one, ()) for name in place.facts.calls}
    among = path.index("*") if "*" in path else len(path)
    names, of_entries = set(path[:among]), {part for part in path[among:] if part != "*"} - set(path[:among])
    return any(
        not callbacks.isdisjoint(place.facts.calls)
        or _takes_out(place.facts, names)
        or _takes_out(place.facts, of_entries, of_entries=True)
        for place in program.places
        if place.facts.name not in callbacks | called
    )


def _takes_out(function: FunctionFacts, names: set[str], *, of_entries: bool = False) -> bool:
    """Whether a function takes something out of one of these places, or gives the place another value. The attribute
    of an entry is one of many of its name: that one of them gets a value, as each did, empties none of the others."""
    start = function.name in ("__init__", "__post_init__", "<module>")
    every = (one for name in names for one in emptyings(function, name))
    return any(
        one.how != BOUND
        or (not start and one.place[0] == m.ATTR and (not of_entries or one.statement[-1] == (m.CONST, None)))
        for one in every
    )


def _is_handled(program: Program, note: Plain) -> bool:
    """Whether a finalizer is handed on, or detached or called somewhere by what it is bound to."""
    body = note.frame.facts.body
    holding = [one for one in statements(body) if any(call[1] == note.site for call in calls_of(one))]
    if not holding or (holding[0][0] == m.EXPR and holding[0][2][:2] == (m.CALL, note.site)):
        return False
    if holding[0][0] not in (m.ASSIGN, m.ANNOTATE):
        return True
    bound = {last_name(target) for target in targets(holding[0])}
    return any(
        last_name(call[2]) in bound
        or (call[2][0] == m.ATTR and call[2][2] in _HANDLED and last_name(call[2][1]) in bound)
        for place in program.places
        for call in calls(place.facts.body)
    )
