"""Where code runs: in a worker process, in a worker of a loader, in a thread; and what it leaves there.

A worker is a way to enter a function, as a thread is: with a grad mode of its own, again and again.
What it puts into globals belongs to its process alone and lives as long as that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts.knowledge import PROCESSES
from ..facts.model import FunctionFacts, Site
from .branching import go_round, loop_at
from .events import Loops
from .frames import Frame
from .machine import Machine
from .values import ON, UNKNOWN, Bound, Class, Const, Function, Kwargs, Obj, Partial, Value
from .weights import heavy

_FILLED = ("list", "dict", "set", "deque")
_THREAD_BASES = ("Thread", "QThread", "QRunnable", "Timer")


class Context(NamedTuple):
    """Where a function runs."""

    kind: str  # process, loader, thread
    site: Site  # what starts it
    recycled: bool = False  # its process is replaced after some tasks
    setup: bool = False  # an initializer: once in each process
    receiver: Any = None  # the object whose method the thread runs
    method: str = ""  # how the process starts, where that is known
    creator: FunctionFacts | None = None  # the function that starts the thread
    initial: bool = False  # before the worker's first task


class Kept(NamedTuple):
    """A heavy value that a worker puts where it stays: the detail of `worker-store` and `thread-store`."""

    owner: Obj | Frame
    key: str
    how: str
    what: str  # tensor, array, bytes, handle, module, item
    weight: int
    context: Context
    conditions: int
    loops: Loops
    key_kind: str = ""  # of `container[key] = value`, see holders.py


class Submitted(NamedTuple):
    """What an executor or pool is handed to run, and what it gives: the detail of `submitted`."""

    made: Value
    pool: Obj | None = None
    target: Value = UNKNOWN
    given: tuple[Value, ...] = ()


def keep(machine: Machine, frame: Frame, owner: Obj | Frame, key: str, value: Value, how: str, site: Site) -> None:
    """Note what reaches a place while a worker runs."""
    context = machine.context
    what, weight = heavy(machine, value)
    if not what and context.kind == "loader" and not value and how in ("grow", "keyed"):
        what, weight = "item", 2  # of a data set: whatever it is, it is what the loader is there for
    if not what and context.kind == "thread" and not value and how == "set" and owner is context.receiver:
        what, weight = "item", 2  # of a thread's own object: its text says whether it was loaded
    if not what and context.kind == "thread" and not value and isinstance(owner, Obj) and owner.kind == "queue":
        what, weight = "item", 2  # the text says whether it is a batch
    if not what and context.kind == "process" and not value and how in ("grow", "keyed"):
        what, weight = "item", 2  # likewise
    if not what or what == "bytes":
        note_light_put(machine, frame, owner, value, site)
    if not what:
        return
    kind = "thread-store" if context.kind == "thread" else "worker-store"
    if isinstance(owner, Obj) and owner.kind == "queue":
        kind = "queue-put"
    if all(type(atom) is Obj and atom.kind in _FILLED and atom.home == (owner, key) for atom in value) and value:
        return  # a container that is there already: what went into it is noted where it did
    key_kind = machine.key_kind if how == "keyed" else ""
    detail = Kept(owner, key, how, what, weight, context, machine.conditions, machine.loops, key_kind)
    machine.note(kind, site, frame, detail)


def note_put(machine: Machine, frame: Frame, queue: Obj, value: Value, site: Site) -> None:
    """Note what the main thread puts into a queue, if that are arrays: of tensors there is a store."""
    what, weight = heavy(machine, value)
    if what == "array":
        machine.note("array-put", site, frame, (queue, weight))
    elif not what:
        note_light_put(machine, frame, queue, value, site)


def note_light_put(machine: Machine, frame: Frame, owner: Obj | Frame, value: Value, site: Site) -> None:
    """Note what goes into a queue and is no tensor: its text says whether it was made of some."""
    if isinstance(owner, Obj) and owner.kind == "queue" and not any(type(atom) is Const for atom in value):
        machine.note("light-put", site, frame, owner)


def keep_in_element(
    machine: Machine, frame: Frame, element: Obj, value: Value, site: Site, *, computed: bool = False
) -> None:
    """Note what loading an item writes into an element of a table, `row = self.rows[index]; row["image"] = image`: the
    table gains one for each item. `computed`: by a property, whose text says whether it was loaded."""
    table = element.home[0] if element.home is not None and element.home[1] == "*" else None
    if machine.context.kind != "loader" or not isinstance(table, Obj):
        return
    if heavy(machine, value)[0] in ("tensor", "array") or (computed and not value):
        machine.key_kind = ""
        keep(machine, frame, table, "*", value, "keyed", site)


def root(owner: Obj | Frame) -> Frame | Obj:
    """What holds a place in the end: the frame of a module, class or function, or an object that nothing holds."""
    if isinstance(owner, Frame):
        return owner
    *_, last = owner.holders
    return last


def is_module_level(frame: Frame | Obj) -> bool:
    """Whether this is the frame of a module's body, or of a class's: what is there lives as long as the process."""
    return isinstance(frame, Frame) and frame.function is None


def in_worker(machine: Machine, frame: Frame, target: Value, args: list[Value], context: Context) -> Value:
    """Run a function as a worker does: over and over, with its own grad mode [docs: torch.no_grad, thread local]."""
    if not any(type(atom) in (Function, Bound, Partial, Obj) for atom in target):
        return UNKNOWN
    machine.note("worker", context.site, frame, (context, target))
    if context.kind == "process":
        machine.note("sent", context.site, frame, args)
    outer = machine.grad, machine.module_depth, machine.context, machine.loops
    machine.grad, machine.module_depth, machine.context = ON, 0, context
    if context.kind == "process":
        machine.loops = ()  # however often it is started, each process has globals of its own
    made: Value = UNKNOWN

    def once() -> None:
        nonlocal made
        made = machine.call(frame, target, args, {}, context.site)

    if context.setup:
        once()
    else:
        loop = loop_at(machine, frame, ("worker", context.site, context.kind), "call")
        go_round(machine, frame, loop, once)
    machine.grad, machine.module_depth, machine.context, machine.loops = outer
    return made


def items_of(value: Value) -> list[Value]:
    """The parts of an `args=(...)` tuple."""
    for atom in value:
        if type(atom) is Obj:
            fields = atom.fields
            return [fields[f"[{index}]"] for index in range(len(fields)) if f"[{index}]" in fields]
    return []


def is_dataset(cls: Class) -> bool:
    """Whether a class is a data set of torch, by its bases."""
    return any(dotted.rsplit(".", 1)[-1].endswith(("Dataset", "DataPipe")) for dotted in cls.external)


def kind_of_worker(cls: Any) -> str:
    """ "thread" or "process" for a class whose `run` is the work of one, by its bases."""
    if isinstance(cls, Class):
        for dotted in cls.external:
            tail = dotted.rsplit(".", 1)[-1]
            if tail in _THREAD_BASES:
                return "thread"
            if tail in PROCESSES:
                return "process"
    return ""


def take_work(machine: Machine, worker: Obj, args: list[Value], kwargs: Kwargs) -> None:
    """`super().__init__(target=load, args=(path,))` of a class that is a thread or process: its base puts them on the
    object for `run`, and the `run` of the base deletes them when all is done [CPython, `Thread.__init__`]."""
    cls = worker.cls
    if not isinstance(cls, Class) or not kind_of_worker(cls):
        return
    prefix = "$" if cls.find("run") is None else "_"
    for index, name in ((1, "target"), (3, "args"), (4, "kwargs")):
        value = kwargs.get(name, args[index] if len(args) > index else UNKNOWN)
        if value:
            machine.put(worker.fields, prefix + name, value)


def context_of_entry(function: Function, receiver: Any) -> Context | None:
    """Where a method runs that nobody in sight calls: `run` of a thread, `__getitem__` of a data set."""
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return None
    name = function.facts.name
    if name == "run":
        kind = kind_of_worker(receiver.cls)
        return Context(kind, function.facts.site, receiver=receiver) if kind else None
    if name in ("__getitem__", "__getitems__", "__iter__") and is_dataset(receiver.cls):
        return Context("loader", function.facts.site)
    return None


def workers_in(obj: Obj, loops: Loops) -> Iterator[Obj]:
    """An object that is a worker, or those in a pair of them, `(thread, worker)`; the future in a record, and the pool
    or loader that an object of this round has for itself."""
    if _is_worker(obj):
        yield obj
        return
    for key, part in obj.fields.items() if obj.kind in ("tuple", "dict", "instance") and not obj.is_put_off else ():
        for atom in part if key[0] != "$" else ():
            if type(atom) is Obj and _is_worker_of(obj, atom, loops):
                yield atom


def _is_worker_of(obj: Obj, part: Obj, loops: Loops) -> bool:
    if part.kind == "future" or (obj.kind == "tuple" and _is_worker(part)):
        return True
    return obj.kind == "instance" and _has_workers(part) and loops[-1:] == part.made[-1:]


def _is_worker(obj: Obj) -> bool:
    """Whether an object stands for work that goes on, or for its result: a process, a thread, a future."""
    if not obj.is_put_off and "$moved" in obj.fields:  # to another thread, by Qt
        return True
    if obj.kind in ("process", "executor", "thread", "future") or _has_workers(obj):
        return True
    return obj.kind == "instance" and bool(kind_of_worker(obj.cls))


def _has_workers(obj: Obj) -> bool:
    """Whether an object is a pool of processes, a server process, or a loader whose workers outlive its passes."""
    return obj.kind in ("pool", "mp-manager") or (obj.kind == "loader" and "$persistent" in obj.fields)


def receiver_of(target: Value) -> Any:
    """The object whose method this is."""
    for atom in target:
        if type(atom) is Bound and isinstance(atom.receiver, Obj):
            return atom.receiver
        if type(atom) is Partial:
            return receiver_of(atom.callee)
    return None
