"""Functions whose results a decorator keeps, and what each entry of their cache holds on to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .functions import call_unseen
from .hints import value_of_hint
from .holders import FRESH, heavy_objects, kind_of_key
from .machine import Machine
from .model import Expr, FunctionFacts, Site
from .unknown import is_module_by_use
from .values import Class, External, Function, Obj, Value
from .walk import last_name, nodes, statements

_CACHES = ("functools.lru_cache", "functools.cache", "cachetools.cached", "joblib.Memory.cache")
_DEPTH = 3


class Cached(NamedTuple):
    """A cached function with a key that keeps something. `key`: what is kept; `bound`: entries, -1 for any."""

    site: Site
    name: str
    owner: str  # the class of a method, else ""
    key: str  # "self", or the name of a parameter
    kept: str  # what the key keeps, in words; "" where it is the results that weigh
    bound: int
    weight: int


def cached_functions(machine: Machine) -> Iterator[Cached]:
    """The cached functions of the file that have a tensor, a module or a heavy object in their key."""
    for function in machine.facts.functions:
        if not function.decorators:
            continue
        for decorator in function.decorators:
            bound = _bound(machine, decorator)
            if bound is None:
                continue
            key = _heavy_key(machine, function)
            if key is not None:
                name, kept, weight = key
                owner = machine.facts.classes[function.owner].name if function.owner >= 0 else ""
                site = function.site + m.DECORATORS
                yield Cached(site, function.name, owner, name, kept, bound, weight)
            elif bound == -1:
                yield from _kept_results(machine, function)
            break


def _kept_results(machine: Machine, function: FunctionFacts) -> Iterator[Cached]:
    """A cache without a bound whose keys are new again and again, and whose results are tensors."""
    params = function.params[function.owner >= 0 :]
    fresh = [p.name for p in params if kind_of_key((), (m.NAME, p.name)) == FRESH]
    if not fresh or not any(tensor.weight > 1 for tensor in machine.reach(_result(machine, function))):
        return
    owner = machine.facts.classes[function.owner].name if function.owner >= 0 else ""
    site = function.site + m.DECORATORS
    yield Cached(site, function.name, owner, fresh[0], "", -1, 2)


def _result(machine: Machine, function: FunctionFacts) -> Value:
    """What a function gives, by its annotation or by running it."""
    value = value_of_hint(machine, machine.module_frame, function.returns, 2, ("result", function.name))
    if value or function.returns is not None:
        return value
    cls = machine.home.classes.get(function.owner)
    scope = cls.frame if isinstance(cls, Class) else machine.module_frame
    for atom in scope.vars.get(function.name, ()):
        if type(atom) is Function and atom.facts is function and not machine.exhausted:
            receiver = machine.instance_of(machine.module_frame, cls, "cached")[0] if isinstance(cls, Class) else None
            return call_unseen(machine, atom, receiver)[1]
    return ()


def _bound(machine: Machine, decorator: Expr) -> int | None:
    """How many entries a caching decorator keeps, -1 if there is no bound; None if it does not cache."""
    callee = decorator[2] if decorator[0] == m.CALL else decorator
    dotted = _resolve(machine, callee)
    if dotted in _CACHES:
        if dotted == "functools.cache":
            return -1
        if decorator[0] != m.CALL:
            return 128
        given = [*decorator[3][:1], *(value for name, value in decorator[4] if name == "maxsize")]
        if not given:
            return 128
        return given[0][1] if given[0][0] == m.CONST and type(given[0][1]) is int else -1
    if callee[0] == m.NAME:
        for atom in machine.look_up(machine.module_frame, callee[1]) or ():
            if type(atom) is Function and _memoizes(machine, atom.facts):
                return -1
    return None


def _resolve(machine: Machine, callee: Expr) -> str:
    if callee[0] == m.NAME:
        for atom in machine.look_up(machine.module_frame, callee[1]) or ():
            if type(atom) is External:
                return str(atom.dotted)
    elif callee[0] == m.ATTR:
        outer = _resolve(machine, callee[1])
        return f"{outer}.{callee[2]}" if outer else ""
    return ""


def _memoizes(machine: Machine, decorator: FunctionFacts) -> bool:
    """Whether a decorator of the file keeps results in a dictionary of its own and never empties it."""
    tables = {
        statement[2][0][1]
        for statement in decorator.body
        if statement[0] == m.ASSIGN
        and statement[2][0][0] == m.NAME
        and (
            statement[3][0] == m.DICT
            or (statement[3][0] == m.CALL and last_name(statement[3]) in ("dict", "OrderedDict"))
        )
    }
    if not tables:
        return False
    filled = False
    for index in decorator.inner:
        for statement, _ in statements(machine.facts.functions[index].body):
            if statement[0] == m.DELETE:
                return False
            for target in statement[2] if statement[0] == m.ASSIGN else ():
                filled = filled or (target[0] == m.ITEM and target[1][0] == m.NAME and target[1][1] in tables)
            for part in statement[2:]:
                for node in nodes(part) if type(part) is tuple else ():
                    if node[0] == m.ATTR and node[2] in ("pop", "popitem", "clear"):
                        return False
    return filled


def _heavy_key(machine: Machine, function: FunctionFacts) -> tuple[str, str, int] | None:
    """The first part of the key that keeps something: its name, what it is in words, the weight of the evidence."""
    params = function.params
    kinds = {last_name(decorator) for decorator in function.decorators}
    if function.owner >= 0 and "staticmethod" not in kinds:
        if "classmethod" not in kinds and params:
            cls = machine.home.classes.get(function.owner)
            what = "" if not isinstance(cls, Class) else _weight_of_class(machine, cls)
            if what:
                return "self", what, 3
        params = params[1:]
    for param in params:
        value = value_of_hint(machine, machine.module_frame, param.hint, 1, ("key", param.name))
        what = _in_words(machine, value)
        if what:
            return param.name, what, 3
        if not value and is_module_by_use(function.uses.get(param.name, ())):
            return param.name, "a module", 2
    return None


def _in_words(machine: Machine, value: Value) -> str:
    if any(type(atom).__name__ == "Tensor" for atom in value):
        return "a tensor, which hashes by identity and so never hits"
    for atom in value:
        if type(atom) is Obj and atom.kind in ("module", "optimizer"):
            return f"a {atom.kind}"
        if type(atom) is Obj and isinstance(atom.cls, Class) and _weight_of_class(machine, atom.cls):
            return f"a {atom.cls.facts.name}"
    return ""


def _weight_of_class(machine: Machine, cls: Class) -> str:
    """What an instance of a class keeps that is heavy: "" if nothing is seen."""
    for atom in machine.instance_of(machine.module_frame, cls, "cached"):
        if atom.kind == "module":
            return "the module"
        if heavy_objects((atom,)):
            return f"the {cls.facts.name} with its model"
        if any(tensor.weight > 1 for tensor in machine.reach((atom,), _DEPTH)):
            return f"the {cls.facts.name} with its tensors"
    return ""
