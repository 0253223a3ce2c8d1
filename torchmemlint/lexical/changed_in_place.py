"""Methods that change their object and give it back, where their callers take that for a new one.

`options = (options or DEFAULT).with_late(device=lambda: model.device)`: beside it `with_args` makes a new object. This
one leaves the function, and with it the model, in the `DEFAULT` of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, last_name, nodes, root_of, statements
from .at_work import is_tensor_or_model

_SELF: Expr = (m.NAME, "self")
_ADDS = frozenset("append add extend insert appendleft".split())
_PUTS = _ADDS | {"update", "setdefault", "__setitem__"}
_UNDOES = frozenset("clear reset pop remove restore discard undo".split())
_COPIES = frozenset("copy deepcopy replace evolve _replace".split())


Imported = Callable[[str], tuple[Program, ClassFacts] | None]  # of the object that an imported name stands for


class ChangedInPlace(NamedTuple):
    """A statement that changes an object of the module, which was to be left as it is."""

    site: Site
    method: str
    other: Site  # of the method and its call the other one
    own: bool  # said of the method, which is in this file
    shared: str  # the name of the module
    what: str  # what goes there, or is referred to by it
    anew: str  # the method beside it that makes a new object, if there is one
    grows: bool


class _Change(NamedTuple):
    site: Site
    grows: bool
    params: tuple[m.Param, ...]  # of what is put there
    method: FunctionFacts
    anew: str = ""


def changed_in_place(program: Program, imported: Imported) -> Iterator[ChangedInPlace]:
    """Calls of such methods on what the module, or another one, has made, with a tensor, a model or a function that
    refers to one, whose result is used."""
    shared = {name: dict(found) for name, found in _shared(program, imported)}
    said: set[Site] = set()
    for place in program.places if any(shared.values()) else ():
        function = place.facts
        if function.name == "<module>" or not _UNDOES.isdisjoint(function.calls):
            continue
        dropped = {one[2][1] for one in statements(function.body) if one[0] == m.EXPR and one[2][0] == m.CALL}
        for call in calls(function.body):
            if call[2][0] != m.ATTR or call[1] in dropped:
                continue
            name, by_default = _meant_by(program, place, call[2][1], shared)
            change = shared.get(name, {}).get(call[2][2])
            if change is None or not (change.anew or by_default):
                continue
            own = any(change.method is one for one in program.facts.functions)
            site, other = (change.site, call[1]) if own else (call[1], change.site)
            what = next((one for part in _given(call, change) if (one := _heavy(program, place, part))), "")
            if what and site not in said:
                said.add(site)
                yield ChangedInPlace(site, call[2][2], other, own, name, what, change.anew, change.grows)


def _changing(program: Program, cls: ClassFacts) -> Iterator[tuple[str, _Change]]:
    """The methods of a class that change its object and return it."""
    methods = {name: program.facts.functions[index] for name, index in cls.methods.items() if name[:2] != "__"}
    anew = next((name for name, one in methods.items() if _makes_anew(cls, one)), "")
    for name, method in methods.items():
        returned = [one[2] for one in statements(method.body) if one[0] == m.RETURN]
        change = _change(method)
        if change is not None and returned and all(one == _SELF for one in returned):
            yield name, change._replace(anew=anew)


def _makes_anew(cls: ClassFacts, method: FunctionFacts) -> bool:
    """`return Options(...)`, `return type(self)(...)`, `made = copy.copy(self)` and `return made`."""
    made = {
        target
        for one in statements(method.body)
        if one[0] == m.ASSIGN and _is_new(cls, one[3])
        for target in targets(one)
    }
    returned = [one[2] for one in statements(method.body) if one[0] == m.RETURN and one[2] is not None]
    return bool(returned) and all(one in made or _is_new(cls, one) for one in returned)


def _is_new(cls: ClassFacts, value: Expr) -> bool:
    if value[0] != m.CALL:
        return False
    if last_name(value[2]) in _COPIES and value[2] != (m.ATTR, _SELF, "replace"):
        return True
    of_self = value[2][0] == m.CALL and value[2][2] == (m.NAME, "type")
    return of_self or last_name(value[2]) in (cls.name, "__class__", "cls")


def _change(method: FunctionFacts) -> _Change | None:
    """Where a method puts what it is given into an attribute of its object, or into what that contains."""
    for one in statements(method.body):
        found: list[tuple[Expr, bool]] = []
        for target in targets(one) if one[0] in (m.ASSIGN, m.AUGMENT) else ():
            if target[0] in (m.ATTR, m.ITEM) and root_of(target) == _SELF:
                found.append((one[-1], one[0] == m.AUGMENT))
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][2] in _PUTS and root_of(call[2][1]) == _SELF != call[2][1]:
                found += [(value, call[2][2] in _ADDS) for value in (*call[3], *(value for _, value in call[4]))]
        for value, grows in found:
            names = {part[1] for part in _parts(value) if part[0] == m.NAME}
            params = tuple(param for param in method.params[1:] if param.name in names)
            if params:
                return _Change(one[1], grows, params, method)
    return None


def _parts(value: Expr) -> Iterator[Expr]:
    """A value and what a display has: `[row]`, `{**self.late, **makers}`."""
    yield value
    inner = value[3] if value[0] == m.NEW else [part for _, part in value[2]] if value[0] == m.DICT else ()
    for part in inner:
        yield from _parts(part)


def _shared(program: Program, imported: Imported) -> Iterator[tuple[str, list[tuple[str, _Change]]]]:
    """The names of the module that are bound to an object of a class of the project, and the methods that change it."""
    known: dict[str, list[tuple[str, _Change]]] = {}
    classes = {cls.name: cls for cls in program.facts.classes}
    for one in program.facts.functions[0].body:
        value = one[3] if one[0] == m.ASSIGN else one[4] if one[0] == m.ANNOTATE else None
        if value is None or value[0] != m.CALL:
            continue
        made = value[2][1] if value[2][0] == m.ATTR else value[2]  # `DEFAULT.with_args(bits=4)` is another one
        found = known.get(made[1], []) if made[0] == m.NAME else []
        if value[2][0] == m.NAME and value[2][1] in classes:
            found = list(_changing(program, classes[value[2][1]]))
        for target in targets(one) if found else ():
            if target[0] == m.NAME:
                known[target[1]] = found
    for name in program.imports:
        of = imported(name) if name.isupper() or "default" in name.lower() else None
        if of is not None:
            known[name] = list(_changing(*of))
    yield from known.items()


def _meant_by(program: Program, place: Place, receiver: Expr, shared: Mapping[str, object]) -> tuple[str, bool]:
    """The same of an attribute, which the object has from its constructor."""
    if receiver[:2] == (m.ATTR, _SELF):
        for init in (one.facts for one in program.by_name.get("__init__", ()) if one.cls == place.cls):
            bound = [one[3] for one in statements(init.body) if one[0] == m.ASSIGN and receiver in targets(one)]
            found = [_meant(init, value, shared) for value in bound]
            return next((one for one in found if one[0]), ("", False))
    return _meant(place.facts, receiver, shared)


def _meant(function: FunctionFacts, receiver: Expr, shared: Mapping[str, object]) -> tuple[str, bool]:
    """The object of the module that a method is called on, perhaps, and whether it stands in for one that the caller
    may give: `options=DEFAULT`, `options or DEFAULT`, `if options is None: options = DEFAULT`."""
    if receiver[0] != m.NAME:
        found = _among(receiver, shared)
        return found, bool(found)
    given = next((param for param in function.params if param.name == receiver[1]), None)
    bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and receiver in targets(one)]
    if given is not None and given.default is not None and given.default[0] == m.NAME and given.default[1] in shared:
        return ("", False) if bound else (given.default[1], True)
    if not bound:
        return ("", False) if given is not None else (receiver[1], False)
    found = next((name for value in bound if (name := _among(value, shared))), "")
    return found, given is not None or any(value[0] in (m.BOOL, m.COND) for value in bound)


def _among(value: Expr, shared: Mapping[str, object]) -> str:
    """The object of the module that a value may be as it is: `options or DEFAULT`."""
    parts = value[2] if value[0] == m.BOOL else value[2:] if value[0] == m.COND else (value,)
    return next((part[1] for part in parts if part[0] == m.NAME and part[1] in shared), "")


def _given(call: Expr, change: _Change) -> Iterator[Expr]:
    """What a call gives for the parameters that go into the object."""
    named = [param.name for param in change.method.params[1:] if not param.kind]
    for param in change.params:
        if param.kind == "**":
            yield from (value for key, value in call[4] if key not in named)
        elif param.kind:
            yield from call[3][len(named) :]
        else:
            value = keyword(call, param.name, named.index(param.name))
            yield from () if value is None else (value,)


def _heavy(program: Program, place: Place, value: Expr) -> str:
    """The tensor or model that a value is, has, or refers to as a function; "" if there is none."""
    inner = {program.facts.functions[index].name: program.facts.functions[index] for index in place.facts.inner}
    for part in nodes(value):
        made = program.facts.functions[part[1]] if part[0] == m.LAMBDA else None
        if part[0] == m.NAME:
            made = inner.get(part[1])
            if is_tensor_or_model(program, place.facts, part) and part == value:
                return str(part[1])
        own = {param.name for param in made.params} if made is not None else set[str]()
        for one in statements(made.body) if made is not None else ():
            for name in (node for node in nodes(one) if node[0] == m.NAME and node[1] not in own):
                if is_tensor_or_model(program, place.facts, name):
                    return str(name[1])
    return ""
