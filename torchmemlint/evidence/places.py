"""Who keeps a value, in the words of the source: `losses`, `self.history`."""

from __future__ import annotations

from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.program import targets
from ..facts.walk import asks_whether_it_trains, expressions_of, statements
from ..interpreter import context_variables
from ..interpreter.events import Store
from ..interpreter.frames import Frame
from ..interpreter.linking import Unit
from ..interpreter.machine import Machine
from ..interpreter.values import CONTAINERS, Class, Obj
from .unreleased import methods_of


class Holder(NamedTuple):
    """Who keeps a value. `kind`: local, attribute, global, class, closure, default."""

    kind: str
    text: str  # as the source names it: `losses`, `self.history`
    owner: str  # the class or function it belongs to
    container: bool


NAMELESS = "a container"  # one that no name or attribute was seen to get
UNNAMED = "the module"  # one that nothing is known of, and that no name or attribute was seen to get
_TEST_LIBRARIES = ("pytest", "unittest")
_MAPPINGS = ("dict", "OrderedDict", "defaultdict", "UserDict", "MutableMapping")
_DEEPEST = 20  # an object may be put into what it holds


def describe_object(obj: Obj, depth: int = 0) -> str:
    """A name for an object, as the source has it."""
    text = ""
    if obj.home is not None and depth < _DEEPEST:
        owner, key = obj.home
        if isinstance(owner, Obj):
            text = f"self.{key}" if key[:1].isalpha() or key[:1] == "_" else describe_object(owner, depth + 1)
        else:
            text = key
    if text:
        return text
    if isinstance(obj.cls, Class):
        return obj.cls.facts.name
    return (obj.cls or obj.kind).rsplit(".", 1)[-1] if obj.cls != "?" else UNNAMED


def describe(owner: Obj | Frame, key: str, machine: Machine, depth: int = 0) -> Holder:
    """Who a place belongs to, in words."""
    if isinstance(owner, Frame):
        if owner is owner.unit.frame:
            named = key if owner is machine.module_frame else f"{owner.unit.name}.{key}"
            return Holder("global", named, "the module", False)
        if owner.function is None:
            return Holder("class", f"{owner.name}.{key}", owner.name, False)
        return Holder("local", key, owner.name, False)
    if owner.kind == "attributes" and owner.home is not None:  # of a function
        outer = describe(*owner.home, machine, depth + 1)
        return outer._replace(text=f"{outer.text}.{key}")
    if key == "*" and "$stack" in owner.fields and isinstance(owner.cls, Class):
        return Holder("attribute", "self", owner.cls.facts.name, False)
    container = owner.kind in (*CONTAINERS, "queue", "generator", context_variables.KIND)
    container &= not (isinstance(owner.cls, Class) and key.isidentifier())  # an attribute of a class of such
    if owner.kind == "defaults":
        return Holder("default", key, str(owner.cls), False)
    if not container and key == "*" and owner.kind == "instance" and owner.home is not None and depth < _DEEPEST:
        return describe(*owner.home, machine, depth + 1)._replace(container=True)  # of a class of its own
    if not container:
        cls = owner.cls.facts.name if isinstance(owner.cls, Class) else ""
        named = key if key[:1].isalpha() or key[:1] in "_<" else describe_object(owner)
        of_self = cls and not named.startswith("self.")
        return Holder("attribute", f"self.{named}" if of_self else named, cls, False)
    part = key if key.startswith("[") and not key[1:-1].isdigit() else ""
    if owner.home is None or depth >= _DEEPEST:
        return Holder("local", NAMELESS, "", True)
    outer = describe(*owner.home, machine, depth + 1)
    return Holder(outer.kind, outer.text + part, outer.owner, True)


def holder_of(machine: Machine, store: Store) -> Holder:
    """Who keeps what is stored. A variable of a function that has returned is one of what it defined; the state that a
    method has made for whoever calls, and another one of the class fills, is an object in all but name."""
    holder = describe(store.owner, store.key, machine)
    if holder.kind != "local":
        return holder
    owner: Obj | Frame | None = store.owner
    for _ in range(6):
        if isinstance(owner, Obj):
            owner = None if owner.home is None else owner.home[0]
    if isinstance(owner, Frame) and store.how in ("grow", "keyed") and _is_state_of(owner, store):
        return holder._replace(kind="attribute", owner="")
    inner, caller = store.frame.parent, store.frame.caller
    while inner is not None and inner is not owner:
        inner = inner.parent
    while caller is not None and caller is not owner:
        caller = caller.caller
    closed = inner is not None and caller is None and isinstance(owner, Frame) and owner.function is not None
    return holder._replace(kind="closure") if closed else holder


