"""Builtins and the standard library: containers, copies, partials, threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..facts.model import Site
from .contexts import Context, items_of, pool_method, receiver_of
from .cycles import note_callbacks
from .machine import Frame, Machine
from .objects import get_attribute, set_attribute
from .tensors import arithmetic
from .values import (
    ANY_NAME,
    ATTACHED,
    COUNT,
    IDENT,
    LEAF,
    LIGHT,
    MAYBE,
    OFF,
    ON,
    UNKNOWN,
    Bound,
    Const,
    External,
    Function,
    Light,
    Method,
    Obj,
    Partial,
    Tensor,
    Value,
    constant,
    is_light,
)

Kwargs = dict[str, Value]


def call_builtin(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if name in (
        "float",
        "int",
        "len",
        "str",
        "bool",
        "repr",
        "print",
        "round",
        "isinstance",
        "hasattr",
        "format",
        "id",
        "hash",
    ):
        for value in args:
            for node in machine.nodes(value, 1):
                machine.derivation.consumed.add(node)
        if name == "round":
            return arithmetic(machine, args[:1])
        return _plain(name, args[0]) if args else LIGHT
    first = args[0] if args else UNKNOWN
    if name in ("list", "set", "tuple", "frozenset", "dict", "sorted", "reversed"):
        return _copy(machine, frame, name, args, kwargs, site)
    if name in ("zip", "enumerate"):
        parts = [LIGHT, first] if name == "enumerate" else args
        zipped = machine.allocate(frame, ("zipped", site), "zipped")
        for index, part in enumerate(parts):
            machine.put(zipped.fields, f"[{index}]", part)
        return (zipped,)
    if name == "abs" and is_light(first):
        return first
    if name in ("max", "min") and len(args) > 1 and "key" not in kwargs:
        return functools.reduce(machine.join, args)  # one of them, as it is
    if name in ("sum", "max", "min", "abs", "pow"):
        inner = machine.iterate(frame, first) if len(args) == 1 or name == "sum" else UNKNOWN
        nodes = tuple(node for value in args for node in machine.nodes(value))
        values = [inner] if inner else args
        made = arithmetic(machine, values)
        return tuple(
            atom._replace(node=machine.derivation.node((atom.node, *nodes))) if type(atom) is Tensor else atom
            for atom in made
        )
    if name in ("next", "iter"):
        if name == "next" and COUNT in first:
            return (COUNT,)
        return machine.iterate(frame, first) if name == "next" else first
    if name in ("map", "filter"):
        over = [machine.iterate(frame, value) for value in args[1:]]
        mapped = machine.allocate(frame, ("mapped", site), "list")
        made = over[0] if name == "filter" and over else machine.call(frame, first, over, {}, site)
        machine.put(mapped.fields, "*", made)
        return (mapped,)
    if name in ("getattr", "setattr"):
        return _dynamic_attribute(machine, frame, name, args, site)
    if name == "open":
        return (Light("handle"),)
    if name == "dict.fromkeys":
        table = machine.allocate(frame, ("fromkeys", site), "dict")
        machine.put(table.fields, "*", args[1] if len(args) > 1 else UNKNOWN)
        return (table,)
    if name == "vars" and len(first) == 1 and type(first[0]) is Obj:
        return get_attribute(machine, frame, first[0], "__dict__")
    if name in ("property", "staticmethod", "classmethod", "super", "vars", "object"):
        return UNKNOWN
    return LIGHT


def _plain(name: str, value: Value) -> Value:
    """A number or a text made of a value: `str(count)`, `id(batch)`."""
    if name in ("id", "hash"):
        made = any(type(atom) is Tensor and atom.graph != LEAF for atom in value)  # parameters stay who they are
        return (IDENT,) if made or IDENT in value else LIGHT
    if name in ("str", "int", "repr", "format"):
        return next(((kind,) for kind in (IDENT, COUNT) if kind in value), LIGHT)
    return LIGHT


def _copy(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    kind = name if name in ("set", "dict", "tuple") else "list"
    if name in ("list", "tuple") and args and _is_loader(args[0]):
        machine.note("cycled", site, frame, (name, True))
    copy = machine.allocate(frame, ("copy", site), kind)
    for field in list(copy.fields):
        machine.put(copy.fields, field, UNKNOWN)
    for value in args[:1]:
        for atom in value:
            if type(atom) is Obj and kind == "dict" and atom.kind != "dict":
                part = _second(machine.iterate(frame, (atom,)))
                machine.put(copy.fields, "*", machine.join(copy.fields.get("*", UNKNOWN), part))
            elif type(atom) is Obj and (kind == "dict" or atom.kind in ("list", "tuple")):
                for field, part in atom.fields.items():
                    machine.put(copy.fields, field, machine.join(copy.fields.get(field, UNKNOWN), part))
            else:
                part = machine.iterate(frame, (atom,))
                machine.put(copy.fields, "*", machine.join(copy.fields.get("*", UNKNOWN), part))
    for key, value in kwargs.items():
        if kind == "dict":
            machine.put(copy.fields, f"[{key}]", value)
    return (copy,)


def _second(pairs: Value) -> Value:
    """The values of `dict(pairs)`."""
    return tuple(
        part
        for atom in pairs
        for part in (atom.fields.get("[1]", UNKNOWN) if type(atom) is Obj and atom.kind == "tuple" else (atom,))
    )


def _dynamic_attribute(machine: Machine, frame: Frame, name: str, args: list[Value], site: Site) -> Value:
    key = constant(args[1]) if len(args) > 1 else ...
    if not isinstance(key, str):
        if name == "setattr" and len(args) > 2:
            set_by_name(machine, frame, args[0], args[2], site)
        return get_by_name(machine, frame, args[0]) if name == "getattr" else UNKNOWN
    if name == "setattr" and len(args) > 2:
        for atom in args[0]:
            set_attribute(machine, frame, atom, key, args[2], site, "set")
        return LIGHT
    result: Value = args[2] if len(args) > 2 else UNKNOWN
    for atom in args[0]:
        result = machine.join(result, get_attribute(machine, frame, atom, key))
    return result


def set_by_name(machine: Machine, frame: Frame, owners: Value, value: Value, site: Site) -> None:
    """`setattr(self, name, value)` for a name that is not known: each of several names keeps its last value. What a
    module gets so is made of, its layers, is nothing to follow."""
    attached = any(tensor.graph == ATTACHED for tensor in machine.reach(value))
    for atom in owners:
        if type(atom) is Obj and (atom.kind == "instance" or (atom.kind == "module" and attached)):
            before = atom.fields.get(ANY_NAME, UNKNOWN)
            set_attribute(machine, frame, atom, ANY_NAME, value, site, "set")
            machine.put(atom.fields, ANY_NAME, machine.join(atom.fields[ANY_NAME], before))


def get_by_name(machine: Machine, frame: Frame, owners: Value) -> Value:
    """`getattr(self, name)` for a name that is not known: one of those that `setattr` has bound, so it may have a graph
    or not."""
    result: Value = UNKNOWN
    for atom in owners:
        if type(atom) is Obj and not atom.is_put_off and ANY_NAME in atom.fields:
            result = machine.join(result, get_attribute(machine, frame, atom, ANY_NAME))
    return tuple(
        atom._replace(graph=MAYBE) if type(atom) is Tensor and atom.graph == ATTACHED else atom for atom in result
    )


# -- other packages -------------------------------------------------------------------------------


_ROOMY = 1000  # entries, as replay memories have them


def _deque(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("deque", site), "deque")
    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", UNKNOWN)
    given = len(args) > 1 or "maxlen" in kwargs
    obj.bounded = given and constant(limit) is not None
    most = constant(limit)
    obj.roomy = isinstance(most, int) and most >= _ROOMY
    return (obj,)


def _defaultdict(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("defaultdict", site), "dict")
    note_callbacks(machine, obj, args[:1])
    if args and not is_light(args[0]):
        made = machine.call(frame, args[0], [], {}, site)
        machine.put(obj.fields, "*", machine.join(obj.fields.get("*", UNKNOWN), made))
        machine.put(obj.fields, "$default", made)
        for atom in made:
            if type(atom) is Obj:
                atom.home = atom.home or (obj, "*")
    return (obj,)


def _mapping(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return _copy(machine, frame, "dict", args, kwargs, site)


def _partial(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if not args or not args[0]:
        return UNKNOWN
    return (Partial(args[0], tuple(args[1:]), tuple(kwargs.items())),)


def _deepcopy(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    result: list[Any] = []
    for atom in args[0] if args else ():
        if type(atom) is Obj:
            result.append(_copy_tree(machine, frame, atom, site, 4))
        else:
            result.append(_copied(machine, atom))
    return tuple(result)


def _copied(machine: Machine, atom: Any) -> Any:
    """A tensor of its own, which it was not if it was a reference to a parameter."""
    if type(atom) is not Tensor:
        return atom
    return atom._replace(node=machine.derivation.node((atom.node,)))


def _copy_tree(machine: Machine, frame: Frame, obj: Obj, site: Site, depth: int) -> Obj:
    """A deep copy: modules inside belong to the copy, so freezing it freezes them."""
    copy = machine.allocate(frame, ("copy", site, obj.serial), obj.kind, obj.cls, obj.weight)
    generation = constant(obj.fields["$copy"]) if "$copy" in obj.fields else 0
    if "$copy" in copy.fields or generation == 2:  # `x = deepcopy(x)` round after round
        return copy if "$copy" in copy.fields else obj
    copy.unknown = obj.unknown
    machine.put(copy.fields, "$copy", (Const(1 if generation == 0 else 2),))
    for field, part in obj.fields.items():
        if depth and field[:1] != "$":
            part = tuple(
                _copy_tree(machine, frame, atom, site, depth - 1)
                if type(atom) is Obj and atom is not obj
                else _copied(machine, atom)
                for atom in part
            )
            for atom in part:
                if type(atom) is Obj:
                    atom.home = (copy, field)
        machine.put(copy.fields, field, part)
    return copy


def _first(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return args[0] if args else UNKNOWN


def _thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    target = kwargs.get("target", args[1] if len(args) > 1 else UNKNOWN)
    given = kwargs.get("args", args[3] if len(args) > 3 else UNKNOWN)
    in_thread(machine, frame, target, items_of(given), site)
    return (machine.allocate(frame, ("thread", site), "thread"),)


def _timer(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`threading.Timer(interval, function, args, kwargs)` [docs]."""
    target = kwargs.get("function", args[1] if len(args) > 1 else UNKNOWN)
    given = items_of(kwargs.get("args", args[2] if len(args) > 2 else UNKNOWN))
    machine.note("timer", site, frame, (target, given))
    in_thread(machine, frame, target, given, site)
    return (machine.allocate(frame, ("thread", site), "thread"),)


