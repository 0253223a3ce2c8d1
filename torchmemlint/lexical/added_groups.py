"""Optimizers that are given a group for each module that takes the place of another, and that keep the groups of those.

`self.head = Head(...)`, `self.optimizer.add_param_group({"params": self.head.parameters()})`: the head of the task
before is gone, but for its parameters, gradients and moments, which the optimizer goes on having.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets, text
from ..facts.walk import calls_of, expressions_of, in_loops, last_name, nodes, statements

_ADDS = "add_param_group"
_PARAMETERS = ("parameters", "named_parameters")
_STARTS = ("__init__", "__post_init__", "setup", "configure_optimizers")


class Added(NamedTuple):
    """Where an optimizer gets the parameters of a module that replaces another one."""

    site: Site
    optimizer: str
    module: str
    replaced: Site  # where the module takes the place of the one before


def added_groups(program: Program) -> Iterator[Added]:
    """Of optimizers that are made once, and have no group taken out."""
    if _ADDS not in program.called or _mentions_groups(program):
        return
    for place in program.places:
        if _ADDS not in place.facts.calls or place.facts.name in _STARTS:
            continue
        again = _is_called_again_and_again(program, place.facts)
        looped = {statement[1] for statement, repeats in in_loops(place.facts.body) if repeats}
        for statement in statements(place.facts.body):
            for optimizer, module in _added(statement):
                made = _made_before(place.facts, module, statement[1])
                if made is None or not (again or statement[1] in looped) or _is_kept(place.facts, module):
                    continue
                if not _is_made_anew(program, place.facts, optimizer):
                    yield Added(statement[1], text(optimizer), text(module), made)


def _mentions_groups(program: Program) -> bool:
    """Whether the file has a hand in the groups of an optimizer."""
    every = (one for function in program.facts.functions for one in statements(function.body))
    parts = (node for one in every for node in expressions_of(one))
    return any(node[0] == m.ATTR and node[2] == "param_groups" for node in parts)


def _added(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """`self.optimizer.add_param_group({"params": self.head.parameters()})`: the optimizer, and the module."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == _ADDS and call[2][1][0] == m.ATTR:
            for part in (node for given in call[3] for node in nodes(given) if node[0] == m.CALL):
                if part[2][0] == m.ATTR and part[2][2] in _PARAMETERS and part[2][1][0] == m.ATTR:
                    yield call[2][1], part[2][1]


def _made_before(function: FunctionFacts, module: Expr, added: Site) -> Site | None:
    """Where a function puts a new module in the place of the one that is there."""
    made = (
        one[1]
        for one in statements(function.body)
        if one[0] == m.ASSIGN and module in one[2] and one[1] < added
        if one[3][0] == m.CALL and last_name(one[3])[:1].isupper() and module not in nodes(one[3])
    )
    return next(made, None)


def _is_kept(function: FunctionFacts, module: Expr) -> bool:
    """Whether the module, or the one before it, goes somewhere else as well: `self.heads.append(self.head)`."""
    return any(
        module in (*call[3], *(value for _, value in call[4]))
        for one in statements(function.body)
        for call in calls_of(one)
    ) or any(one[0] == m.ASSIGN and one[3] == module for one in statements(function.body))


def _is_called_again_and_again(program: Program, function: FunctionFacts) -> bool:
    return any(
        last_name(call[2]) == function.name
        for place in program.places
        if function.name in place.facts.calls
        for statement, repeats in in_loops(place.facts.body)
        if repeats
        for call in calls_of(statement)
    )


def _is_made_anew(program: Program, function: FunctionFacts, optimizer: Expr) -> bool:
    """Whether the optimizer is replaced, too, by the function or by one that is no constructor."""
    return any(
        any(target[0] == m.ATTR and target[2] == optimizer[2] for target in targets(one))
        for place in program.places
        if place.facts is function or place.facts.name not in _STARTS
        for one in statements(place.facts.body)
    )
