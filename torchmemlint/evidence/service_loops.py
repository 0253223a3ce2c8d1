"""Lists that a loop which waits for work fills with results, and that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Stmt
from ..facts.program import targets
from ..facts.walk import calls, expressions_of, last_name, loops, statements
from .retentions import Retention

_WAITS = frozenset("get recv wait accept poll receive brpop blpop readline get_nowait recv_multipart".split())
_ADDS = ("append", "extend", "appendleft", "add")


def filled_by_waiting(retentions: Iterable[Retention]) -> Iterator[Retention]:
    """The local containers that gain a tensor for each item that a worker or server waits for, `done.append(out)`, and
    that are named nowhere else: they grow as long as it serves."""
    for kept in retentions:
        facts = kept.store_event.frame.facts
        plain = kept.growing and not kept.graph and not kept.escaped and not kept.released and not kept.small
        if not plain or kept.holder.kind != "local" or not kept.holder.container or facts.inner:
            continue
        if _waits(facts, kept) and _is_only_filled(facts, (m.NAME, kept.holder.text)):
            yield kept


def _waits(facts: FunctionFacts, kept: Retention) -> bool:
    """Whether the innermost `while` loop around the store takes its items from somebody who has it wait."""
    place = kept.store - kept.store % CALLS_PER_STATEMENT
    around = [loop for loop, inside in loops(facts.body) if any(one[1] == place for one in inside)]
    return bool(around) and around[-1][0] == m.WHILE and any(last_name(c[2]) in _WAITS for c in calls(around[-1][3]))


def _is_only_filled(facts: FunctionFacts, name: Expr) -> bool:
    every = list(statements(facts.body))
    named = sum(node == name for one in every for node in expressions_of(one))
    bound = sum(name in targets(one) for one in every if one[0] in (m.ASSIGN, m.ANNOTATE))
    filled = sum(_adds(one, name) for one in every)  # none of what a helper fills by another name
    return bool(filled) and named == bound + filled


def _adds(statement: Stmt, name: Expr) -> bool:
    value: Expr = statement[2] if statement[0] == m.EXPR else ()
    return bool(value) and value[0] == m.CALL and value[2][0] == m.ATTR and value[2][1] == name and value[2][2] in _ADDS
