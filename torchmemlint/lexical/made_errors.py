"""Exceptions that a function makes, puts where they stay and raises as they are: what is kept gets the frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, text
from ..facts.walk import calls, last_name, nodes, root_of, statements
from .at_work import is_called_at_work
from .keepers import ADDS
from .kept_places import stays
from .shared_errors import is_exception_class, is_made_exception, takes_tracebacks_off

_FILLS = frozenset(ADDS) - {"put", "put_nowait"}  # what is put into a queue is on its way to somebody


class KeptError(NamedTuple):
    """An exception object that is put away and raised."""

    site: Site
    holder: str
    raised: Site
    again: bool  # raised each time that somebody asks, not only once
    function: FunctionFacts
    bound: bool = False  # what is put away is a function that raises it


def made_kept_and_raised(program: Program) -> Iterator[KeptError]:
    """Exceptions that are put away where they are made, and raised with tensors at hand: by `raise error` there, by a
    function that `partial` has bound them to, or by one that is defined there and put away, or from the attribute."""
    if takes_tracebacks_off(program):
        return
    kinds = {name for name in program.called if is_exception_class(program, name)}
    making = [one for one in program.places if not kinds.isdisjoint(one.facts.calls) and one.facts.name != "<module>"]
    given = _given(program, making)
    works = {id(one.facts) for one in making} | given.keys()
    for place in program.places if making else ():
        if id(place.facts) not in works:
            continue
        made = {**given.get(id(place.facts), {}), **dict(_made(program, place.facts))}
        for one in statements(place.facts.body):
            for holder, value in _put(one):
                found = _how_raised(program, place, made, one, holder, value)
                if found is not None:
                    yield found


def _how_raised(
    program: Program, place: Place, made: dict[str, Site], put: Stmt, holder: Expr, value: Expr
) -> KeptError | None:
    """Who raises what is put away, if tensors are at hand there."""
    function = place.facts
    bound = _raised_when_called(program, function, made, value)
    if bound is not None:
        thrower, site = bound
        works = is_called_at_work(program, function) or is_called_at_work(program, thrower)
        return KeptError(put[1], text_of(holder), site, True, function, True) if works else None
    is_error = value[1] in made if value[0] == m.NAME else is_made_exception(program, value)
    if not is_error or not stays(program, function, root_of(holder)):
        return None
    for asker, site in _askers(program, place, holder):
        if is_called_at_work(program, asker):
            return KeptError(put[1], text_of(holder), site, True, function)
    if not _is_kept_object(program, place, holder) or not is_called_at_work(program, function):
        return None
    for one in statements(function.body):
        if one[0] == m.RAISE and one[2] is not None and one[2] in (value, holder):
            return KeptError(put[1], text_of(holder), one[1], False, function)
    return None


def _made(program: Program, function: FunctionFacts) -> Iterator[tuple[str, Site]]:
    """The locals that are an exception which the function has made."""
    declared = {name for one in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}
    for one in statements(function.body):
        if one[0] == m.ASSIGN and is_made_exception(program, one[3]):
            yield from ((t[1], one[1]) for t in one[2] if t[0] == m.NAME and t[1] not in declared)


def _given(program: Program, making: list[Place]) -> dict[int, dict[str, Site]]:
    """The parameters that get an exception which was made for the call, `fail(BuildError(name))`, by the identity of
    the facts of their functions."""
    found: dict[int, dict[str, Site]] = {}
    for place in making:
        for call in calls(place.facts.body):
            helpers = program.by_name.get(last_name(call[2]), ())
            if len(helpers) != 1:
                continue
            taking = helpers[0].facts
            params = taking.params[1:] if helpers[0].cls and call[2][0] == m.ATTR else taking.params
            names = [
                param.name for param, item in zip(params, call[3], strict=False) if is_made_exception(program, item)
            ]
            names += [name for name, item in call[4] if name and is_made_exception(program, item)]
            for name in names:
                found.setdefault(id(taking), {})[name] = call[1]
    return found


def _put(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a statement puts into an attribute, under a key or into a list: the place and the value."""
    if statement[0] == m.ASSIGN:
        yield from ((target, statement[3]) for target in statement[2] if target[0] in (m.ATTR, m.ITEM))
    elif statement[0] == m.EXPR and statement[2][0] == m.CALL:
        call = statement[2]
        if call[2][0] == m.ATTR and call[2][2] in _FILLS and call[3]:
            yield (m.ITEM, call[2][1], (m.CONST, None)), call[3][-1]


