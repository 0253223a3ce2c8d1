"""Device objects and the threads that they are made in: streams for each task, objects that outlive their context."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt, statement_of
from ..facts.program import Place, Program, keyword, targets, text
from ..facts.walk import calls, calls_of, in_loops, last_name, loops, nodes, statements
from ..facts.when_missing import made_when_missing
from .allocations import is_called_in_loop
from .devices import THREADS, Slip, handed, is_thread
from .done_once import is_done_once
from .once import is_repeated
from .piled import ONCE

_STREAMS = ("torch.cuda.Stream", "torch.xpu.Stream", "torch.cuda.streams.Stream", "cupy.cuda.Stream")
_WORKS_ON = ("stream", "set_stream", "StreamContext")
PER_TASK = ("submit", "map", "run_in_executor", "to_thread", "apply_async", "imap", "imap_unordered")
_PER_CALL = ("forward", "__call__", "__getitem__", "predict", "infer", "detect")
_CAPTURES = frozenset(("CUDAGraph", "graph", "capture_begin", "make_graphed_callables"))
_ENTERS = ("make_context", "retain_primary_context")
_MADE = ("mem_alloc", "mem_alloc_pitch", "to_gpu", "to_device", "managed_zeros", "managed_empty", "pagelocked_empty",
         "pagelocked_zeros", "Stream", "Event", "SourceModule", "GPUArray")  # fmt: skip


# -- streams --------------------------------------------------------------------------------------


def stream_each_time(program: Program) -> Iterator[Slip]:
    """Streams that are made for each round, task or call and kept by nobody."""
    if "Stream" not in program.called:
        return
    tasks = handed(program, PER_TASK)
    for place in program.places:
        name = place.facts.name
        looped = {statement[1] for statement, repeats in in_loops(place.facts.body) if repeats}
        for statement in statements(place.facts.body):
            for call in calls_of(statement):
                if program.dotted(call[2]) not in _STREAMS or _is_kept(place.facts, statement, call):
                    continue
                if statement[1] in looped:
                    yield Slip(call[1], "round", -1, 2)
                elif name in tasks:
                    yield Slip(call[1], f"task of `{name}`", -1, 2)
                elif is_done_once(program, place, statement[1]):
                    continue
                elif (name in _PER_CALL and place.cls) or _is_called_again(program, place):
                    yield Slip(call[1], f"call of `{name}`", -1, 2)
                elif (f"{place.cls}.run" if name == "run" and place.cls else name) in _joined_at_once(program):
                    yield Slip(call[1], "thread", -1, 2)
            yield from _on_object_of_a_pass(program, place, statement)


def _is_called_again(program: Program, place: Place) -> bool:
    """Whether a loop calls a function, or what calls it; not to capture a graph, which is done on a stream aside, nor
    to run before that, as the notes of torch on CUDA graphs have it."""
    callers = [other for other in program.places if place.facts.name in other.facts.calls]
    if callers and not any(_CAPTURES.isdisjoint(other.facts.calls) for other in callers):
        return False
    captures = not _CAPTURES.isdisjoint(place.facts.calls)
    if captures and all(_fills_a_table(program, place.facts.name, other) for other in callers):
        return False
    if is_called_in_loop(program, place):
        return True
    once = place.facts.name.lstrip("_").startswith(ONCE) or captures
    return not once and is_repeated(program, place, driven=True)


def _fills_a_table(program: Program, name: str, caller: Place) -> bool:
    """`if size not in graphs: graphs[size] = capture(size)`: each graph has been run aside once."""
    made = made_when_missing(program.facts)
    called = [one for one in statements(caller.facts.body) if name in map(last_name, (c[2] for c in calls_of(one)))]
    return all(statement_of(one[1]) in made and any(target[0] == m.ITEM for target in targets(one)) for one in called)


def _joined_at_once(program: Program) -> Iterator[str]:
    """The functions that a loop runs in one thread after the other, `thread = Thread(target=job)`, `thread.join()`; of
    a class that is a thread, `Job.run`."""
    threads = {cls.name for cls in program.facts.classes if any(last_name(base) in THREADS for base in cls.bases)}
    for place in program.places if "join" in program.called else ():
        for _, inside in loops(place.facts.body):
            joined = {call[2][1] for one in inside for call in calls_of(one) if last_name(call[2]) == "join"}
            for one in inside:
                made = one[3] if one[0] == m.ASSIGN and one[3][0] == m.CALL else None
                if made is None or joined.isdisjoint(targets(one)):
                    continue
                if last_name(made) in THREADS:
                    target = keyword(made, "target", 1)
                    yield "" if target is None else last_name(target)
                elif last_name(made) in threads:
                    yield f"{last_name(made)}.run"


def _on_object_of_a_pass(program: Program, place: Place, statement: Stmt) -> Iterator[Slip]:
    """`self.streams = [torch.cuda.Stream() for _ in range(3)]` of an object that another one makes anew for each pass,
    `def __iter__(self): return EpochIterator(self)`; or of a thread, where a loop has one after the other."""
    if place.facts.name != "__init__" or statement[0] != m.ASSIGN or statement[2][0][:2] != (m.ATTR, (m.NAME, "self")):
        return
    made = next((call for call in calls_of(statement) if program.dotted(call[2]) in _STREAMS), None)
    if made is None or not (statement[3] is made or _is_a_list_of(statement[3], made)):
        return
    if place.cls and f"{place.cls}.run" in _joined_at_once(program):
        yield Slip(made[1], "thread", -1, 2)
        return
    for other in program.places if place.cls else ():
        if other.facts.name == "__iter__" and other.cls != place.cls and place.cls in other.facts.calls:
            yield Slip(made[1], f"`{place.cls}`, and there is one for each pass", other.facts.site, 2)
            return


def _is_kept(facts: FunctionFacts, statement: Stmt, call: Expr) -> bool:
    """Whether a stream goes to somebody who may use it again: an attribute, a container, the caller, a test first; or
    is not one that tensors are made on."""
    if statement[0] == m.WITH:
        return False
    if statement[0] != m.ASSIGN or not (statement[3] is call or _is_a_list_of(statement[3], call)):
        return True
    bound = targets(statement)
    if not bound or any(target[0] != m.NAME for target in bound):
        return True
    name = bound[0]
    entered = False  # only then are blocks allocated for it
    for one in statements(facts.body):
        entered = entered or any(
            last_name(other[2]) in _WORKS_ON and any(name in (given, _whole(given)) for given in other[3])
            for other in calls_of(one)
        )
        entered = entered or (one[0] == m.WITH and any(name in (context, _whole(context)) for context, _ in one[2]))
        if one[0] in (m.RETURN, m.ASSIGN) and one is not statement and one[-1] is not None and name in _parts(one[-1]):
            return True
        if one[0] == m.IF and statement in one[3] and any(name in _parts(part) for part in one[2][1:] if part):
            return True  # `if stream is None:`
        for other in calls_of(one):
            if last_name(other[2]) in ("append", "add", "put", "setdefault") and any(
                name in _parts(a) for a in other[3]
            ):
                return True
    return not entered


def _is_a_list_of(value: Expr, call: Expr) -> bool:
    """`[torch.cuda.Stream() for _ in range(2)]`, `(torch.cuda.Stream(), torch.cuda.Stream())`"""
    return value[0] in (m.COMP, m.NEW) and call in nodes(value)


def _whole(value: Expr) -> Expr:
    """`streams` of `streams[slot]`."""
    return value[1] if value[0] == m.ITEM else value


def _parts(expr: object) -> tuple[object, ...]:
    if not isinstance(expr, tuple):
        return ()
    return (expr, *expr[3]) if expr and expr[0] == m.NEW else (expr,)


# -- objects that die elsewhere -------------------------------------------------------------------


def outlives_context(program: Program) -> Iterator[Slip]:
    """PyCUDA objects that a thread leaves behind, on its object or in a queue, when it pops a context of its own."""
    if not any("pycuda" in dotted for dotted in program.imports.values()):
        return
    targeted = handed(program, THREADS)
    for place in program.places:
        if not is_thread(place, targeted):
            continue
        found = list(calls(place.facts.body))
        entered = [c[1] for c in found if last_name(c[2]) in _ENTERS]
        popped = [c[1] for c in found if last_name(c[2]) == "pop" and not c[3]]
        if not entered or not popped or any(last_name(c[2]) == "detach" for c in found):
            continue  # a context that is detached goes with all that was allocated in it
        made: dict[str, int] = {}
        for statement in statements(place.facts.body):
            if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3][2]) in _MADE:
                made.update({text(target): statement[1] for target in targets(statement) if text(target)})
        for name, site in made.items():
            if _freed(place, name, max(popped)):
                continue
            if name.startswith("self."):
                yield Slip(site, name, max(popped), 2)
                continue
            for call in found:
                if last_name(call[2]) in ("put", "put_nowait", "emit") and (m.NAME, name) in call[3]:
                    yield Slip(call[1], name, max(popped), 2, "put")


def _freed(place: Place, name: str, before: int) -> bool:
    """Whether a function lets go of an object before it pops the context, or frees it anywhere."""
    for statement in statements(place.facts.body):
        if statement[1] > before:
            continue
        if statement[0] == m.DELETE and any(text(target) == name for target in statement[2]):
            return True
        none = statement[0] == m.ASSIGN and statement[3] == (m.CONST, None)
        if none and any(text(target) == name for target in targets(statement)):
            return True
    freeing = (c for c in calls(place.facts.body) if c[2][0] == m.ATTR and c[2][2] == "free")
    return any(text(call[2][1]) == name for call in freeing)
