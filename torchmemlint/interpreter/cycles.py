"""Objects that hold themselves: through bound methods, closures, recursive inner functions, weak mappings.

Reference counting does not free them; the cyclic collector does, some time later [docs of Python: gc].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import TAKES_OUT
from ..facts.model import Expr, Site
from ..facts.walk import call_at, calls, calls_of, last_name, nodes, statements
from .callbacks import objects_in
from .events import Plain
from .frames import Frame
from .holders import captured, heavy_objects
from .machine import Machine
from .values import ATTACHED, LEAF, MAYBE, Bound, Class, Function, Kwargs, Light, Obj, Partial, Tensor, Value

_DEPTH = 8
_FILLED = ("list", "dict", "set", "deque")
_SELF = (m.NAME, "self")
_NOT_FOR_VALUES = ("__init__", "__reduce__", "__getstate__", "run", "main", "train", "fit")


class Cycle(NamedTuple):
    """Something heavy that holds itself and is made again and again."""

    site: Site
    what: str  # in words
    through: str
    weight: int
    never: bool = False  # the circle goes through the graph's nodes, where the collector does not look
    made: str = ""  # the class, or the function that makes it


def is_made_here(owner: Obj) -> bool:
    """Whether an object is of a class of the project, or a module of torch that is made in sight."""
    return isinstance(owner.cls, Class) or (owner.kind == "module" and bool(owner.cls) and not owner.unknown)


def note_cycle(machine: Machine, frame: Frame, owner: Obj, name: str, value: Value, site: Site) -> None:
    """`self.name = self.method`, `self.name = lambda: self.x`; not `self.name = self.method` of a `@weakmethod`."""
    value = tuple(atom for atom in value if type(atom) is not Bound or not _is_weak(atom))
    if owner in objects_in(machine, [value]):
        machine.note("cycle", site, frame, (owner, name, value == (owner,)))


def note_own_entry(machine: Machine, frame: Frame, container: Obj, value: Value, site: Site) -> None:
    """`self.callbacks.append(lambda x: self.table[x])`: a function in a container of the object that it refers to, or
    of a part of that object, `self.stream.on_done(self.release)`; or on such a part, `part.on_done = self.release`.
    So is a part that refers to the object, `self.children.append(Node(self))`."""
    functions = _functions(value)
    held = set(objects_in(machine, [functions])) if functions else set()
    parts = [atom for atom in value if type(atom) is Obj and atom.kind == "instance"]
    place = container
    for _ in range(_DEPTH if held or parts else 0):
        home, name = place.home or (None, "")
        if home is None or isinstance(home, Frame):
            return
        place = home
        if not isinstance(place.cls, Class):
            continue
        if place in held:
            note_cycle(machine, frame, place, name, functions, site)
            return
        for part in parts:
            note_part(machine, frame, place, name, part, site)


def note_given_to_part(machine: Machine, frame: Frame, owner: Obj, name: str, part: Obj, site: Site) -> None:
    """`self.worker = Worker(self.on_done)`: a part that keeps a function of the object."""
    if part.kind == "instance" and isinstance(part.cls, Class) and not part.unknown:
        functions = tuple(atom for value in part.fields.values() for atom in _functions(value))
        if functions:
            note_cycle(machine, frame, owner, name, functions, site)


def note_way_back(machine: Machine, frame: Frame, part: Obj, name: str, whole: Obj, site: Site) -> None:
    """`self.name` of a part of an object refers to the whole: `store.parent = self`."""
    place = part
    for _ in range(_DEPTH if isinstance(whole.cls, Class) and part is not whole else 0):
        home, attribute = place.home or (None, "")
        if home is None or isinstance(home, Frame):
            return
        if home is whole:
            if isinstance(part.cls, Class) and not _is_taken_apart(part.cls, name):
                note_cycle(machine, frame, whole, attribute, (whole,), site)
            return
        place = home


def note_part(machine: Machine, frame: Frame, whole: Obj, name: str, part: Obj, site: Site) -> None:
    """`self.name = Store(self)`: a part that refers to the object."""
    if part is whole or part.kind != "instance" or not (isinstance(part.cls, Class) and isinstance(whole.cls, Class)):
        return
    backs = [back for back, held in part.fields.items() if whole in held]
    if backs and not any(_is_taken_apart(part.cls, back) for back in backs):
        note_cycle(machine, frame, whole, name, (whole,), _where_given(frame, whole, site))


def _where_given(frame: Frame, whole: Obj, site: Site) -> Site:
    """The call in which an object gives a helper of its own what refers to it, `self.add(Child(self))`: `add` may get
    others as well."""
    caller = frame.caller
    if caller is None or frame.receiver is not whole or caller.receiver is not whole:
        return site
    call = call_at(caller.facts.body, frame.call_site)
    given = (*call[3], *(value for _, value in call[4])) if call is not None else ()
    return frame.call_site if any(_SELF in nodes(one) for one in given) else site


def _functions(value: Value) -> Value:
    return tuple(atom for atom in value if type(atom) in (Bound, Partial, Function))


def _is_weak(method: Bound) -> bool:
    return any("weak" in last_name(one).lower() for one in method.function.facts.decorators)


def note_callbacks(machine: Machine, keeper: Obj, given: list[Value]) -> None:
    """Note on a scheduler, loader or the like the functions that it is made with and keeps."""
    lists = [atom for value in given for atom in value if type(atom) is Obj and atom.kind in ("list", "tuple")]
    values = [*given, *(part for one in lists for part in one.fields.values())]
    callbacks: Value = tuple(atom for value in values for atom in _functions(value))
    if callbacks:
        machine.put(keeper.fields, "$callbacks", callbacks)


def note_given_to_base(
    machine: Machine, frame: Frame, owner: Obj, args: list[Value], kwargs: Kwargs, site: Site
) -> None:
    """`super().__init__(optimizer, self.rate)` of a LambdaLR: it keeps both [docs: torch.optim.lr_scheduler]."""
    if not isinstance(owner.cls, Class) or not any(".lr_scheduler." in base for base in owner.cls.external):
        return
    given = [*args, *kwargs.values()]
    for value in given:
        functions = _functions(value)
        if functions and owner in objects_in(machine, [functions]):
            machine.put(owner.fields, "optimizer", given[0])
            note_cycle(machine, frame, owner, "lr_lambdas", functions, site)


def note_recursion(machine: Machine, function: Function) -> None:
    """An inner function that calls itself is held by its own closure, and with it all that it refers to."""
    machine.note("recursion", function.facts.site, function.frame, function)


def _held_by_recursion(machine: Machine, function: Function) -> tuple[list[str], int]:
    """The names of the tensors that such a function refers to, or of containers that have got some, and how sure they
    are; or of arrays."""
    found = {name: value for name, value in captured(function) if name != function.facts.name}
    tensors = [name for name, value in found.items() if any(map(_is_tensor, value))]
    emptied = {id(reset.owner) for reset in machine.resets}
    by_name = function.facts.name in function.facts.calls  # not a wrapper that wraps itself
    for name, value in found.items() if by_name and not tensors else ():
        lists = tuple(one for one in value if type(one) is Obj and one.kind in _FILLED and id(one) not in emptied)
        kept = (one for one in machine.reach(lists) if _is_tensor(one) and not machine.derivation.is_whole(one.node))
        if any(one.graph != LEAF for one in kept):  # parameters are there anyway, and indices are small
            tensors.append(name)
    arrays = [name for name, value in found.items() if any(type(a) is Light and a.what == "array" for a in value)]
    return tensors or arrays, 2 if tensors else 1  # arrays are mostly small: the points of a line, names


def _is_tensor(atom: object) -> bool:
    return type(atom) is Tensor and atom.graph != MAYBE and atom.weight > 1


def refers_to(machine: Machine, value: Value, key: Value) -> bool:
    """Whether a value keeps its key alive: an instance that has it as an attribute, a closure, a container."""
    wanted = [atom for atom in key if type(atom) is Obj]
    seen: set[int] = set()
    queue = list(objects_in(machine, [value]))
    while queue and wanted:
        obj = queue.pop()
        if obj in wanted:
            return True
        if id(obj) not in seen and len(seen) < 40:
            seen.add(id(obj))
            queue += [inner for part in obj.fields.values() for inner in objects_in(machine, [part])]
    return False


def cycles(machine: Machine) -> Iterator[Cycle]:
    """Heavy objects that hold themselves, where one is made in each round of a loop."""
    seen: set[Site] = set()
    told: set[tuple[int, str]] = set()  # methods, statements or classes, and what the object refers to itself by
    yield from _hooked(machine)
    for note in machine.plain:
        if note.kind not in ("cycle", "recursion"):
            continue
        site = next((site for site in (note.site, *reversed(note.trail)) if machine.is_home(site)), -1)
        if note.kind == "cycle":
            site = _handed_over(machine, note) or site
        if site < 0 or site in seen:
            continue
        if note.kind == "recursion":
            # where the name is bound anew, in the next round of a loop in the same function, the old one goes
            around = note.detail.frame.loops
            if site == note.site and any(loop.kind == "loop" for loop in around):
                names, weight = _held_by_recursion(machine, note.detail)
                if names:
                    seen.add(site)
                    itself = f"`{note.detail.facts.name}` refers to itself"
                    yield Cycle(site, f"`{names[0]}`", itself, weight, made=note.frame.name)
            continue
        owner, name, by_parts = note.detail
        cls = owner.cls if isinstance(owner.cls, Class) else None
        whole = _whole(machine, note.frame, owner)  # it goes with what it is a part of, a layer with its model
        dropped = whole.home is None or isinstance(whole.home[0], Frame) or whole is owner
        born = whole.birth
        if whole.home is not None and not isinstance(whole.home[0], Frame):
            born = tuple(loop for loop in note.loops if loop not in whole.home[0].birth)  # an entry of a table
        looped = any(loop.kind == "loop" for loop in born) and not owner.unknown
        tensors = machine.reach((owner,))  # also in a table of a part
        here = site == note.site or (cls is not None and machine.is_home(cls.facts.site))
        made = looped and here and (heavy_objects((owner,)) or tensors)
        way = (note.frame.facts.site, name)  # the branches of an `if` are one way
        here_said = (site - site % m.CALLS_PER_STATEMENT, name)  # of the call, and of what it gives
        of_parts = (
            {(owner.site if cls is None else cls.facts.site, name)} if by_parts else set()
        )  # that they are put in, and refer to the whole
        said = (way in told and site == note.site) or here_said in told or not of_parts.isdisjoint(told)
        if said or (cls is not None and _is_taken_apart(cls, name)):
            continue
        own = whole is owner and site == note.site  # where another file's class refers to itself, that file says so
        if dropped and (made or (own and _is_value(owner, tensors))):
            seen.add(site)
            told |= {way, here_said, *of_parts}
            what = str(owner.cls).rpartition(".")[2] if cls is None else cls.facts.name
            yield Cycle(site, f"each {what}", f"`self.{name}` refers to the object", 2, made=what)


def _handed_over(machine: Machine, note: Plain) -> Site:
    """Where a method of the object gives the function to a part of it, if one does; else 0."""
    owner, site = note.detail[0], note.site
    frame: Frame | None = note.frame
    while frame is not None and frame.receiver is not owner:
        site, frame = frame.call_site, frame.caller
    return site if frame is not None and machine.is_home(site) else 0


def _is_taken_apart(cls: Class, name: str) -> bool:
    """Whether a method breaks the circle, `self.callback = None`, `self.callbacks.clear()`, as part of what ends the
    object's work; or takes out the part that it is given, `del self.children[child.key]`, `child.parent = None`."""
    place = (m.ATTR, (m.NAME, "self"), name)
    for entry in cls.mro:
        for method in (entry.frame.unit.facts.functions[index] for index in entry.facts.methods.values()):
            for one in statements(method.body) if method.name != "__init__" else ():
                emptied = one[0] == m.ASSIGN and one[3] == (m.CONST, None)
                gone = one[2] if emptied or one[0] == m.DELETE else ()
                if place in gone or (one[0] == m.DELETE and any(part[:2] == (m.ITEM, place) for part in gone)):
                    return True
                if any((m.ATTR, (m.NAME, param.name), name) in gone for param in method.params[1:]):
                    return True
                if any(
                    call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in TAKES_OUT for call in calls_of(one)
                ):
                    return True
    return False


