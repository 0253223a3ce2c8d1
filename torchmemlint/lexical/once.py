"""How often a function runs, for all that its file says: again and again, or once at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..facts import model as m
from ..facts.model import Expr, Stmt, statement_of
from ..facts.program import Place, Program, targets
from ..facts.walk import calls_of, heads, in_loops, last_name, nodes, statements
from ..facts.when_missing import made_once
from .lent import ENDS

SETUPS = ("__init__", "setup", "__enter__", "__post_init__")
ONCE = (*SETUPS, "<module>", "setUp", "main")  # what runs once, for all that the file says
_SELF = (m.NAME, "self")
_MODULES = frozenset(
    "model net network module teacher student generator discriminator encoder decoder backbone".split()
)


def called_as(place: Place) -> str:
    """The name that a function is called by: of its class, if it is the constructor."""
    return place.cls if place.facts.name == "__init__" and place.cls else place.facts.name


def _objects(program: Program, place: Place) -> Iterator[str]:
    """What goes by the names of objects that are called, `evaluate(model)`, if that runs the function."""
    for other in program.places if place.facts.name == "__call__" and place.cls else ():
        for one in statements(other.facts.body) if place.cls in other.facts.calls else ():
            if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3]) == place.cls:
                yield from filter(None, map(last_name, one[2]))


def is_repeated(program: Program, place: Place, *, driven: bool = False, of_object: bool = False) -> bool:
    """Whether a loop of the file calls a function, or a function that calls it, or other files call one of them in a
    loop; `driven`: not to set something up; `of_object`: the method of one object, not of one after the other."""
    callers = [place]
    names = {called_as(place), *_objects(program, place)}
    for _ in range(4 if driven else 3):
        more = []
        for other, looped in callers_of(program, names, driven=driven):
            if looped:
                return True
            if not (of_object and other.cls == place.cls and other.facts.name == "__init__"):
                more.append(other)
        names = {name for other in more for name in (called_as(other), *_objects(program, other))}
        callers += more
    return any(_is_repeated_elsewhere(program, one, of_object) for one in callers)


def callers_of(
    program: Program,
    names: set[str],
    *,
    driven: bool = False,
    means: Callable[[Place, Expr], bool] | None = None,
) -> Iterator[tuple[Place, bool]]:
    """The functions of a file that call something by one of these names, each with whether they do so in a loop;
    `driven`: not to set something up; `means`: whether a call in a function means what is asked for."""
    for other in program.places:
        if names.isdisjoint(other.facts.calls):
            continue
        for statement, looped in in_loops(other.facts.body):
            told = [call for call in calls_of(statement) if last_name(call[2]) in names and not _is_of_a_model(call)]
            told = [call for call in told if means(other, call)] if means is not None else told
            if any(not (driven and _is_told_not_to(call)) for call in told):
                again = looped and statement_of(statement[1]) not in made_once(other.facts)
                again = again or _is_in_comprehension(statement, names)
                yield other, again and not (driven and _sets_up(other.facts.name))


def _is_of_a_model(call: Expr) -> bool:
    """`self.model.train()`: the mode of a module, and no training that has begun."""
    if call[2][0] != m.ATTR or call[2][2] not in ("train", "eval") or any(one[0] != m.CONST for one in call[3]):
        return False
    return not _MODULES.isdisjoint(last_name(call[2][1]).lower().split("_"))


def _is_repeated_elsewhere(program: Program, place: Place, of_object: bool) -> bool:
    """Whether other files call a function in a loop, by its own name or that of its class."""
    name, cls = place.facts.name, place.cls
    if name in ONCE and not (name == "__init__" and cls and not of_object):
        return False
    return program.is_repeated_elsewhere(cls if name == "__init__" else f"{cls}.{name}" if cls else name)


def _sets_up(name: str) -> bool:
    """`__init__`, `_init_process_groups`, `setup`: what goes round in it is over when the object is there."""
    return name in SETUPS or name.strip("_").partition("_")[0] in ("init", "initialize", "setup")


def _is_told_not_to(call: Expr) -> bool:
    """`Mesh(ranks, _init_backend=False)`"""
    return any(value == (m.CONST, False) and _sets_up(key) for key, value in call[4] if key)


def _is_in_comprehension(statement: Stmt, names: set[str]) -> bool:
    """Whether a comprehension calls one of the functions, once for each of its elements."""
    for part in (part for head in heads(statement) for part in nodes(head)):
        if part[0] == m.COMP:
            inside = (call for given in part[3:5] if given is not None for call in nodes(given) if call[0] == m.CALL)
            if any(last_name(call[2]) in names for call in inside):
                return True
    return False


def runs_once(program: Program, place: Place, depth: int = 3) -> bool:
    """Whether a function is the program itself, or ends an object that the program ends when all is done: `close()`
    of what `main` has, also where another object's `close()` calls it."""
    name = place.facts.name
    if name in ("<module>", "main"):
        return not is_repeated(program, place)
    if not place.cls or name.lstrip("_") not in ENDS or not depth:
        return False
    if name == "__exit__":
        return True
    found = False
    for other in program.places:
        for statement, looped in in_loops(other.facts.body) if name in other.facts.calls else ():
            if any(_may_call(program, other, call, place) for call in calls_of(statement)):
                found = True
                again = looped or _is_in_comprehension(statement, {name})
                if again or other is place or not runs_once(program, other, depth - 1):
                    return False
    return found


def called_last(program: Program, place: Place, depth: int = 3) -> bool:
    """Whether a function ends something when all is done: the program itself calls it, once, or a function that the
    program calls once does, or the `close()` of another object that it ends."""
    name, found = place.facts.name, False
    if name in ("<module>", "main"):
        return not is_repeated(program, place)
    for other in program.places if depth else ():
        for statement, looped in in_loops(other.facts.body) if name in other.facts.calls else ():
            told = [call for call in calls_of(statement) if last_name(call[2]) == name]
            if other is place:
                told = [call for call in told if call[2][:2] == (m.ATTR, _SELF)]  # `part.close()` is the parts' end
            if any(call[2][0] == m.NAME or _may_call(program, other, call, place) for call in told):
                found = True
                again = looped or _is_in_comprehension(statement, {name})
                if again or other is place or not called_last(program, other, depth - 1):
                    return False
    return found


def _may_call(program: Program, caller: Place, call: Expr, method: Place) -> bool:
    """Whether a call may mean a method, by what its receiver is bound to anywhere in the file."""
    callee = call[2]
    if callee[0] != m.ATTR or callee[2] != method.facts.name:
        return False
    if callee[1] == _SELF:
        return caller.cls == method.cls
    made = set(made_as(program, last_name(callee[1])))
    return not made or method.cls in made or not all(name[:1].isupper() for name in made)


def made_as(program: Program, name: str) -> Iterator[str]:
    """What is called to make what goes by a name: `Feed` of `self.feed = Feed(source)`."""
    for place in program.places:
        for one in statements(place.facts.body):
            if one[0] == m.ASSIGN and one[3][0] == m.CALL and any(last_name(t) == name for t in targets(one)):
                yield last_name(one[3])
