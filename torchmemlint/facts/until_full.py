"""Lists of what could not be handed on yet, which are emptied only as long as there is room in a queue.

`while self.waiting: try: queue.put(self.waiting[0], timeout=0.1); self.waiting.pop(0)` with `except Full: break`: what
has no room stays, and the next call adds to it, whatever the other end takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .emptying import BOUND, BUILDERS, Emptying, emptyings
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .passed_by import PassedBy
from .program import targets
from .walk import calls, calls_of, last_name, nodes, statements

_PUTS = ("put", "put_nowait")
_LEAVES = (m.RETURN, m.JUMP)


def until_full(facts: FileFacts) -> Iterator[tuple[str, PassedBy]]:
    """The lists, by their last names, that nothing else takes anything out of."""
    for function in facts.functions[1:]:
        if set(_PUTS).isdisjoint(function.calls) or not function.flags & m.TRIES:
            continue
        for tried in (one for one in statements(function.body) if one[0] == m.TRY and _gives_up(one)):
            for name, site in _handed_on(function, tried):
                if all(_is_in(tried, one) for one in _others(facts, name)):
                    yield name, PassedBy(site, function.name, "full")


def _gives_up(tried: Stmt) -> bool:
    """Whether a clause for a full queue leaves the rest for another time."""
    return any(
        kind is not None and last_name(kind) in ("Full", "QueueFull") and clause and clause[-1][0] in _LEAVES
        for kind, _, clause in tried[3]
    )


def _handed_on(function: FunctionFacts, tried: Stmt) -> Iterator[tuple[str, Site]]:
    """The lists whose first item is put, `queue.put(self.waiting[0])` or by a name, and then taken out."""
    put = [call for call in calls(tried[2]) if last_name(call[2]) in _PUTS and call[3]]
    given = {part for call in put for part in nodes(call[3][0])}
    for one in statements(function.body):
        if one[0] == m.ASSIGN and not given.isdisjoint(targets(one)):
            given |= set(nodes(one[3]))
    places: set[Expr] = {part[1] for part in given if part[0] == m.ITEM and part[1][0] == m.ATTR}
    for place in places:
        yield from ((place[2], one[1]) for one in statements(tried[2]) if _takes_first(one, place))


def _takes_first(statement: Stmt, place: Expr) -> bool:
    """`self.waiting.pop(0)`, `self.waiting.popleft()`, `del self.waiting[0]`"""
    if statement[0] == m.DELETE:
        return any(target[0] == m.ITEM and target[1] == place for target in statement[2])
    taken = (call[2] for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][1] == place)
    return any(method[2] in ("pop", "popleft") for method in taken)


def _others(facts: FileFacts, name: str) -> Iterator[Emptying]:
    for function in facts.functions:
        for one in emptyings(function, name):
            if one.how != BOUND or function.name not in BUILDERS:
                yield one


def _is_in(tried: Stmt, one: Emptying) -> bool:
    return any(inner is one.statement for inner in statements(tried[2]))
