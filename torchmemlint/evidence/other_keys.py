"""Entries that are put under one key of a request, and taken out under another one that it has.

`self.staged[meta["remote_id"]] = x`, and in the end `del self.staged[meta["id"]]`, which a test for the key lets pass
by: both are keys of the same thing, and nothing ever takes out the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.passed_by import PassedBy
from ..facts.walk import statements
from ..interpreter.events import Reset, Store
from .ways_out import common_frame, key_in, key_taken_in

# Who moves an entry from one key to another takes it out under the former one.
_MOVES = re.compile(r"old|prev|former|from|last|parent|stale|source|src|evict|victim")


def under_other_keys(store: Store, resets: Sequence[Reset]) -> dict[str, PassedBy]:
    """The functions that take out of the table of a store, if none of them does so under the key that it has there."""
    takers = [reset for reset in resets if reset.frame.name not in ("__init__", "__post_init__")]
    found = {}
    for reset in takers:
        frame = common_frame(store.frame, reset.frame)
        if reset.how != "pop" or frame is None:
            return {}
        put, gone = key_in(store, frame), key_taken_in(reset, frame)
        if put is None or gone is None or not _are_two(frame.facts, put, gone):
            return {}
        found[reset.frame.name] = PassedBy(reset.site, reset.frame.name, "other key")
    return found


def _are_two(function: FunctionFacts, put: Expr, gone: Expr) -> bool:
    """Whether two keys are two parts of the same thing, by their names: `request.id` and `request.remote_id`."""
    one, other = _origin(function, put), _origin(function, gone)
    if one[0] != other[0] or one[0] not in (m.ATTR, m.ITEM) or one[1] != other[1] or one[1] == (m.NAME, "self"):
        return False
    names = [part[2] if part[0] == m.ATTR else part[2][1] if part[2][0] == m.CONST else None for part in (one, other)]
    if not all(type(name) is str for name in names) or names[0] == names[1]:
        return False
    return not any(_MOVES.search(name) for name in (*names, put[-1], gone[-1]) if type(name) is str)


def _origin(function: FunctionFacts, key: Expr) -> Expr:
    """What a name is bound to, once."""
    bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and key in one[2]]
    return bound[0] if key[0] == m.NAME and len(bound) == 1 else key
