"""What workers and threads keep: the stores that `contexts.py` noted, joined with their holders and resets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BUILDERS, drained
from ..facts.model import CALLS_PER_STATEMENT, Expr, Site, statement_of
from ..facts.passed_by import PassedBy
from ..facts.program import Program, targets, text
from ..facts.releases import Releases
from ..facts.walk import calls, expressions_of, last_name, loops, statements
from ..interpreter.arguments import argument
from ..interpreter.contexts import Context, Kept, is_module_level, root
from ..interpreter.events import Plain
from ..interpreter.frames import Frame, Loop, kept_since
from ..interpreter.keys import FIXED, KNOWN, UNSURE
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Const, Obj, constant
from ..lexical.loaded_tables import gives_what_a_file_held, holds_loaded
from .at_the_end import emptied_at_the_end
from .budgets import counts_filled, unasked_limit, within_budget
from .handed_singly import keeps_what_it_hands_out
from .items import are_few_numbers, is_item, lists_one_for_each, stored_at
from .led_from import line_of_home
from .let_go import emptied, made_at, measured
from .memo import made_once
from .only_waited_for import only_waited_for
from .places import Holder, describe, last_part
from .service_loops import piles_up_while_serving, while_serving
from .setting_keys import is_one_of_few
from .task_keys import is_of_the_callable
from .undrained import method_not_called

_RESULTS = ("tensor", "array", "item")
_LOOKS_UP = ("get", "pop", "setdefault", "move_to_end")  # of a table, by its key
_OF_ITEMS = frozenset(
    """str open io.open fsspec.open av.open cv2.VideoCapture VideoReader decord.VideoReader VideoDecoder AudioDecoder
    sf.SoundFile soundfile.SoundFile imageio.get_reader""".split()
)
_STAY = ("loader", "pool", "executor")
_OF_AN_ITEM = ("index", "idx", "item", "i")
_CLOSES = ("close", "clear", "pop", "popleft", "pop_all", "aclose", "remove")


class WorkerRetention(NamedTuple):
    """A heavy value that stays in a worker process."""

    site: Site
    holder: Holder
    process_wide: bool  # in a global or class attribute, as opposed to an object that the worker has a copy of
    growing: bool
    what: str
    weight: int
    guarded: bool
    function: str
    context: Context
    related: tuple[tuple[Site, str], ...]
    limit: str = ""  # of a container that all workers share: the attribute that should limit it, which nobody asks
    serving: bool = False  # a loop in which the worker waits for its tasks adds to it


def kept_by_workers(machine: Machine) -> Iterator[WorkerRetention]:
    """Everything noted in worker processes that stays there, each store once, the best evidence first."""
    best: dict[Site, WorkerRetention] = {}
    for note in machine.plain:
        if note.kind != "worker-store":
            continue
        made = _retention(machine, note, note.detail)
        if made is None:
            continue
        known = best.get(made.site)
        if known is None or (made.growing, made.weight) > (known.growing, known.weight):
            best[made.site] = made
    yield from best.values()


def _retention(machine: Machine, note: Plain, kept: Kept) -> WorkerRetention | None:
    holder = describe(kept.owner, kept.key, machine)
    if kept.what == "item" and kept.context.kind == "process" and not is_loaded(note):
        return None
    handed = kept.what == "item" and kept.context.kind == "process" and _given(note)[1] is not note.frame
    known = kept.what != "item" or handed or is_item(machine, note.frame.facts, note.site, last_part(holder.text))
    served = kept.context.kind == "process" and while_serving(note, kept)  # what was loaded for a task, as seen above
    if not known and not served and not _is_loaded_by_a_property(machine, note.site):
        return None
    if kept.what in ("item", "array", "tensor") and are_few_numbers(
        note.frame.facts, note.site, last_part(holder.text)
    ):
        return None
    top = root(kept.owner)
    wide = is_module_level(top)
    if holder.kind == "local" and isinstance(top, Frame) and not _in_task(top, note.frame, kept.context.site):
        holder = holder._replace(kind="closure")  # of what the worker was given: it has a copy for as long as it lives
    singly = holder.kind == "local" and keeps_what_it_hands_out(note.frame.facts, note.site, last_part(holder.text))
    if singly or (holder.kind == "local" and _during_the_pass(note, kept)):
        holder = holder._replace(kind="generator")
    if holder.kind not in ("attribute", "global", "class", "closure", "generator"):
        return None
    if isinstance(kept.owner, Obj) and kept.owner.kind == "tuple":
        return None
    grows = _grows(kept, note) and not (kept.context.kind == "process" and is_of_the_callable(note, kept))
    if grows:
        made = made_at(kept.owner)
        off = _releases(machine).switched_off(last_part(holder.text), holder.owner, _run(machine), made)
        limited = within_budget(note.frame.facts) or counts_filled(note.frame.facts, last_part(holder.text))
        grows = note.frame.name in off or not limited
        let_go = grows and emptied(machine, kept.owner, kept.key, note.site, off, there=wide)
        grows = grows and (holder.kind == "generator" or not let_go)
        grows = grows and (singly or note.frame.name in off or not measured(note.frame, holder.text))
    if not grows and (kept.how != "set" or not isinstance(kept.owner, Frame) or holder.kind == "closure"):
        return None
    if grows and isinstance(kept.owner, Obj) and kept.owner.bounded:
        return None
    limit = ""
    if isinstance(kept.owner, Obj) and "$shared" in kept.owner.fields:  # held once, as intended
        limit = unasked_limit(note.frame) if kept.context.kind == "loader" else ""
        if not limit:
            return None
    anchor = _told_at(machine, note, kept)
    if anchor is None:
        return None  # the affair of the file that starts the worker
    related = tuple((site, "called from here") for site in reversed(note.trail) if site != anchor)
    started = (kept.context.site, "the workers start here")
    if anchor != note.site:
        related = ((note.site, "stored here"), *related)
    return WorkerRetention(
        anchor,
        holder,
        wide,
        grows,
        kept.what,
        1 if kept.what == "handle" and _one_a_file(note.frame, note.site) else kept.weight,
        bool(kept.conditions),
        note.frame.name,
        kept.context,
        (started, *related) if started[0] != anchor and started[0] not in note.trail else related,
        limit,
        grows and while_serving(note, kept),
    )


def _told_at(machine: Machine, note: Plain, kept: Kept) -> Site | None:
    """Where a worker's store is told of: in the home file, or where that makes what it is put into, `Cache()`, for what
    the worker runs; or else starts the worker."""
    anchor = line_of_home(machine, note.site, *reversed(note.trail), kept.context.site, loops=note.loops)
    made = made_at(kept.owner)
    if made is None or anchor != kept.context.site or not machine.is_home(made) or anchor == note.site:
        return anchor
    entered: Frame | None = note.frame
    while entered is not None and entered.call_site != kept.context.site:
        entered = entered.caller
    owner = kept.owner.home[0] if isinstance(kept.owner, Obj) and kept.owner.home is not None else None
    return anchor if entered is None or entered.receiver is owner else made


def _is_loaded_by_a_property(machine: Machine, site: Site) -> bool:
    """Whether what is kept is what a property gives, `functools.cached_property`, and that is what a file held."""
    found = ((unit, one) for unit in machine.units.values() for one in unit.facts.functions if one.site == site)
    return any(gives_what_a_file_held(unit.outline.program, one) for unit, one in found)


def _run(machine: Machine) -> frozenset[str]:
    """The names of the functions that the run came to: a `clear()` that nobody calls lets nothing go."""
    facts = (function for unit in machine.units.values() for function in unit.facts.functions)
    return frozenset(function.name for function in facts if id(function) in machine.reached)


def _in_task(place: Frame, running: Frame, started: Site) -> bool:
    """Whether a frame is one of a worker's task, also of a generator that goes over another one there, as opposed to
    one in which the task's function was defined."""
    task: list[Frame] = []
    current: Frame | None = running
    while current is not None:
        task.append(current)
        current = None if current.call_site == started else current.caller
    current = place
    while current is not None and current not in task:
        current = current.caller
    return current is not None


