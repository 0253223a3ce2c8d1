"""Entries that get longer: the keys and values of attention, `self.past[layer] = (torch.cat([k, key]), ...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.walk import expressions_of, last_name, statements
from ..interpreter.values import Obj

if TYPE_CHECKING:
    from ..facts.model import Stmt
    from ..interpreter.events import Store
    from ..interpreter.frames import Loop


def is_of_one_sequence(store: Store, outside: Sequence[Loop]) -> bool:
    """Whether a pair may get longer for one sequence only: whoever makes its object is not in sight, or has it for
    itself, and runs one loop, over the tokens."""
    stored = _statement(store)
    if stored is None or stored[3][0] != m.NEW:
        return False
    steps = [loop for loop in outside if loop.kind == "loop"]
    if not steps:
        return True
    owner = store.owner.home[0] if isinstance(store.owner, Obj) and store.owner.home is not None else store.owner
    while isinstance(owner, Obj) and owner.kind not in ("instance", "module") and owner.home is not None:
        owner = owner.home[0]  # of the list, the object that has it
    held = isinstance(owner, Obj) and owner.home is not None and isinstance(owner.home[0], Obj)
    return not held and len(steps) == 1


def asks_for_its_entry(store: Store, name: str) -> bool:
    """Whether a place's length is only asked for to know whether what grows is there: `if layer < len(self.past):`."""
    stored = _statement(store)
    keys = {target[2] for target in stored[2] if target[0] == m.ITEM} if stored is not None else set()
    if not keys:
        return False
    every = [node for one in statements(store.frame.facts.body) for node in expressions_of(one)]
    calls = (one for one in every if one[0] == m.CALL and one[2] == (m.NAME, "len") and one[3])
    lengths = [call for call in calls if last_name(call[3][0]) == name]
    asked = [one for one in every if one[0] == m.COMPARE and not keys.isdisjoint(one[2:4])]
    return bool(lengths) and all(any(length in one[2:4] for one in asked) for length in lengths)


def _statement(store: Store) -> Stmt | None:
    return next((s for s in statements(store.frame.facts.body) if s[0] == m.ASSIGN and s[1] == store.site), None)
