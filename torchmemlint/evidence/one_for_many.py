"""A limit that lets one go for the many that have come: the test stands once where a loop before it adds.

`self.play()`, which adds a transition for each step, and then `if len(self.replay) > self.limit: self.replay.pop(0)`:
from then on each episode leaves its length less one. `while` for `if` takes out as many as are too much.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.passed_by import PassedBy
from ..facts.rooms import asks_of, sized
from ..facts.walk import calls_of, last_name, nodes, with_conditions
from ..interpreter.events import Reset, Store

_ONE = frozenset(("pop", "popleft", "popitem", "heappop"))
_ORDERS = ("LessThan", "GreaterThan")


def one_for_many(store: Store, resets: Sequence[Reset], name: str) -> dict[str, PassedBy]:
    """The functions that take one entry out of the place of a store, too many or not, where several have come since
    the last one; none if anything else takes out of it."""
    found = {}
    for reset in resets:
        if reset.frame.name in ("__init__", "__post_init__"):
            continue
        if reset.how != "pop" or not _adds_several(store, reset) or not _drops_one(reset.frame.facts, reset.site, name):
            return {}
        found[reset.frame.name] = PassedBy(reset.site, reset.frame.name, "one for many")
    return found


def _adds_several(store: Store, reset: Reset) -> bool:
    """Whether the loops of a store go round within one round of those that a reset stands in."""
    if any(loop not in store.loops for loop in reset.loops):
        return False  # it may go round as well
    within = [loop for loop in store.loops if loop not in reset.loops]
    deeper = store.loops[len(store.loops) - len(within) :] == tuple(within)
    return deeper and any(loop.kind in ("loop", "items") for loop in within)


def _drops_one(function: FunctionFacts, site: Site, name: str) -> bool:
    """Whether a statement only takes one entry out, under a test for how many there are: who takes the next item of
    its work has a use for it."""
    for statement, conditions in with_conditions(function.body):
        if statement_of(statement[1]) == statement_of(site) and _takes_one(statement):
            return any(holds and _is_limit(test, name) for test, holds in conditions)
    return False


def _takes_one(statement: Stmt) -> bool:
    if statement[0] == m.DELETE:
        return all(target[0] == m.ITEM and target[2][0] != m.SLICE for target in statement[2])
    return statement[0] == m.EXPR and [last_name(call[2]) for call in calls_of(statement) if call[2][-1] in _ONE] != []


def _is_limit(test: Expr, name: str) -> bool:
    """`len(self.rows) > self.limit`"""
    return any(
        part[0] == m.COMPARE and part[1].startswith(_ORDERS) and any(True for _ in sized(part)) and asks_of(part, name)
        for part in nodes(test)
    )
