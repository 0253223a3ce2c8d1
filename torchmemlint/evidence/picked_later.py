"""Lists that gain a row for all choices in each round, of which in the end only the entries of what was chosen are
picked: `self.scores.append(scores)`, `self.chosen.append(chosen)`, and when the loop is over
`torch.stack(self.scores, 1).gather(-1, torch.stack(self.chosen, 1)[..., None])`. In the loop it is known as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import call_at, calls, expressions_of, last_name, nodes, places_with_values, statements
from ..interpreter.values import ANY, FREE, Obj
from .only_counted import is_own_list
from .places import describe, last_part
from .unreleased import kept_in_sight

if TYPE_CHECKING:
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine

_JOINS = frozenset("cat concat stack vstack hstack".split())
_PICKS = frozenset(("gather", "take_along_dim"))
_SELF = (m.NAME, "self")


def picked_later(machine: Machine, stores: Iterable[Store]) -> Iterator[tuple[Site, str]]:
    """Where such lists gain a row, and their names; with a graph the rows stay for the backward pass anyway."""
    for store in stores:
        if store.how != "grow" or not isinstance(store.owner, Obj) or not machine.is_home(store.site):
            continue
        if not store.tensors or any(one.graph != FREE or one.weight < 2 or one.size != ANY for one in store.tensors):
            continue
        if not any(loop.kind == "loop" for loop in store.loops if loop not in store.birth):
            continue
        holder = describe(store.owner, store.key, machine)
        functions: tuple[FunctionFacts, ...] = (store.frame.facts,)
        if holder.kind == "attribute" and kept_in_sight(machine, store.owner):
            place: Expr = (m.ATTR, _SELF, last_part(holder.text))
            functions = store.frame.unit.facts.functions
        elif holder.kind == "local" and is_own_list(store.frame, store.owner, holder.text):
            place = (m.NAME, holder.text)
        else:
            continue
        beside = _added_beside(store, place)
        if beside and _are_only_picked(functions, place, beside):
            yield store.site, holder.text


def _added_beside(store: Store, place: Expr) -> set[Expr]:
    """The other lists that gain something in the same function."""
    body = store.frame.facts.body
    call = call_at(body, store.site)
    if call is None or call[2] != (m.ATTR, place, "append"):
        return set()
    added = {one[2][1] for one in calls(body) if one[2][0] == m.ATTR and one[2][2] == "append"}
    return {one for one in added if one != place and one[0] == place[0]}


def _are_only_picked(functions: tuple[FunctionFacts, ...], place: Expr, beside: set[Expr]) -> bool:
    """Whether all that is done with a list is to join it, for entries that one of the lists beside it tells."""
    found = False
    for function in functions:
        asked = _Asked(function, beside)
        for statement in statements(function.body):
            parts = expressions_of(statement)
            named = [part for part in parts if part[0] == place[0] and part[-1] == place[-1]]
            if any(part != place for part in named):
                return False  # who else has the object may want the rows
            known = (place in targets(statement)) + sum(_adds(part, place) for part in parts)
            joins = [part for part in parts if _joins(part, place)]
            if len(named) != known + len(joins) or not all(asked.is_picked_from(statement, one) for one in joins):
                return False
            found |= bool(joins)
    return found


def _adds(part: Expr, place: Expr) -> bool:
    return bool(part[0] == m.CALL and part[2] == (m.ATTR, place, "append"))


def _joins(part: Expr, place: Expr) -> bool:
    return bool(part[0] == m.CALL and last_name(part[2]) in _JOINS and part[3][:1] == (place,))


class _Asked:
    """What a function asks of the rows that it has joined."""

    def __init__(self, function: FunctionFacts, beside: set[Expr]) -> None:
        self.every = list(statements(function.body))
        self.bound = [pair for one in self.every if one[0] == m.ASSIGN for pair in places_with_values(one)]
        self.telling = set(beside)  # the lists, and the names of what is made of them
        for name, value in self.bound:
            if not self.telling.isdisjoint(nodes(value)):
                self.telling.add(name)

    def is_picked_from(self, statement: Stmt, rows: Expr) -> bool:
        """Whether the rows are only picked from there, or by the name that they get."""
        if any(self._picks(part, rows) for part in expressions_of(statement)):
            return True
        names = [name for name, value in self.bound if value == rows and name[0] == m.NAME]
        if len(names) != 1 or sum(name == names[0] for name, _ in self.bound) != 1:
            return False
        parts = [part for one in self.every for part in expressions_of(one)]
        picks = sum(self._picks(part, names[0]) for part in parts)
        return picks > 0 and sum(part == names[0] for part in parts) == picks + 1

    def _picks(self, part: Expr, rows: Expr) -> bool:
        """`rows.gather(1, chosen)`, `torch.gather(rows, 1, chosen)`"""
        if part[0] != m.CALL or len(part) != 5 or last_name(part[2]) not in _PICKS:
            return False
        own = part[2][0] == m.ATTR and part[2][1] == rows
        given = part[3] if own else part[3][1:] if part[3][:1] == (rows,) else ()
        index = (*given, *(value for _, value in part[4]))
        return any(not self.telling.isdisjoint(nodes(one)) for one in index)
