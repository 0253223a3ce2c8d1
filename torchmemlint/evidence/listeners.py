"""Objects that subscribe their own methods to something that outlives them, and that it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import model as m
from ..facts.knowledge import CLOSERS
from ..facts.walk import statements
from ..interpreter.contexts import is_module_level, root
from ..interpreter.holders import captured, heavy_objects, made_in
from ..interpreter.values import CONTAINERS, FEW, SCALAR, Bound, Class, Function, Obj, Partial, Value
from .led_from import line_of_home
from .places import describe, last_part
from .unreleased import is_asked, methods_of, methods_that

if TYPE_CHECKING:
    from ..facts.model import Site
    from ..facts.program import Program
    from ..facts.releases import Releases
    from ..interpreter.events import Plain, Reset
    from ..interpreter.frames import Frame
    from ..interpreter.machine import Machine


_CALLABLE = (Function, Bound, Partial)
_MOST_PARTS = 12


class Listening(NamedTuple):
    """What a list of listeners keeps."""

    site: Site
    what: str  # in words
    registry: str
    store: Site
    lasting: bool  # as long as the process


def kept_as_listeners(machine: Machine, releases: Releases, program: Program) -> Iterator[Listening]:
    """Objects with tensors or models of their own, made and done with in a loop, that a listener's list which was
    there before has by their methods; and functions that keep what their maker had at hand."""
    said: set[Site] = set()
    for note in machine.plain:
        if note.kind != "listener":
            continue
        owner, key, value = note.detail
        site = line_of_home(machine, note.site, *reversed(note.trail), loops=note.loops)
        if site is not None and site not in said and not machine.is_home(note.site):
            what = _carried(machine, note, value)
            if what and is_module_level(root(owner)) and not _may_be_forgotten(machine, releases, program, note, site):
                said.add(site)
                yield Listening(site, what, describe(owner, key, machine).text, note.site, True)
        for obj in _subscribers(value):
            site = _own_line(machine, obj, note)
            if site is None or site in said or not _outlived(machine, obj, owner):
                continue
            if not _is_done_with(machine, obj) or not _is_heavy(machine, obj):
                continue
            whole, _ = _subscribes(obj, note) or (obj, site)
            if _is_taken_out(machine, owner, obj) or _may_be_taken_out(machine, releases, owner, key, {obj, whole}):
                continue
            if not _subscribes(obj, note) and _may_be_forgotten(machine, releases, program, note, site):
                continue
            said.add(site)
            what, registry = _by_what(obj, whole, value), describe(owner, key, machine).text
            yield Listening(site, what, registry, note.site, is_module_level(root(owner)))


def _by_what(obj: Obj, whole: Obj, listener: Value) -> str:
    """What a listener keeps, and how, in words."""
    if isinstance(obj.cls, Class):
        part = any(type(atom) is Function and atom.frame.receiver not in (None, obj) for atom in listener)
        return f"this {obj.cls.facts.name} by {'this function' if part else 'its method'}"
    name = next((name for name, part in whole.fields.items() if obj in part), "a table")
    whose = whole.cls.facts.name if isinstance(whole.cls, Class) else "object"
    return f"`self.{name}` of this {whose} by this function"


def _subscribers(value: Value, depth: int = 2) -> Iterator[Obj]:
    """The objects whose methods a value has, and those that functions in it refer to, also by way of one that it is put
    around, `lambda: callback`."""
    for atom in value:
        if type(atom) is Partial:
            yield from _subscribers(atom.callee, depth)
        elif type(atom) is Bound and type(atom.receiver) is Obj and atom.receiver.kind == "instance":
            yield atom.receiver
        elif type(atom) is Function and depth:
            for _, part in captured(atom):
                yield from (one for one in part if type(one) is Obj and _is_of(one, atom.frame.receiver))
                yield from _subscribers(tuple(one for one in part if type(one) in _CALLABLE), depth - 1)


def _is_of(obj: Obj, maker: Any) -> bool:
    """Whether it is an object, or a table of the one whose method has made the function."""
    return obj.kind == "instance" or (obj.kind in CONTAINERS and type(maker) is Obj and _has(maker, obj))


def _has(whole: Obj, part: Obj) -> bool:
    return not whole.is_put_off and any(part in value for value in whole.fields.values())


def _carried(machine: Machine, note: Plain, value: Value) -> str:
    """What a function that is not a method of an object keeps, of what was made in this round of a loop."""
    if not any(loop.kind == "loop" for loop in note.loops):
        return ""
    tensors, models = False, False
    for atom in value:
        parts: list[Value] = []
        if type(atom) is Partial:
            parts = [*atom.args, *(part for _, part in atom.kwargs)]
        elif type(atom) is Function and atom.facts.owner < 0 and atom.frame.receiver is None:
            parts = [part for _, part in captured(atom)]
        elif type(atom) is Bound and type(atom.receiver) is Obj and atom.receiver.kind == "module":
            parts = [(atom.receiver,)]
        for part in parts:
            models = models or any(made_in(obj, note.loops) for obj in heavy_objects(part))
            tensors = tensors or any(t.weight > 1 and t.size not in (SCALAR, FEW) for t in machine.reach(part))
    return "a model by this function" if models else "a tensor by this function" if tensors else ""


def _may_be_forgotten(machine: Machine, releases: Releases, program: Program, note: Plain, site: Site) -> bool:
    """Whether something empties the list, takes listeners out of it where the file says so, or the call that puts one
    there gives something back that may."""
    owner, key, _ = note.detail
    if any(type(reset.owner) is Obj and reset.owner is owner for reset in machine.resets):
        return True
    removing = releases.of(last_part(describe(owner, key, machine).text))
    if not removing.isdisjoint(program.called):
        return True
    alone = {one[2][1] for place in program.places for one in statements(place.facts.body) if one[0] == m.EXPR}
    return site not in alone


def _own_line(machine: Machine, obj: Obj, note: Plain) -> Site | None:
    """Where a method of the object, or of its whole, subscribes, or the home file hands one of its methods over, or
    makes the object; None if somebody else does."""
    _, site = _subscribes(obj, note) or (obj, note.site)
    return line_of_home(machine, site, *reversed(note.trail), loops=note.loops)


def _subscribes(obj: Obj, note: Plain) -> tuple[Obj, Site] | None:
    """Which object's method subscribes, of the object itself and those that have it as a part, and where."""
    frame: Frame | None = note.frame
    around = note.detail[0].holders if type(note.detail[0]) is Obj else ()  # what has the list has the listener, too
    lists, wholes = list(around), list(obj.holders)
    site = note.site
    while frame is not None:
        whole = frame.receiver
        is_object = type(whole) is Obj and whole.kind == "instance" and whole not in lists
        if is_object and (whole in wholes or _has(whole, obj)):
            return whole, site
        site, frame = frame.call_site, frame.caller
    return None


