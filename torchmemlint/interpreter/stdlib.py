"""The standard library: containers, copies, partials, queues, what keeps a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..facts.knowledge import PROCESS_CALLBACKS
from ..facts.model import Site
from .builtins import copy_container, start_as, text_of
from .callbacks import bound_to
from .containers import set_limit, start_entries
from .context_variables import context_variable
from .cycles import note_callbacks
from .executed import EXECUTES
from .folds import fold
from .frames import Frame
from .machine import Machine
from .own_operators import by_own_operator
from .stack_frames import STACK_FRAMES
from .stores import renew, settle
from .tensors import arithmetic, note_terms
from .threads import THREADS
from .values import (
    ATTACHED,
    COUNT,
    FREE,
    LIGHT,
    MAYBE,
    UNKNOWN,
    Caught,
    Const,
    External,
    Kwargs,
    Obj,
    Opaque,
    Partial,
    Tensor,
    Value,
    constant,
    is_loader,
)

TEXTS = """hashlib.md5 hashlib.sha1 hashlib.sha224 hashlib.sha256 hashlib.sha384 hashlib.sha512 hashlib.blake2b
hashlib.blake2s zlib.crc32 zlib.adler32 json.dumps pickle.dumps base64.b64encode""".split()  # which say what is in them
_MOST = 6  # names that a value may be


def _deque(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = renew(machine, machine.allocate(frame, ("deque", site), "deque"))
    set_limit(obj, args, kwargs)
    return (obj,)


def _defaultdict(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = renew(machine, machine.allocate(frame, ("defaultdict", site), "dict"))
    note_callbacks(machine, obj, args[:1])
    start_entries(machine, frame, obj, args[0] if args else UNKNOWN, site)
    if args[1:] or kwargs:
        start_as(machine, frame, obj, args[1:], kwargs, site)
    return (obj,)


def _mapping(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return copy_container(machine, frame, "dict", args, kwargs, site)


def _counter(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """A dictionary whose `update` adds [docs: collections.Counter]."""
    made = _mapping(machine, frame, args, kwargs, site)
    for atom in made:
        machine.put(atom.fields, "$adds", LIGHT)
    return made


def _added(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`operator.add(a, b)`"""
    if len(args) < 2:
        return UNKNOWN
    result = by_own_operator(machine, frame, "Add", args[0], args[1]) or arithmetic(machine, args[:2])
    note_terms(machine, "Add", args[0], args[1], result)
    return result


