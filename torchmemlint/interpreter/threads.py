"""Threads, executors and what else runs a function beside the one that starts it, as Qt does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..facts.knowledge import MODEL_NAMES
from ..facts.model import Site
from ..facts.walk import call_at, last_name
from .branching import begin_round, loop_at
from .contexts import Context, Submitted, in_worker, items_of, kind_of_worker, receiver_of
from .frames import Frame
from .imagined import imagined_module
from .machine import Machine
from .processes import pool_method
from .values import (
    ATTACHED,
    LIGHT,
    OFF,
    ON,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Kwargs,
    Method,
    Obj,
    Partial,
    Value,
    is_loader,
)
from .weights import heavy


def _thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    target = kwargs.get("target", args[1] if len(args) > 1 else UNKNOWN)
    given = kwargs.get("args", args[3] if len(args) > 3 else UNKNOWN)
    in_thread(machine, frame, target, items_of(given), site)
    return (machine.allocate(frame, ("thread", site), "thread"),)


def _start_new_thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`_thread.start_new_thread(function, args)` gives a number, by which nobody can wait for the thread [docs]."""
    in_thread(machine, frame, args[0] if args else UNKNOWN, items_of(args[1]) if len(args) > 1 else [], site)
    return LIGHT


def _timer(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`threading.Timer(interval, function, args, kwargs)` [docs]. One that starts itself anew goes round and round."""
    target = kwargs.get("function", args[1] if len(args) > 1 else UNKNOWN)
    given = items_of(kwargs.get("args", args[2] if len(args) > 2 else UNKNOWN))
    machine.note("timer", site, frame, (target, given))
    outer = machine.loops
    if any(type(atom) in (Bound, Function) and _runs(frame, atom) for atom in target):
        machine.loops = (*outer, loop_at(machine, frame, ("each", site)))
        machine.loops[-1].name = "timer"
        begin_round(machine, machine.loops[-1])
    in_thread(machine, frame, target, given, site)
    machine.loops = outer
    return (machine.allocate(frame, ("thread", site), "thread"),)


def _runs(frame: Frame, target: Any) -> bool:
    function = target.function if type(target) is Bound else target
    return type(function) is Function and function.facts is frame.facts


def _executor(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (machine.allocate(frame, ("executor", site), "executor"),)


def _future(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """A future of one's own, which somebody gives its result: `set_result` [docs: concurrent.futures, asyncio]."""
    return (machine.allocate(frame, ("future", site), "future"),)


def _to_thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return in_thread(machine, frame, args[0] if args else UNKNOWN, args[1:], site)


def in_thread(machine: Machine, frame: Frame, target: Value, args: list[Value], site: Site) -> Value:
    """Run a function as another thread would: grad mode is thread-local and starts out on [docs: torch.no_grad]."""
    outer = machine.grad
    before = len(machine.module_calls)
    target = target or _model_by_name(machine, frame, site)
    machine.grad = ON
    depth, machine.module_depth = machine.module_depth, 0
    machine.threads += outer == OFF
    context, machine.context = (
        machine.context,
        Context("thread", site, receiver=receiver_of(target), creator=frame.facts),
    )
    around = machine.going_on
    machine.going_on = functools.partial(_go_on, machine, frame, target, args, site, machine.moment())
    made = machine.call(frame, target, args, {}, site)
    machine.going_on = around
    machine.threads -= outer == OFF
    machine.context = context
    machine.module_depth = depth
    machine.grad = outer
    machine.note("thread", site, frame, (outer, before, len(machine.module_calls)))
    machine.note("thread-start", site, frame, (target, machine.conditions))
    return made


def _model_by_name(machine: Machine, frame: Frame, site: Site) -> Value:
    """What is handed to a thread with gradients off, and is called as models are: `pool.submit(model, x)`."""
    call = call_at(frame.facts.body, site) if machine.grad == OFF else None
    name = last_name(call[3][0]) if call is not None and call[3] else ""
    return (imagined_module(machine, frame, ("called", name), 2),) if name in MODEL_NAMES else UNKNOWN


def _go_on(
    machine: Machine, frame: Frame, target: Value, args: list[Value], site: Site, moment: dict[str, Any]
) -> None:
    with machine.at(moment):
        machine.call(frame, target, args, {}, site)


def waits_for(machine: Machine, queue: Obj) -> None:
    """A thread takes from a queue into which nobody has put anything yet: most are started before they are given
    something to do."""
    if machine.going_on is not None and "*" not in queue.fields:
        machine.waiting.setdefault(queue.serial, machine.going_on)


def is_given(machine: Machine, frame: Frame, queue: Obj, site: Site) -> None:
    """The thread that waits for it goes on, once, with what has a graph, with an object that it may put its result
    into, with what it is to run while gradients are off here, or with tensors that it makes something of: of other
    things it is known without that what it keeps of them."""
    if queue.serial not in machine.waiting:
        return
    runs = machine.grad == OFF and _gets_work(queue.fields.get("*", UNKNOWN))
    makes_over = queue.serial in machine.made_over and heavy(machine, queue.fields.get("*", UNKNOWN))[0] in _HEAVY
    attached = any(tensor.graph == ATTACHED for tensor in machine.reach((queue,)))
    if runs or makes_over or attached or _gets_a_result(queue):
        before, stored = len(machine.module_calls), len(machine.stores)
        machine.waiting.pop(queue.serial)()
        if runs:  # what it answers in another queue is taken from there by who has asked
            machine.stores[stored:] = [one for one in machine.stores[stored:] if not _is_queue(one.owner)]
            machine.note("thread", site, frame, (OFF, before, len(machine.module_calls)))


def _is_queue(owner: object) -> bool:
    return type(owner) is Obj and owner.kind == "queue"


def _gets_work(put: Value, depth: int = 2) -> bool:
    """Whether what is put is a function or a model, or has one: `tasks.put(Task(lambda: layer(x)))`."""
    return any(
        type(one) in (Function, Bound, Partial)
        or (
            type(one) is Obj
            and (one.kind == "module" or (one.kind in (*_PACKS, "instance") and depth > 0 and not one.is_put_off))
            and (one.kind == "module" or any(_gets_work(part, depth - 1) for part in one.fields.values()))
        )
        for one in put
    )


def _gets_a_result(queue: Obj) -> bool:
    """Whether what is put has an object of the project in it, `jobs.put({"input": x, "result": result})`."""
    put = queue.fields.get("*", UNKNOWN)
    parts = (
        atom
        for one in put
        if type(one) is Obj and one.kind in _PACKS
        for value in one.fields.values()
        for atom in value
    )
    return any(type(one) is Obj and type(one.cls) is Class for one in (*put, *parts))


_PACKS = ("dict", "tuple", "list")
_HEAVY = ("tensor", "array")
_RUN_IN_THREAD = ("submit", "map", "imap", "imap_unordered", "map_async", "starmap", "apply", "apply_async")
_WAITED_FOR = ("map", "starmap", "apply")  # of a `multiprocessing.pool.ThreadPool`: the results themselves [docs]


def run_in_thread(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Methods of threads and executors."""
    if name in _RUN_IN_THREAD and args:
        if name.startswith("apply"):
            given = items_of(kwargs.get("args", args[1] if len(args) > 1 else UNKNOWN))
        elif name == "starmap":
            given = items_of(machine.iterate(frame, args[1])) if len(args) > 1 else []
        else:
            given = args[1:] if name == "submit" else [machine.iterate(frame, value) for value in args[1:]]
        outer = machine.loops
        if "map" in name and any(is_loader(value) for value in args[1:]):
            machine.note("cycled", site, frame, (name, True))  # takes all before it gives the first result [docs]
        if "map" in name:  # one call for each item
            machine.loops = (*outer, loop_at(machine, frame, ("each", site)))
            begin_round(machine, machine.loops[-1])
        made = in_thread(machine, frame, args[0], given, site)
        machine.loops = outer
        if name in _WAITED_FOR and "$pool" in obj.fields:
            return made if name == "apply" else _results(machine, frame, made, site)
        future = machine.allocate(frame, ("future", site), "future")
        machine.note("submitted", site, frame, Submitted(made, obj, args[0], tuple(given)))
        machine.put(future.fields, "*", made)
        machine.put(future.fields, "$executed", LIGHT)
        return (future,)
    if name == "__enter__":
        return (obj,)
    return LIGHT


def _results(machine: Machine, frame: Frame, made: Value, site: Site) -> Value:
    """The list that `pool.map` returns when all of it is done."""
    results = machine.allocate(frame, ("results", site), "list")
    machine.put(results.fields, "*", made)
    return (results,)


_CALLABLE = (Function, Bound, Partial, Method, Obj)


def submit(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    given = args[1:] if name == "run_in_executor" else args
    future: Value = (machine.allocate(frame, ("future", site), "future"),)
    if name == "submit" and given and not given[0]:
        given = [_model_by_name(machine, frame, site), *given[1:]]
    if name == "apply_async" or not given or not any(type(a) in _CALLABLE for a in given[0]):
        return future if name == "submit" else UNKNOWN
    pools = [atom for atom in args[0] if type(atom) is Obj and atom.kind == "pool"] if given is not args else []
    if pools:
        return pool_method(machine, frame, pools[0], "submit", given, {}, site)
    made = in_thread(machine, frame, given[0], given[1:], site)
    machine.note("submitted", site, frame, Submitted(made))
    for atom in future:
        machine.put(atom.fields, "*", made)
    return future


def on_loop(machine: Machine, frame: Frame, name: str, args: list[Value], site: Site) -> Value:
    """`loop.call_soon_threadsafe(queue.put_nowait, frame)`, `loop.call_later(delay, f, x)`: an event loop calls it
    with what it is given [docs: asyncio, "Event loop"]. Who asks for it does not wait."""
    given = args[1:] if name in ("call_later", "call_at") else args
    if given and any(type(atom) in _CALLABLE for atom in given[0]):
        machine.call(frame, given[0], given[1:], {}, site)
    return UNKNOWN


def start(machine: Machine, frame: Frame, obj: Obj, site: Site) -> None:
    """`worker.start()` of an instance of a class of the file that is a thread or a process: its `run`, or else what its
    base was told to run."""
    kind = kind_of_worker(obj.cls)
    found = obj.cls.find("run") if isinstance(obj.cls, Class) else None
    work: list[tuple[Value, list[Value]]] = [((Bound(one, obj),), []) for one in found or () if type(one) is Function]
    if found is None and "$target" in obj.fields:
        work.append((obj.fields["$target"], items_of(obj.fields.get("$args", UNKNOWN))))
    for target, given in work if kind else ():
        if kind == "process":
            in_worker(machine, frame, target, given, Context(kind, site, setup=True))
        else:
            in_thread(machine, frame, target, given, site)


QT = frozenset(("moveToThread", "connect", "start", "tryStart"))


def qt(machine: Machine, frame: Frame, name: str, receiver: Value, args: list[Value], site: Site) -> None:
    """Qt runs slots of moved objects, and runnables that a pool starts, in other threads [docs: QThread]."""
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


THREADS: dict[str, Callable[[Machine, Frame, list[Value], Kwargs, Site], Value]] = {
    "threading.Thread": _thread,
    "threading.Timer": _timer,
    "_thread.start_new_thread": _start_new_thread,
    "ThreadPoolExecutor": _executor,
    "Future": _future,
    "to_thread": _to_thread,
}
