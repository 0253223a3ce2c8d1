"""Hooks on modules: whom they belong to, what they keep, whether anybody takes them out, and how they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.knowledge import MODEL_NAMES, MODULE_PARTS
from ..facts.model import Expr, Site, Stmt
from ..facts.program import targets
from ..facts.walk import call_at, calls, calls_of, expressions_of, last_name, nodes, statements
from .branching import go_round, loop_at
from .frames import Frame, Loop
from .holders import captured
from .machine import Machine
from .tensors import free
from .values import ASSUMED, ATTACHED, FREE, MAYBE, OFF, Bound, Class, Function, Obj, Partial, Tensor, Value


class Hooked(NamedTuple):
    """A hook that is put on a module which its owner did not make."""

    name: str  # of the owner's class, or of the inner function
    again: bool  # an inner function, in a loop that is seen, on a module that was there before
    owner: Obj | Frame  # the object, or the call, that the hook belongs to
    dropped: bool  # the handle is thrown away
    keeper: Obj | None = None  # made in a loop, on a known module; its method registers the hook and keeps the handle
    made: tuple[Loop, ...] = ()  # the loops that the owner was made in, and that the module was there before
    on: str = "module"  # what it is put on

    @property
    def repeated(self) -> bool:
        """Whether each round leaves another one. What a loop goes over may lie ready: whether its rounds are steps, one
        knows when it has been gone through."""
        return self.again or any(loop.kind == "loop" for loop in self.made)


def note_hook(machine: Machine, frame: Frame, callee: Value, target: Obj | None, site: Site) -> None:
    """Note a hook that belongs to an object that is not the module's owner, or to a call."""
    dropped, by, at = machine.statement_call(site) or is_put_away(frame, site), frame, site
    if not dropped and frame.caller is not None and _falls(frame, _given_back(frame.facts.body, site)):
        dropped, by, at = True, frame.caller, frame.call_site
    keeper = None if dropped else keeper_of(who_gets_the_handle(frame, site), target)
    if target is None or target.unknown:
        call = call_at(frame.facts.body, site)
        target = (_whole_in(machine, frame, call[2], 4) if call is not None else None) or target
    kind = "optimizer" if target is not None and target.kind == "optimizer" else "module"
    for atom in callee:
        user = frame
        if type(atom) is Function and atom.frame is frame.caller:
            user = atom.frame  # a helper registers it for who has made it: `add_hook(layer, save)`
        if dropped and _of_a_call(machine, user, atom, target):
            name = atom.facts.name if type(atom) is Function else "hook"
            repeated = _keeps_again(machine, user, atom, target)
            filled = next(new_containers(atom, target), user)
            machine.note("hook", at, by, Hooked(name, repeated, filled, dropped, on=kind))
        for owner in owners_of(atom):
            if not isinstance(owner.cls, Class) or belongs(target, owner):
                continue
            made = repeats(owner.birth, target)
            if owner.kind == "module" and not (dropped and _was_given(target, made)):
                continue
            if owner is atom:  # made where it is registered, perhaps in a loop over the layers
                made = [loop for loop in made if loop in frame.loops]
            again = dropped and type(atom) is Bound and _puts_on_again(frame, owner, target)
            if made or owner.unknown or again or _is_part_of_the_unknown(frame, owner, target):
                name = owner.cls.facts.name
                machine.note("hook", at, by, Hooked(name, again, owner, dropped, keeper, tuple(made), kind))


def _whole_in(machine: Machine, frame: Frame, expr: Expr, steps: int) -> Obj | None:
    """The module that a layer is asked of which is not seen: `self.net` of `getattr(self.net, name)`, and of a name for
    what that gives."""
    if not steps:
        return None
    value = machine.look_up(frame, expr[1]) if expr[0] == m.NAME else None
    if expr[0] == m.ATTR and expr[1] == (m.NAME, "self") and type(frame.receiver) is Obj:
        value = frame.receiver.fields.get(expr[2])
    for atom in value or ():
        if type(atom) is Obj and atom.kind == "module" and not atom.unknown:
            return atom
    if expr[0] == m.NAME:
        bound = (one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and expr in one[2])
        return next((found for one in bound if (found := _whole_in(machine, frame, one, steps - 1))), None)
    parts = (expr[1],) if expr[0] in (m.ATTR, m.ITEM) else (expr[2], *expr[3]) if expr[0] == m.CALL else ()
    return next((found for part in parts if (found := _whole_in(machine, frame, part, steps - 1))), None)


