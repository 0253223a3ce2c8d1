"""Branches that change nothing of what follows."""

from __future__ import annotations

from . import knowledge
from . import model as m
from .model import Stmt
from .walk import calls_of, last_name

_SAYS = knowledge.REPORTERS | {"sleep", "move_to_end"}
_PICKS = frozenset("choice choices sample randint randrange randperm stack cat len list tuple".split())


def is_idle(statement: Stmt) -> bool:
    """Whether an `if` changes nothing of what follows: it tells somebody, counts, pauses for once, or gives out what it
    picks and does not take."""
    return bool(statement[0] == m.IF and not statement[4] and all(_only_says(one) for one in statement[3]))


def _only_says(statement: Stmt) -> bool:
    """Whether a statement tells somebody, and lets go of nothing: `logger.warning("too many")`, `self.waits += 1`."""
    if statement[0] == m.AUGMENT:
        return bool(statement[4] == (m.CONST, 1))
    if statement[0] == m.EXPR and statement[2][0] == m.YIELD:  # `yield random.choice(self.buffer)`
        picked = [last_name(call) for call in calls_of(statement)]
        return bool(picked) and _PICKS.issuperset(picked)
    callee = statement[2][2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
    return callee is not None and last_name(callee) in _SAYS
