"""Functions that train or do not, as they are told: `run_epoch(model, held_out, training=False)`."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import BACKWARD, Stmt
from ..facts.walk import blocks, calls, last_name, nodes, once, statements
from ..interpreter.events import ModuleCall
from ..interpreter.settings import is_told


def is_told_not_to_train(call: ModuleCall) -> bool:
    """Whether the function that runs a module has its backward pass in a branch, and this call of it has a constant for
    all that the test asks. That the pass is not gone to is known: nothing has differentiated the run."""
    frame = call.frame
    if not frame.facts.flags & BACKWARD or frame.caller is None:
        return False
    return any(asked and all(is_told(frame, name) for name in asked) for asked in _asked_before(frame.facts.body))


def _names_asked(block: tuple[Stmt, ...]) -> tuple[frozenset[str], ...]:
    """The names in each test that a backward pass depends on."""
    return tuple(
        frozenset(node[1] for node in nodes(one[2]) if node[0] == m.NAME)
        for one in statements(block)
        if one[0] == m.IF and any(_differentiates(suite) for suite in blocks(one))
    )


def _differentiates(block: tuple[Stmt, ...]) -> bool:
    return any(last_name(call[2]) in ("backward", "manual_backward") for call in calls(block))


_asked_before = once(_names_asked)