def is_put_away(frame: Frame, site: Site) -> bool:
    """Whether a handle goes into a list of the function that nobody looks into: `handles.append(...)`, and no more;
    also by a name that is for that alone."""
    body = frame.facts.body
    made = next((one for one in statements(body) if site in (call[1] for call in calls_of(one))), ())
    if not made or frame.function is None:
        return False
    functions = [frame.facts, *(frame.unit.facts.functions[index] for index in frame.facts.inner)]
    every = [one for function in functions for one in statements(function.body)]

    def is_only_put(place: Expr) -> bool:
        named = sum(node == place for one in every for node in expressions_of(one))
        return named == 1 + sum(place in targets(one) for one in every)

    put, handle = made, made[3] if made[0] == m.ASSIGN else ()
    if handle[:2] == (m.CALL, site):
        handle = _bound_by(made)
        puts = (one for one in every if one[0] == m.EXPR and one[2][0] == m.CALL and one[2][3] == (handle,))
        put = next(puts, ()) if handle and is_only_put(handle) else ()
    place = _bound_by(put) if put and put[0] == m.EXPR else ()
    return bool(place) and (put[2][3][0] == handle or put[2][3][0][:2] == (m.CALL, site)) and is_only_put(place)


def _given_back(body: tuple[Stmt, ...], site: Site) -> int | None:
    """Where in what a function returns the handle of a hook is, `return layer.register_forward_hook(hook), record`,
    also by a name that nothing else is done with: -1 is all of it, None nowhere."""
    names: set[Expr] = set()
    returned: list[Expr] = []
    for one in statements(body):
        if one[0] == m.RETURN:
            returned += [one[2]] if one[2] is not None else []
            continue
        bound = _bound_by(one)
        if any(node[:2] == (m.CALL, site) for node in expressions_of(one)):
            names |= {bound} - {()}
        elif bound not in names and any(node in names for node in expressions_of(one)):
            return None  # somebody else has it
    for value in returned:
        parts = value[3] if value[0] == m.NEW and value[2] == "tuple" else ()
        for index, part in ((-1, value), *enumerate(parts)):
            if part in names or part[:2] == (m.CALL, site):
                return index
    return None


def _bound_by(statement: Stmt) -> Expr:
    """`handle` of `handle = ...` and of `handle.append(...)`."""
    place: Expr = ()
    if statement[0] == m.ASSIGN and len(statement[2]) == 1:
        place = statement[2][0]
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL and last_name(statement[2]) == "append":
        place = statement[2][2][1]
    return place if place[:1] == (m.NAME,) else ()


def _falls(frame: Frame, index: int | None) -> bool:
    """Whether the caller of a function lets this part of what it returns fall: `_, record = capture(layer)`."""
    caller = frame.caller
    if index is None or caller is None:
        return False
    body = caller.facts.body
    for one in statements(body):
        if one[0] == m.EXPR and one[2][:2] == (m.CALL, frame.call_site):
            return index < 0
        if one[0] == m.ASSIGN and one[3][:2] == (m.CALL, frame.call_site) and len(one[2]) == 1:
            target = one[2][0]
            if index >= 0 and target[0] == m.NEW:
                target = target[3][index] if index < len(target[3]) else target
            elif index >= 0:
                return False
            return target == (m.NAME, "_") or (target[0] == m.NAME and _is_unread(caller, target))
    return False


def _is_unread(frame: Frame, name: Expr) -> bool:
    if frame.function is None or frame.facts.inner:
        return False
    read = (node for one in statements(frame.facts.body) for node in expressions_of(one))
    return sum(node == name for node in read) == 1


