"""Device memory outside of torch's tensors: contexts, raw allocations, calls that a library does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts import walk
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets, text
from ..facts.walk import calls, calls_of, last_name, statements
from .exits import in_final, stands_right_before

_ABSENT = {
    "pycuda.driver.mem_free": "a `DeviceAllocation` frees itself when it is dropped, or by its `free()`",
    "pycuda.driver.free": "a `DeviceAllocation` frees itself when it is dropped, or by its `free()`",
    "torch.cuda.free": "drop the references to the tensor",
    "torch.cuda.free_memory": "drop the references to the tensors, then call `torch.cuda.empty_cache()`",
    "torch.cuda.clear_cache": "it is called `torch.cuda.empty_cache()`",
    "torch.cuda.clear_memory": "it is called `torch.cuda.empty_cache()`",
    "torch.cuda.release_memory": "drop the references to the tensors, then call `torch.cuda.empty_cache()`",
}


THREADS = ("Thread", "QThread", "QRunnable")
_SAFE = frozenset("pop push detach synchronize get put print debug info len range sleep".split())


class Slip(NamedTuple):
    site: Site
    name: str
    other: Site
    weight: int
    kind: str = ""


def absent(program: Program) -> Iterator[Slip]:
    """Calls of functions that the library does not have."""
    if not {dotted.rsplit(".", 1)[-1] for dotted in _ABSENT} & program.called:
        return
    for place in program.places:
        for call in calls(place.facts.body):
            dotted = program.dotted(call[2])
            if dotted in _ABSENT:
                yield Slip(call[1], dotted, -1, 3, _ABSENT[dotted])


# -- threads ----------------------------------------------------------------------------------------


def handed(program: Program, methods: tuple[str, ...]) -> set[str]:
    """The last names of functions that are handed to executors, or to threads as their target."""
    found: set[str] = set()
    for place in program.places:
        for call in calls(place.facts.body):
            name = last_name(call[2])
            if name not in methods:
                continue
            given = keyword(call, "target", 1 if name == "run_in_executor" else 0)
            if name in THREADS:
                given = keyword(call, "target", 1)
            given = _behind(program, given) if given is not None else None
            if given is not None and given[0] in (m.NAME, m.ATTR):
                found.add(last_name(given))
    return found


def _behind(program: Program, given: Expr) -> Expr:
    """`task` of `partial(task, model)` and of `lambda x: task(model, x)`."""
    if given[0] == m.CALL and last_name(given[2]) == "partial" and given[3]:
        return given[3][0]  # type: ignore[no-any-return]
    if given[0] == m.LAMBDA:
        value = program.facts.functions[given[1]].body[0][2]
        return value[2] if value[0] == m.CALL else given
    return given


def is_thread(place: Place, targeted: set[str]) -> bool:
    bases = {base.rsplit(".", 1)[-1] for base in place.bases}
    return (place.facts.name == "run" and not bases.isdisjoint(THREADS)) or place.facts.name in targeted


# -- contexts -------------------------------------------------------------------------------------


def not_popped(program: Program) -> Iterator[Slip]:
    """`context.push()` without `pop()` on every way out, and contexts that nobody pops or detaches."""
    if not any("pycuda" in dotted for dotted in program.imports.values()):
        return
    for place in program.places:
        if "push" in place.facts.calls:
            yield from _pushed(program, place)
    yield from _made(program)


def _is_context(receiver: str) -> bool:
    last = receiver.rsplit(".", 1)[-1].lower()
    return any(word in last for word in ("ctx", "context", "cfx", "cuda_c"))


def _pushed(program: Program, place: Place) -> Iterator[Slip]:
    body = list(statements(place.facts.body))
    for statement in body:
        for call in _methods(statement, "push"):
            receiver = text(call[2][1])
            if not _is_context(receiver):
                continue
            pops = [one for one in body if any(_pops(found, receiver) for found in calls_of(one))]
            if any(in_final(place, pop) for pop in pops):
                continue
            leaves = [one for one in body if one[0] in (m.RETURN, m.RAISE) and one[1] > statement[1]]
            later = [pop for pop in pops if pop[1] > statement[1]]
            if not later:
                elsewhere = any(
                    _pops(found, receiver, any_owner=True)
                    for other in program.places
                    if other.cls == place.cls and other.facts is not place.facts
                    for found in calls(other.facts.body)
                )
                if not elsewhere:
                    yield Slip(call[1], receiver, -1, 3, "never")
                continue
            early = [
                one
                for one in leaves
                if one[1] < max(pop[1] for pop in later) and not stands_right_before(later, one, body)
            ]
            if early:
                yield Slip(call[1], receiver, early[0][1], 3, "early")


def _methods(statement: Stmt, name: str) -> Iterator[Expr]:
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == name and text(call[2][1]):
            yield call


def _pops(call: Expr, receiver: str, any_owner: bool = False) -> bool:
    if call[2][0] != m.ATTR or call[2][2] not in ("pop", "detach"):
        return False
    named = text(call[2][1])
    if named == receiver or named.endswith("Context"):
        return True
    return any_owner and named.rsplit(".", 1)[-1] == receiver.rsplit(".", 1)[-1]


def _made(program: Program) -> Iterator[Slip]:
    """`self.ctx = device.make_context()` that nothing in the file pops or detaches."""
    for place in program.places:
        if "make_context" not in place.facts.calls:
            continue
        for statement in statements(place.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) != "make_context":
                    continue
                names = [last_name(target) for target in targets(statement)]
                own = all(target[0] == m.NAME for target in targets(statement)) and not _goes_on(place, names)
                gone = any(
                    found[2][0] == m.ATTR
                    and found[2][2] in ("pop", "detach")
                    and (last_name(found[2][1]) in names or last_name(found[2][1]) == "Context")
                    for other in ([place] if own and names else program.places)
                    for found in calls(other.facts.body)
                )
                if not gone and statement[0] != m.RETURN:
                    yield Slip(call[1], names[0] if names else "the context", -1, 3, "made")
                elif gone and statement[0] == m.ASSIGN:
                    yield from _lost_when_raised(program, place, statement, call)


def _goes_on(place: Place, names: list[str]) -> bool:
    """Whether a local is given to somebody, returned, or put away: others may pop it."""
    for statement in statements(place.facts.body):
        given = [part for call in calls_of(statement) for part in (*call[3], *(value for _, value in call[4]))]
        if statement[0] in (m.RETURN, m.ASSIGN, m.GLOBAL):
            given += [part for part in statement[-1:] if type(part) is tuple]
        if statement[0] == m.GLOBAL or any(
            node[0] == m.NAME and node[1] in names for part in given for node in walk.nodes(part)
        ):
            return True
    return bool(place.facts.inner)


def _lost_when_raised(program: Program, place: Place, made: Stmt, call: Expr) -> Iterator[Slip]:
    """A thread's function that gives its context back only after the loop that serves its work: an exception in there
    ends the thread, and not the process."""
    if not is_thread(place, handed(program, THREADS)):
        return
    names = [target[1] for target in targets(made) if target[0] == m.NAME]
    body = list(statements(place.facts.body))
    pops = [one for one in body if any(_pops(c, name) for c in calls_of(one) for name in names)]
    if not pops or any(in_final(place, pop) or _in_handler(place, pop) for pop in pops):
        return
    for loop, inside in walk.loops(place.facts.body):
        if not made[1] < loop[1] < max(pop[1] for pop in pops):
            continue
        for one in inside:
            if any(last_name(c[2]) not in _SAFE for c in calls_of(one)):
                yield Slip(call[1], names[0], one[1], 2, "raised")
                return


def _in_handler(place: Place, statement: Stmt) -> bool:
    return any(
        one[0] == m.TRY and any(inner is statement for handler in one[3] for inner in statements(handler[2]))
        for one in statements(place.facts.body)
    )
