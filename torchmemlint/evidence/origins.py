"""What a stored value was made from: who differentiates it, and on which line of the home file it came in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Site
from ..facts.walk import calls
from ..interpreter.events import Store
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, FREE, Function, Obj, Tensor
from .led_from import line_of_home

_NEAR = 30  # steps of a derivation that are gone back


def origins(machine: Machine, node: int) -> list[Any]:
    """The labels of what a node was made from."""
    derivation = machine.derivation
    labels = (derivation.labels.get(ancestor) for ancestor in derivation.ancestors(node))
    return [label for label in labels if label is not None and label[0] != "write"]


def is_spent(machine: Machine, store: Store, kept: list[Tensor]) -> bool:
    """Whether a backward pass has gone through all that a value was made from."""
    derivation = machine.derivation
    if any(tensor.node in derivation.spent for tensor in kept):
        return True
    made = [
        node
        for node in derivation.ancestors(store.node)
        if node in derivation.labels
        and derivation.labels[node][0] in ("module", "loss", "wide-loss", "differentiated", "step")
    ]
    return bool(made) and all(node in derivation.spent for node in made)


def is_seen_without_graph(machine: Machine, store: Store) -> bool:
    """Whether a hook that is there for a while puts something away, and the first pass that comes, which is in sight,
    records no gradients: it may be in a method that the class of another file calls. Or one that stays, on a module
    that is made in sight, and no pass does."""
    derivation = machine.derivation
    labels = derivation.labels
    hooks = (node for node in derivation.ancestors(store.node) if labels.get(node, ("",))[0] == "hook")
    registered = max(hooks, default=0)
    if not registered or not (labels[registered][2] or labels[registered][3]):
        return False
    later = ((node, labels.get(node, ("",))[0]) for node in range(registered + 1, len(derivation.parents)))
    # what gives out what a hook has left ran one inside, which says how
    passes = (kind for node, kind in later if kind == "ran" or (kind == "module" and not _gives_hooked(machine, node)))
    return next(passes, "") == "ran" and (labels[registered][2] or "module" not in passes)


def _gives_hooked(machine: Machine, node: int) -> bool:
    """Whether what a pass gives is from hooks alone, `self.net(x); return self.features`."""
    derivation = machine.derivation
    above = derivation.parents[node]
    return bool(above) and all(
        any(derivation.labels.get(one, ("",))[0] == "hook" for one in derivation.ancestors(part, _NEAR))
        for part in above
    )


def is_differentiated(machine: Machine, tensor: Tensor) -> bool:
    """Whether a backward pass goes through a tensor, or what it was computed from since a module ran. Of the parts
    of a module's output another one may be meant."""
    derivation = machine.derivation
    pending, seen = [tensor.node], set[int]()
    while pending and len(seen) < _NEAR:
        node = pending.pop()
        label, above = derivation.labels.get(node, ("",)), derivation.parents[node]
        if node in seen:
            continue
        seen.add(node)
        if label[0] == "module":
            returned = derivation.returned.get(above[0], {}) if above else {}
            if returned and _is_term(machine, above[1], returned):
                return True  # of a pass in sight one knows which part is meant
        elif node in derivation.demanded or node in machine.losses:
            return True
        else:
            pending.extend(above)
    return False


def _is_term(machine: Machine, part: int, returned: dict[int, int]) -> bool:
    """Whether a backward pass goes through a tensor that a pass has returned, itself or in what it returned."""
    derivation = machine.derivation
    wanted = (inner for inner, outer in returned.items() if outer in derivation.demanded)
    return any(part in derivation.ancestors(inner, _NEAR) for inner in wanted)


def is_wide(machine: Machine, tensor: Tensor) -> bool:
    label = machine.derivation.labels.get(tensor.node)
    return tensor.graph == FREE and label is not None and label[0] in ("wide", "wide-loss")


def stays_inside(machine: Machine, store: Store) -> bool:
    """Whether nothing that a state was computed with is returned or passed on with its graph."""
    derivation = machine.derivation
    made = derivation.ancestors(store.node)
    return derivation.escaped.isdisjoint(made) and derivation.passed.isdisjoint(made)