def _during_the_pass(note: Plain, kept: Kept) -> bool:
    """Whether a generator opens one file after another, hands out what is in each, and closes none before the end."""
    facts = note.frame.facts
    if kept.what != "handle" or not facts.generator:
        return False
    for _, inside in loops(facts.body):
        if any(one[1] <= note.site < one[1] + CALLS_PER_STATEMENT for one in inside):
            every = [node for one in inside for node in expressions_of(one)]
            closes = any(node[0] == m.CALL and last_name(node[2]) in _CLOSES for node in every)
            return not closes and any(node[0] in (m.YIELD, m.YIELD_FROM) for node in every)
    return False


def _one_a_file(frame: Frame, site: Site) -> bool:
    """`self.files[path] = h5py.File(path)`: as many handles as there are shards, which somebody has listed; each video
    or text, opened as it is, holds an item of its own, and so does what goes by the number of the item, or is listed
    with one for each."""
    facts = frame.facts
    keys = {
        target[2]
        for statement in statements(facts.body)
        if statement[1] == site
        for target in targets(statement)
        if target[0] == m.ITEM and target[2][0] == m.NAME and target[2][1] not in _OF_AN_ITEM
    }
    told = (call for call in calls(facts.body) if call[3] and call[3][0] in keys)
    shards = any(last_name(call[2]) not in _LOOKS_UP and text(call[2]) not in _OF_ITEMS for call in told)
    return shards and not any(lists_one_for_each(frame, key) for key in keys)


