"""When a place is filled: once, while something is set up, in a first phase, or again and again."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.guarded import callers
from ..facts.model import Expr, Site, Stmt, statement_of
from ..facts.served import answers
from ..facts.walk import blocks, calls, calls_of, last_name, loops, statements
from ..interpreter.frames import Frame, Loop
from ..interpreter.gradient_hooks import BACKWARD
from ..interpreter.keys import FRESH
from ..interpreter.values import Class, Obj
from ..lexical.done_once import is_done_once
from .unreleased import methods_of

if TYPE_CHECKING:
    from ..facts.program import Program
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine
    from .retentions import Retention

ONCE = frozenset(
    """__init__ __post_init__ setup build configure_optimizers prepare_data __init_subclass__
    on_init_end on_train_begin on_train_start on_fit_start on_pretrain_routine_start on_experiment_start""".split()
)
_BEGINNINGS = frozenset(("<module>", "main", "startup", "startup_event", "on_startup", "lifespan", "create_app"))
_PERIODIC = frozenset(
    """__call__ __getitem__ forward update feed step observe record push collect log predict infer encode decode
    process handle submit generate track match tick run_step transcribe translate embed score evaluate hook
    consume receive publish report inference detect compute_loss __next__ act select_action remember
    do_GET do_POST do_PUT""".split()
)
_PERIODIC_STARTS = ("on_", "process_", "handle_", "predict_", "record_", "update_", "feed_", "track_", "observe_",
                    "capture_", "store_", "save_activation", "forward_", "log_")  # fmt: skip
_COMPUTED = frozenset(("module", "loss", "wide-loss", "differentiated", "hook", "grad"))  # labels of what a step makes
_PERIODIC_ENDS = ("_step", "_hook", "_batch", "_batch_end", "_frame", "_request", "_callback", "_forward")


def while_made(retention: Retention, threads: Container[Site] = ()) -> bool:
    """Filled by a loop that runs while something is set up, which is done once. A hook that is put on runs later, and
    so does what goes on in one of the `threads`, by where they are made."""
    if retention.store_event.hook:
        return False
    frame: Frame | None = retention.store_event.frame
    while frame is not None:
        if frame.name in ONCE and not any(loop in frame.loops for loop in retention.loops):
            return True
        frame = None if frame.call_site in threads else frame.caller
    owner = entered(retention)
    receiver = owner.receiver
    return isinstance(receiver, Obj) and isinstance(receiver.cls, Class) and _onlywhile_made(receiver.cls, owner.name)


def is_for_constructors(machine: Machine, retention: Retention) -> bool:
    """Whether only what sets objects up calls the method that keeps, in its file and in others: `self.drop_unused()` in
    `__init__`. That nobody is seen to call it again and again is no wonder then."""
    frame = entered(retention)
    if machine.project is None or retention.hook or frame.unit is not machine.home or frame.facts.owner < 0:
        return False
    by = callers(machine.facts, frame.name)
    return by is not None and bool(by) and by <= ONCE and machine.project.called(machine.home.path, frame.name) is None


def only_begins(machine: Machine, name: str) -> bool:
    """Whether a function of the file is called where a program begins, before any loop, and by nobody else: what it
    puts into a global is there from then on."""
    by = callers(machine.facts, name)
    if not by or not by <= ONCE | _BEGINNINGS:
        return False
    for function in machine.facts.functions:
        inside = [one for _, body in loops(function.body) for one in body] if function.name in by else []
        if any(last_name(call[2]) == name for one in inside for call in calls_of(one)):
            return False
    return machine.project is None or machine.project.called(machine.home.path, name) is None


def is_behind_its_flag(program: Program, retention: Retention) -> bool:
    """Whether the function that keeps does so only until it has said that it is done, `if self.ready: return` and
    `self.ready = True`, which nothing takes back: it goes once through what there is. What a loop in it computes with
    modules, batch by batch, is more than the parts of what is there."""
    store = retention.store_event
    place = next((one for one in program.places if one.facts.site == store.frame.facts.site), None)
    if place is None or not is_done_once(program, place, store.site):
        return False
    computed = any(origin[0] in _COMPUTED for origin in retention.origins)
    return not computed or all(loop in store.frame.loops for loop in retention.loops)


def in_first_phase(store: Store) -> bool:
    """Whether a flag of the object lets it happen, `if self.warmup:`, which is turned off once and never on again."""
    receiver = store.frame.receiver
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    demanded = _demanded_for(statement_of(store.site), store.frame.facts.body) or set()
    bound: dict[str, list[tuple[str, Expr]]] = {}
    for name, function in methods_of(receiver.cls).items() if demanded else ():
        for one in statements(function.body):
            for target in one[2] if one[0] == m.ASSIGN else ():
                if target[:2] == (m.ATTR, (m.NAME, "self")) and target[2] in demanded:
                    bound.setdefault(target[2], []).append((name, one[3]))
    return any(
        all(value in ((m.CONST, False), (m.CONST, True)) for _, value in values)
        and {name for name, value in values if value[1]} == {"__init__"}
        and any(not value[1] for name, value in values if name != "__init__")
        for values in bound.values()
    )


def hooked_in_training(machine: Machine, store: Store) -> bool:
    """Whether a hook adds to a list, or to a table under a number of its own, in every backward pass; or to the list of
    an object, where both are there before a loop that trains. What is hooked in a round goes with it, and who runs a
    model to look into it asks for what it finds."""
    if any(loop.kind == "loop" for loop in store.loops):
        return False
    if any(loop.name == BACKWARD for loop in store.loops):
        return store.how == "grow" or (store.how == "keyed" and store.key_kind == FRESH)
    if store.how != "grow":
        return False
    owners = store.owner.holders if isinstance(store.owner, Obj) else ()
    owner = next((one for one in owners if isinstance(one, Obj) and one.kind in ("instance", "module")), None)
    return owner is not None and not owner.unknown and any(_trained_in(machine, store))


def filled_in_training(machine: Machine, store: Store) -> bool:
    """Whether a hook adds to a container of a variable, and a loop of the same function trains, where nothing empties
    it."""
    owner = store.owner
    if store.how != "grow" or not isinstance(owner, Obj):
        return False
    parts = [one for one in owner.holders if isinstance(one, Obj)]
    variable = parts[-1].home
    if variable is None or not isinstance(variable[0], Frame):
        return False
    loops = {loop for loop in _trained_in(machine, store, variable[0]) if loop not in store.birth}
    resets = (one for one in machine.resets if one.owner in parts or (one.owner, one.key) == variable)
    return bool(loops) and not any(loop in loops for one in resets for loop in one.loops)


def _trained_in(machine: Machine, store: Store, within: Frame | None = None) -> Iterator[Loop]:
    """The loops that train after a hook was registered which stores something."""
    for one in machine.backwards:
        frame: Frame | None = one.frame
        while frame is not None and frame is not within:
            frame = frame.caller
        if frame is within and max(one.nodes, default=-1) > store.node:
            yield from (loop for loop in one.loops if loop.kind == "loop")


def _demanded_for(row: int, block: tuple[Stmt, ...]) -> set[str] | None:
    """The attributes of the object that are true where a statement runs; None if it is not in the block."""
    for statement in block:
        if statement_of(statement[1]) == row:
            return set()
        for suite in blocks(statement):
            found = _demanded_for(row, suite)
            if found is not None:
                return found | set(_true_in(statement[2])) if statement[0] == m.IF and suite is statement[3] else found
    return None


def _true_in(test: Expr) -> Iterator[str]:
    """The attributes of the object that are true if a test is."""
    if test[0] == m.BOOL and test[1] == "and":
        for part in test[-1]:
            yield from _true_in(part)
    elif test[:2] == (m.ATTR, (m.NAME, "self")):
        yield test[2]


def _onlywhile_made(cls: Class, name: str, depth: int = 3) -> bool:
    """Whether a method is the class's own affair, and only what sets its objects up calls it: `_pack` in a data set."""
    if name[:1] != "_" or name.startswith("__") or not depth:
        return False
    by = {other for other, function in methods_of(cls).items() if name in function.calls} - {name}
    return bool(by) and all(other in ONCE or _onlywhile_made(cls, other, depth - 1) for other in by)


