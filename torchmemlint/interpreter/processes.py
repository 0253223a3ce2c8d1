"""Worker processes: what starts them, and the pools that hand functions to them."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import call_at, last_name
from .contexts import Context, Submitted, in_worker, items_of
from .frames import Frame
from .machine import Machine
from .values import COUNT, FREE, LIGHT, UNKNOWN, Class, Const, External, Kwargs, Light, Obj, Value, constant
from .weights import HANDLES, NEW_EACH_TIME, STACKS

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
_OWN_PICKLES = ("pathos", "pebble", "mpire", "loky", "multiprocess")  # which copy what they send
_PASS_THROUGH = ("Subset", "ConcatDataset", "StackDataset", "ChainDataset", "random_split")


def _pool(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site, method: str = "") -> Value:
    obj = machine.allocate(frame, ("pool", site), "pool")
    method = method or method_of(kwargs.get("mp_context", kwargs.get("context", UNKNOWN)))
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
    if name == "apply_async" and made and "callback" in kwargs and not _has_graph(machine, made):
        machine.call(frame, kwargs["callback"], [made], {}, site)  # in this process [docs: multiprocessing.pool]
    if name in ("submit", "schedule", "apply_async", "map_async", "starmap_async"):
        machine.note("submitted", site, frame, Submitted(made, obj, target, tuple(given)))
        return (machine.allocate(frame, ("future", site), "future"),)
    return _results(machine, frame, obj, name, made, site)


def _results(machine: Machine, frame: Frame, obj: Obj | None, name: str, made: Value, site: Site) -> Value:
    """What comes back from the workers: tensors in shared memory, a segment with its descriptors for each [measured: of
    100 small tensors from `imap`, `map` and `ProcessPoolExecutor.map` 110 to 120 descriptors stay open]."""
    if obj is None or not made or _has_graph(machine, made) or not machine.reach(made):
        return UNKNOWN
    if "$own" not in obj.fields:
        machine.note("pool-results", site, frame, made)
    if name in _ONE_CALL:
        return made
    lazy = name not in ("map", "starmap") or "$executor" in obj.fields  # they come one by one
    results = machine.allocate(frame, ("results", site), "results" if lazy else "list")
    machine.put(results.fields, "*", made)
    return (results,)


def _has_graph(machine: Machine, made: Value) -> bool:
    """Whether what a worker gives has a graph, as far as the run knows; such a tensor would not come over."""
    return any(tensor.graph != FREE for tensor in machine.reach(made))


def reference(machine: Machine, frame: Frame, site: Site) -> Value:
    """A reference to a result in another process, which keeps the result until the last such reference goes."""
    future = machine.allocate(frame, ("future", site), "future")
    machine.put(future.fields, "$remote", LIGHT)
    return (future,)


def is_through_reference(frame: Frame, site: Site) -> bool:
    """`reference.remote().method(x)`, whose result stays in the other process as well
    [docs: torch.distributed.rpc.RRef]."""
    call = call_at(frame.facts.body, site)
    owner: Expr | None = call[2][1] if call is not None and call[2][0] == m.ATTR else None
    if owner is None or owner[0] != m.CALL:
        return False
    return last_name(owner[2]) in ("remote", "rpc_async") and not owner[3]


def _is_called_there(func: Value | None) -> bool:
    """Whether `remote(to, func)` keeps a result for each call, in the process that it runs in; of a class it makes an
    object that stays there [docs: torch.distributed.rpc.remote]."""
    return not any(
        type(atom) is Class or (type(atom) is External and atom.dotted.rpartition(".")[2][:1].isupper())
        for atom in func or ()
    )


def _process(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site, method: str = "") -> Value:
    target = kwargs.get("target", args[1] if len(args) > 1 else UNKNOWN)
    given = items_of(kwargs.get("args", UNKNOWN))
    in_worker(machine, frame, target, given, Context("process", site, setup=True, method=method))
    machine.note("sent", site, frame, [kwargs.get("kwargs", UNKNOWN)])
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


def method_of(context: Value) -> str:
    """How a context starts its processes, as far as that is known: `get_context("spawn")`, or its name alone."""
    named = constant(context)
    for atom in context:
        if type(atom) is Obj and atom.kind == "mp-context":
            named = constant(atom.fields.get("$method", UNKNOWN))
    return named if isinstance(named, str) else ""


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
        known = method_of((obj,))
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
        pool = machine.allocate(frame, ("executor", site), "executor")
        machine.put(pool.fields, "$pool", LIGHT)
        return (pool,)
    made = _CALLS.get(tail)
    own = base.split(".", 1)[0] in _OWN_PICKLES
    if made is not None and ("multiprocess" in base or own):
        started = made(machine, frame, args, kwargs, site)
        for atom in started if own else ():
            if type(atom) is Obj and atom.kind == "pool":
                machine.put(atom.fields, "$own", LIGHT)
        return started
    if tail == "ProcessPoolExecutor":
        given = kwargs if len(args) < 2 else {"mp_context": args[1], **kwargs}
        pools = _pool(machine, frame, [], given, site)
        for atom in pools:
            machine.put(atom.fields, "$executor", LIGHT)
        return pools
    if dotted in ("ray.put", "torch.distributed.rpc.rpc_async"):
        return reference(machine, frame, site)
    if dotted == "torch.distributed.rpc.remote" and _is_called_there(args[1] if len(args) > 1 else kwargs.get("func")):
        return reference(machine, frame, site)
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
