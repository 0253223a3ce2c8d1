"""Models that an alternate constructor binds to the class, where it makes an object that should have them.

In a `classmethod` the first parameter is the class, whatever its name: `result = self(); self.model = load()` leaves
the model on the class, from where no object takes it along when it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls, last_name, statements

_HEAVY = ("model", "net", "generator", "pipeline", "pipe", "cache", "encoder", "decoder", "weight", "engine", "llm")
_SINGLETON = ("instance", "singleton", "shared")


class OnTheClass(NamedTuple):
    """`self.model = load()` in a class method that makes an object and returns it."""

    site: Site
    attribute: str
    cls: str


def left_on_the_class(program: Program) -> Iterator[OnTheClass]:
    for place in program.places:
        function = place.facts
        if not place.cls or (m.NAME, "classmethod") not in function.decorators or not function.params:
            continue
        first = (m.NAME, function.params[0].name)
        if not _makes_an_object(function, first):
            continue
        for statement in statements(function.body):
            for target in targets(statement) if statement[0] == m.ASSIGN else ():
                own = target[0] == m.ATTR and target[1] == first
                heavy = own and _is_heavy(function, target[2], statement[3], first)
                if heavy and not _lets_go(program, place.cls, first, target):
                    yield OnTheClass(statement[1], target[2], place.cls)


def _makes_an_object(function: FunctionFacts, first: Expr) -> bool:
    """Whether a class method makes an object of its class, under a name, and returns it."""
    made = {
        target
        for statement in statements(function.body)
        if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and statement[3][2] == first
        for target in targets(statement)
        if target[0] == m.NAME
    }
    returned = (one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None)
    return any(made & {value, *(value[3] if value[0] == m.NEW else ())} for value in returned)


def _is_heavy(function: FunctionFacts, attribute: str, value: Expr, first: Expr) -> bool:
    """Whether a value is made by the call, and called a model or the like."""
    if value[0] == m.NAME:
        bound = [s[3] for s in statements(function.body) if s[0] == m.ASSIGN and value in s[2]]
        value = bound[-1] if bound else value
    if value[0] != m.CALL or value[2] == first or any(word in attribute.lower() for word in _SINGLETON):
        return False
    named = (attribute.lower(), last_name(value[2]).lower())
    return any(word in name for name in named for word in _HEAVY) or named[1] == "from_pretrained"


def _lets_go(program: Program, cls: str, first: Expr, attribute: Expr) -> bool:
    """Whether anything deletes the attribute of the class, or binds it to None."""
    classes = (first, (m.NAME, cls))
    for place in program.places:
        for statement in statements(place.facts.body):
            gone = statement[0] == m.DELETE or (statement[0] == m.ASSIGN and statement[3] == (m.CONST, None))
            for target in statement[2] if gone else ():
                if target[0] == m.ATTR and target[2] == attribute[2] and target[1] in classes:
                    return True
    return any(call[2] == (m.NAME, "delattr") for place in program.places for call in calls(place.facts.body))
