"""Calls that need not be entered: what they return is plain, or said by their name, and they do nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..facts import model as m
from ..facts.model import FunctionFacts
from ..facts.program import targets
from ..facts.relevance import lets_go
from ..facts.walk import calls, last_name, once, root_of, statements
from .values import Class, Const, External, Function, Kwargs, Light, Value

if TYPE_CHECKING:
    from .linking import Unit
    from .machine import Machine

_SHORT = 8  # statements
_SHORTER = 3
PLAIN = (Const, Light, External, Class)
_CUTS = frozenset(("detach", "item", "float"))
_SETS = m.GROWS | m.KEEPS | m.RELEASES | m.BINDS
_GET_LOGGER = (m.ATTR, (m.NAME, "logging"), "getLogger")


def asks_for_one(function: Function, args: list[Value], kwargs: Kwargs) -> Any:
    """What identifies a call of a cached function that makes an object for such arguments once and for all,
    `get_logger("train")`; None for any other call."""
    values = (*args, *kwargs.values())
    if any(type(atom) not in (Const, Class) for value in values for atom in value):
        return None
    made = (one[2] for one in statements(function.facts.body) if one[0] == m.RETURN)
    if not any(value is not None and value[0] == m.CALL and last_name(value)[:1].isupper() for value in made):
        return None
    kinds = tuple(type(atom.value) for value in values for atom in value if type(atom) is Const)
    return ("once", id(function.facts), values, tuple(kwargs), kinds)


def plain_question(machine: Machine, function: Function, args: list[Value], kwargs: Kwargs) -> Any:
    """What identifies a call of another file's helper that is given, and does, nothing but plain values: the same
    call has the same answer. None for any other call."""
    unit = function.frame.unit
    if unit is machine.home or function.frame is not unit.frame or function.facts.generator:
        return None
    for value in (*args, *kwargs.values()):
        for atom in value:
            if type(atom) not in PLAIN:
                return None
    if unit.is_worth_running(function.facts):
        return None
    values = (*args, *kwargs.values())
    kinds = tuple(type(atom.value) for value in values for atom in value if type(atom) is Const)  # True is not 1
    return (id(function.facts), values, tuple(kwargs), kinds)


def says_plain(machine: Machine, function: Function, receiver: object, args: Sequence[Value]) -> bool:
    """Whether a helper of another file, given plain values, says that it returns numbers or text and does nothing to
    others: what it keeps is that file's to say. Given tensors, it is not taken at its word: many a loss is said to be
    a float. A method is, where it is asked while the object's constructor runs, if it sets nothing; what returns
    a logger may have set up what it likes."""
    unit, facts = function.frame.unit, function.facts
    if unit is machine.home or facts.generator:
        return False
    if _gives_logger(facts):
        return True
    if facts.returns is None:
        return False
    if receiver is not None and (receiver is not machine.set_up or facts.flags & _SETS):
        return False
    if any(type(atom) not in PLAIN for value in args for atom in value):
        return False
    if not unit.outline.is_plain(facts.returns):
        return False
    answers = facts.returns[0] != m.CONST  # `-> None` is called for what it does
    quiet = id(facts) not in unit.outline.acting if answers else not unit.is_worth_running(facts)
    return quiet and not _takes_out(facts)


@once
def _gives_logger(function: FunctionFacts) -> bool:
    """Whether a function returns `logging.getLogger(name)`, and nothing else."""
    returned = (
        [one[2] for one in statements(function.body) if one[0] == m.RETURN] if "getLogger" in function.calls else []
    )
    return bool(returned) and all(one is not None and one[0] == m.CALL and one[2] == _GET_LOGGER for one in returned)


def is_a_check(function: Function) -> bool:
    """Whether a function of another file looks at what it is given, and raises or does not."""
    unit, facts = function.frame.unit, function.facts
    quiet = function.owner is None and not facts.decorators and function.frame is unit.frame
    return (
        quiet and _returns_nothing(facts) and not unit.is_worth_running(facts) and id(facts) not in unit.outline.acting
    )


@once
def _returns_nothing(function: FunctionFacts) -> bool:
    """Whether a function returns nothing, and calls nothing that it is given or looks up, nor a method of that."""
    if function.generator or function.coroutine or not function.body:
        return False
    own = {(m.NAME, param.name) for param in function.params}
    own.update(target for one in statements(function.body) for target in targets(one))
    returned = (one[2] for one in statements(function.body) if one[0] == m.RETURN)
    if any(value is not None and value[0] != m.CONST for value in returned):
        return False
    return all(root_of(call[2])[0] == m.NAME and root_of(call[2]) not in own for call in calls(function.body))


def is_beside_the_point(function: Function, home: Unit, args: Sequence[Value]) -> bool:
    """Whether a function of another file is long and does nothing that a rule could speak about: then what it
    returns is judged by its name. What is given nothing but settings need not be as long. What cuts a value off its
    graph hands out more than its name says: `return loss, {"rgb": rgb.item()}`, and what lets go is to be seen."""
    unit = function.frame.unit
    if unit is home or not _CUTS.isdisjoint(function.facts.calls):
        return False
    plain = function.owner is None and all(value and all(type(atom) in PLAIN for atom in value) for value in args)
    if len(function.facts.body) <= (_SHORTER if plain else _SHORT) or unit.is_worth_running(function.facts):
        return False
    return not (_takes_out(function.facts) or _sets_up(function))


def _sets_up(function: Function) -> bool:
    """Whether it is the constructor of a class with methods that a rule could speak about: what they find on their
    object is what it has put there."""
    unit, owner = function.frame.unit, function.owner
    if function.facts.name != "__init__" or owner is None:
        return False
    methods = (unit.facts.functions[index] for index in owner.facts.methods.values())
    return any(map(unit.is_worth_running, methods))


def _takes_out(function: FunctionFacts) -> bool:
    """Whether a short function takes something out of what is not its own: `del _TABLE[name]`, `_TABLE.pop(name)`."""
    return len(function.body) <= _SHORT and lets_go(function)
