"""Records that an object collects, of which nobody reads the part that weighs.

`self.trials.append({"model": model, "score": score})`, and all that is done with them is `[t["score"] for t in
self.trials]`; or `self.runs[name] = run`, and `{name: run.scores for name, run in self.runs.items()}`. One call may
fill the list, and the list be its result: the models are no part of it that anybody wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.program import Program, expressions, targets
from ..facts.walk import statements
from ..interpreter.events import Loops
from ..interpreter.holders import heavy_objects
from ..interpreter.keys import KNOWN
from ..interpreter.values import CONTAINERS, FEW, SCALAR, Obj, Value
from ..lexical.table_reader import TableReader
from ..lexical.unread_entries import Reader
from .only_counted import is_own_list
from .places import last_part
from .unreleased import kept_in_sight

if TYPE_CHECKING:
    from ..interpreter.machine import Machine
    from .retentions import Retention

_DEPTH = 3


def is_unread(machine: Machine, program: Program, retention: Retention) -> bool:
    """Whether all records of a list or table have parts that weigh, and parts that do not, and its readers, all of
    them in sight, look at the latter only; or nobody looks into one that is the class's own by its name."""
    store = retention.store_event
    if retention.holder.kind != "attribute" or retention.how not in ("grow", "keyed"):
        return False
    if not isinstance(store.owner, Obj) or not kept_in_sight(machine, store.owner):
        return False
    keyed = retention.how == "keyed"
    if keyed and store.key_kind == KNOWN:
        return False  # a few, each of which may have its turn again
    name = last_part(retention.holder.text)
    there = store.frame.unit.outline.program  # the class's own file
    read = _read(program, name, store.site, keyed=keyed)
    if read is not None and there.facts is not program.facts:
        inner = _read(there, name, store.site, keyed=keyed)
        read = None if inner is None else read | inner
    if not read:
        return read is not None and not keyed and name.startswith("_")
    entries = [value for key, value in store.owner.fields.items() if key == "*" or (keyed and key[:1] != "$")]
    return _are_light(machine, entries, read)


class UnreadRecords(NamedTuple):
    """A list of a function whose records weigh, and what is read of them."""

    site: Site
    name: str
    read: list[str]


def unread_records(machine: Machine, program: Program, retentions: Iterable[Retention]) -> Iterator[UnreadRecords]:
    """Likewise, lists of functions that a loop adds records to, `results.append({"model": model, "score": score})`,
    and of which the function itself reads only what weighs nothing."""
    said = set[Site]()
    for retention in retentions:
        store, name = retention.store_event, retention.holder.text
        if retention.holder.kind != "local" or retention.how != "grow" or not retention.growing or retention.graph:
            continue
        if store.objects and not store.fresh:
            continue  # who made them keeps them anyway
        if store.site in said or not isinstance(store.owner, Obj) or not is_own_list(store.frame, store.owner, name):
            continue
        reader = Reader((m.NAME, name), store.frame.unit.facts, attributes=True, places=True)
        read = _gone_through(reader, store.frame.facts, (m.NAME, name), store.site)
        records = store.owner.fields.get("*", ())
        if read and _are_light(machine, [records], read) and not _let_go(machine, records, store.loops):
            said.add(store.site)
            yield UnreadRecords(store.site, name, sorted(read))


def _let_go(machine: Machine, records: Value, around: Loops) -> bool:
    """Whether a round lets go of all that weighs in its record, `runner.free(); done.append(runner)`, even if that
    depends on something, `if self.model is not None: del self.model`."""
    dropped = [(note.detail[:2], note.loops) for note in machine.plain if note.kind == "dropped-part"]
    dropped += [((one.owner, one.key), one.loops) for one in machine.resets if one.how == "clear"]
    gone = {(id(owner), key) for (owner, key), loops in dropped if all(loop in loops for loop in around[-1:])}
    return bool(gone) and all(_is_gone(machine, gone, record) for record in records if type(record) is Obj)


def _is_gone(machine: Machine, gone: set[tuple[int, str]], owner: Obj, depth: int = _DEPTH) -> bool:
    """Whether all that weighs in an object is among what has gone, or in objects and containers that have let it go."""
    if owner.is_put_off or owner.kind not in ("instance", *CONTAINERS):
        return False
    return all(
        (id(owner), key) in gone
        or (depth > 0 and all(type(one) is Obj and _is_gone(machine, gone, one, depth - 1) for one in value))
        for key, value in owner.fields.items()
        if key[:1] != "$" and _weighs(machine, value)
    )


def _are_light(machine: Machine, entries: list[Value], read: set[str]) -> bool:
    """Whether all entries have parts that weigh, and these are none of what is read."""
    found = [_parts(machine, atom) for value in entries for atom in value]
    return bool(found) and all(light is not None and read <= light for light in found)


def _parts(machine: Machine, record: object) -> set[str] | None:
    """The keys of a dictionary that have nothing heavy, or the attributes of an object, or the places of a tuple; None
    if it is another thing, or has nothing else."""
    if type(record) is not Obj or record.kind not in ("dict", "instance", "tuple") or record.is_put_off:
        return None
    fields = {key: value for key, value in record.fields.items() if key[:1] != "$"}
    if record.kind != "instance" and any(key[:1] != "[" for key in fields):
        return None
    light = {key.strip("[]") for key, value in fields.items() if not _weighs(machine, value)}
    return light if 0 < len(light) < len(fields) else None


def _weighs(machine: Machine, value: Value) -> bool:
    tensors = machine.reach(value)
    return any(tensor.size not in (SCALAR, FEW) for tensor in tensors) or bool(heavy_objects(value))


def _read(program: Program, attribute: str, stored: int, *, keyed: bool) -> set[str] | None:
    """The parts of the records in an attribute that functions of the file read; None if any of them may be."""
    found = set[str]()
    for place in program.places:
        function = place.facts
        asked = [part for part in expressions(function.body) if part[0] == m.ATTR and part[2] == attribute]
        for one in dict.fromkeys(asked):
            names = _read_by(program.facts, function, one, stored, keyed=keyed)
            if names is None:
                return None
            found |= names
    return found


def _read_by(facts: FileFacts, function: FunctionFacts, records: Expr, stored: int, *, keyed: bool) -> set[str] | None:
    return _gone_through((TableReader if keyed else Reader)(records, facts, attributes=True), function, records, stored)


def _gone_through(reader: Reader, function: FunctionFacts, records: Expr, stored: int) -> set[str] | None:
    number = m.statement_of(stored)
    reader.body(
        one for one in statements(function.body) if records not in targets(one) and number != m.statement_of(one[1])
    )
    inside = [reader.facts.functions[one] for one in set(function.inner) - reader.chosen_by] if reader.facts else []
    named = {records, *reader.all, *reader.each}  # which another function in it may have
    if reader.escapes or any(one.inner or any(part in named for part in expressions(one.body)) for one in inside):
        return None
    return reader.names
