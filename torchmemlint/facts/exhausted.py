"""Generators in a table that go when they have come to their end, and not before.

`poll(key)` asks the generator of a key for its next item and takes it out on `StopIteration`: who asks no more, because
he has enough or has hung up, leaves it there with all that its variables have.
"""

from __future__ import annotations

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt, statement_of
from .walk import calls, last_name, loops, once, root_of, statements
from .ways import lets_go, taken

_GOES_ON = frozenset("next anext __next__ __anext__ send asend".split())
_AT_ITS_END = ("StopIteration", "StopAsyncIteration")


def when_exhausted(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes the generator that it is to go on with out of a table, if it does so only at its end, and
    nobody in sight asks until then."""
    takes = [one for one in statements(function.body) if lets_go(one, table)]
    keys = {root_of(key) for one in takes for place, key in taken(one) if place == table}
    given = {(m.NAME, param.name) for param in function.params}
    if not takes or not keys <= given or any(loops(function.body)):
        return None
    at_the_end = {statement_of(one[1]) for one in _at_the_end(function)}
    if not all(statement_of(one[1]) in at_the_end for one in takes) or is_asked_until(facts, function.name):
        return None
    site: Site = takes[0][1]
    return site


@once
def polls(facts: FileFacts) -> bool:
    """Whether a function of the file takes out at the end what it was asked to go on with."""
    return any(_at_the_end(function) for function in facts.functions)


def _at_the_end(function: FunctionFacts) -> list[Stmt]:
    """What is done where a generator has come to its end."""
    if _GOES_ON.isdisjoint(function.calls):
        return []
    return [
        inner
        for one in statements(function.body)
        if one[0] == m.TRY and any(last_name(call[2]) in _GOES_ON for call in calls(one[2]))
        for kind, _, clause in one[3]
        if kind is not None and last_name(kind) in _AT_ITS_END
        for inner in statements(clause)
    ]


def is_asked_until(facts: FileFacts, name: str) -> bool:
    """Whether a function is called in a loop of its own kind, `while (item := self.poll(key)) is not None`."""
    return any(
        loop[0] == m.WHILE and any(last_name(call[2]) == name for call in calls((loop,)))
        for function in facts.functions
        if name in function.calls
        for loop, _ in loops(function.body)
    )