def _is_value(owner: Obj, tensors: list[Tensor]) -> bool:
    """Whether an object with tensors is one of many that come and go, as numbers do: a method of one makes another,
    `self.__class__(...)`, `Gaussian(...)`. A distribution has tensors, whatever is seen of them."""
    if owner.kind != "instance" or not isinstance(owner.cls, Class):
        return False
    sure = any(tensor.weight > 1 for tensor in tensors)
    for cls in owner.cls.mro:
        wanted = {"_get_checked_instance"} | ({cls.facts.name, "__class__", "type"} if sure else set())
        functions = cls.frame.unit.facts.functions
        for method in (functions[index] for index in cls.facts.methods.values()):
            if wanted.isdisjoint(method.calls) or method.name in _NOT_FOR_VALUES:
                continue
            bound = {"classmethod", "staticmethod"}.isdisjoint(map(last_name, method.decorators))
            if bound and any(_makes_another(cls.facts.name, call) for call in calls(method.body)):
                return True
    return False


def _makes_another(name: str, call: Expr) -> bool:
    callee = call[2]
    if callee[0] == m.CALL:
        return bool(callee[2] == (m.NAME, "type") and callee[3] == (_SELF,))
    return callee in ((m.NAME, name), (m.ATTR, _SELF, "__class__"), (m.ATTR, _SELF, "_get_checked_instance"))


