"""Deep copies of a model that a training piles up in a list or table, of which one is used in the end.

`snapshots.append((score, deepcopy(model.state_dict())))` in each epoch, and then `max(snapshots, key=...)`: all but one
are there for nothing. So are those of `snapshots[epoch] = deepcopy(...)`, and then `snapshots[best]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, heads, last_name, loops, nodes, once, statements
from .list_uses import only_read_by

_PICKS = ("max", "min")
_COUNTS = ("range", "trange", "count", "enumerate")
_TRAINS = ("backward", "step", "fit")


class Piled(NamedTuple):
    site: Site
    name: str


def piled_copies(program: Program) -> Iterator[Piled]:
    """Lists and tables of functions and scripts; one copy is picked by its score, or by its place."""
    if "deepcopy" not in program.called:
        return
    for place in program.places:
        function = place.facts
        if "deepcopy" not in function.calls:
            continue
        for inside in (inside for _, inside in loops(function.body) if any(map(_is_of_training, inside))):
            for site, variable, entry, added in _added(inside):
                if entry is not None and not _rounds(function) & set(nodes(entry[2])):
                    continue  # one for each of a few names
                made_before = _has_a_copy(added, inside) and not _is_made_in(variable, inside)
                if made_before and _one_is_picked(function, variable, entry):
                    yield Piled(site, variable[1])


def _added(inside: list[Stmt]) -> Iterator[tuple[Site, Expr, Expr | None, Expr]]:
    """Where a variable gets something more, the variable, the entry of a table under a key that is no constant, and
    what it gets."""
    for one in inside:
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][2] == "append" and call[2][1][0] == m.NAME and call[3]:
                yield call[1], call[2][1], None, call[3][0]
        entry: Expr = one[2][0] if one[0] == m.ASSIGN else ()
        if entry[:1] == (m.ITEM,) and entry[1][0] == m.NAME and entry[2][0] not in (m.CONST, m.SLICE):
            yield one[1], entry[1], entry, one[3]


@once
def _rounds(function: FunctionFacts) -> set[Expr]:
    """The variables that count the rounds of loops: `for epoch in range(epochs)`."""
    counting = (one for one in statements(function.body) if one[0] == m.FOR and last_name(one[3]) in _COUNTS)
    return {name for one in counting for name in nodes(one[2]) if name[0] == m.NAME}


def _is_of_training(statement: Stmt) -> bool:
    names = [last_name(call[2]) for call in calls_of(statement)]
    return any(name in _TRAINS or name.startswith("train") for name in names)


def _has_a_copy(value: Expr, inside: list[Stmt]) -> bool:
    """Whether what is added is, or has, a deep copy of a model or its states, also under a name of the same round."""
    names = [value] if value[0] == m.NAME else list(value[3]) if value[0] == m.NEW else []
    made = [one[3] for one in inside if one[0] == m.ASSIGN for name in names if name in one[2]]
    return any(_copies_a_model(part) for one in (value, *made) for part in nodes(one) if part[0] == m.CALL)


def _copies_a_model(copy: Expr) -> bool:
    if last_name(copy[2]) != "deepcopy":
        return False
    given = copy[3][0] if copy[3] else copy
    if given[0] == m.CALL:
        return last_name(given[2]) in ("state_dict", "cpu")
    return any(word in ("model", "net", "network", "policy", "agent") for word in last_name(given).lower().split("_"))


def _is_made_in(variable: Expr, inside: list[Stmt]) -> bool:
    return any(variable in targets(one) for one in inside if one[0] in (m.ASSIGN, m.ANNOTATE))


def _one_is_picked(function: FunctionFacts, variable: Expr, entry: Expr | None) -> bool:
    """Whether all other uses of a list or table take one entry out of it, or ask for its length."""
    every_head = [(one, head) for one in statements(function.body) for head in heads(one)]
    counters = {part for one, _ in every_head if one[0] == m.FOR for part in nodes(one[2])}
    inner = (part for _, head in every_head for part in nodes(head) if part[0] == m.COMP)
    counters |= {part for one in inner for clause in one[5] for part in nodes(clause[0])}
    picking = only_read_by(function, variable, lambda part: part == entry or _picks_one(part, variable, counters))
    others = [one for one in picking if one[0] != m.ASSIGN or entry not in one[2]]
    return bool(others) and not any(part == entry for one in others for part in expressions_of(one))


def _picks_one(part: Expr, variable: Expr, counters: set[Expr]) -> bool:
    """`max(rows, key=...)`, `sorted(rows)[0]`, `rows[best]`; not `rows[i]` where a loop goes through all `i`."""
    if part[0] == m.CALL:
        return bool(part[2][0] == m.NAME and part[2][1] in _PICKS and part[3] == (variable,))
    if part[0] != m.ITEM or part[2][0] in (m.SLICE, m.NEW):
        return False
    whole = part[1]
    if whole[0] == m.CALL and whole[2] == (m.NAME, "sorted") and whole[3][:1] == (variable,):
        return True
    return whole == variable and counters.isdisjoint(nodes(part[2]))