def _leaves_its_list(machine: Machine, obj: Obj) -> bool:
    """Whether the list, or table, of its maker that an object is in lets go of its entries: `self.layers.pop()`."""
    home = obj.home[0] if obj.home is not None else None
    if type(home) is not Obj or home.kind not in CONTAINERS:
        return False
    return any(reset.owner is home and reset.how in ("pop", "clear") and reset.loops for reset in machine.resets)


def _outlived(machine: Machine, obj: Obj, owner: Any) -> bool:
    """Whether what keeps the listeners belongs to the process, or was there before the loop, and the object to a round
    of the loop."""
    rounds = [loop for loop in (obj.made if _leaves_its_list(machine, obj) else obj.birth) if loop.kind == "loop"]
    if is_module_level(root(owner)):
        return bool(rounds)
    *_, bus = (holder for holder in owner.holders if type(holder) is Obj)  # that has the list
    return any(loop not in bus.birth for loop in rounds)


def _is_done_with(machine: Machine, obj: Obj, depth: int = 2) -> bool:
    """Whether it is closed, or has trained something, in the round in which it was made, or nobody but a variable has
    it: the next round makes another one."""
    kept = obj.home is not None and isinstance(obj.home[0], Obj) and not _leaves_its_list(machine, obj)
    if obj not in machine.given_away and not kept:
        return True
    if obj.home is not None and type(obj.home[0]) is Obj and obj.home[0].kind == "instance" and depth:
        whole = obj.home[0]  # that it is a part of, made and done with in the same round
        if whole.birth == obj.birth and _is_done_with(machine, whole, depth - 1):
            return True
        if _is_replaced(machine, obj, whole):
            return True
    return not CLOSERS.isdisjoint(machine.asked.get(obj, ())) or any(loop.backward for loop in obj.birth)


