"""Instances of the classes of a file: construction, modules and their modes, running them."""

from __future__ import annotations

from typing import Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.guarded import own_calls
from ..facts.model import Expr, Site
from ..facts.walk import statements
from .branching import branch, skip
from .builtins import start_as
from .containers import set_limit, start_entries
from .contexts import take_work
from .frames import Frame
from .functions import call_function, call_unseen
from .hints import value_of_hint
from .library import fill_modules
from .machine import Machine
from .making import made_by_class
from .module_classes import given_loud_parts, gives_cut, is_dull, is_module, is_quiet
from .modules import run_module
from .objects import call_object
from .passes import frozen, note_run, record_module_call
from .stores import made_again
from .values import (
    ASSUMED,
    ATTACHED,
    LIGHT,
    OFF,
    UNKNOWN,
    Caught,
    Class,
    Const,
    Function,
    Kwargs,
    Light,
    Obj,
    Tensor,
    Value,
    constant,
    is_light,
    tensors,
)
from .weights import STACKS
from .written_parts import makes_parts

_LONG = 300  # steps of a constructor, after which it leaves out what others have run
_RUNS_THE_PASS = frozenset(("forward", "super", "_call_impl"))
_STARTED = ("dict", "list", "set", "deque")
_CONTAINERS = {
    "builtins.list": "list", "builtins.dict": "dict", "builtins.set": "set", "collections.deque": "deque",
    "collections.OrderedDict": "dict", "collections.UserList": "list", "collections.UserDict": "dict",
    "collections.defaultdict": "dict", **dict.fromkeys(STACKS, "list"),
}  # fmt: skip


def _kind_of(cls: Class) -> str:
    """What sort of object an instance is. A list with some methods is a list, and its attributes are beside its
    elements; but of a `UserList`, one of them has these."""
    if is_module(cls):
        return "module"
    user = any(base.startswith("collections.User") for base in cls.external)
    if cls.external and not (user and cls.find("__init__")):
        return next((_CONTAINERS[base] for base in cls.external if base in _CONTAINERS), "instance")
    return "instance"


