"""Containers that are taken out of a place while that gets an empty one: `rows, self.rows = self.rows, []`, or `rows =
self.rows` and then `self.rows = []`. The new one is another than what the name has."""

from __future__ import annotations

from . import model as m
from .model import Expr, FunctionFacts, Site
from .walk import once, places_with_values, statements

_PLACES = (m.ATTR, m.NAME, m.ITEM)


@once
def swapped(function: FunctionFacts) -> frozenset[Site]:
    """The statements that give a place an empty container while a name of the function has what was there."""
    found = set[Site]()
    named = set[Expr]()
    for statement in statements(function.body):
        if statement[0] == m.ASSIGN:
            pairs = list(places_with_values(statement))
            taken = {value for target, value in pairs if target[0] == m.NAME and value[0] in _PLACES}
            if any(_is_empty(value) and target in taken | named for target, value in pairs):
                found.add(statement[1])
            named |= taken
    return frozenset(found)


def _is_empty(value: Expr) -> bool:
    return (value[0] == m.NEW and value[2] != "tuple" and not value[3]) or (value[0] == m.DICT and not value[2])