def _is_replaced(machine: Machine, obj: Obj, whole: Obj) -> bool:
    """Whether each round puts another one into an attribute of something older: `self.executor = Executor()`."""
    if obj in machine.given_away or not any(loop.kind == "loop" and loop not in whole.birth for loop in obj.birth):
        return False
    number = m.statement_of(obj.site)
    return not any(number in unit.outline.made_when_missing for unit in machine.units.values())


def _is_heavy(machine: Machine, obj: Obj) -> bool:
    """Whether it, or a part that was made with it, has tensors, or models and optimizers that were made with it."""
    parts = [obj]
    for one in parts:
        fields = {} if one.is_put_off else one.fields
        held = (atom for part in fields.values() for atom in part if type(atom) is Obj and atom.kind == "instance")
        parts += [atom for atom in held if atom not in parts and made_in(atom, obj.birth)][: _MOST_PARTS - len(parts)]
    if any(t.weight > 1 and t.size not in (SCALAR, FEW) for one in parts for t in machine.reach((one,))):
        return True
    return any(made_in(part, obj.birth) for part in heavy_objects((obj,)))


def _is_taken_out(machine: Machine, owner: Any, obj: Obj) -> bool:
    """Whether something empties the list, or takes this object's methods, or one cannot tell what, out of it; or takes
    them out of another entry of the same table, `table.setdefault(event, [])`: which one it is a run cannot tell."""
    holders = tuple(owner.holders) if type(owner) is Obj else ()
    homes = [part.home for part in holders if type(part) is Obj]  # what holds the list, and under which name
    homes += [(home[0], "*") for home in homes if home is not None and home[1][:1] == "["]  # emptied as a whole
    table = owner.home if type(owner) is Obj and owner.home is not None and owner.home[1] == "*" else None
    if any(note.kind == "sifted" and _leaves_out(machine, note, owner, obj) for note in machine.plain):
        return True
    return any(
        (reset.owner is owner or (reset.owner, reset.key) in homes or _is_beside(reset, table))
        and reset.frame.name != "__init__"
        and (not reset.item or obj in _subscribers(reset.item))
        and not _by_itself(reset.frame, (obj, *holders))
        for reset in machine.resets
        if type(reset.owner) is Obj
    )


def _leaves_out(machine: Machine, note: Plain, owner: Any, obj: Obj) -> bool:
    """Whether the list is made anew without this object's methods, or one cannot tell without what."""
    sifted, item = note.detail
    entry = type(owner) is Obj and owner.home is not None and owner.home[0] is not None and sifted.home == owner.home
    if sifted is not owner and not entry:
        return False
    holders = tuple(owner.holders) if type(owner) is Obj else ()
    return (not item or obj in _subscribers(item)) and not _by_itself(note.frame, (obj, *holders))


def _is_beside(reset: Reset, table: tuple[Obj | Frame, str] | None) -> bool:
    """Whether something in so many words is taken out of an entry of a table."""
    return table is not None and bool(reset.item) and type(reset.owner) is Obj and reset.owner.home == table


def _by_itself(frame: Frame, those: Sequence[Any]) -> bool:
    """Whether a run began with a method of the listener or of what keeps the list, for want of a caller: nobody in
    sight takes the listener out, unless by a method of its own, see `_may_be_taken_out`."""
    while frame.caller is not None:
        frame = frame.caller
    return any(frame.receiver is one for one in those)


def _may_be_taken_out(machine: Machine, releases: Releases, owner: Any, key: str, objects: set[Obj]) -> bool:
    """Whether one of the objects has a method that unsubscribes it, which somebody may call."""
    name = last_part(describe(owner, key, machine).text)
    removing = releases.of(name)
    listening = {
        id(facts)
        for note in machine.plain
        if note.kind == "listener"
        for one in _subscribers(note.detail[2])
        if isinstance(one.cls, Class)
        for facts in methods_of(one.cls).values()
    }
    removing |= {  # what a subscription offers
        function.name
        for unit in machine.units.values()
        for function in unit.facts.functions
        if not removing.isdisjoint(function.calls) and function.owner >= 0 and id(function) not in listening
    }
    for obj in objects:
        doing = [methods_that(obj.cls, one) for one in removing] if isinstance(obj.cls, Class) else []
        methods = frozenset(method for one in doing for method in one)
        if methods and is_asked(machine, obj, methods):
            return True
    return False
