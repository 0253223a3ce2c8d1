"""Entries that are taken out only to be differentiated: none of those that come with gradients off.

A pipeline stage puts by what it has computed for each chunk, `self.waiting[number] = x, y`, and its backward pass takes
it out, `x, y = self.waiting.pop(number); y.backward(grad)`. A validation runs the same `forward` with gradients off,
and no backward pass comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import model as m
from ..facts.model import Expr, Stmt, statement_of
from ..facts.passed_by import PassedBy
from ..facts.program import targets
from ..facts.walk import call_at, last_name, nodes, root_of, with_conditions
from ..interpreter.events import Backward, Reset, Store
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, OFF
from .ways_out import below, climbed_to, common_frame

_PARTS = (m.NAME, m.ATTR, m.ITEM)
_OF_THE_MODE = ("grad", "train", "eval", "infer", "save", "keep", "record", "backward", "forward")


def only_differentiated(machine: Machine, store: Store, resets: Sequence[Reset]) -> dict[str, PassedBy]:
    """The functions that take out of the place of a store, if gradients are off where it stores, and each of them
    differentiates whatever it has taken out."""
    if store.grad != OFF or store.how not in ("grow", "keyed"):
        return {}
    if any(tensor.graph == ATTACHED for tensor in store.tensors) or _asks_for_the_mode(store):
        return {}
    found = {}
    for reset in resets:
        if reset.frame.name in ("__init__", "__post_init__"):
            continue
        if reset.how != "pop" or not any(_goes_through(reset, backward) for backward in machine.backwards):
            return {}
        found[reset.frame.name] = PassedBy(reset.site, reset.frame.name, "undifferentiated")
    return found


def _asks_for_the_mode(store: Store) -> bool:
    """Whether it may be that nothing is stored with gradients off: `if y.requires_grad: self.waiting[number] = x, y`,
    in the function that stores, or in a method that calls it for its object."""
    frame: Frame | None = store.frame
    number = statement_of(store.site)
    while frame is not None and (frame is store.frame or frame.receiver is store.frame.receiver is not None):
        for one, conditions in with_conditions(frame.facts.body):
            if statement_of(one[1]) == number:
                parts = (part for test, _ in conditions for part in nodes(test) if part[0] in (m.NAME, m.ATTR))
                if any(word in part[-1] for part in parts for word in _OF_THE_MODE):
                    return True
        number, frame = statement_of(frame.call_site), frame.caller
    return False


def _goes_through(reset: Reset, backward: Backward) -> bool:
    """Whether a backward pass starts at what was taken out, or a part of it, and comes under no other conditions."""
    outer = common_frame(reset.frame, backward.frame)
    begins = _operand(call_at(backward.frame.facts.body, backward.site))
    if outer is None or begins is None:
        return False
    taken, passed = below(reset.frame, reset.site, outer), below(backward.frame, backward.site, outer)
    if begins[0] == m.CALL:  # `self.waiting.pop(number).backward()`
        return taken == passed
    start = climbed_to(begins, backward.frame, outer)
    conditions = {statement_of(one[1]): (one, asked) for one, asked in with_conditions(outer.facts.body)}
    if start is None or taken not in conditions or passed not in conditions:
        return False
    body = [one for one, _ in conditions.values()]
    return conditions[taken][1] == conditions[passed][1] and root_of(start) in _names_of(conditions[taken][0], body)


def _operand(call: Expr | None) -> Expr | None:
    """What a backward pass starts at: `y` of `y.backward(grad)`, `torch.autograd.backward((y,), (grad,))`."""
    if call is None or call[2][0] != m.ATTR:
        return None
    value: Expr = call[2][1]
    if last_name(value) in ("autograd", "torch", "accelerator", "fabric"):
        if not call[3]:
            return None
        value = call[3][0]
    while value[0] == m.NEW and len(value[3]) == 1:
        value = value[3][0]
    inner = value[1] if value[0] == m.ITEM else value
    return inner if inner[0] == m.CALL else value if value[0] in _PARTS else None


def _names_of(taking: Stmt, body: list[Stmt]) -> set[Expr]:
    """The names that a statement binds to what it takes out, and to parts of that: `x, y = entry`."""
    names = set(targets(taking))
    for one in body if taking[0] == m.DELETE else ():  # `x, y = self.waiting[number]`, `del self.waiting[number]`
        if one[0] == m.ASSIGN and one[3] in taking[2]:
            names |= set(targets(one))
    for one in body:
        if one[0] == m.ASSIGN and one[3][0] in _PARTS and root_of(one[3]) in names:
            names |= set(targets(one))
    return names
