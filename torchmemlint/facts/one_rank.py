"""What one rank of a distributed program does alone, by the text: `if rank == 0:`, `if not is_main(): return`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping

from . import model as m
from .model import Expr, FileFacts, Site, Stmt
from .passed_by import PassedBy
from .walk import blocks, calls_of, last_name, nodes, statements

_ROLE = re.compile(r"(?:^|_)(?:rank|main_process|main|master|chief|global_zero|rank_zero|primary)(?:$|_)")
_MANY = re.compile(r"distributed|world_size|is_initialized|num_processes|ddp", re.I)  # whether there are other ranks
_FILLS = ("append", "appendleft", "add", "extend", "update", "setdefault", "put", "put_nowait")


def emptied_by_one(
    facts: FileFacts, at: Mapping[str, Mapping[str, set[Site]]]
) -> Iterator[tuple[str, dict[str, PassedBy]]]:
    """By the place: the functions that empty it, `at` these statements, on one rank only, though all fill it."""
    alone = {one[1] for function in facts.functions for one, only in by_rank(function.body) if only}
    if not alone:
        return
    by_one = _called_in(facts, alone)
    filled = {
        place
        for function in facts.functions
        for one in statements(function.body)
        if one[1] in alone or function.name in by_one
        for place in _filled(one)
    }
    for name in at.keys() - filled:
        functions = {function: min(sites) for function, sites in at[name].items() if sites <= alone}
        yield name, {function: PassedBy(site, function, "elsewhere") for function, site in functions.items()}


def called_by_one(facts: FileFacts) -> set[str]:
    """The names of what a file calls on one rank only."""
    return _called_in(facts, {one[1] for function in facts.functions for one, only in by_rank(function.body) if only})


def _called_in(facts: FileFacts, sites: Container[Site]) -> set[str]:
    """The names of what a file calls in these statements and in no others."""
    called = [
        (last_name(call[2]), one[1] in sites)
        for function in facts.functions
        for one in statements(function.body)
        for call in calls_of(one)
    ]
    return {name for name, there in called if there} - {name for name, there in called if not there}


def _filled(statement: Stmt) -> Iterator[str]:
    if statement[0] == m.ASSIGN:
        yield from (last_name(target[1]) for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _FILLS:
            yield last_name(call[2][1])


def by_rank(block: tuple[Stmt, ...], alone: bool = False) -> Iterator[tuple[Stmt, bool]]:
    """Every statement, with whether one rank alone gets there."""
    for statement in block:
        yield statement, alone
        role = _role(statement[2]) if statement[0] == m.IF else 0
        if not role:
            for suite in blocks(statement):
                yield from by_rank(suite, alone)
            alone = alone or (statement[0] == m.IF and _sends_others_away(statement))
            continue
        yield from by_rank(statement[3], alone or role > 0)
        yield from by_rank(statement[4], alone or role < 0)
        alone = alone or (role < 0 and _leaves(statement))


def _leaves(statement: Stmt) -> bool:
    return bool(statement[3]) and statement[3][-1][0] in (m.RETURN, m.RAISE)


def _sends_others_away(statement: Stmt) -> bool:
    """`if self.distributed: ... if not is_main(): return`: where there is no other rank, the one goes on as well."""
    if not any(_MANY.search(str(part[-1])) for part in nodes(statement[2]) if part[0] in (m.NAME, m.ATTR)):
        return False
    return any(one[0] == m.IF and _role(one[2]) < 0 and _leaves(one) for one in statement[3])


def _role(test: Expr) -> int:
    """1 for `rank == 0` and `is_main_process()`, -1 for `rank != 0` and `not is_main`, 0 for other tests."""
    if test[0] == m.NOT:
        return -_role(test[1])
    if test[0] == m.BOOL and test[1] == "and":
        return max((_role(part) for part in test[-1] if part[0] != m.NOT), default=0)
    if test[0] == m.COMPARE:
        if not _named(test[2]) or test[3] != (m.CONST, 0):
            return 0
        return {"Equal": 1, "NotEqual": -1, "GreaterThan": -1}.get(test[1], 0)
    return int(_named(test) and test[0] in (m.NAME, m.ATTR, m.CALL))


def _named(expr: Expr) -> bool:
    if expr[0] == m.CALL:
        expr = expr[2]
    return expr[0] in (m.NAME, m.ATTR) and bool(_ROLE.search(str(expr[-1]).lower()))