def _grows(kept: Kept, note: Plain) -> bool:
    """Whether each task or item adds to the place, which the first one may make because it is not there yet."""
    frame = note.frame
    if kept.how not in ("grow", "keyed") or kept.key != "*" or kept.context.recycled:
        return False
    if kept.key_kind == KNOWN or (kept.key_kind in (FIXED, UNSURE) and _by_a_setting(frame, note.site)):
        return False  # one for each device or data type, for each size or place in a ring
    birth = kept.owner.birth if isinstance(kept.owner, Obj) else ()
    if isinstance(kept.owner, Obj) and statement_of(kept.owner.site) in frame.unit.outline.made_when_missing:
        birth = kept_since(kept.owner, birth)
    return any(loop.kind in ("loop", "call") and loop not in birth for loop in kept.loops)


def _by_a_setting(frame: Frame, site: Site) -> bool:
    """`self.windows[size] = window`, `self.ring[i % 8] = image`"""
    stored = next((one for one in statements(frame.facts.body) if one[1] == site), None)
    keys = [place[2] for place in targets(stored) if place[0] == m.ITEM] if stored is not None else []
    return bool(keys) and all(is_one_of_few(key, frame) for key in keys)


class KeptWorker(NamedTuple):
    """A thread, process, pool, loader or future that goes into a container which is never emptied."""

    site: Site  # in the home file: where it is added, or the call that leads there
    holder: Holder
    item: Obj
    repeated: bool  # in a loop that is seen, not just in a method that may be called again
    program: Program  # the file of the container
    added: Site
    stepping: bool  # a loop that trains adds them
    method: str = ""  # of the object, that would empty it, and is not called
    passed: PassedBy | None = None  # the release that some never come to
    late: bool = False  # what takes them out does so when all is over


