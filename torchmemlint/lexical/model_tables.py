"""Tables of the whole file that a function fills with the layers or parameters of a model which it is given.

`NAMES = {module: name for name, module in model.named_modules()}` under `global NAMES`: a table for looking things up
keeps the model, with whatever hangs from its parameters, until the table is filled for the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.file_releases import reaches_outside
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import last_name, statements

_PARTS = ("named_modules", "named_parameters", "modules", "parameters", "named_children", "children")
_WITH_NAMES = ("named_modules", "named_parameters", "named_children")


class ModelTable(NamedTuple):
    """`TABLE = {module: ...}` or `TABLE[module] = ...` for every part of a model."""

    site: Site
    table: str
    model: str


def model_tables(program: Program) -> Iterator[ModelTable]:
    """Tables of the whole file that keep a model which a function was given, and that nothing empties."""
    made = {
        target[1]: _weak_side(statement[3] if statement[0] == m.ASSIGN else statement[4])
        for statement in statements(program.facts.functions[0].body)
        if statement[0] in (m.ASSIGN, m.ANNOTATE)
        for target in targets(statement)
        if target[0] == m.NAME
    }
    for function in program.facts.functions[1:]:
        if not made or set(_PARTS).isdisjoint(function.calls):
            continue
        found = list(_filled_by(function, made))
        yield from (one for one in found if not _is_emptied(program, function, one.table))


def _weak_side(made: Expr | None) -> str:
    """What a table refers to weakly: "Key" of a `WeakKeyDictionary`, "Value" of a `WeakValueDictionary`; else ""."""
    name = last_name(made[2]) if made is not None and made[0] == m.CALL else ""
    return next((side for side in ("Key", "Value") if side in name), "") if name[:4] == "Weak" else ""


def _kept(key: Expr, value: Expr, weak_side: str) -> tuple[Expr, ...]:
    """What an entry refers to strongly."""
    return {"Key": (value,), "Value": (key,)}.get(weak_side, (key, value))


def _filled_by(function: FunctionFacts, tables: dict[str, str]) -> Iterator[ModelTable]:
    given = {param.name for param in function.params}
    said = tables.keys() & {name for one in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}
    for statement in statements(function.body):
        if statement[0] == m.ASSIGN and statement[3][0] == m.COMP:
            for target, over, _ in statement[3][5]:
                model, part = _part_of(target, over)
                if model in given and part in statement[3][3:5]:  # as a key or as a value
                    bound = [table[1] for table in statement[2] if table[0] == m.NAME and table[1] in said]
                    yield from (ModelTable(statement[1], table, model) for table in bound)
        elif statement[0] == m.FOR:
            model, part = _part_of(statement[2], statement[3])
            inside = statements(statement[4]) if model in given else ()
            stored = ((one, target) for one in inside if one[0] == m.ASSIGN for target in targets(one))
            for one, target in stored:
                table = target[1][1] if target[0] == m.ITEM and target[1][0] == m.NAME else ""
                if table in tables and part in _kept(target[2], one[3], tables[table]):
                    yield ModelTable(one[1], table, model)


def _part_of(target: Expr, over: Expr) -> tuple[str, Expr]:
    """The name of a model and what a loop over its parts calls one: `name, module` in `model.named_modules()`."""
    parts = over[0] == m.CALL and over[2][0] == m.ATTR and over[2][2] in _PARTS and over[2][1][0] == m.NAME
    if not parts:
        return "", ()
    if over[2][2] in _WITH_NAMES:
        target = target[3][1] if target[0] == m.NEW and len(target[3]) == 2 else ()
    return str(over[2][1][1]), target


def _is_emptied(program: Program, filling: FunctionFacts, table: str) -> bool:
    """Whether another function binds the table anew or takes something out, or this one has it for a while."""
    return any(
        one.how != BOUND or (place.facts is not filling and reaches_outside(place.facts, table))
        for place in program.places
        if place.facts.name != "<module>"
        for one in emptyings(place.facts, table)
        if one.place == (m.NAME, table)
    )