def entered(retention: Retention) -> Frame:
    """The method of the object that keeps the values through which others have it filled. Loops in it go once
    through what there is, except for those that go on until they are told to stop."""
    store = retention.store_event
    if store.hook:
        return store.frame  # it does not run where it is put on
    owner: Obj | Frame | None = store.owner
    if isinstance(owner, Obj) and owner.kind not in ("instance", "module"):
        owner = None if owner.home is None else owner.home[0]
    outermost: Frame = store.frame
    frame: Frame | None = outermost.caller
    while frame is not None and isinstance(owner, Obj):
        if frame.receiver is owner:
            outermost = frame
        frame = frame.caller
    return outermost


def works_off(method: Frame, loop: Loop, place: str) -> bool:
    """Whether a loop of a method goes on until a list of work is used up, `while self.waiting: self.waiting.pop()`, and
    the method gives what has come of it, `return self.done`: as a loop over that list would."""
    own = (m.ATTR, (m.NAME, "self"), place)
    every = list(statements(method.facts.body))
    found = next((one for one in every if one[0] == m.WHILE and one[1] == loop.site), None)
    if (
        found is None
        or found[2][0] not in (m.NAME, m.ATTR)
        or not any(one[0] == m.RETURN and one[2] == own for one in every)
    ):
        return False
    inside = list(statements(found[3]))
    renewed = any(one[0] == m.ASSIGN and found[2] in one[2] and one[3][0] == m.COMP for one in inside)
    return renewed or any(
        call[2][0] == m.ATTR and call[2][1] == found[2] and call[2][2] in ("pop", "popleft")
        for one in inside
        for call in calls_of(one)
    )


def periodic(name: str) -> bool:
    bare = name.lstrip("_") if not name.startswith("__") else name
    return bare in _PERIODIC or bare.startswith(_PERIODIC_STARTS) or bare.endswith(_PERIODIC_ENDS)


_TAKES_CALLBACKS = frozenset(
    """connect subscribe add_listener add_callback register_callback add_event_handler add_done_callback
    optimize minimize""".split()
)


def is_called_back(program: Program, name: str) -> bool:
    """Whether a function is called when something happens: a hook of each pass, a slot, what answers a request."""
    if any(place.facts.name == name and answers_requests(place.facts) for place in program.places):
        return True
    if any(name in cls.methods and answers(cls, name) for cls in program.facts.classes):
        return True
    return any(
        last_name(given) == name
        for place in program.places
        for call in calls(place.facts.body)
        if _takes_callbacks(last_name(call[2]))
        for given in call[3]
        if given[0] in (m.NAME, m.ATTR)
    )


def _takes_callbacks(name: str) -> bool:
    return name in _TAKES_CALLBACKS or (name.startswith("register_") and name.endswith("hook"))


def is_being_made(store: Store) -> bool:
    """Whether what gains an element is a comprehension's own list or dictionary, which is not there before."""
    kind = store.loops[-1].site if store.loops and store.how == "grow" else None
    return isinstance(kind, tuple) and kind[0] == "comp" and store.frame.allocs.get(kind[1]) is store.owner
