"""Releases of what ends by itself, beside another method that ends it and leaves it there.

def on_output(self, ids):                  def on_abort(self, id):
    for id in ids:                             state = self.states[id]
        state = self.states[id]                state.finished = True
        state.finished = True
        del self.states[id]

Not so where whoever calls the second one takes it out, or asks the flag when it does.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Site
from .program import targets
from .walk import nodes, statements
from .ways import lets_go, taken

_ENDED = frozenset("finished done completed terminated closed ended stopped".split())


def when_ended_here(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a method takes something out of a table that it has ended, if another method of its class ends such an
    entry in the same words, and nobody takes that one out."""
    flags = set(_ends(function, table)) if function.owner >= 0 else set()
    if not flags:
        return None
    letting_go = [one for one in facts.functions if any(lets_go(part, table) for part in statements(one.body))]
    names = {one.name for one in letting_go}
    for other in facts.functions:
        if other.owner != function.owner or other in letting_go or not names.isdisjoint(other.calls):
            continue
        if flags.isdisjoint(_ends(other, table)) or any(other.name in one.calls for one in letting_go):
            continue
        if not any(_asks(one, flag) for one in letting_go for flag in flags):
            return next((one[1] for one in statements(function.body) if any(t == table for t, _ in taken(one))), None)
    return None


def _ends(function: FunctionFacts, table: Expr) -> Iterator[str]:
    """The flags that a function sets for entries of a table: `state.finished = True`, `state["done"] = True`."""
    entries = [
        target
        for one in statements(function.body)
        if one[0] in (m.ASSIGN, m.FOR) and table in nodes(one[3])
        for target in targets(one)
    ]
    for one in statements(function.body):
        for target in one[2] if one[0] == m.ASSIGN and one[3] == (m.CONST, True) else ():
            if target[0] in (m.ATTR, m.ITEM) and (target[1] in entries or target[1][:2] == (m.ITEM, table)):
                flag = target[2] if target[0] == m.ATTR else target[2][-1]
                if isinstance(flag, str) and flag in _ENDED:
                    yield flag


def _asks(function: FunctionFacts, flag: str) -> bool:
    tests = (one[2] for one in statements(function.body) if one[0] in (m.IF, m.WHILE))
    return any(node[-1] == flag for test in tests for node in nodes(test))