def _whole(machine: Machine, frame: Frame | None, part: Obj) -> Obj:
    """The object that another one was made for a part of, by its constructor or because it went into a container that
    nothing is taken out of."""
    while frame is not None:
        if frame.name == "__init__" and isinstance(frame.receiver, Obj):
            part = frame.receiver
        frame = frame.caller
    for _ in range(_DEPTH):
        home = part.home[0] if part.home is not None else None
        if home is None or isinstance(home, Frame) or _comes_and_goes(machine, part, home):
            break
        part = home
    return part


def _comes_and_goes(machine: Machine, entry: Obj, table: Obj) -> bool:
    """Whether an object is an entry of a table that entries are taken out of, `self.sessions.pop(key)`."""
    return (
        entry.kind == "instance"
        and table.kind == "dict"
        and any(reset.owner is table and reset.how == "pop" for reset in machine.resets)
    )


def _hooked(machine: Machine) -> Iterator[Cycle]:
    """Objects that have a tensor whose node in the graph has a hook that refers to the object."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "tensor-hook" or note.site in seen or not machine.is_home(note.site):
            continue
        node, hook, _ = note.detail
        for owner in objects_in(machine, [hook]):
            if not isinstance(owner.cls, Class) or not _made_again(owner) or _is_taken_off(machine, note):
                continue
            kept = [tensor for tensor in machine.reach((owner,)) if tensor.graph == ATTACHED]
            if any(node in machine.derivation.ancestors(tensor.node) for tensor in kept):
                seen.add(note.site)
                yield Cycle(note.site, f"each {owner.cls.facts.name}", "a hook in the graph refers to it", 2, True)
                break


def _made_again(owner: Obj) -> bool:
    """Whether an object is one of many, made in a loop and dropped or replaced there."""
    if owner.unknown or not any(loop.kind == "loop" for loop in owner.birth):
        return False
    home = owner.home
    return home is None or isinstance(home[0], Frame) or home[0].kind in ("instance", "module")


def _is_taken_off(machine: Machine, note: Plain) -> bool:
    """Whether the hook may be taken off again, by the function that registers it or where the handle is kept."""
    dropped = note.detail[2]
    functions = (note.frame.facts,) if dropped else machine.facts.functions
    return any("remove" in function.calls for function in functions)