def _is_state_of(made_in: Frame, store: Store) -> bool:
    """`state = tracker.init_state()`, and `tracker.track(state, frame)` for each frame: two methods of an object, of
    which the first has returned a dictionary that has a place by name for what the second puts there. In a loop of the
    object itself these are the results of that."""
    owner, entered = store.owner, store.frame
    other = entered.receiver
    if not isinstance(other, Obj) or not isinstance(other.cls, Class):
        return False
    if not isinstance(owner, Obj) or owner.home is None or not owner.home[1].startswith("["):
        return False
    making = _maker(made_in, owner, other.cls)
    while making is not None and entered is not made_in and entered.caller is not None:
        if entered.caller.receiver is not other:
            break
        entered = entered.caller
    if making is None or entered is made_in or not any(loop not in owner.birth for loop in entered.loops):
        return False
    key = owner.home[1]
    return not (_is_read_by_others(key, entered, making) or _is_bound_anew(key, entered, making))


def _maker(made_in: Frame, place: Obj, cls: Class) -> FunctionFacts | None:
    """The method of a class that has made a state: it has a variable with it, or gives it back as it makes it."""
    one = made_in.receiver
    if isinstance(one, Obj) and one.cls == cls:
        return made_in.facts
    state = [part for part in place.holders if isinstance(part, Obj)][-1]
    for method in methods_of(cls).values():
        for statement in statements(method.body):
            if statement[0] == m.RETURN and m.statement_of(statement[1]) == m.statement_of(state.site):
                return method
    return None


def _is_read_by_others(key: str, filling: Frame, making: FunctionFacts) -> bool:
    """Whether a function of the file names a place of a dictionary that neither makes nor fills it."""
    known = {filling.facts.name, making.name}
    functions = filling.unit.facts.functions
    for _ in range(_DEEPEST):
        called = {name for one in functions if one.name in known for name in one.calls}
        if called <= known:
            break
        known |= called
    return any(
        _is_entry(node, key)
        for one in functions
        if one.name not in known
        for statement in statements(one.body)
        for node in expressions_of(statement)
    )


def _is_bound_anew(key: str, filling: Frame, making: FunctionFacts) -> bool:
    """`state["seen"] = {at: x for at, x in state["seen"].items() if at > index - 4}`"""
    others = (one for one in filling.unit.facts.functions if one is not making)
    return any(_is_entry(place, key) for one in others for each in statements(one.body) for place in targets(each))


def _is_entry(node: Expr, key: str) -> bool:
    return bool(node[0] == m.ITEM and node[2][0] == m.CONST) and f"[{node[2][1]}]" == key


def is_test_file(unit: Unit) -> bool:
    """Whether a file holds tests of unittest or pytest, and their helpers: an evaluation script, `test_net.py`, may be
    called like one, but imports neither, and does not lie in a folder of tests."""
    if not (unit.name.startswith("test_") or unit.name.endswith("_test")):
        return False
    if not {"test", "tests"}.isdisjoint(unit.path.replace("\\", "/").split("/")[:-1]):
        return True
    return any(
        (one[0] == m.IMPORT and any(dotted.partition(".")[0] in _TEST_LIBRARIES for _, dotted in one[2]))
        or (one[0] == m.FROM and one[3].partition(".")[0] in _TEST_LIBRARIES)
        for one in unit.outline.whole.functions[0].body
    )


def in_test(frame: Frame) -> bool:
    """Whether this is a test of unittest or pytest [docs of pytest: conventions for test discovery]."""
    if is_test_file(frame.unit):
        return True
    receiver, file = frame.receiver, frame.unit.name
    if frame.name.startswith(("test_", "_test")) and (file.startswith("test_") or file.endswith("_test")):
        return True
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class) or "Test" not in receiver.cls.facts.name:
        return False
    return (
        (frame.name.startswith("test") and frame.name != "test") or file.startswith("test_") or file.endswith("_test")
    )


def is_pass(frame: Frame) -> bool:
    """Whether a function is a pass of a module, whatever its name, or a helper that one calls on the same module."""
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or receiver.kind != "module":
        return False
    current: Frame | None = frame
    while current is not None and current.receiver is receiver:
        if current.name in ("forward", "__call__") or asks_whether_it_trains(current.facts.body):
            return True
        current = current.caller
    return False


def is_mapping(place: Obj | Frame) -> bool:
    """Whether a place with keys is a dictionary, or of a class of such; a list has its places already."""
    if not isinstance(place, Obj) or place.kind == "dict":
        return True
    bases = place.cls.external if isinstance(place.cls, Class) else ()
    return any(base.rpartition(".")[2] in _MAPPINGS for base in bases)


def last_part(holder: str) -> str:
    """`files` of `self.files[key]`."""
    return holder.split("[", 1)[0].rsplit(".", 1)[-1]