def who_gets_the_handle(frame: Frame, site: Site) -> Frame:
    """The call that a hook's handle is left to: the one that registers it, or who has called a method for it that
    gives it back, `self.handles.append(rule.register(layer))`."""
    caller = frame.caller
    gives = frame.receiver is not None and caller is not None and _given_back(frame.facts.body, site) == -1
    return caller if gives and caller is not None else frame


def keeper_of(frame: Frame, target: Obj | None) -> Obj | None:
    """The object whose method registers a hook, if it was made in a loop and the module was not."""
    found = frame.receiver
    if type(found) is not Obj or found.kind == "module" or not isinstance(found.cls, Class) or target is None:
        return None
    return found if repeats(found.birth, target) and not belongs(target, found) else None


def repeats(loops: tuple[Loop, ...], target: Obj | None) -> list[Loop]:
    """The loops that are seen and that a hooked module was there before."""
    return [loop for loop in loops if loop.kind in ("loop", "items") and (target is None or loop not in target.birth)]


def _was_given(target: Obj | None, made: list[Loop]) -> bool:
    """Whether a module that each round of a loop makes was given the module that it hooks, which stays: a wrapper."""
    return target is not None and not target.unknown and any(loop.kind == "loop" for loop in made)


def owners_of(hook: Any) -> list[Obj]:
    """The objects that a hook belongs to: itself, if it can be called; of a bound method, also in a partial; of the
    method that an inner function, which refers to it, was defined in."""
    if type(hook) is Obj:
        return [hook] if isinstance(hook.cls, Class) and hook.cls.find("__call__") is not None else []
    if type(hook) is Partial:
        return [owner for atom in hook.callee for owner in owners_of(atom)]
    if type(hook) is Bound:
        return [hook.receiver] if type(hook.receiver) is Obj else []
    if type(hook) is not Function:
        return []
    receiver = hook.frame.receiver
    if type(receiver) is not Obj:
        return []
    return [receiver] if any(receiver in value for _, value in captured(hook)) else []


def _is_part_of_the_unknown(frame: Frame, owner: Obj, target: Obj | None) -> bool:
    """Whether an object that can be called is a part of the one whose method puts it on a module, and nobody is seen to
    make that one, as with a method of its own."""
    whole = frame.receiver
    if type(whole) is not Obj or not whole.unknown or whole is owner or whole.kind == "module":
        return False
    return whole in owner.holders and not belongs(target, whole)


def _puts_on_again(frame: Frame, owner: Obj, target: Obj | None) -> bool:
    """Whether a method that runs the module puts the same method of its object on it once more each time, in a loop
    around it: the module has one hook, and then two, and runs them all."""
    around = [loop for loop in repeats(frame.loops, target) if loop.kind == "loop" and loop not in owner.birth]
    return bool(around) and target is not None and frame.receiver is owner and _runs_what_it_hooks(frame)


def _of_a_call(machine: Machine, frame: Frame, hook: Any, target: Obj | None) -> bool:
    """Whether each call of a function leaves another hook, a closure of that call, on a module that was there; or
    a partial with a container of that call."""
    parts_of = {
        one[1]
        for one in statements(frame.facts.body)
        if one[0] == m.FOR and one[3][0] == m.CALL and last_name(one[3][2]) in MODULE_PARTS
    }  # `for name, module in model.named_modules()`: each of them gets one
    repeated = [loop for loop in machine.loops if loop.kind in ("call", "loop") and loop.site not in parts_of]
    again = _keeps_again(machine, frame, hook, target) or (frame.receiver is not None and _runs_what_it_hooks(frame))
    if not repeated or (frame.receiver is not None and not again):
        return False
    if type(hook) is Partial:
        parts = [atom for value in (*hook.args, *(part for _, part in hook.kwargs)) for atom in value]
        if not any(type(atom) is Obj and atom.home is not None and atom.home[0] is frame for atom in parts):
            return False
    elif type(hook) is not Function or not (hook.frame is frame or (again and hook.frame.caller is frame)):
        return False
    elif owners_of(hook):
        return False  # it is the object's
    return target is None or target.unknown or repeated[-1] not in target.birth


