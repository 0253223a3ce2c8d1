"""What leads to a function within its file: who calls it by name, makes objects whose pass it is, or has it inside."""

from __future__ import annotations

from . import model as m
from .model import FileFacts, FunctionFacts
from .walk import calls, expressions_of, last_name, root_of, statements

_PASSES = ("forward", "__call__")
_SELF = (m.NAME, "self")
_OWN = (m.ATTR, _SELF)


def callers_by_name(facts: FileFacts) -> dict[str, list[int]]:
    """The functions that call each name."""
    callers: dict[str, list[int]] = {}
    for index, function in enumerate(facts.functions):
        for name in function.calls:
            callers.setdefault(name, []).append(index)
    return callers


def makers_by_class(facts: FileFacts) -> dict[int, list[int]]:
    """For each class whose pass keeps something on its object, or has a part whose pass does, the passes of the classes
    that make objects of it: `self.norm(x)` calls no name of it."""
    passes = {
        i: [klass.methods[name] for name in _PASSES if name in klass.methods] for i, klass in enumerate(facts.classes)
    }
    leaving = _leave_something(facts)
    keeping = [i for i, own in passes.items() if not leaving.isdisjoint(own)]
    if not keeping:
        return {}
    owners = {klass.name: i for i, klass in enumerate(facts.classes) if passes[i]}
    made_by: dict[int, set[int]] = {}
    for function in facts.functions:
        for name in owners.keys() & set(function.calls) if function.owner >= 0 else ():
            if owners[name] != function.owner:
                made_by.setdefault(owners[name], set()).add(function.owner)
    found: dict[int, list[int]] = {}
    while keeping:
        part = keeping.pop()
        if part not in found:
            found[part] = [one for whole in made_by.get(part, ()) for one in passes[whole]]
            keeping += made_by.get(part, ())
    return found


def _leave_something(facts: FileFacts) -> set[int]:
    """The functions that may leave something on their object, themselves or through what they call."""
    leaving = {i for i, function in enumerate(facts.functions) if i and _adds_to_its_object(function)}
    callers = callers_by_name(facts) if leaving else {}
    queue = list(leaving)
    while queue:
        function = facts.functions[queue.pop()]
        more = callers.get(function.name, ()) if function.name not in ("__init__", *_PASSES) else ()
        queue += [caller for caller in more if caller not in leaving]
        leaving.update(more)
    return leaving


def _adds_to_its_object(function: FunctionFacts) -> bool:
    """Whether a function may leave something on its object, or on what it is given for one: `self.last = x`,
    `self.mean.mul_(0.9).add_(x)`."""
    if function.flags & m.KEEPS or not function.flags & m.GROWS:
        return bool(function.flags & m.KEEPS)
    augmented = (one[2] for one in statements(function.body) if one[0] == m.AUGMENT)
    receivers = (call[2][1] for call in calls(function.body) if call[2][0] == m.ATTR)
    return any(root_of(place) == _SELF and place != _SELF for place in (*augmented, *receivers))


def with_callers(
    facts: FileFacts, chosen: set[int], callers: dict[str, list[int]], makers: dict[int, list[int]]
) -> set[int]:
    """With all functions that call a chosen one by its name, or that it is defined in."""
    kinds = _made_through(facts)
    outer = {inner: index for index, function in enumerate(facts.functions) for inner in function.inner}
    found = set(chosen)
    queue = list(chosen)
    asked = {"__init__"}  # which is called by the class's name
    while queue:
        index = queue.pop()
        name = facts.functions[index].name
        more = [] if name in asked else callers.get(name, [])
        if name in _PASSES:
            more = [*more, *makers.get(facts.functions[index].owner, [])]
        elif name == "__getitem__" and name not in asked:
            more = [*more, *_look_up_in_parts(facts)]
        if index in kinds:
            more = [*more, *(one for made in kinds[index] for one in callers.get(made, ()))]
        if name == "__call__" and facts.functions[index].owner >= 0:  # `op = Search(model)`, `op()`
            own = facts.classes[facts.functions[index].owner].name
            derived = [klass.name for klass in facts.classes if own in map(last_name, klass.bases)]
            more = [*more, *(one for made in (own, *derived) for one in callers.get(made, ()))]
        asked.add(name)
        if index in outer and (maker := _decorator_of(facts, index, outer)):
            more = [*more, *(i for i, one in enumerate(facts.functions) if maker in map(last_name, one.decorators))]
        for caller in (*more, outer[index]) if index in outer else more:
            if caller not in found:
                found.add(caller)
                queue.append(caller)
    return found


def _decorator_of(facts: FileFacts, index: int, outer: dict[int, int]) -> str:
    """The name of the function that puts an inner one around others: that calls what one around it was given."""
    called, place = set(facts.functions[index].calls), outer.get(index, 0)
    while place:
        function = facts.functions[place]
        if any(param.name in called for param in function.params):
            return facts.functions[outer.get(place, 0) or place].name
        place = outer.get(place, 0)
    return ""


def _look_up_in_parts(facts: FileFacts) -> list[int]:
    """The methods that look something up in a part of their object, `self.video[index]`: that calls no name."""
    return [
        index
        for index, function in enumerate(facts.functions)
        if function.owner >= 0
        and any(
            part[0] == m.ITEM and part[1][:2] == _OWN
            for one in statements(function.body)
            for part in expressions_of(one)
        )
    ]


def _made_through(facts: FileFacts) -> dict[int, list[str]]:
    """The methods that a call of a class runs before its constructor, `__new__` and the `__call__` of a metaclass, with
    the names of the classes."""
    found: dict[int, list[str]] = {}
    by_name = {klass.name: klass for klass in facts.classes}
    for klass in facts.classes:
        above, metaclass = [klass], None
        for one in above:
            metaclass = metaclass or by_name.get(last_name(one.metaclass))
            above += [by_name[name] for base in one.bases if (name := last_name(base)) in by_name and len(above) < 9]
        for owner, name in ((metaclass, "__call__"), *((one, "__new__") for one in above)):
            if owner is not None and name in owner.methods:
                found.setdefault(owner.methods[name], []).append(klass.name)
    return found