def _raised_when_called(
    program: Program, function: FunctionFacts, made: dict[str, Site], value: Expr
) -> tuple[FunctionFacts, Site] | None:
    """The function that raises one of these when what is put away is called, and where it does."""
    if value[0] == m.CALL and last_name(value[2]) == "partial" and value[3]:
        called, given, keywords = value[3][0], value[3][1:], dict(value[4])
    elif value[0] == m.LAMBDA:
        body = program.facts.functions[value[1]].body
        inside = next(iter(calls(body)), None)
        if inside is None:
            return None
        called, given, keywords = inside[2], inside[3], dict(inside[4])
    elif value[0] == m.NAME:
        inner = [program.facts.functions[index] for index in function.inner]
        for one in inner:
            own = {param.name for param in one.params} | {t for t, _ in _made(program, one)}
            if one.name == value[1]:
                return _raises(one, set(made) - own)
        return None
    else:
        return None
    helpers = program.by_name.get(last_name(called), ())
    if len(helpers) != 1:
        return None
    params = helpers[0].facts.params[1:] if helpers[0].cls and called[0] == m.ATTR else helpers[0].facts.params
    taken = {param.name for param, item in zip(params, given, strict=False) if _is_one(item, made)}
    taken |= {name for name, item in keywords.items() if _is_one(item, made)}
    return _raises(helpers[0].facts, taken)


def _is_one(value: Expr, made: dict[str, Site]) -> bool:
    return bool(value[0] == m.NAME and value[1] in made)


def _raises(function: FunctionFacts, names: set[str]) -> tuple[FunctionFacts, Site] | None:
    for one in statements(function.body):
        if one[0] == m.RAISE and one[2] is not None and one[2][0] == m.NAME and one[2][1] in names:
            return function, one[1]
    return None


def _askers(program: Program, place: Place, holder: Expr) -> Iterator[tuple[FunctionFacts, Site]]:
    """The other methods that raise what is in an attribute: each time, if the constructor has made it, or if they have
    it made when it is not there yet. What a thread leaves for its parent is raised once."""
    if holder[0] != m.ATTR or holder[1] != (m.NAME, "self"):
        return
    own = place.facts
    for other in program.places:
        if other.facts is own or other.cls != place.cls:
            continue
        if own.name == "__init__" or own.name in other.facts.calls:
            for one in statements(other.facts.body):
                if one[0] == m.RAISE and one[2] == holder:
                    yield other.facts, one[1]


def _is_kept_object(program: Program, place: Place, holder: Expr) -> bool:
    """Whether the object stays that an attribute or container belongs to: a module, or one that this file puts into an
    attribute, a table or a name of the module when it is made."""
    if root_of(holder) not in ((m.NAME, "self"), (m.NAME, "cls")):
        return True
    if any(base.endswith("nn.Module") for base in place.bases):
        return True
    for number, one in enumerate(program.places):
        for statement in statements(one.facts.body):
            puts = [value for _, value in _put(statement)]
            if number == 0 and statement[0] == m.ASSIGN:
                puts.append(statement[3])
            made = (part for value in puts for part in nodes(value) if part[0] == m.CALL and len(part) == 5)
            if any(last_name(part[2]) == place.cls for part in made):
                return True
    return False


def text_of(holder: Expr) -> str:
    """`self.errors` of `self.errors[key]`, too."""
    while holder[0] == m.ITEM:
        holder = holder[1]
    return text(holder) or last_name(holder)
