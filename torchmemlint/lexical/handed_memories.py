"""Memories that a loop has helpers fill and draw from: `simulate(agent, env, memory)`, `learn(net, memory, 32)`.

All that is done with such a list or table, by the function that has it and by those that are given it, is to add to
it, to ask how long it is or what keys it has, and to draw a few entries at random.
"""

from __future__ import annotations

from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets
from ..facts.walk import heads, last_name, nodes, statements

_ADDS = ("append", "appendleft")
_DRAWS = frozenset(("sample", "choice", "choices"))
_NUMBERS = _DRAWS | {"randint", "randrange", "integers", "permutation", "randperm"}
_DEPTH = 3


class _Kept(NamedTuple):
    """What is asked for: a variable of a function, which is a table or a list."""

    program: Program
    function: FunctionFacts
    variable: Expr
    table: bool


def is_filled_and_drawn_by_helpers(program: Program, function: FunctionFacts, name: str, *, table: bool) -> bool:
    """Whether nothing else is done with a variable, and a helper is given it."""
    variable: Expr = (m.NAME, name)
    done = _done_with(_Kept(program, function, variable, table), _DEPTH)
    return done is not None and {"add", "draw", "hand"} <= done


def _done_with(kept: _Kept, depth: int) -> set[str] | None:
    """Whether a function adds to it, draws from it, and hands it on; None if it does anything else with it."""
    inner = (kept.program.facts.functions[index] for index in kept.function.inner)
    if any(kept.variable in nodes(head) for one in inner for each in statements(one.body) for head in heads(each)):
        return None
    given = any(param.name == kept.variable[1] for param in kept.function.params)
    done, compared = set[str](), False
    for statement in statements(kept.function.body):
        bound = statement[0] in (m.ASSIGN, m.ANNOTATE) and kept.variable in targets(statement)
        if bound and given:
            return None
        for head in heads(statement):
            if bound and (head == kept.variable or (head in statement[2] and head[0] == m.NEW)):
                continue  # where it is made
            every = sum(part == kept.variable for part in nodes(head))
            said = [use for part in nodes(head) if every and (use := _use(kept, statement, part, depth)) is not None]
            if len(said) != every:
                return None
            done = done.union(*said)
            compared |= any(part[0] == m.COMPARE and _asks_length(part, kept.variable) for part in nodes(head))
    return None if compared and "add" in done else done  # it may have a limit


def _use(kept: _Kept, statement: Stmt, part: Expr, depth: int) -> set[str] | None:
    """What an expression does with it; None if it is none of these."""
    variable = kept.variable
    if part[0] == m.ATTR and part[1] == variable:
        if kept.table:
            return set() if part[2] == "keys" else None
        return {"add"} if part[2] in _ADDS else None
    if part[0] == m.ITEM and part[1] == variable:
        return _of_entry(kept, statement, part)
    if part[0] == m.COMPARE and kept.table and part[1] in ("In", "NotIn") and part[3] == variable:
        return set()
    if part[0] != m.CALL:
        return None
    if part[2] == (m.NAME, "len") or (kept.table and part[2] == (m.NAME, "list")):
        return set() if part[3] == (variable,) else None
    if not kept.table and last_name(part[2]) in _DRAWS and part[3][:1] == (variable,):
        return {"draw"}
    return _of_helper(kept, part, depth)


def _of_entry(kept: _Kept, statement: Stmt, entry: Expr) -> set[str] | None:
    """`memory[key] = episode`, `memory[keys[randint(n)]]`, `memory[-8:]`"""
    index = entry[2]
    if index[0] == m.SLICE:
        lower, upper = index[1:3]
        ends = not kept.table and upper is None and lower is not None and (lower[0] == m.UNARY or lower[0] == m.CONST)
        return {"draw"} if ends else None
    if index[0] == m.CONST:
        return None
    if entry in targets(statement):
        return {"add"} if kept.table and statement[0] == m.ASSIGN else None
    return {"draw"} if not _NUMBERS.isdisjoint(kept.function.calls) else None


def _of_helper(kept: _Kept, call: Expr, depth: int) -> set[str] | None:
    """What a function of the file does with it that is given it."""
    found = kept.program.by_name.get(call[2][1], ()) if call[2][0] == m.NAME else ()
    if not depth or len(found) != 1 or found[0].cls:
        return None
    helper = found[0].facts
    names = [param.name for param, value in zip(helper.params, call[3], strict=False) if value == kept.variable]
    names += [name for name, value in call[4] if value == kept.variable and name]
    if len(names) != 1 or helper is kept.function:
        return None
    variable: Expr = (m.NAME, names[0])
    done = _done_with(kept._replace(function=helper, variable=variable), depth - 1)
    return None if done is None else done | {"hand"}


def _asks_length(comparison: Expr, variable: Expr) -> bool:
    return any(part[0] == m.CALL and part[2:4] == ((m.NAME, "len"), (variable,)) for part in nodes(comparison))
