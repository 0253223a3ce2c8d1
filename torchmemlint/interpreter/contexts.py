"""Where code runs: in a worker process, in a worker of a loader, in a thread; and what it leaves there.

A worker is a way to enter a function, as a thread is: with a grad mode of its own, again and again.
What it puts into globals belongs to its process alone and lives as long as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from .events import Loops
from .machine import Frame, Machine
from .values import (
    COUNT,
    LIGHT,
    ON,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Function,
    Light,
    Obj,
    Partial,
    Value,
    constant,
)
from .weights import HANDLES, NEW_EACH_TIME, STACKS, heavy

Kwargs = dict[str, Value]

# Methods that hand a function to worker processes [docs: multiprocessing.pool, concurrent.futures], and
# the names among them that nothing else has.
_HANDS_OVER = frozenset(
    """map imap imap_unordered apply apply_async map_async starmap starmap_async submit schedule uimap amap
    istarmap""".split()
)
ONLY_OF_POOLS = frozenset("imap imap_unordered starmap map_async starmap_async".split())
_ONE_CALL = ("apply", "apply_async", "submit", "schedule")
_POOLS = ("Pool", "ProcessPoolExecutor", "ProcessPool", "WorkerPool")
_POOL_ROOTS = (
    "multiprocessing",
    "torch",
    "concurrent",
    "billiard",
    "multiprocess",
    "pathos",
    "pebble",
    "mpire",
    "loky",
)
_PASS_THROUGH = ("Subset", "ConcatDataset", "StackDataset", "ChainDataset", "random_split")
_FILLED = ("list", "dict", "set", "deque")
_THREAD_BASES = ("Thread", "QThread", "QRunnable", "Timer")
_PROCESS_BASES = ("Process", "SpawnProcess", "ForkProcess")


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


def _keep(machine: Machine, frame: Frame, owner: Obj | Frame, key: str, value: Value, how: str, site: Site) -> None:
    """Note what reaches a place while a worker runs."""
    context = machine.context
    what, weight = heavy(machine, value)
    if not what and context.kind == "loader" and not value and how in ("grow", "keyed"):
        what, weight = "item", 2  # of a data set: whatever it is, it is what the loader is there for
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


def root(owner: Obj | Frame) -> Frame | Obj:
    """What holds a place in the end: the frame of a module, class or function, or an object that nothing holds."""
    current: Any = owner
    for _ in range(8):
        if isinstance(current, Frame) or current.home is None:
            break
        current = current.home[0]
    return current  # type: ignore[no-any-return]


def is_module_level(frame: Frame | Obj) -> bool:
    """Whether this is the frame of a module's body, or of a class's: what is there lives as long as the process."""
    return isinstance(frame, Frame) and frame.function is None


# -- entering workers -----------------------------------------------------------------------------


def in_worker(machine: Machine, frame: Frame, target: Value, args: list[Value], context: Context) -> Value:
    """Run a function as a worker does: over and over, with its own grad mode [docs: torch.no_grad, thread local]."""
    if not any(type(atom) in (Function, Bound, Partial, Obj) for atom in target):
        return UNKNOWN
    machine.note("worker", context.site, frame, (context, target))
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
        loop = machine.loop_at(frame, ("worker", context.site, context.kind), "call")
        machine.go_round(frame, loop, once)
    machine.grad, machine.module_depth, machine.context, machine.loops = outer
    return made


def items_of(value: Value) -> list[Value]:
    """The parts of an `args=(...)` tuple."""
    for atom in value:
        if type(atom) is Obj:
            fields = atom.fields
            return [fields[f"[{index}]"] for index in range(len(fields)) if f"[{index}]" in fields]
    return []


def _pool(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site, method: str = "") -> Value:
    obj = machine.allocate(frame, ("pool", site), "pool")
    recycled = constant(kwargs.get("maxtasksperchild", kwargs.get("max_tasks_per_child", UNKNOWN)))
    obj.bounded = "maxtasksperchild" in kwargs or ("max_tasks_per_child" in kwargs and recycled is not None)
    if method:
        machine.put(obj.fields, "$method", (Const(method),))
    setup = kwargs.get("initializer", args[1] if len(args) > 1 else UNKNOWN)
    given = kwargs.get("initargs", args[2] if len(args) > 2 else UNKNOWN)
    context = Context("process", site, setup=True, method=method, initial=True)
    in_worker(machine, frame, setup, items_of(given), context)
    return (obj,)


def pool_method(
    machine: Machine, frame: Frame, obj: Obj | None, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """A method of a pool of processes."""
    if name in ("__enter__",) and obj is not None:
        return (obj,)
    if name not in _HANDS_OVER or not (args or "func" in kwargs):
        return UNKNOWN
    target = kwargs["func"] if "func" in kwargs else args[0]
    rest = args if "func" in kwargs else args[1:]
    if name == "submit" or name == "schedule":
        given = rest
    elif name in _ONE_CALL:
        given = items_of(kwargs.get("args", rest[0] if rest else UNKNOWN))
    elif "starmap" in name:
        given = items_of(machine.iterate(frame, rest[0])) if rest else []
    else:
        given = [machine.iterate(frame, value) for value in rest[: 1 if obj is None or name != "map" else None]]
    method = constant(obj.fields.get("$method", UNKNOWN)) if obj is not None else ...
    context = Context(
        "process", site, obj is not None and obj.bounded, method=method if isinstance(method, str) else ""
    )
    made = in_worker(machine, frame, target, given, context)
    if name in ("submit", "schedule", "apply_async", "map_async", "starmap_async"):
        machine.note("submitted", site, frame, made)
        return (machine.allocate(frame, ("future", site), "future"),)
    return UNKNOWN


def _process(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site, method: str = "") -> Value:
    target = kwargs.get("target", args[1] if len(args) > 1 else UNKNOWN)
    in_worker(
        machine,
        frame,
        target,
        items_of(kwargs.get("args", UNKNOWN)),
        Context("process", site, setup=True, method=method),
    )
    return (machine.allocate(frame, ("process", site), "process"),)


def _spawn(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`torch.multiprocessing.spawn(fn, args)`: `fn(rank, *args)` [docs]."""
    target = kwargs.get("fn", args[0] if args else UNKNOWN)
    given = kwargs.get("args", args[1] if len(args) > 1 else UNKNOWN)
    in_worker(machine, frame, target, [LIGHT, *items_of(given)], Context("process", site, setup=True, method="spawn"))
    return UNKNOWN


