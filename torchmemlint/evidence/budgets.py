"""Limits by size: whether a function asks how much there is, and limits that nobody asks."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import FunctionFacts
from ..facts.program import targets
from ..facts.walk import heads, last_name, nodes, statements
from ..interpreter.frames import Frame
from ..interpreter.values import Class, Obj
from .unreleased import methods_of

_BUDGETS = ("max", "limit", "budget", "capacity", "quota", "available")


def within_budget(facts: FunctionFacts) -> bool:
    """Whether a function asks how much there is against a limit: `if self.used + size <= self.max_cache_size`."""
    for statement in statements(facts.body):
        if statement[0] in (m.IF, m.WHILE):
            for expr in nodes(statement[2]):
                if expr[0] == m.COMPARE and expr[1].startswith(("LessThan", "GreaterThan")):
                    names = (last_name(part).lower() for side in expr[2:4] for part in nodes(side))
                    if any(word in name for name in names for word in _BUDGETS):
                        return True
    return False


def counts_filled(facts: FunctionFacts, name: str) -> bool:
    """Whether a function counts what is in a place, one by one, and asks for less than some number of them: `for item
    in self.sets: if item is not None: filled += 1` and `if filled < LIMIT`."""
    every = list(statements(facts.body))
    counters = {
        inner[2]
        for one in every
        if one[0] == m.FOR and last_name(one[3]) == name
        for inner in statements(one[4])
        if inner[0] == m.AUGMENT and inner[2][0] == m.NAME and inner[4] == (m.CONST, 1)
    }
    return any(
        expr[0] == m.COMPARE and expr[1].startswith(("LessThan", "GreaterThan")) and not counters.isdisjoint(expr[2:4])
        for one in every
        if counters and one[0] in (m.IF, m.WHILE)
        for expr in nodes(one[2])
    )


def unasked_limit(frame: Frame) -> str:
    """An attribute of the object that says how much it may keep, and that nothing in its file reads."""
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return ""
    written = {
        target[2]
        for function in methods_of(receiver.cls).values()
        for statement in statements(function.body)
        for target in targets(statement)
        if target[0] == m.ATTR and any(word in target[2].lower() for word in _BUDGETS)
    }
    if written:
        for function in frame.unit.facts.functions:
            for statement in statements(function.body):
                bound = targets(statement)
                for head in heads(statement):
                    written -= {part[2] for part in nodes(head) if part[0] == m.ATTR and part not in bound}
    return min(written, key=lambda name: (not name.startswith("max"), name), default="")