def kept_in_containers(machine: Machine, program: Program) -> Iterator[KeptWorker]:
    """Workers and futures that pile up in an attribute or global, each place once."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "worker-kept":
            continue
        anchor = line_of_home(machine, note.site, *reversed(note.trail), loops=note.loops)
        if anchor is None or anchor in seen:
            continue
        container, item = note.detail
        unit = note.frame.unit
        keeping = program if unit.facts is program.facts else Program(unit.facts)
        holder = describe(container, "*", machine)
        serving = (holder.kind == "local" or note.frame.name == "<module>") and piles_up_while_serving(
            note.frame, note.site, holder.text, steps="$remote" in item.fields
        )
        if holder.kind not in ("attribute", "global", "class") and not serving:
            continue
        loops = [loop for loop in note.loops if loop.kind in ("loop", "call") and loop not in container.birth]
        if not loops or container.bounded or (note.frame.name in BUILDERS and not serving):
            continue
        last = last_part(holder.text)
        if measured(note.frame, holder.text):
            continue
        method = ""
        passed = _passed(machine, container, keeping, last) if item.kind == "future" else None
        late = False
        if passed is None and (emptied(machine, container, "*") or drained(keeping, last, lasting=True)):
            method = method_not_called(machine, program, note, container, last) if _is_piled(item, loops) else ""
            late = item.kind == "future" and (
                emptied_at_the_end(machine, keeping, note.frame, note.site, container, last)
                or (_is_piled(item, loops) and only_waited_for(machine, program, note, container, last))
            )
            if not (method or late):
                continue
        if made_once(note.frame):
            continue  # and used again
        repeated = any(loop.kind == "loop" for loop in loops)
        if not repeated and constant(item.fields.get("$persistent", (Const(True),))) is not True:
            continue  # workers that may end with each pass
        seen.add(anchor)
        begun = _is_begun_on_the_way(note.frame, item.site) or _is_just_given(note.frame, note.site)
        if item.kind == "future" and not begun:
            if _is_dropped_there(machine, item):
                continue
            anchor = item.site if machine.is_home(item.site) else anchor
        stepping = any(loop.backward and loop.kind == "loop" for loop in loops)
        yield KeptWorker(anchor, holder, item, repeated, keeping, note.site, stepping, method, passed, late)


def _is_begun_on_the_way(frame: Frame | None, site: Site) -> bool:
    """Whether a future is submitted by what puts it into the container, or by who calls that: not by a method that puts
    it later on an object which is there, `info.image = executor.submit(load, info.path)`."""
    while frame is not None:
        if any(_is_same_statement(one[1], site) for one in statements(frame.facts.body)):
            return True
        frame = frame.caller
    return False


def _is_just_given(frame: Frame, site: Site) -> bool:
    """Whether what is put into a container is what a call there gives: `future = self.client.send(request)`."""
    value = stored_at(frame.facts.body, site)
    if value is not None and value[0] == m.NAME:
        bound = [one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and value in one[2]]
        value = bound[0] if len(bound) == 1 else None
    return value is not None and value[0] == m.CALL


def _is_dropped_there(machine: Machine, future: Obj) -> bool:
    """Whether the attribute that a future is put into gets something else in the end, `info.image = None`: not what the
    future gives, which is what it keeps."""
    if future.home is None:
        return False
    owner, name = future.home
    return any(
        reset.owner is owner and reset.key == name and not _is_result(stored_at(reset.frame.facts.body, reset.site))
        for reset in machine.resets
        if reset.frame.name not in BUILDERS and not _is_same_statement(reset.site, future.site)
    )


def _is_same_statement(one: Site, other: Site) -> bool:
    return statement_of(one) == statement_of(other)


def _is_result(value: Expr | None) -> bool:
    return value is not None and value[0] == m.CALL and last_name(value[2]) in ("result", "get")


def _is_piled(item: Obj, loops: list[Loop]) -> bool:
    """Whether a loop adds one after the other: futures; or workers that stay, in each round of a training."""
    around = [loop for loop in loops if loop.kind == "loop"]
    return (item.kind == "future" and bool(around)) or (item.kind in _STAY and any(loop.backward for loop in around))


def _passed(machine: Machine, container: Obj, program: Program, name: str) -> PassedBy | None:
    """The release that not all futures come to, where it is the only one."""
    ways = _releases(machine).passing_by(name)
    if not ways or emptied(machine, container, "*", passing=ways) or drained(program, name, passing=ways, lasting=True):
        return None
    return next(iter(ways.values()))


def _releases(machine: Machine) -> Releases:
    return Releases(unit.outline for unit in machine.units.values())


class ThreadRetention(NamedTuple):
    """A heavy result that a thread's object keeps, while the object itself is kept."""

    site: Site
    holder: Holder
    attribute: str
    cls: str
    what: str
    weight: int
    stored: Site


def kept_by_threads(machine: Machine, program: Program) -> Iterator[ThreadRetention]:
    """Thread objects with a result on them, in a container that is never emptied."""
    piled = list(kept_in_containers(machine, program))
    done: set[Site] = set()
    for note in machine.plain:
        if note.kind != "thread-store":
            continue
        kept: Kept = note.detail
        owner = kept.owner
        for _ in range(2):  # a list on the object counts as the object's
            if isinstance(owner, Obj) and owner.kind != "instance" and owner.home is not None:
                owner = owner.home[0]
        if not isinstance(owner, Obj) or kept.what not in _RESULTS or not isinstance(owner.cls, Class):
            continue
        if kept.what == "item" and not is_loaded(note):
            continue
        inside = kept.owner.home if isinstance(kept.owner, Obj) else None
        name = kept.key if kept.owner is owner or inside is None else inside[1]
        if emptied(machine, kept.owner, kept.key, note.site):
            continue
        for one in piled:
            if one.item is owner and one.site not in done:
                done.add(one.site)
                yield ThreadRetention(
                    one.site, one.holder, name, owner.cls.facts.name, kept.what, kept.weight, note.site
                )


def is_loaded(note: Plain) -> bool:
    """Whether a store's text says that what is put there was loaded: `self.shard = torch.load(path)`."""
    value, frame = _given(note)
    return value is not None and holds_loaded(Program(frame.unit.facts), frame.facts, value)


def _given(note: Plain) -> tuple[Expr | None, Frame]:
    """What is put somewhere, as the text has it, and where: by a helper, `remember(path, x)`, what its caller gives."""
    value, frame = stored_at(note.frame.facts.body, note.site), note.frame
    while value is not None and value[0] == m.NAME and frame.caller is not None:
        given = argument(frame, value[1])
        if given is None:
            break
        value, frame = given, frame.caller
    return value, frame
