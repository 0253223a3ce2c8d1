"""A model that another one is to replace, while the cache is emptied: it goes only when the next one is there.

`if name != self.name: gc.collect(); torch.cuda.empty_cache(); self.model = load(name)`: what was to be freed is the old
model, which `self.model` has until the assignment. Both are there while the new one is loaded. So they are where the
cache is emptied below, when the old one is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import LOADS_A_MODEL
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls, calls_of, last_name, nodes, statements, with_conditions
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Module, Obj, Value
from ..lexical.cleanup import empties, given_up, may_clean_up
from .emptied import is_work
from .forgotten import heavy_part

_LEVELS = 2  # of functions that call each other, from the one that binds to the one that empties, and to its callers
_FIRST = ("__init__", "__post_init__", "__enter__", "__del__", "<module>")
_SAME = ("Equal", "NotEqual", "Is", "IsNot", "In", "NotIn")
_MOVES = ("to", "cpu", "to_empty")
_MAKES = ("load", "build", "create", "make", "from_pretrained", "init")


class Replaced(NamedTuple):
    site: Site  # where the cache is emptied; where the next one is made, if it is emptied only after that
    holder: str  # `self.model`
    bound: Site  # where it gets the next one
    late: Site | None = None  # where the cache is emptied after that


class _Emptying(NamedTuple):
    at: Site  # the call in the function that is looked at
    site: Site  # where the cache is emptied in the end


def replaced_models(machine: Machine, program: Program) -> Iterator[Replaced]:
    """Models of attributes and globals that a function replaces, with the cache emptied for the next one, or later."""
    if not program.empties:
        return
    said = set[Site]()
    for place in program.places:
        if place.facts.name in _FIRST or _runs_at_first(program, place):
            continue
        emptying, late = _emptied_first(program, place), _emptied_last(program, place)
        if emptying is not None and emptying.site in said:
            continue
        for old in _replaced(machine, program, place, emptying, late):
            said.add(old.site)
            yield old


def _replaced(
    machine: Machine, program: Program, place: Place, emptying: _Emptying | None, late: Site | None
) -> Iterator[Replaced]:
    """The first model that a function replaces, if it does so without letting go of it."""
    for statement, conditions in with_conditions(place.facts.body):
        at = statement[1]
        first = emptying if emptying is not None and at >= emptying.at else None
        if statement[0] != m.ASSIGN or (first is None and (late is None or at > late)):
            continue
        site = _made_at(program, place, statement) if first is None else first.site
        after = at if first is None else first.at
        holder = _holder(program, place, statement, 0 if first is None else after)
        if not holder or site is None or not (_is_loaded(program, statement[3]) or _has_model(machine, place, holder)):
            continue
        if _is_there(place, holder, conditions, after):
            if not _goes_before(program, place, holder):
                yield Replaced(site, holder, at, late if first is None else None)
            return


def _runs_at_first(program: Program, place: Place) -> bool:
    """Whether a method that is the class's own affair, `_load_model`, is called by its constructor and by no other:
    what it binds is the first one."""
    if not place.cls or not place.facts.name.startswith("_"):
        return False
    users = [one.facts.name for one in program.places if place.facts.name in one.facts.calls]
    return bool(users) and all(name in _FIRST for name in users)


def _emptied_first(program: Program, place: Place, levels: int = _LEVELS) -> _Emptying | None:
    """Where a function empties the cache, itself or by one of the file, before it makes something."""
    if not may_clean_up(program, place.facts) and not levels:
        return None
    found = [*calls(place.facts.body)]
    for call in found:
        if not any(_is_made(program, later) for later in found if later[1] > call[1]):
            continue
        if last_name(call[2]) not in program.by_name and empties(program, call):
            return _Emptying(call[1], call[1])
        for other in _called(program, place, call) if levels else ():
            inner = _emptied_by(program, other, levels - 1)
            if inner is not None:
                return _Emptying(call[1], call[1] if _serves_many(program, other) else inner)
    return None


def _emptied_last(program: Program, place: Place) -> Site | None:
    """Where a function empties the cache for the last time, itself or by one of the file."""
    return max((call[1] for call in calls(place.facts.body) if _lets_go(program, place, call)), default=None)


def _lets_go(program: Program, place: Place, call: Expr) -> bool:
    inner = (_emptied_by(program, other, 0) for other in _called(program, place, call))
    return empties(program, call) or any(site is not None for site in inner)


def _made_at(program: Program, place: Place, statement: Stmt) -> Site | None:
    """Where something new is made for a statement, not in a `try`: where that fails, the one before goes on serving."""
    value = _value(place, statement, 0)
    if value[0] != m.CALL or not _is_made(program, value):
        return None
    made: Site = value[1]
    tries = (one for one in statements(place.facts.body) if one[0] == m.TRY and one[3])
    tried = {m.statement_of(inner[1]) for one in tries for inner in statements(one[2])}
    return None if m.statement_of(made) in tried else made


def _serves_many(program: Program, helper: Place) -> bool:
    """Whether others call a helper as well, so that its own line says nothing of the one that comes too early."""
    users = (one for one in program.places if helper.facts.name in one.facts.calls)
    return sum(helper in _called(program, one, call) for one in users for call in calls(one.facts.body)) > 1


def _emptied_by(program: Program, place: Place, levels: int) -> Site | None:
    """Where a function that another one calls empties the cache: it is there for that, or does so first."""
    if place.facts.name in program.emptying or _only_lets_go(program, place):
        return next((call[1] for call in calls(place.facts.body) if empties(program, call)), None)
    inner = _emptied_first(program, place, levels)
    return None if inner is None else inner.site


def _only_lets_go(program: Program, place: Place) -> bool:
    """`def clear(self): self.table.clear(); gc.collect(); empty_cache()`"""
    work = [call for call in calls(place.facts.body) if is_work(program, call)]
    return all(last_name(call[2]) in program.by_name and not _called(program, place, call) for call in work)


def _called(program: Program, place: Place, call: Expr) -> list[Place]:
    """The functions of the file that a call means: those of the same class for `self.clear()`."""
    found = program.by_name.get(last_name(call[2]), [])
    own = call[2][:2] == (m.ATTR, (m.NAME, "self"))
    return [one for one in found if one.facts is not place.facts and one.cls == (place.cls if own else "")]


def _is_made(program: Program, call: Expr) -> bool:
    named = last_name(call[2]).lstrip("_").startswith(_MAKES)
    return named or is_work(program, call) or program.dotted(call[2]) in LOADS_A_MODEL


def _holder(program: Program, place: Place, statement: Stmt, after: Site) -> str:
    """The attribute or global that gets something new below: `self.model = load(name)`, or the local that it was made
    as."""
    if _value(place, statement, after)[0] != m.CALL:
        return ""
    return next((text(target) for target in targets(statement) if _is_wide(program, place, target)), "")


def _value(place: Place, statement: Stmt, after: Site) -> Expr:
    """What an assignment gives: the call that its local was bound to, if that comes after this place."""
    value: Expr = statement[3]
    if value[0] != m.NAME:
        return value
    bound = (one for one in statements(place.facts.body) if one[1] < statement[1] and value in targets(one))
    last = next(reversed([*bound]), None)
    if last is None or last[0] != m.ASSIGN or m.statement_of(last[1]) < m.statement_of(after):
        return (m.TEXT,)
    given: Expr = last[3]
    return given


def _is_wide(program: Program, place: Place, expr: Expr) -> bool:
    """An attribute of the object, or of a record that the file has one of, `state.model`, or a global that the function
    binds."""
    if _is_beside(place, expr, "self"):
        return True
    return bool(expr[0] == m.ATTR and expr[1][0] == m.NAME) and _is_of_the_file(program, place, expr[1])


def _is_beside(place: Place, expr: Expr, owner: str) -> bool:
    """Whether this belongs to what has the model, the object or a record; or it is a global that the function binds."""
    if expr[0] == m.NAME and owner in ("", "self"):
        return any(one[0] == m.GLOBAL and expr[1] in one[2] for one in statements(place.facts.body))
    return bool(expr[:2] == (m.ATTR, (m.NAME, owner or "self")))


def _is_of_the_file(program: Program, place: Place, name: Expr) -> bool:
    """Whether a name is bound by the body of the module, and not by a function: `import shared` does so, too."""
    if name[1] in program.imports:
        return True
    whole = (one for other in program.by_name.get("<module>", ()) for one in statements(other.facts.body))
    own = any(name in targets(one) for one in statements(place.facts.body) if one[0] != m.EXPR)
    return (
        not own
        and name[1] not in {one.name for one in place.facts.params}
        and any(name in targets(one) for one in whole)
    )


def _is_loaded(program: Program, value: Expr) -> bool:
    """`SentenceTransformer(name).to(device)`"""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][1][0] == m.CALL:
        value = value[2][1]
    return value[0] == m.CALL and program.dotted(value[2]) in LOADS_A_MODEL


def _has_model(machine: Machine, place: Place, holder: str) -> bool:
    """Whether an attribute, or a global, is seen to have a model with parameters."""
    owner, _, name = holder.rpartition(".")
    values: list[Value] = [machine.module_frame.vars.get(name, ())] if not owner else []
    if owner not in ("", "self"):
        of_record = map(_variables, machine.module_frame.vars.get(owner, ()))
        return any(heavy_part(found.get(name, ())) == "module" for found in of_record)
    known = [obj for objects in machine.instances.values() for obj in objects] if owner else []
    values += [obj.fields.get(name, ()) for obj in (*known, *(machine.module_frame.allocs.values() if owner else ()))
               if type(obj) is Obj and isinstance(obj.cls, Class) and obj.cls.facts.name == place.cls]  # fmt: skip
    return any(heavy_part(value) == "module" for value in values)


def _variables(record: object) -> dict[str, Value]:
    """What an object, or a module of the project, has by name."""
    if type(record) is Module:
        return record.unit.frame.vars
    return record.fields if type(record) is Obj else {}


def _is_there(place: Place, holder: str, conditions: tuple[tuple[Expr, bool], ...], after: Site) -> bool:
    """Whether a function is meant to replace what is there: it asks whether another one is wanted than is there, or
    has just let go of other things for it."""
    asked = False
    for test, holds in conditions:
        parts = list(test[2] if test[0] == m.BOOL else (test,))
        sure = test[0] != m.BOOL or (test[1] == "and") == holds  # of `a or b` that holds, none may be so by itself
        for part in parts:
            if sure and _says_missing(part, holder, holds):
                return False
            asked = (
                asked or _compares(place, part, holder.rpartition(".")[0]) or (sure and holds and text(part) == holder)
            )
    before = (one for one in statements(place.facts.body) if one[1] < after)
    return asked or any(name.startswith("self.") for one in before for name in given_up(one))


def _says_missing(test: Expr, holder: str, holds: bool) -> bool:
    """`self.model is None`, `not self.model`: what is bound there is the first one."""
    if test[0] == m.NOT:
        return _says_missing(test[1], holder, not holds)
    if test[0] == m.COMPARE and text(test[2]) == holder and test[3] == (m.CONST, None):
        return (test[1] in ("Is", "Equal")) == holds
    return text(test) == holder and not holds


def _compares(place: Place, test: Expr, owner: str) -> bool:
    """`name != self.name`, `self.key == (name, size)`: what is wanted with what is there, and not how much of it."""
    if test[0] == m.NOT:
        return _compares(place, test[1], owner)
    if test[0] != m.COMPARE or test[1] not in _SAME or (m.CONST, None) in test[2:4]:
        return False
    sides = [any(_is_beside(place, part, owner) for part in nodes(side)) for side in test[2:4]]
    return sides[0] != sides[1]


def _goes_before(program: Program, place: Place, holder: str) -> bool:
    """Whether what a place has is let go of by the function, one that it calls or those that call it; or is moved."""
    owner, _, name = holder.rpartition(".")
    for other in _around(program, place):
        if other.facts.name in _FIRST or (owner == "self" and other.cls and other.cls != place.cls):
            continue
        body = [*statements(other.facts.body)]
        gone = [one for statement in body for one in given_up(statement)]
        if any(one.rpartition(".")[2] == name and (owner or one[:5] != "self.") for one in gone):
            return True
        if other.facts is place.facts and any(_moves(call, name) for one in body for call in calls_of(one)):
            return True
    return False


def _moves(call: Expr, name: str) -> bool:
    """`self.model.to("cpu")`, and `offload(self.model)`: who knows where it is then."""
    if call[2][0] == m.ATTR and call[2][2] in _MOVES and last_name(call[2][1]) == name:
        return True
    return any(last_name(given) == name for given in call[3]) and "load" in last_name(call[2])


def _around(program: Program, place: Place) -> list[Place]:
    """A function, those that call it, and all that these call."""
    around = {id(place.facts): place}
    level = [place]
    for _ in range(_LEVELS):
        names = {one.facts.name for one in level}
        level = [one for one in program.places if names.intersection(one.facts.calls) and id(one.facts) not in around]
        around.update({id(one.facts): one for one in level})
    level = list(around.values())
    for _ in range(_LEVELS):
        level = [other for one in level for name in one.facts.calls for other in program.by_name.get(name, ())
                 if id(other.facts) not in around]  # fmt: skip
        around.update({id(one.facts): one for one in level})
    return list(around.values())
