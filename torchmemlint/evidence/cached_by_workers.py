"""Results that a decorator without a bound keeps in each process of a pool, one more for each task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import call_at, nodes, statements
from ..interpreter.arguments import argument
from ..interpreter.contexts import Context
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.keys import FIXED, KNOWN, VAGUE, kind_of_key
from ..interpreter.machine import Machine
from ..interpreter.values import Partial
from ..interpreter.weights import heavy
from ..lexical.loaded_tables import gives_what_a_file_held
from .caches import entries_of
from .led_from import line_of_home

_DEPTH = 4  # assignments between a parameter of the task and what it asks for


class CachedByWorker(NamedTuple):
    """A function whose results stay in each worker. `what`: tensor, array, bytes or item."""

    site: Site
    name: str
    what: str
    weight: int
    related: tuple[tuple[Site, str], ...]


def cached_by_workers(machine: Machine) -> Iterator[CachedByWorker]:
    """Each cached function once, at its decorator or, if that is in another file, at the call that leads there."""
    said = set[Site]()
    for note in machine.plain:
        if note.kind != "cached-by-worker":
            continue
        function, result, context = note.detail
        place = function.facts.site + m.DECORATORS
        site = line_of_home(machine, place, note.site, *reversed(note.trail), context.site, loops=note.loops)
        if site is None or site in said or context.setup or context.recycled or entries_of(machine, function) != -1:
            continue
        what, weight = heavy(machine, result)
        if not what and gives_what_a_file_held(function.frame.unit.outline.program, function.facts):
            what, weight = "item", 2
        if what in ("tensor", "array", "bytes", "item") and weight > 1 and _differs(machine, note, context):
            said.add(site)
            related = ((context.site, "the workers start here"), (place, "cached here"))
            others = tuple(one for one in related if one[0] != site)
            yield CachedByWorker(site, function.facts.name, what, min(weight, 2), others)


def _differs(machine: Machine, note: Plain, context: Context) -> bool:
    """Whether the task asks for something else each time: for what it is given, or a part of that."""
    call = call_at(note.frame.facts.body, note.site)
    if call is None:
        return False
    settings = settings_of(machine, context)
    return any(
        not _is_one_of_few(value, note.frame) and is_of_the_task(value, note.frame, context, settings)
        for value in (*call[3], *(value for _, value in call[4]))
    )


def _is_one_of_few(key: Expr, frame: Frame) -> bool:
    """`dtype`, `wave.shape`; not a `name`, which is that of what the task is about."""
    vague = key[0] == m.NAME and set(key[1].lower().split("_")) <= VAGUE
    return not vague and kind_of_key((), key, frame) in (FIXED, KNOWN)


def settings_of(machine: Machine, context: Context) -> tuple[int, set[str]]:
    """What all tasks get alike, since a partial was handed to the pool: how many parameters by position, and which by
    name."""
    for note in machine.plain:
        if note.kind == "worker" and note.detail[0] is context:
            for atom in note.detail[1]:
                if type(atom) is Partial:
                    return len(atom.args), {name for name, _ in atom.kwargs}
    return 0, set()


def is_of_the_task(value: Expr, frame: Frame, context: Context, settings: tuple[int, set[str]]) -> bool:
    """Whether a value is made from what the task was called with for this item."""
    current: Frame | None = frame
    names = {part[1] for part in nodes(value) if part[0] == m.NAME}
    while current is not None and names:
        names = _made_from(current.facts, names)
        params = current.facts.params
        if current.call_site == context.site:
            given, by_name = settings
            first = given + (params[:1] != () and params[0].name == "self")
            items = {param.name for param in params[first:] if param.default is None}
            return not names.isdisjoint(items - by_name)
        handed = [argument(current, param.name) for param in params if param.name in names]
        names = {part[1] for one in handed if one is not None for part in nodes(one) if part[0] == m.NAME}
        current = current.caller
    return False


def _made_from(facts: FunctionFacts, names: set[str]) -> set[str]:
    """The names, and those that what is bound to them is made from, also by a loop: `for page in document:`."""
    for _ in range(_DEPTH):
        bound = {
            part[1]
            for one in statements(facts.body)
            if one[0] in (m.ASSIGN, m.FOR)
            and any(part[0] == m.NAME and part[1] in names for target in targets(one) for part in nodes(target))
            for part in nodes(one[3])
            if part[0] == m.NAME
        }
        if bound <= names:
            break
        names = names | bound
    return names
