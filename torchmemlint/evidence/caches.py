"""Functions whose results a decorator keeps, and what each entry of their cache holds on to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.knowledge import CACHES, MODEL_NAMES
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.walk import calls, calls_of, last_name, statements
from ..interpreter.contexts import is_dataset
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.functions import call_unseen
from ..interpreter.hints import value_of_hint
from ..interpreter.holders import heavy_objects
from ..interpreter.imagined import is_module_by_use
from ..interpreter.keys import FRESH, kind_of_key
from ..interpreter.machine import Machine
from ..interpreter.values import CONTAINERS, SCALAR, Class, Const, External, Function, Obj, Tensor, Value, is_light
from ..interpreter.weights import heavy
from ..lexical.loaded_tables import gives_loaded
from ..lexical.tensors_by_use import is_tensor_by_use
from .item_keys import asked_for_items, gives_item
from .memo_decorators import keeps_results

_CACHETOOLS = "cachetools.cached"
_CACHES = (*CACHES, _CACHETOOLS)
_TABLES = ("dict", "OrderedDict", "defaultdict")
_WEAK = frozenset(("ref", "proxy", "WeakMethod"))
_ARRAYS = ("ndarray", "NDArray", "DataFrame", "Image")
_OWNERS = MODEL_NAMES | {"trainer", "engine", "pipeline", "agent", "learner", "world"}
_TYPES = frozenset(("dtype", "device"))  # in names of what is no tensor, whatever made it
_A_TENSOR = "a tensor, which hashes by identity: a new one never hits"
_DEPTH = 3
_MANY = 100  # entries


class Cached(NamedTuple):
    """A cached function with a key that keeps something. `key`: what is kept; `bound`: entries, -1 for any."""

    site: Site
    name: str
    owner: str  # the class of a method, else ""
    key: str  # "self", or the name of a parameter
    kept: str  # what the key keeps, in words; "" where it is the results that weigh
    bound: int
    weight: int
    result: str = "tensor"
    of_object: bool = False  # the cache is an attribute, and goes with its object


def cached_functions(machine: Machine) -> Iterator[Cached]:
    """The cached functions of the file that have a tensor, a module or a heavy object in their key."""
    memoizes = functools.cache(keeps_results)  # a registry's decorator stands before many functions of a file
    inside = functools.cache(functools.partial(_cache_inside, machine))
    for function in machine.facts.functions:
        if not function.decorators:
            continue
        for decorator in function.decorators:
            bound = _bound(machine, decorator, memoizes, inside)
            if bound is None:
                continue
            if bound == -1 and _is_on_objects(machine, decorator, memoizes):
                yield from (one._replace(of_object=True) for one in _kept_results(machine, function))
                break
            as_given = _entries(machine, machine.module_frame, decorator) is not None
            key = _heavy_key(machine, function, as_given=as_given) or _owner_with_results(machine, function, bound)
            if key is not None:
                name, kept, weight = key
                owner = machine.facts.classes[function.owner].name if function.owner >= 0 else ""
                site = function.site + m.DECORATORS
                yield Cached(site, function.name, owner, name, kept, bound, weight)
            elif bound == -1:
                yield from _kept_results(machine, function)
            break
    yield from _wrapped_in_place(machine)


def cached_by_calls(machine: Machine) -> Iterator[tuple[Cached, Site]]:
    """Cached functions that are called with what keeps something heavy of each round, whatever their parameters say;
    with the place of the cache. Of those of other files the call is spoken of."""
    said = set[Site]()
    for note in machine.plain:
        if note.kind != "cached-call":
            continue
        function, name, value, tensors, objects = note.detail
        bound = entries_of(machine, function)
        place = function.facts.site + m.DECORATORS
        ways = (site for site in (place, note.site, *reversed(note.trail)) if machine.is_home(site))
        site = next(ways, None)
        if bound is None or site is None or site in said or (not objects and _TYPES & set(name.split("_"))):
            continue
        said.add(site)
        owner = function.owner.facts.name if function.owner is not None else ""
        weight = 3 if objects else max(tensor.weight for tensor in tensors)
        yield Cached(site, function.facts.name, owner, name, _kept_by(value, tensors), bound, weight), place


def _kept_by(value: Value, tensors: tuple[Any, ...]) -> str:
    """What is kept with a key, in words."""
    what = "tensors" if tensors else "model"
    for atom in value:
        if type(atom) is Tensor:
            return _A_TENSOR
        if type(atom) is Obj and atom.kind in ("module", "optimizer"):
            return f"a {atom.kind}"
        if type(atom) is Obj and isinstance(atom.cls, Class):
            return f"the {atom.cls.facts.name} with its {what}"
    return f"the {what} that it refers to"


def _wrapped_in_place(machine: Machine) -> Iterator[Cached]:
    """`self.read = functools.lru_cache(maxsize=None)(self._read)`, `load = cache(read)`."""
    for function in machine.facts.functions:
        if {"lru_cache", "cache"}.isdisjoint(function.calls):
            continue
        for statement in statements(function.body):
            call = statement[3] if statement[0] == m.ASSIGN else None
            if call is None or call[0] != m.CALL or len(call[3]) != 1 or call[4]:
                continue
            meant = _meant(machine, function, call[3][0])
            if meant is not None and _entries(machine, machine.module_frame, call[2]) == -1:
                name = last_name(statement[2][0])
                for cached in _kept_results(machine, meant, name):
                    own = statement[2][0][0] == m.ATTR
                    yield cached._replace(site=statement[1], name=name, of_object=own)


def _meant(machine: Machine, function: FunctionFacts, named: Expr) -> FunctionFacts | None:
    """The function of the file that a name stands for, or the method of the same class."""
    functions = machine.facts.functions
    if named[0] == m.ATTR and named[1] == (m.NAME, "self") and function.owner >= 0:
        own = machine.facts.classes[function.owner].methods
        return functions[own[named[2]]] if named[2] in own else None
    found = [one for one in functions if named == (m.NAME, one.name) and one.owner < 0]
    return found[0] if len(found) == 1 else None


def _kept_results(machine: Machine, function: FunctionFacts, called: str = "") -> Iterator[Cached]:
    """A cache without a bound whose keys are new again and again, and whose results are tensors or arrays. The cached
    function may be `called` by another name than its own."""
    params = function.params[function.owner >= 0 and not _is_static(function) :]
    # what may be left out is a setting: there is something new for each item only if each call says which
    fresh = [p.name for p in params if p.default is None and kind_of_key((), (m.NAME, p.name)) == FRESH]
    fresh = fresh or [note.detail[1] for note in machine.plain if _counts_up(note, function)]
    workers = any(note.kind == "loader-workers" for note in machine.plain)  # each reads all blocks, in the long run
    asked = asked_for_items(machine.facts, called or function.name, tuple(param.name for param in params), workers)
    of_items = _is_of_a_data_set(machine, function)
    if of_items and not asked:
        asked = [param.name for param in params[:1]]
    if not fresh and not asked:
        return
    result = _result(machine, function)
    if any(tensor.weight > 1 and tensor.size != SCALAR for tensor in machine.reach(result)):
        kept = "tensor"
    elif asked and (last_name(function.returns) in _ARRAYS or heavy(machine, result)[0] == "array"):
        kept = "array"
    elif asked and workers and heavy(machine, result)[0] == "handle":
        kept = "handle"
    elif function.returns is None and (
        (of_items and not _is_plain_throughout(result))
        or (asked and workers and gives_item(machine.facts, called or function.name))
    ):
        kept = "item"
    elif fresh and function.owner < 0 and gives_loaded(machine.home.outline.program, function, fresh[0]):
        kept = "array"
    else:
        return
    owner = machine.facts.classes[function.owner].name if function.owner >= 0 else ""
    site = function.site + m.DECORATORS
    yield Cached(site, function.name, owner, (asked or fresh)[0], "", -1, 2, kept)


def _is_of_a_data_set(machine: Machine, function: FunctionFacts) -> bool:
    """Whether a method is the one that gives the items of a data set of torch."""
    cls = machine.home.classes.get(function.owner) if function.name == "__getitem__" else None
    return isinstance(cls, Class) and is_dataset(cls)


def _is_plain_throughout(value: Value) -> bool:
    """Whether what is given is seen to be numbers and texts, or tuples and tables of such, whatever else is None."""
    value = tuple(atom for atom in value if type(atom) is not Const or atom.value is not None)
    if not value or not all(type(atom) is Obj and atom.kind in CONTAINERS for atom in value):
        return is_light(value)
    return all(_is_plain_throughout(part) for atom in value for part in atom.fields.values())


def _counts_up(note: Plain, function: FunctionFacts) -> bool:
    """Whether a call gives a cached function the number of the round, or what is worked out of it."""
    return note.kind == "cached-count" and note.detail[0] is function


def _owner_with_results(machine: Machine, function: FunctionFacts, bound: int) -> tuple[str, str, int] | None:
    """The object of a method whose results are tensors: each entry keeps the object, whatever that is, and a tensor.
    A handful of them may be small."""
    kinds = {last_name(decorator) for decorator in function.decorators}
    if function.owner < 0 or not function.params or not kinds.isdisjoint(("staticmethod", "classmethod")):
        return None
    if not any(tensor.weight > 1 for tensor in machine.reach(_result(machine, function))):
        return None
    return (
        "self",
        f"the {machine.facts.classes[function.owner].name}, and the tensors that it returned",
        1 if 0 <= bound < _MANY else 2,
    )


def _is_static(function: FunctionFacts) -> bool:
    return any(last_name(decorator) == "staticmethod" for decorator in function.decorators)


def _result(machine: Machine, function: FunctionFacts) -> Value:
    """What a function gives, by its annotation or by running it."""
    value = value_of_hint(machine, machine.module_frame, function.returns, 2, ("result", function.name))
    if value or function.returns is not None:
        return value
    cls = machine.home.classes.get(function.owner)
    scope = cls.frame if isinstance(cls, Class) else machine.module_frame
    for atom in scope.vars.get(function.name, ()):
        written = atom.innermost if type(atom) is Function else None
        if written is not None and written.facts is function and not machine.exhausted:
            receiver = machine.instance_of(machine.module_frame, cls, "cached")[0] if isinstance(cls, Class) else None
            return call_unseen(machine, written, receiver)[1]
    return ()


def _bound(
    machine: Machine,
    decorator: Expr,
    memoizes: Callable[[Any], str],
    inside_of: Callable[[Function], Expr | None],
) -> int | None:
    """How many entries a caching decorator keeps, -1 if there is no bound; None if it does not cache."""
    bound = _entries(machine, machine.module_frame, decorator)
    if bound is not None:
        return bound
    callee = decorator[2] if decorator[0] == m.CALL else decorator
    if callee[0] in (m.NAME, m.ATTR):
        for atom in machine.eval(machine.module_frame, callee):
            if type(atom) in (Function, Class) and memoizes(atom):
                return -1
            inside = inside_of(atom) if type(atom) is Function else None
            if inside is not None:
                return _given_bound(decorator) if _hands_on(inside) else _entries(machine, atom.frame, inside)
    return None


def _is_on_objects(machine: Machine, decorator: Expr, memoizes: Callable[[Any], str]) -> bool:
    """Whether a decorator of the project keeps results on the objects whose methods they are of."""
    if decorator[0] not in (m.NAME, m.ATTR):
        return False
    made = (atom for atom in machine.eval(machine.module_frame, decorator) if type(atom) in (Function, Class))
    return any(memoizes(atom) == "object" for atom in made)


def _entries(machine: Machine, frame: Frame, decorator: Expr) -> int | None:
    """How many entries `lru_cache`, `lru_cache(maxsize=...)` and the like keep; None if it is nothing like that."""
    dotted = _resolve(machine, frame, decorator[2] if decorator[0] == m.CALL else decorator)
    if dotted not in _CACHES:
        return None
    if dotted == _CACHETOOLS:
        return _bound_of_table(machine, decorator)
    return -1 if dotted == "functools.cache" else _given_bound(decorator)


def _bound_of_table(machine: Machine, decorator: Expr) -> int | None:
    """How many entries `cachetools.cached` keeps: as many as fit into what it is given, a dictionary without a bound or
    one of its own with a `maxsize`; None if it is said what is to be in the keys, or what it is given is not seen."""
    given = (
        [*decorator[3][:1], *(value for name, value in decorator[4] if name == "cache")]
        if decorator[0] == m.CALL
        else []
    )
    if not given or len(decorator[3]) > 1 or any(name == "key" for name, _ in decorator[4]):
        return None
    table = given[0]
    if table[0] == m.NAME:
        bound = [one for one in machine.facts.functions[0].body if one[0] == m.ASSIGN and table in one[2]]
        table = bound[0][3] if len(bound) == 1 else table
    if table[0] == m.DICT or (table[0] == m.CALL and last_name(table[2]) in _TABLES):
        return -1
    if table[0] != m.CALL:
        return None
    sizes = [*table[3][:1], *(value for name, value in table[4] if name == "maxsize")]
    return sizes[0][1] if sizes and sizes[0][0] == m.CONST and type(sizes[0][1]) is int else None


def entries_of(machine: Machine, function: Function) -> int | None:
    """How many results a decorator of a function keeps, -1 for any number; None if it has no such decorator."""
    bounds = (_entries(machine, function.frame, decorator) for decorator in function.facts.decorators)
    return next((one for one in bounds if one is not None), None)


def _given_bound(decorator: Expr) -> int:
    if decorator[0] != m.CALL:
        return 128
    given = [*decorator[3][:1], *(value for name, value in decorator[4] if name == "maxsize")]
    if not given:
        return 128
    return given[0][1] if given[0][0] == m.CONST and type(given[0][1]) is int else -1


def _hands_on(cache: Expr) -> bool:
    """`lru_cache(*args, **kwargs)`, `lru_cache(maxsize=size)`: the decorator is told how many."""
    call = cache if cache[0] == m.CALL else (m.CALL, 0, cache, (), ())
    return any(value[0] in (m.STAR, m.NAME) for value in (*call[3], *(value for _, value in call[4])))


def _cache_inside(machine: Machine, decorator: Function) -> Expr | None:
    """The `lru_cache` that a decorator of the project puts around the function that it is given, or around one that
    hands its own arguments on to that; unless it makes weak references of what it is called with. One that puts
    something of its surroundings before its own arguments, `func(self, *args)`, has no key for that."""
    facts = decorator.frame.unit.facts
    functions = [decorator.facts]
    for function in functions:
        functions += [facts.functions[index] for index in function.inner]
    if any(not _WEAK.isdisjoint(function.calls) for function in functions):
        return None
    handed_in = {param.name for function in functions for param in function.params if not param.kind}
    for function in functions:
        own = {param.name for param in function.params}
        later = set(_bound_outside(function))
        for call in calls(function.body):  # `lru_cache(maxsize=8)(func)`, `lru_cache(func)`
            given = call[3][0][1] if len(call[3]) == 1 and call[3][0][0] == m.NAME else None
            if (given in own or (given in handed_in and call in later)) and _entries(
                machine, decorator.frame, call[2]
            ) is not None:
                return call[2]  # type: ignore[no-any-return]
        for around in function.decorators:
            handed = (call for call in calls(function.body) if call[2][0] == m.NAME and call[2][1] in handed_in - own)
            if _entries(machine, decorator.frame, around) is not None and any(
                (m.STAR, (m.NAME, name)) in call[3] and _first(call) in own for call in handed for name in own
            ):
                return around
    return None


def _bound_outside(function: FunctionFacts) -> Iterator[Expr]:
    """The calls whose results a function binds to names of the one around it: `nonlocal cached`, `cached =
    lru_cache(maxsize=8)(func)`."""
    body = list(statements(function.body))
    outer = {(m.NAME, name) for one in body if one[0] == m.NONLOCAL for name in one[2]}
    for statement in body if outer else ():
        if statement[0] == m.ASSIGN and not outer.isdisjoint(statement[2]):
            yield from calls_of(statement)


def _first(call: Expr) -> str:
    """The name that a call has first among its arguments."""
    first = call[3][0]
    name = first[1] if first[0] == m.STAR else first
    return name[1] if name[0] == m.NAME else ""


def _resolve(machine: Machine, frame: Frame, callee: Expr) -> str:
    if callee[0] == m.NAME:
        for atom in machine.look_up(frame, callee[1]) or ():
            if type(atom) is External:
                return str(atom.dotted)
    elif callee[0] == m.ATTR:
        outer = _resolve(machine, frame, callee[1])
        return f"{outer}.{callee[2]}" if outer else ""
    return ""


def _heavy_key(machine: Machine, function: FunctionFacts, *, as_given: bool) -> tuple[str, str, int] | None:
    """The first part of the key that keeps something: its name, what it is in words, the weight of the evidence.
    `as_given`: the cache takes the arguments themselves, where a decorator of the project may make a key of them."""
    params = function.params
    kinds = {last_name(decorator) for decorator in function.decorators}
    if function.owner >= 0 and "staticmethod" not in kinds:
        if "classmethod" not in kinds and params:
            cls = machine.home.classes.get(function.owner)
            what = "" if not isinstance(cls, Class) else _weight_of_class(machine, cls)
            if what:
                return "self", what, 3
            if isinstance(cls, Class) and (named := _named_part(machine, cls)):
                return "self", f"the {cls.facts.name} with its `{named}`", 2
        params = params[1:]
    for param in params:
        value = value_of_hint(machine, machine.module_frame, param.hint, 1, ("key", param.name))
        what = _in_words(machine, value)
        if what:
            return param.name, what, 3
        if as_given and param.hint is None and is_tensor_by_use(function, param.name):
            return param.name, _A_TENSOR, 2
        if not value and is_module_by_use(function.uses.get(param.name, ()), param.name):
            return param.name, "a module", 2
    return None


def _named_part(machine: Machine, cls: Class) -> str:
    """An attribute that is called a model or what has one, `self.agents`, whatever it is bound to."""
    for atom in machine.instance_of(machine.module_frame, cls, "cached"):
        if type(atom) is Obj and "possible_agents" in atom.fields:
            continue  # its agents are names [docs of PettingZoo: AECEnv]
        for name, value in atom.fields.items() if type(atom) is Obj else ():
            if name.strip("_").removesuffix("s") in _OWNERS and not _is_plain(name, value):
                return str(name)
    return ""


def _is_plain(name: str, value: Value) -> bool:
    """Whether it is seen to be plain values, as the `encoder` of a tokenizer: a dictionary, unless it may hold several
    of what its name says, `self.models = {}`."""
    single = name[-1:] != "s" and any(type(atom) is Obj and atom.kind == "dict" for atom in value)
    return bool(value) and (single or is_light(value))


def _in_words(machine: Machine, value: Value) -> str:
    if any(type(atom).__name__ == "Tensor" for atom in value):
        return _A_TENSOR
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