def _executor(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (machine.allocate(frame, ("executor", site), "executor"),)


def _future(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """A future of one's own, which somebody gives its result: `set_result` [docs: concurrent.futures, asyncio]."""
    return (machine.allocate(frame, ("future", site), "future"),)


def _to_thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return in_thread(machine, frame, args[0] if args else UNKNOWN, args[1:], site)


def _queue(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("queue", site), "queue")
    limit = args[0] if args else kwargs.get("maxsize", UNKNOWN)
    obj.bounded = bool(args or kwargs) and constant(limit) not in (0, -1)
    return (obj,)


def _namespace(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """An object with whatever attributes are set on it."""
    obj = machine.allocate(frame, ("namespace", site), "instance")
    for name, value in kwargs.items():
        machine.put(obj.fields, name, value)
    return (obj,)


def _thread_local(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`threading.local()`: attributes of which each thread has its own [docs: threading]."""
    made = _namespace(machine, frame, args, kwargs, site)
    for atom in made:
        machine.put(atom.fields, "$local", LIGHT)
    return made


def _cycle(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`itertools.cycle` saves a copy of each element of the first pass [docs]."""
    first = args[0] if args else UNKNOWN
    machine.note("cycled", site, frame, ("cycle", _is_loader(first)))
    return first


def _count(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (COUNT,)


def _heap_push(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`heapq.heappush(heap, item)`, `bisect.insort(a, x)` add to a list."""
    for container in args[0] if len(args) > 1 else ():
        if type(container) is Obj and container.kind == "list":
            machine.grow(frame, container, args[1], site)
    return LIGHT


def _heap_pop(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`heapq.heappop(heap)`; `heappushpop` and `heapreplace` take out one for what they put in."""
    result: Value = UNKNOWN
    for container in args[0] if args else ():
        if type(container) is Obj:
            machine.reset(frame, container, "*", "pop")
            if len(args) > 1:
                machine.put(container.fields, "*", machine.join(container.fields.get("*", UNKNOWN), args[1]))
            result = machine.join(result, machine.elements(frame, (container,)))
    return result


def _drawn(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`random.sample(memory, n)`: a list of some of its elements."""
    drawn = machine.allocate(frame, ("drawn", site), "list")
    machine.put(drawn.fields, "*", machine.iterate(frame, args[0]) if args else UNKNOWN)
    return (drawn,)


def _chosen(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return machine.iterate(frame, args[0]) if args else UNKNOWN


def _heap_best(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`heapq.nlargest(n, iterable)`: a new list."""
    best = machine.allocate(frame, ("best", site), "list")
    machine.put(best.fields, "*", machine.iterate(frame, args[1]) if len(args) > 1 else UNKNOWN)
    return (best,)


def _is_loader(value: Value) -> bool:
    return any(type(atom) is Obj and atom.kind == "loader" for atom in value)


def _registered(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`atexit.register(f, *args)`, `signal.signal(number, f)`: the process keeps the callback."""
    machine.note("registered", site, frame, [*args, *kwargs.values()])
    return args[0] if args else UNKNOWN


def _finalize(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`weakref.finalize(obj, f, *args)` keeps `f` and the arguments until `obj` goes [docs]."""
    machine.note("finalize", site, frame, [*args, *kwargs.values()])
    return UNKNOWN


def _weak_keys(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    made = _copy(machine, frame, "dict", args, kwargs, site)
    for atom in made:
        machine.put(atom.fields, "$weak", LIGHT)
    return made


def in_thread(machine: Machine, frame: Frame, target: Value, args: list[Value], site: Site) -> Value:
    """Run a function as another thread would: grad mode is thread-local and starts out on [docs: torch.no_grad]."""
    outer = machine.grad
    before = len(machine.module_calls)
    machine.grad = ON
    depth, machine.module_depth = machine.module_depth, 0
    machine.threads += outer == OFF
    context, machine.context = (
        machine.context,
        Context("thread", site, receiver=receiver_of(target), creator=frame.facts),
    )
    made = machine.call(frame, target, args, {}, site)
    machine.threads -= outer == OFF
    machine.context = context
    machine.module_depth = depth
    machine.grad = outer
    machine.note("thread", site, frame, (outer, before, len(machine.module_calls)))
    machine.note("thread-start", site, frame, (target, machine.conditions))
    return made


_RUN_IN_THREAD = ("submit", "map", "imap", "imap_unordered", "map_async", "apply", "apply_async")


def run_in_thread(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Methods of threads and executors."""
    if name in _RUN_IN_THREAD and args:
        if name.startswith("apply"):
            given = items_of(kwargs.get("args", args[1] if len(args) > 1 else UNKNOWN))
        else:
            given = args[1:] if name == "submit" else [machine.iterate(frame, value) for value in args[1:]]
        made = in_thread(machine, frame, args[0], given, site)
        future = machine.allocate(frame, ("future", site), "future")
        machine.note("submitted", site, frame, made)
        machine.put(future.fields, "*", made)
        return (future,)
    if name == "__enter__":
        return (obj,)
    return LIGHT


_CALLABLE = (Function, Bound, Partial, Method, Obj)


def submit(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    given = args[1:] if name == "run_in_executor" else args
    future: Value = (machine.allocate(frame, ("future", site), "future"),) if name != "start_new_thread" else UNKNOWN
    if name == "apply_async" or not given or not any(type(a) in _CALLABLE for a in given[0]):
        return future if name == "submit" else UNKNOWN
    pools = [atom for atom in args[0] if type(atom) is Obj and atom.kind == "pool"] if given is not args else []
    if pools:
        return pool_method(machine, frame, pools[0], "submit", given, {}, site)
    made = in_thread(machine, frame, given[0], given[1:], site)
    machine.note("submitted", site, frame, made)
    for atom in future:
        machine.put(atom.fields, "*", made)
    return future


def _named_tuple(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`namedtuple("Step", "state reward")`: what calls it makes a tuple with names."""
    return (Partial((External("collections.record"),), tuple(args[1:2]), ()),) if len(args) > 1 else UNKNOWN


def _record(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    named, *given = args
    said = constant(named)
    if isinstance(said, str):
        names = said.replace(",", " ").split()
    else:
        parts = [part for atom in named if type(atom) is Obj for part in atom.fields.values()]
        names = [name for part in parts if isinstance(name := constant(part), str)]
    made = machine.allocate(frame, ("record", site), "tuple")
    for index, name in enumerate(names):
        value = given[index] if index < len(given) else kwargs.get(name, UNKNOWN)
        machine.put(made.fields, name, value)
        machine.put(made.fields, f"[{index}]", value)
    return (made,)


def _collected(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`gc.get_objects()`: all there is, tensors among it."""
    everything = machine.allocate(frame, ("collected", site), "list")
    machine.put(everything.fields, "*", (Tensor(MAYBE, 2, machine.derivation.node(), "", True),))
    return (everything,)


SPECIAL_ROOTS = ("collections", "functools", "copy", "threading", "concurrent", "queue", "itertools", "typing",
                  "contextlib", "asyncio")  # fmt: skip
SPECIAL: dict[str, Callable[[Machine, Frame, list[Value], Kwargs, Site], Value]] = {
    "deque": _deque,
    "defaultdict": _defaultdict,
    "namedtuple": _named_tuple,
    "collections.record": _record,
    "OrderedDict": _mapping,
    "Counter": _mapping,
    "partial": _partial,
    "deepcopy": _deepcopy,
    "copy.copy": _first,
    "cast": _first,
    "wraps": _first,
    "cycle": _cycle,
    "atexit.register": _registered,
    "signal.signal": _registered,
    "weakref.finalize": _finalize,
    "weakref.WeakKeyDictionary": _weak_keys,
    "islice": _first,
    "itertools.count": _count,
    "gc.get_objects": _collected,
    "heapq.heappush": _heap_push,
    "bisect.insort": _heap_push,
    "bisect.insort_left": _heap_push,
    "bisect.insort_right": _heap_push,
    "heapq.heappop": _heap_pop,
    "heapq.heappushpop": _heap_pop,
    "heapq.heapreplace": _heap_pop,
    "random.sample": _drawn,
    "random.choices": _drawn,
    "random.choice": _chosen,
    "heapq.nlargest": _heap_best,
    "heapq.nsmallest": _heap_best,
    "threading.Thread": _thread,
    "threading.Timer": _timer,
    "threading.local": _thread_local,
    "types.SimpleNamespace": _namespace,
    "ThreadPoolExecutor": _executor,
    "Future": _future,
    "to_thread": _to_thread,
    "queue.Queue": _queue,
    "queue.SimpleQueue": _queue,
    "queue.LifoQueue": _queue,
}