def _runs_what_it_hooks(frame: Frame) -> bool:
    """Whether a method runs the module as well, and gives what came of it: it is there to be called for each input,
    unlike one that sets the hooks up."""
    body = frame.facts.body
    if frame.name == "__init__" or not any(one[0] == m.RETURN and one[2] is not None for one in statements(body)):
        return False
    passes = (last_name(call[2]) for call in calls(body))
    return any(name in MODEL_NAMES or name in ("self", "forward") for name in passes)


def _keeps_again(machine: Machine, frame: Frame, hook: Any, target: Obj | None) -> bool:
    """Whether an inner function refers to tensors, and is put on a known module in each round of a loop."""
    if type(hook) is not Function or target is None:
        return False
    if not any(loop.kind == "loop" for loop in repeats(frame.loops, target)):
        return False
    return any(tensor.weight > 1 for _, value in captured(hook) for tensor in machine.reach(value))


def new_containers(hook: Any, target: Obj | None) -> Iterator[Obj]:
    """The containers that an inner function refers to and that each round of a loop makes, if the module was there
    before: who has called the function that registers it may have made them."""
    for _, value in captured(hook) if type(hook) is Function else ():
        for atom in value:
            container = type(atom) is Obj and atom.kind in ("dict", "list")
            if container and any(loop.kind == "loop" for loop in repeats(atom.birth, target)):
                yield atom


def belongs(part: Obj | None, owner: Obj) -> bool:
    """Whether an object is, directly or not, a part that another one made. What was there before, and was given to it,
    is none: `Probe(nn.Linear(8, 2))`."""
    if part is None or part is owner or part.unknown:
        return False
    for holder in (part, *part.holders):
        if holder is owner or (isinstance(holder, Frame) and holder.receiver is owner):
            return True  # or a variable of its own method has it
        if isinstance(holder, Obj) and 0 < holder.serial < owner.serial:
            return False
    return False


def run_hook(machine: Machine, frame: Frame, name: str, callee: Value, module: Value, site: Site) -> None:
    if not callee or machine.in_hook:
        return
    for_a_while = _takes_off(frame)
    bare = machine.grad == OFF and for_a_while
    graph = FREE if bare else ATTACHED
    known = any(type(atom) is Obj and not atom.unknown for atom in module)
    output = (Tensor(graph, 2, machine.derivation.node((), ("hook", site, for_a_while, known)), "", True),)
    inputs: Value = (Tensor(MAYBE, 2, machine.derivation.node(), "", True),)
    if not bare and _is_put_on_each(frame, site):
        inputs = (output[0]._replace(node=machine.derivation.node((), ("hook", site, for_a_while, known))),)
    if "pre_hook" in name:
        given: list[Value] = [module, inputs]
    elif "backward" in name:
        gradients = free(machine)
        given = [module, gradients, gradients]
    else:
        given = [module, inputs, output]
    call_hook(machine, frame, callee, given, site, OFF if bare else ASSUMED)


def _is_put_on_each(frame: Frame, site: Site) -> bool:
    """Whether a hook is put on all layers of a model: all but the first of them are given what others have computed."""
    return any(
        one[0] == m.FOR
        and any(part[0] == m.CALL and last_name(part[2]) in MODULE_PARTS for part in nodes(one[3]))
        and any(call[1] == site for call in calls(one[4]))
        for one in statements(frame.facts.body)
    )


def call_hook(
    machine: Machine, frame: Frame, callee: Value, given: list[Value], site: Site, grad: int, name: str = ""
) -> None:
    loop = loop_at(machine, frame, ("hook", site), "call")
    loop.name = name
    outer, machine.grad = machine.grad, grad
    machine.in_hook += 1
    before = len(machine.stores)
    go_round(machine, frame, loop, lambda: machine.call(frame, callee, given, {}, site))
    machine.in_hook -= 1
    machine.filled_by_hooks += [one.owner for one in machine.stores[before:] if type(one.owner) is Obj]
    machine.grad = outer


def _takes_off(frame: Frame) -> bool:
    """Whether the function that registers a hook, or the one that called it for that, removes hooks as well: then
    the passes that it runs in have the mode that it was registered in."""
    return "remove" in frame.facts.calls or (frame.caller is not None and "remove" in frame.caller.facts.calls)
