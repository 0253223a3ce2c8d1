"""Helpers that copy the states that they are given into a model: `fill(model, checkpoint["model"])`."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, keyword, targets
from ..facts.walk import calls_of, heads, last_name, nodes, statements
from .checkpoints import consumed

_ADDS = frozenset(("append", "add", "setdefault", "update", "insert"))


def filled_from(program: Program, function: FunctionFacts, place: Expr) -> Site:
    """The last call that hands a place, or a part of it, to a helper which copies it into a model and keeps nothing of
    it; -1 if there is none. Whoever calls the helper still has the states when it returns."""
    found: Site = -1
    for statement in statements(function.body):
        for call in calls_of(statement):
            if any(node == place for given in (*call[3], *(value for _, value in call[4])) for node in nodes(given)):
                found = max(found, statement[1] if _fills(program, call, place) else -1)
    return found


def _fills(program: Program, call: Expr, place: Expr) -> bool:
    helpers = program.by_name.get(last_name(call[2]), ())
    if len(helpers) != 1 or program.dotted(call[2]).startswith("torch."):
        return False
    helper, bound = helpers[0], bool(helpers[0].cls) and call[2][0] == m.ATTR
    for index, param in enumerate(helper.facts.params):
        given = keyword(call, param.name, index - bound)
        if given is not None and place in nodes(given):
            states = (m.NAME, param.name)
            return consumed(helper.facts, states) >= 0 and not _keeps(helper.facts, states)
    return False


def _keeps(function: FunctionFacts, states: Expr) -> bool:
    """Whether a function gives back what it was given, or puts it, or a part of it, somewhere else than into a variable
    of its own; the answer of `load_state_dict` has nothing of it."""
    for statement in statements(function.body):
        asked = [last_name(call[2]) for call in calls_of(statement) if states in call[3]]
        if any(name.startswith("load_state_dict") for name in asked):
            continue
        if not _ADDS.isdisjoint(asked):
            return True
        away = statement[0] == m.RETURN or any(target[0] != m.NAME for target in targets(statement))
        if away and any(states in nodes(value) for value in heads(statement)):
            return True
    return False
