"""Lists of which a loop reads a few entries at a time while it adds to them: drawn at random, or the last ones.

`memory.append((state, action))`, `batch = random.sample(memory, 32)`: such a list is no result of its loop, whose every
entry is wanted, and nothing says how long it may get.
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.walk import blocks, calls, calls_of, expressions_of, heads, last_name, loops, nodes, once, statements
from .list_uses import only_read_by

_DRAWS = ("sample", "choice", "choices")


def is_only_drawn_from(facts: FileFacts, function: FunctionFacts, name: str, stored: Site) -> bool:
    """Whether all that is done with a variable is to add to it, to ask for its length, and to read a few entries in the
    loop that adds."""
    variable = (m.NAME, name)
    if variable not in _drawn_from(function):
        return False
    around = [inside for _, inside in loops(function.body) if any(_is_at(one, stored) for one in inside)]
    if not around or _is_known_elsewhere(facts, function, variable) or _has_a_limit(function, variable, stored):
        return False
    reading = only_read_by(function, variable, lambda part: _reads_a_few(part, variable))
    return any(statement in inside for inside in around for statement in reading)


@once
def _drawn_from(function: FunctionFacts) -> set[Expr]:
    """What a function reads a few entries of."""
    found = set[Expr]()
    for statement in statements(function.body):
        for part in expressions_of(statement):
            if part[0] == m.CALL:
                if part[3] and last_name(part[2]) in _DRAWS:
                    found.add(part[3][0])
            elif part[0] == m.ITEM and part[2][0] == m.SLICE:
                found.update((part[1], *part[1][3]) if part[1][0] == m.CALL else (part[1],))
    return found


def _is_at(statement: Stmt, site: Site) -> bool:
    return any(call[1] == site for call in calls_of(statement))


def _reads_a_few(part: Expr, variable: Expr) -> bool:
    """`random.sample(rows, 8)`, `rows[-8:]`, `list(rows)[-8:]`; `rows[-1]` goes on from layer to layer."""
    if part[0] == m.CALL:
        return bool(last_name(part[2]) in _DRAWS and part[2] != variable and part[3][:1] == (variable,))
    if part[0] != m.ITEM or part[2][0] != m.SLICE:
        return False
    whole = part[1]
    if whole[0] == m.CALL and whole[2] == (m.NAME, "list") and len(whole[3]) == 1:
        whole = whole[3][0]
    lower, upper = part[2][1:3]
    return bool(whole == variable and lower is not None and upper is None and _is_negative(lower))


def _is_negative(index: Expr) -> bool:
    """`-8`, `-window`"""
    return bool(index[0] == m.UNARY or (index[0] == m.CONST and type(index[1]) is int and index[1] < 0))


def _has_a_limit(function: FunctionFacts, variable: Expr, stored: Site) -> bool:
    """`if len(rows) < limit: rows.append(x)`"""
    length = (m.CALL, (m.NAME, "len"), (variable,))
    return any(
        any(part[0] == m.CALL and (part[0], *part[2:4]) == length for head in heads(one) for part in nodes(head))
        and any(call[1] == stored for suite in blocks(one) for call in calls(suite))
        for one in statements(function.body)
        if one[0] in (m.IF, m.WHILE)
    )


def _is_known_elsewhere(facts: FileFacts, function: FunctionFacts, variable: Expr) -> bool:
    """Whether another function of the file reads a variable of this name: an inner one, or one that has the global."""
    own = {facts.functions[index].site for index in function.inner} if function is not facts.functions[0] else None
    return any(
        variable in nodes(head)
        for other in facts.functions
        if other is not function and (own is None or other.site in own)
        for statement in statements(other.body)
        for head in heads(statement)
    )