def _partial(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if not args or not args[0]:
        return UNKNOWN
    return (Partial(args[0], tuple(args[1:]), tuple(kwargs.items())),)


def _method(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return bound_to(args[0], args[1]) if len(args) == 2 else UNKNOWN


def _deepcopy(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    result: list[Any] = []
    for atom in args[0] if args else ():
        if type(atom) is Obj:
            result.append(_copy_tree(machine, frame, atom, site, 4))
        else:
            result.append(_copied(machine, atom))
    return tuple(result)


def _copied(machine: Machine, atom: Any) -> Any:
    """A tensor of its own, which it was not if it was a reference to a parameter. What has a graph cannot be copied:
    `deepcopy` raises [torch.Tensor.__deepcopy__; measured]."""
    if type(atom) is Opaque:
        node = machine.derivation.node((atom.node,))
        machine.derivation.unrecorded.add(node)
        return atom._replace(node=node)
    if type(atom) is not Tensor:
        return atom
    if atom.graph == ATTACHED:
        machine.derivation.refuted.add(atom.node)
        return atom._replace(graph=FREE, node=machine.derivation.node())
    return atom._replace(node=machine.derivation.node((atom.node,)))


def _copy_tree(machine: Machine, frame: Frame, obj: Obj, site: Site, depth: int) -> Obj:
    """A deep copy: modules inside belong to the copy, so freezing it freezes them."""
    weight = max(obj.weight, 2) if obj.kind == "module" else obj.weight  # what is called, and is copied as a whole
    copy = machine.allocate(frame, ("copy", site, obj.serial), obj.kind, obj.cls, weight)
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


def _last(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return args[-1] if args else kwargs.get("val", UNKNOWN)


def _queue(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("queue", site), "queue")
    limit = args[0] if args else kwargs.get("maxsize", UNKNOWN)
    obj.bounded = bool(args or kwargs) and constant(limit) not in (0, -1)
    return (obj,)


def _namespace(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """An object with whatever attributes are set on it."""
    obj = machine.allocate(frame, ("namespace", site), "instance")
    for name, value in kwargs.items():
        settle(obj, name, value)
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
    machine.note("cycled", site, frame, ("cycle", is_loader(first)))
    return first


def _text(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`hashlib.sha256(data)`, `json.dumps(settings)`"""
    return text_of(machine, frame, args)


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


def _generator(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`rng = random.Random(0)` has the functions of the module as methods [docs]."""
    return (External("random"),)


def _heap_best(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`heapq.nlargest(n, iterable)`: a new list."""
    best = machine.allocate(frame, ("best", site), "list")
    machine.put(best.fields, "*", machine.iterate(frame, args[1]) if len(args) > 1 else UNKNOWN)
    return (best,)


def _registered(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`atexit.register(f, *args)`, `signal.signal(number, f)`, `os.register_at_fork(before=f)`: the process keeps the
    callback."""
    machine.note("registered", site, frame, [*args, *kwargs.values()])
    return args[0] if args else UNKNOWN


def _finalize(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`weakref.finalize(obj, f, *args)` keeps `f` and the arguments until `obj` goes [docs]."""
    machine.note("finalize", site, frame, [*args, *kwargs.values()])
    return UNKNOWN


def _weak_keys(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    made = copy_container(machine, frame, "dict", args, kwargs, site)
    for atom in made:
        machine.put(atom.fields, "$weak", LIGHT)
    return made


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


def replaced(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`dataclasses.replace(state, total=total)`, `state._replace(total=total)`: another object of the class, with the
    fields of the first but for these. Given by names that are not told apart, `replace(state, **cut)`, they are those
    that hold tensors."""
    named = {name: value for name, value in kwargs.items() if name != "*"}
    fields: dict[str, Value] = {}
    made: Obj | None = None
    for atom in args[0] if args else ():
        if type(atom) is Obj and atom.kind in ("instance", "tuple"):
            made = machine.allocate(frame, ("replaced", site, id(atom.cls)), atom.kind, atom.cls)
            for name, part in list(atom.fields.items()):
                fields[name] = machine.join(fields.get(name, UNKNOWN), part)
    if made is None:
        return args[0] if args else UNKNOWN
    order = [name for name in fields if name[:1] != "["]
    fields |= {f"[{order.index(name)}]": value for name, value in named.items() if "[0]" in fields and name in order}
    for name, value in {**fields, **named}.items():
        among = "*" in kwargs and name not in named and any(type(atom) is Tensor for atom in value)
        machine.put(made.fields, name, kwargs["*"] if among else value)
    return (made,)


def _fields(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`dataclasses.fields(metrics)`: of which each has the name of an attribute. A few are told apart."""
    objects = [atom for atom in (args[0] if args else ()) if type(atom) is Obj]
    names = list(dict.fromkeys(key for obj in objects for key in obj.fields if key.isidentifier()))
    if not 0 < len(names) <= _MOST:
        field = machine.allocate(frame, ("field", site), "instance")
        machine.put(field.fields, "name", tuple(map(Const, names[:_MOST])))
        some = machine.allocate(frame, ("fields", site), "list")
        machine.put(some.fields, "*", (field,) if names else UNKNOWN)
        return (some,)
    each = machine.allocate(frame, ("each field", site, tuple(names)), "tuple")
    for index, name in enumerate(names):
        field = machine.allocate(frame, ("field", site, name), "field")
        machine.put(field.fields, "name", (Const(name),))
        machine.put(each.fields, f"[{index}]", (field,))
    return (each,)


def _collected(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`gc.get_objects()`: all there is, tensors among it."""
    everything = machine.allocate(frame, ("collected", site), "list")
    machine.put(everything.fields, "*", (Tensor(MAYBE, 2, machine.derivation.node(), "", True),))
    return (everything,)


def _context_of(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`closing(writer)`, `nullcontext(writer)`: what is entered is what was given, see `statements._enter_context`."""
    if not args:
        return UNKNOWN
    context = machine.allocate(frame, ("context", site), "context")
    machine.put(context.fields, "$entered", args[0])
    return (context,)


def _closing(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    made = _context_of(machine, frame, args, kwargs, site)
    for atom in made:
        machine.put(atom.fields, "$closes", LIGHT)
    return made


def _exc_info(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`sys.exc_info()`: the type, the exception and its traceback."""
    found = machine.allocate(frame, ("exc_info", site), "tuple")
    caught = _handled(machine, frame) or machine.caught(frame, site)
    for index, part in enumerate((LIGHT, (caught,), (caught,))):
        machine.put(found.fields, f"[{index}]", part)
    return (found,)


def _handled(machine: Machine, frame: Frame | None) -> Caught | None:
    """What the clause has caught that runs, here or in who has called: `except Exception: self.keep_current()`."""
    while frame is not None and frame.handles is None:
        frame = frame.caller
    if frame is None or frame.handles is None:
        return None
    site = frame.handles[1]
    machine.tried[site] = frame.handles
    return Caught(site, frame)


SPECIAL_ROOTS = ("collections", "functools", "copy", "threading", "concurrent", "queue", "itertools", "typing",
                  "contextlib", "asyncio")  # fmt: skip
SPECIAL: dict[str, Callable[[Machine, Frame, list[Value], Kwargs, Site], Value]] = {
    "deque": _deque,
    "defaultdict": _defaultdict,
    "namedtuple": _named_tuple,
    "collections.record": _record,
    "OrderedDict": _mapping,
    "Counter": _counter,
    "operator.add": _added,
    "partial": _partial,
    "types.MethodType": _method,
    "functools.reduce": fold,
    "deepcopy": _deepcopy,
    "copy.copy": _first,
    "cast": _last,
    "wraps": _first,
    "cycle": _cycle,
    "contextvars.ContextVar": context_variable,
    **dict.fromkeys(PROCESS_CALLBACKS, _registered),
    "signal.signal": _registered,
    "weakref.finalize": _finalize,
    "multiprocessing.util.Finalize": _finalize,  # keeps its callback in a table of the process [docs; its source]
    "weakref.WeakKeyDictionary": _weak_keys,
    "torch.utils.weak.WeakTensorKeyDictionary": _weak_keys,  # by identity [torch.utils.weak]
    "torch.utils.weak.WeakIdKeyDictionary": _weak_keys,
    "islice": _first,
    **dict.fromkeys("itertools.count time.time time.time_ns time.monotonic time.perf_counter".split(), _count),
    **dict.fromkeys(TEXTS, _text),
    "closing": _closing,
    "aclosing": _closing,
    "nullcontext": _context_of,
    "gc.get_objects": _collected,
    "sys.exc_info": _exc_info,
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
    "random.Random": _generator,
    "random.SystemRandom": _generator,
    "heapq.nlargest": _heap_best,
    "heapq.nsmallest": _heap_best,
    "threading.local": _thread_local,
    "dataclasses.fields": _fields,
    "dataclasses.replace": replaced,
    "copy.replace": replaced,
    "attr.evolve": replaced,
    "attrs.evolve": replaced,
    "types.SimpleNamespace": _namespace,
    "queue.Queue": _queue,
    "queue.SimpleQueue": _queue,
    "queue.LifoQueue": _queue,
    "asyncio.run": _first,  # a coroutine is what it comes to here
    "asyncio.wait_for": _first,
    "asyncio.shield": _first,
    "asyncio.Queue": _queue,
    "asyncio.LifoQueue": _queue,
    **THREADS,
    **STACK_FRAMES,
    **EXECUTES,
}