def _mp_context(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("mp-context", site), "mp-context")
    method = kwargs.get("method", args[0] if args else UNKNOWN)
    if isinstance(constant(method), str):
        machine.put(obj.fields, "$method", method)
    return (obj,)


def _delayed(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("delayed", site), "delayed")
    machine.put(obj.fields, "$callee", args[0] if args else UNKNOWN)
    return (obj,)


def _manager(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (machine.allocate(frame, ("mp-manager", site), "mp-manager"),)


def _of_manager(machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], site: Site) -> Value:
    """`manager.dict()`, `manager.list()`: what is put there goes to the manager's process [docs: multiprocessing]."""
    if name == "__enter__":
        return (obj,)
    if name not in ("dict", "list"):
        return UNKNOWN
    made = machine.allocate(frame, ("managed", site, obj.serial), name)
    machine.put(made.fields, "$shared", LIGHT)
    return (made,)


def call_object(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """A method of a pool, a multiprocessing context, or joblib's `delayed(f)`."""
    if obj.kind == "pool":
        return pool_method(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "mp-manager":
        return _of_manager(machine, frame, obj, name, args, site)
    if obj.kind == "mp-context":
        method = constant(obj.fields.get("$method", UNKNOWN))
        known = method if isinstance(method, str) else ""
        if name == "Pool":
            return _pool(machine, frame, args, kwargs, site, known)
        if name == "Process":
            return _process(machine, frame, args, kwargs, site, known)
        return call(machine, frame, f"multiprocessing.{name}", args, kwargs, site) or UNKNOWN
    if obj.kind == "delayed" and name == "__call__":
        in_worker(machine, frame, obj.fields.get("$callee", UNKNOWN), args, Context("process", site))
    return UNKNOWN


def _queue(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("queue", site), "queue", "multiprocessing")
    limit = args[0] if args else kwargs.get("maxsize", UNKNOWN)
    obj.bounded = bool(args or kwargs) and constant(limit) not in (0, -1)
    return (obj,)


def _pipe(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`SimpleQueue`: a pipe, whose `put` waits when it is full [docs: multiprocessing]."""
    obj = machine.allocate(frame, ("queue", site), "queue", "multiprocessing")
    obj.bounded = True
    return (obj,)


_CALLS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys(_POOLS, _pool),
    "Process": _process,
    "spawn": _spawn,
    "start_processes": _spawn,
    "get_context": _mp_context,
    "delayed": _delayed,
    "Manager": _manager,
    "SyncManager": _manager,
    "JoinableQueue": _queue,
    "Queue": _queue,
    "SimpleQueue": _pipe,
}


def call(machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value | None:
    """What a call of the standard library, torch or joblib starts; None if it starts nothing."""
    if dotted in HANDLES:
        return (Light("handle"),)
    if dotted in NEW_EACH_TIME:
        return (COUNT,)
    if dotted in STACKS:
        stack = machine.allocate(frame, ("stack", site), "list")
        machine.put(stack.fields, "$stack", LIGHT)
        return (stack,)
    base, _, tail = dotted.rpartition(".")
    if dotted in ("multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool"):
        return (machine.allocate(frame, ("executor", site), "executor"),)
    made = _CALLS.get(tail)
    if made is not None and ("multiprocess" in base or base.split(".", 1)[0] in ("pathos", "pebble", "mpire", "loky")):
        return made(machine, frame, args, kwargs, site)
    if tail == "ProcessPoolExecutor":
        return _pool(machine, frame, [], kwargs, site)
    if tail in ("create_task", "ensure_future", "run_coroutine_threadsafe") and base.startswith("asyncio"):
        return (machine.allocate(frame, ("future", site), "future"),)
    if tail == "delayed" and base.startswith("joblib"):
        return _delayed(machine, frame, args, kwargs, site)
    if tail in _PASS_THROUGH and base.startswith("torch.utils.data") and args:
        if tail == "random_split":
            parts = machine.allocate(frame, ("split", site), "list")
            machine.put(parts.fields, "*", args[0])
            return (parts,)
        first = args[0]
        inner = machine.elements(frame, first) if tail == "ConcatDataset" else first
        return inner or first
    return None


# -- loaders --------------------------------------------------------------------------------------


def loader(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> None:
    """`DataLoader(data, num_workers=...)`: its workers run the data set's methods [docs: torch.utils.data]."""
    workers = kwargs.get("num_workers", args[5] if len(args) > 5 else (Const(0),))
    count = constant(workers)
    if count == 0:
        return
    persistent = constant(kwargs["persistent_workers"]) if "persistent_workers" in kwargs else False
    if persistent:  # True, or an expression: mostly whether there are workers at all
        machine.put(obj.fields, "$persistent", (Const(persistent is True),))
    method = constant(kwargs.get("multiprocessing_context", UNKNOWN))
    context = Context("loader", site, method=method if isinstance(method, str) else "")
    if constant(kwargs.get("pin_memory", (Const(False),))) is False:
        machine.put(obj.fields, "$shares", (Const(True),))  # its tensors come as they are, in shared memory
    dataset = kwargs.get("dataset", args[0] if args else UNKNOWN)
    machine.note("loader-workers", site, frame, (dataset, 3 if isinstance(count, int) else 2, context))
    for atom in dataset:
        if type(atom) is Obj and isinstance(atom.cls, Class):
            for name, given in (("__getitem__", [LIGHT]), ("__iter__", [])):
                for member in atom.cls.find(name) or ():
                    if type(member) is Function:
                        in_worker(machine, frame, (Bound(member, atom),), given, context)
    in_worker(machine, frame, kwargs.get("collate_fn", UNKNOWN), [UNKNOWN], context)
    in_worker(machine, frame, kwargs.get("worker_init_fn", UNKNOWN), [LIGHT], context._replace(setup=True))


def is_dataset(cls: Class) -> bool:
    """Whether a class is a data set of torch, by its bases."""
    return any(dotted.rsplit(".", 1)[-1].endswith(("Dataset", "DataPipe")) for dotted in cls.external)


# -- threads --------------------------------------------------------------------------------------


def kind_of_worker(cls: Any) -> str:
    """ "thread" or "process" for a class whose `run` is the work of one, by its bases."""
    if isinstance(cls, Class):
        for dotted in cls.external:
            tail = dotted.rsplit(".", 1)[-1]
            if tail in _THREAD_BASES:
                return "thread"
            if tail in _PROCESS_BASES:
                return "process"
    return ""


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


def start(machine: Machine, frame: Frame, obj: Obj, site: Site) -> None:
    """`worker.start()` of an instance of a class of the file that is a thread or a process."""
    kind = kind_of_worker(obj.cls)
    found = obj.cls.find("run") if isinstance(obj.cls, Class) else None
    for member in found or ():
        if type(member) is not Function or not kind:
            continue
        target: Value = (Bound(member, obj),)
        if kind == "process":
            in_worker(machine, frame, target, [], Context(kind, site, setup=True))
        else:
            from .python import in_thread

            in_thread(machine, frame, target, [], site)


QT = frozenset(("moveToThread", "connect", "start", "tryStart"))


def qt(machine: Machine, frame: Frame, name: str, receiver: Value, args: list[Value], site: Site) -> None:
    """Qt runs slots of moved objects, and runnables that a pool starts, in other threads [docs: QThread]."""
    from .python import in_thread

    if name == "moveToThread":
        for atom in receiver:
            if type(atom) is Obj:
                machine.put(atom.fields, "$moved", LIGHT)
    for given in args[:1] if name != "moveToThread" else ():
        for atom in given:
            if name == "connect":
                if type(atom) is Bound and isinstance(atom.receiver, Obj) and "$moved" in atom.receiver.fields:
                    in_thread(machine, frame, (atom,), [], site)
            elif type(atom) is Obj and atom not in receiver and kind_of_worker(atom.cls) == "thread":
                start(machine, frame, atom, site)


def workers_in(obj: Obj) -> Iterator[Obj]:
    """An object that is a worker, or those in a pair of them: `(thread, worker)`."""
    if _is_worker(obj):
        yield obj
    elif obj.kind == "tuple":
        for part in obj.fields.values():
            yield from (atom for atom in part if type(atom) is Obj and _is_worker(atom))


def _is_worker(obj: Obj) -> bool:
    """Whether an object stands for work that goes on, or for its result: a process, a thread, a future."""
    if not obj.is_put_off and "$moved" in obj.fields:  # to another thread, by Qt
        return True
    if obj.kind in ("pool", "process", "executor", "thread", "future"):
        return True
    return (obj.kind == "loader" and "$persistent" in obj.fields) or (
        obj.kind == "instance" and bool(kind_of_worker(obj.cls))
    )


def receiver_of(target: Value) -> Any:
    """The object whose method this is."""
    for atom in target:
        if type(atom) is Bound and isinstance(atom.receiver, Obj):
            return atom.receiver
        if type(atom) is Partial:
            return receiver_of(atom.callee)
    return None


def note_call(machine: Machine, frame: Frame, call: Expr, receiver: Value) -> None:
    """Note calls that mean something in a worker: a tensor that goes to a device."""
    if machine.context.kind == "loader":
        name = call[2][2]
        if name == "cuda" and not call[3] and call[2][1][0] != m.CALL and any(type(atom) is Obj for atom in receiver):
            return  # a module of the data set: whoever made it
        if name == "cuda" or _to_device(machine, frame, call):
            machine.note("loader-device", call[1], frame, machine.context)


_SETTINGS = tuple((m.NAME, name) for name in "self args cfg config conf opt opts hparams params settings".split())


def _to_device(machine: Machine, frame: Frame, call: Expr) -> bool:
    given = [value for key, value in call[4] if key == "device"]
    if call[2][2] == "to":
        given += call[3][:1]
    for expr in given:
        if expr[0] == m.CALL and expr[3] and expr[2][-1] == "device":
            expr = expr[3][0]  # torch.device("cuda")
        known = expr[1] if expr[0] == m.CONST else constant(machine.eval(frame, expr))
        if isinstance(known, str):
            return known.startswith(("cuda", "mps", "xpu"))
        if expr[0] == m.ATTR and expr[2] == "device" and expr[1] not in _SETTINGS:
            continue  # that of another tensor
        if expr[0] in (m.NAME, m.ATTR) and "device" in str(expr[-1]).lower():
            return True
    return False


Machine.keep = _keep