def construct(machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """An instance of a class of the file."""
    made = made_by_class(machine, frame, cls, args, kwargs, site)
    if made is None:
        obj, first = _bare(machine, frame, cls, site)
        return _set_up(machine, frame, cls, obj, first, args, kwargs, site)
    for obj in made:
        if type(obj) is Obj and obj.cls is cls and obj in machine.unset:
            machine.unset.remove(obj)
            _set_up(machine, frame, cls, obj, True, args, kwargs, site, _set_by_new(cls))
    return made


def _set_by_new(cls: Class) -> frozenset[str]:
    """The attributes that a `__new__` gives to the object that it makes, before the constructor runs."""
    makers = (member for member in cls.find("__new__") or () if type(member) is Function)
    set_there = (one for maker in makers for one in statements(maker.facts.body) if one[0] == m.ASSIGN)
    return frozenset(target[2] for one in set_there for target in one[2] if target[0] == m.ATTR)


def _bare(machine: Machine, frame: Frame, cls: Class, site: Site) -> tuple[Obj, bool]:
    """An object as it is before its constructor has run, and whether it is seen for the first time."""
    obj = machine.allocate(frame, ("instance", site, cls.facts.site), "instance", cls)
    obj.kind = _kind_of(cls)
    known = machine.instances.setdefault(id(cls), [])
    first = obj not in known
    if first:
        known.append(obj)
    return obj, first


def bare_objects(machine: Machine, frame: Frame, args: list[Value], site: Site) -> Value:
    """`super().__new__(cls)`, `object.__new__(cls)`, `cls.__new__(cls)`"""
    made = [_bare(machine, frame, atom, site)[0] for atom in (args[0] if args else ()) if type(atom) is Class]
    machine.unset += made
    return tuple(made)


def _set_up(
    machine: Machine,
    frame: Frame,
    cls: Class,
    obj: Obj,
    first: bool,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
    given: frozenset[str] = frozenset(),
) -> Value:
    """Runs the constructor of an object, which has nothing yet but what is `given`."""
    if machine.tried and _is_exception(cls):  # which keeps all that it is made with
        caught = tuple(atom for value in (*args, *kwargs.values()) for atom in value if type(atom) is Caught)
        machine.put(obj.fields, "args", machine.join(obj.fields.get("args", UNKNOWN), caught))
    if is_dull(machine, cls) or obj.is_put_off:
        if obj.is_put_off or not given_loud_parts(machine, (*args, *kwargs.values())):
            if not obj.is_put_off and all(constant(value) is not ... for value in (*args, *kwargs.values())):
                machine.put(obj.fields, "$settings", LIGHT)
            return (obj,)
        machine.put(obj.fields, "$loud", LIGHT)
        first = False
    if first and is_quiet(cls):
        moment = machine.moment()

        def later() -> None:
            with machine.at(moment):
                _initialise(machine, frame, cls, obj, args, kwargs, site)

        obj.put_off(later)
        return (obj,)

    def again() -> None:
        for key in list(obj.fields):
            if key not in given:
                machine.put(obj.fields, key, UNKNOWN)
        _initialise(machine, frame, cls, obj, args, kwargs, site)

    if obj.stays:
        made_again(machine, obj)
        branch(machine, frame, [again, skip], conditional=False)
    else:
        again()
    return (obj,)


def _is_exception(cls: Class) -> bool:
    named = (str(base[-1]) for one in cls.mro for base in one.facts.bases if base[0] in (m.NAME, m.ATTR))
    return any(base.endswith(("Error", "Exception")) for base in named)


def _initialise(
    machine: Machine, frame: Frame, cls: Class, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site
) -> None:
    init = cls.find("__init__")
    machine.makers[obj] = frame, site
    if init is None:
        take_work(machine, obj, args, kwargs)
    if init is None and not fill_own_parts(machine, frame, obj, args, kwargs, site):
        _fill_fields(machine, frame, cls, obj, args, kwargs)
        init, args, kwargs = cls.find("__post_init__"), [], {}
    for member in init or ():
        if type(member) is Function:
            call_function(machine, frame, member, obj, args, kwargs, site)


def fill_own_parts(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> bool:
    """What a class that inherits from a container of modules is made with is what it goes through; what one is that
    inherits from a `deque` is its limit, and from a `defaultdict` what its entries start with; else the entries of a
    dictionary or list with methods of its own."""
    if obj.kind == "deque":
        set_limit(obj, args, kwargs)
    external = obj.cls.external if isinstance(obj.cls, Class) else ()
    if not set(STACKS).isdisjoint(external):
        machine.put(obj.fields, "$stack", LIGHT)
    if "collections.defaultdict" in external and args:
        start_entries(machine, frame, obj, args[0], site)
    if obj.kind in _STARTED and external:
        start_as(machine, frame, obj, args["collections.defaultdict" in external :], kwargs, site)
    tails = {base.rsplit(".", 1)[-1] for base in external if base.startswith("torch.nn.")} & knowledge.MODULE_CONTAINERS
    for tail in tails:
        fill_modules(machine, frame, tail, obj, args)
    return bool(tails)


def _fill_fields(machine: Machine, frame: Frame, cls: Class, obj: Obj, args: list[Value], kwargs: Kwargs) -> None:
    """A dataclass, NamedTuple or attrs class: arguments become fields in the order they are declared."""
    fields: dict[str, tuple[Frame, Expr]] = {}
    for entry in reversed(cls.mro):
        for s in entry.frame.facts.body:
            if s[0] == m.ANNOTATE and s[2][0] == m.NAME:
                fields[s[2][1]] = (entry.frame, s[3])
    for index, (name, (scope, hint)) in enumerate(fields.items()):
        value = kwargs.get(name) if name in kwargs else (args[index] if index < len(args) else None)
        attached = any(tensor.graph == ATTACHED for tensor in tensors(value or UNKNOWN))
        if value and not is_light(value) and not attached and is_light(value_of_hint(machine, scope, hint)):
            value = LIGHT  # a number, whatever it was computed from
        if value is None:
            value = _default_of_field(machine, cls, name)
        if value:
            machine.put(obj.fields, name, value)
            if cls.is_named_tuple:
                machine.put(obj.fields, f"[{index}]", value)
            for atom in value:
                if type(atom) is Obj and atom.home is None:
                    atom.home = (obj, name)


def _default_of_field(machine: Machine, cls: Class, name: str) -> Value:
    """What a dataclass or attrs field starts with: `field(default_factory=list)`, `attr.ib(factory=dict)`."""
    for entry in cls.mro:
        for statement in entry.frame.facts.body:
            if statement[0] != m.ANNOTATE or statement[2] != (m.NAME, name) or statement[4] is None:
                continue
            default = statement[4]
            if default[0] != m.CALL:
                return entry.own(name) or UNKNOWN
            for keyword, factory in default[4]:
                if keyword in ("default_factory", "factory"):
                    made = machine.eval(entry.frame, factory)
                    return machine.call(entry.frame, made, [], {}, default[1])
    return UNKNOWN


def call_instance(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`obj(...)`: `forward` of a module, `__call__` of anything else."""
    if obj.kind == "module":
        note_run(machine)
    if obj.kind == "module" and not obj.is_put_off and obj.fields.get("forward"):  # `module.forward = wrapper`
        return machine.call(frame, obj.fields["forward"], args, kwargs, site)
    measure = _measure(obj.cls) if obj.kind == "module" and isinstance(obj.cls, Class) else None
    if measure is not None:
        return call_function(machine, frame, measure, obj, args, kwargs, site)
    if isinstance(obj.cls, Class) and (_is_dull(machine, obj, obj.cls) or _is_left_open(obj)):
        return run_module(machine, frame, obj, args, kwargs, site)
    if isinstance(obj.cls, Class):
        names = ("forward", "__call__") if obj.kind == "module" else ("__call__", "forward")
        for name in names:
            found = obj.cls.find(name)
            if found is None:
                continue
            node = machine.derivation.node()
            machine.module_depth += obj.kind == "module"
            before, passes = len(machine.module_calls), len(machine.backwards)
            result: Value = UNKNOWN
            for member in found:
                if type(member) is Function:
                    result = machine.join(result, call_function(machine, frame, member, obj, args, kwargs, site))
            machine.module_depth -= obj.kind == "module"
            if len(machine.backwards) > passes:  # it differentiates what it computes, and would fail without a graph
                machine.derivation.demanded.add(node)
            if obj.kind == "module":
                return ran(machine, frame, obj, result, args, kwargs, site, node, before)
            return result
    return call_object(machine, frame, obj, "__call__", args, kwargs, site)


def _measure(cls: Class) -> Function | None:
    """The `__call__` of a module class that has one of its own, and no pass, nor leaves one to subclasses: it is called
    like any function, and what it runs are modules in their own right."""
    own = cls.find("__call__")
    seen = own is not None and cls.find("forward") is None and set(cls.external) <= {"torch.nn.Module"}
    found = own[0] if seen and own is not None and len(own) == 1 else None
    return found if type(found) is Function and _RUNS_THE_PASS.isdisjoint(found.facts.calls) else None


def _is_dull(machine: Machine, obj: Obj, cls: Class) -> bool:
    """Whether the passes of an object do nothing that a rule could speak about, nor those of what it was given."""
    return is_dull(machine, cls) and (obj.is_put_off or "$loud" not in obj.fields)


def _is_left_open(obj: Obj) -> bool:
    """Whether the pass is left to subclasses that are not seen."""
    if obj.kind != "module" or not isinstance(obj.cls, Class):
        return False
    return any(type(member) is Function and member.kind == "abstract" for member in obj.cls.find("forward") or ())


def ran(
    machine: Machine,
    frame: Frame,
    obj: Obj,
    result: Value,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
    node: int,
    before: int | None = None,
) -> Value:
    """A module of the file has run: note it, and let its results derive from one node."""
    parents = tuple(tensor.node for tensor in machine.reach(result) if tensor.graph == ATTACHED)
    if not parents:
        recorded = machine.grad != OFF and not frozen(obj) and not _runs_without_gradients(obj)
        if recorded and not _is_understood(result) and not (isinstance(obj.cls, Class) and gives_cut(obj.cls)):
            if not (obj.unknown or makes_parts(obj)):
                obj.weight = min(obj.weight, 1)  # a function, more likely than a model
            return run_module(machine, frame, obj, args, kwargs, site)
        return result
    machine.derivation.parents[node] = parents
    machine.derivation.labels[node] = ("module", obj, site)
    record_module_call(machine, frame, obj, node, site, args, 3)
    known = machine.derivation.returned[node] = {}
    return _given_by(machine, result, node, known)


def _runs_without_gradients(obj: Obj) -> bool:
    """Whether the pass itself turns gradients off for all that it calls of its object, `@torch.no_grad()`."""
    passes = obj.cls.find("forward") if isinstance(obj.cls, Class) else None
    called = [own_calls(one.facts) for one in passes or () if type(one) is Function]
    return bool(called) and all(calls and all(off for _, off in calls) for calls in called)


def _is_understood(result: Value) -> bool:
    """Whether it is known what a module gives back: of a tuple, what is in it; of a dictionary that it has made, and
    that somebody else has filled, nothing is."""
    for atom in result:
        if type(atom) is Obj and atom.kind == "tuple" and atom.fields:
            if any(_is_understood(part) for key, part in atom.fields.items() if key[:1] != "$"):
                return True
        elif type(atom) is Obj and atom.kind == "dict" and not any(key[:1] != "$" for key in atom.fields):
            continue
        elif type(atom) in (Tensor, Obj, Light, Const):
            return True
    return False


def _given_by(machine: Machine, result: Value, node: int, known: dict[int, int], depth: int = 2) -> Value:
    """What a module returned, also in tuples, lists and dictionaries, with the module's run on the way to it.
    A tensor that it returned twice, as the loss and in a log of it, stays one tensor: `known`, by its node."""
    made: list[Any] = []
    for atom in result:
        if type(atom) is Tensor and atom.graph == ATTACHED:
            if atom.node not in known:
                known[atom.node] = machine.derivation.node((node, atom.node), machine.derivation.labels[node])
            atom = atom._replace(node=known[atom.node])
        elif type(atom) is Obj and depth and atom.kind in ("tuple", "list", "dict"):
            for key, part in list(atom.fields.items()):
                if part and key[:1] != "$":
                    machine.put(atom.fields, key, _given_by(machine, part, node, known, depth - 1))
        made.append(atom)
    return tuple(made)


def instance_of(machine: Machine, frame: Frame, cls: Class, ident: Any) -> Value:
    """An instance that somebody else made: constructed with arguments that are not seen."""
    made = machine.instances.get(id(cls))
    if made:
        return tuple(made[:3])
    key = ("seen", id(cls))
    obj = machine.module_frame.allocs.get(key)
    if obj is None:
        obj = Obj("module" if is_module(cls) else "instance", cls, (), machine.site, 2)
        machine.serial += 1
        obj.serial = machine.serial
        obj.unknown = True
        machine.module_frame.allocs[key] = obj
        machine.made[id(obj.fields)] = (0, obj.fields, obj)
        if is_quiet(cls) or cls.frame.unit is not machine.home:
            obj.put_off(lambda: _construct_unseen(machine, cls, obj))
        elif not machine.exhausted and not machine.too_deep and not is_dull(machine, cls):
            _construct_unseen(machine, cls, obj)
    return (obj,)


def _construct_unseen(machine: Machine, cls: Class, obj: Obj) -> None:
    if machine.is_over(cls.frame.unit):
        return
    steps = machine.steps + machine.steps_away + _LONG
    until = steps if machine.set_up is None else min(machine.set_up_for, steps)
    apart = {"loops": (), "grad": ASSUMED, "journal": None, "made_by": 0, "set_up": obj, "set_up_for": until}
    with machine.at(apart):
        for member in cls.find("__init__") or ():
            if type(member) is Function:
                call_unseen(machine, member, obj)
        if cls.find("__init__") is None:
            _fill_fields(machine, machine.module_frame, cls, obj, [], {})


Machine.instance_of = instance_of