def anchor(machine: Machine, store: Store, graph: bool = False) -> Site | None:
    """The store, or, where others store innocent values there, the call through which the bad one came.

    Always in the home file: what another file keeps is said of the line that hands it over. None if no line
    does: then it is the other file's affair.
    """
    if not machine.is_home(store.site):
        decorated = _decorated(machine, store)
        if decorated is not None:
            return decorated
        if store.instances or (store.fresh and not listens(machine, store)):
            # no tensor was handed over: what made the object and put it there is
            return line_of_home(machine, store.site, *reversed(store.trail), loops=store.loops)
        if _differentiated_there(machine, store) or (graph and _is_state_of_a_pass(store)):
            return None
        ways = [label for label in origins(machine, store.node) if label[0] == "handed over"]
        bringing = [label for label in ways if not graph or label[2] == ATTACHED]  # a line that hands over `x.detach()`
        handed = [label[1] for label in bringing or ways]  # may add it to what another one has left there
        returned = any(site % m.CALLS_PER_STATEMENT == 0 for site in handed)
        put_there = None if returned else _puts_itself(machine, store)
        if put_there is not None:
            return put_there
        here = [site for site in reversed(store.trail) if machine.is_home(site)]
        place = (store.owner, store.key)
        leading = {site for one in machine.stores if (one.owner, one.key) == place for site in one.trail}
        back = isinstance(store.owner, Frame)  # a variable got it back, `state = step(state, batch)`
        computes = isinstance(store.owner, Frame) and handed and handed[0] in _led_by(store.owner)
        if computes and not returned:
            return None  # a function computes with what it is given: its variables are its file's affair
        told = returned or back or _by_a_thread(machine, store)
        if not handed or told or not leading.isdisjoint(handed) or not here:
            return handed[0] if handed else _left_on_itself(machine, store) if graph and here else None
        return here[0]  # what was handed to another function comes here in a container
    for site in (store.site, *reversed(store.trail)):
        if site not in machine.innocent and machine.is_home(site):
            return site
    return store.site


def _led_by(frame: Frame | None) -> Iterator[Site]:
    """The calls that led to an activation of a function."""
    while frame is not None:
        yield frame.call_site
        frame = frame.caller


def _by_a_thread(machine: Machine, store: Store) -> bool:
    """Whether a thread stores it: the line that started the thread has given it nothing yet, `queue.put(value)` has."""
    started = {note.site for note in machine.plain if note.kind == "thread-start"}
    return not started.isdisjoint(store.trail)


def _decorated(machine: Machine, store: Store) -> Site | None:
    """The decorator of a function of the home file, of which what another file's decorator has made keeps something:
    `calls.append((args, fn(*args)))`."""
    frame: Frame | None = store.frame
    while frame is not None and frame.unit is not machine.home:
        made_by = frame.parent
        if made_by is not None and made_by.function is not None:
            handed = (atom for param in made_by.facts.params for atom in made_by.vars.get(param.name, ()))
            for function in (atom for atom in handed if type(atom) is Function):
                if function.facts.decorators and function.frame.unit is machine.home:
                    return function.facts.site + m.DECORATORS
        frame = frame.caller
    return None


def _is_state_of_a_pass(store: Store) -> bool:
    """Whether a module keeps in its own `forward` what it computes there: its file says so, whoever runs it."""
    module = store.frame.receiver
    return (
        store.frame.name == "forward" and store.owner is module and isinstance(module, Obj) and module.kind == "module"
    )


def _left_on_itself(machine: Machine, store: Store) -> Site | None:
    """Where an object of the home file keeps the value for others, one of which collects it: `self.losses = losses`,
    which a hook of the trainer asks for."""
    made_from = set(machine.derivation.ancestors(store.node))
    kept = (
        one for one in machine.stores if one.how == "set" and one.node in made_from and one.owner is not store.owner
    )
    return next((one.site for one in kept if machine.is_home(one.site) and one.frame.receiver is one.owner), None)


def _puts_itself(machine: Machine, store: Store) -> Site | None:
    """Where an object of the home file gives itself, with all that it has, to the function that stores it:
    `registry.remember(self)`."""
    frame = store.frame
    while frame.caller is not None:
        frame, inner = frame.caller, frame
        site = next((site for site in reversed(store.trail) if machine.is_home(site)), None)
        if machine.is_home(frame.facts.site):
            given = (call for call in calls(frame.facts.body) if call[1] == site)
            return site if any((m.NAME, "self") in call[3] for call in given) and inner is store.frame else None
    return None


def listens(machine: Machine, store: Store) -> bool:
    """Whether a function or method was put there, of which TML314 speaks."""
    ways = ((note.site, note.trail) for note in machine.plain if note.kind == "listener")
    return (store.site, store.trail) in ways


def _differentiated_there(machine: Machine, store: Store) -> bool:
    """Whether the function that stores a value back-propagates it, too: then its own file says all of it."""
    made = set(machine.derivation.ancestors(store.node))
    facts = store.frame.facts
    return any(one.frame.facts is facts and not made.isdisjoint(one.nodes) for one in machine.backwards)
