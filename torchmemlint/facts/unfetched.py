"""Answers that only who comes for them takes out of a table, where nobody comes once the request is broken off.

def wait(self, number):                    if state is Status.ABORTED:
    answer = self.done.pop(number, None)       return Answer(aborted=True)
    ...                                    return self.executor.wait(started.number)

The answer comes all the same, and stays. Not so where who breaks a request off tells another object of it, which then
may give no answer at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import model as m
from .filled_together import BREAKS_OFF, empties, taken_of_its_own
from .model import Expr, FileFacts, FunctionFacts, Site
from .passed_by import PassedBy
from .unclaimed import puts_anyway
from .walk import calls_of, last_name, nodes, root_of, statements, with_conditions
from .ways import TAKES

_FIRST = ("__init__", "__post_init__", "__new__", "__setstate__")
_TAKES = frozenset(TAKES)
_BROKEN_OFF = frozenset("aborted cancelled canceled disconnected abandoned".split())
_ALIKE, _UNLIKE = ("Is", "Equal", "In"), ("IsNot", "NotEqual", "NotIn")


def unfetched(facts: FileFacts) -> Iterator[tuple[str, PassedBy]]:
    """The tables, by their last names, whose only release nobody calls for what was broken off."""
    for cls in facts.classes:
        for name, index in cls.methods.items():
            method = facts.functions[index]
            if name not in _FIRST and not _TAKES.isdisjoint(method.calls):  # few do
                others = [facts.functions[other] for other in cls.methods.values() if other != index]
                yield from _of(facts, method, others)


def _of(facts: FileFacts, method: FunctionFacts, others: list[FunctionFacts]) -> Iterator[tuple[str, PassedBy]]:
    """The tables of which this is so, and which a method takes entries out of."""
    if any(_breaks_off(one.name) for one in (method, *others)):
        return  # whoever breaks something off tells this object, which sees to it in its own way
    given = {param.name for param in method.params[1:]}
    others = [one for one in others if one.name not in _FIRST]
    taken: dict[Expr, tuple[Site, Expr]] = dict(taken_of_its_own(method))
    for table, (site, key) in taken.items():
        if root_of(key)[1] not in given or any(empties(one, table) for one in others):
            continue
        comes = any(puts_anyway(one, table) for one in others)
        if comes and _is_left_out(facts, method) and not _is_passed_on(facts):
            yield last_name(table), PassedBy(site, method.name, "unfetched")


def _is_left_out(facts: FileFacts, method: FunctionFacts) -> bool:
    """Whether all calls of a method stand where the request is known not to have been broken off."""
    found = [
        any(_says_whole(test, holds) for test, holds in literals)
        for function in facts.functions
        if function is not method and method.name in function.calls
        for statement, literals in with_conditions(function.body)
        if any(last_name(call[2]) == method.name for call in calls_of(statement))
    ]
    return bool(found) and all(found)


def _says_whole(test: Expr, holds: bool) -> bool:
    """`state is not Status.ABORTED`, `not request.cancelled`, and the like."""
    if test[0] == m.NOT:
        return _says_whole(test[1], not holds)
    if test[0] == m.BOOL:
        return (test[1] == "and") == holds and any(_says_whole(one, holds) for one in test[2])
    if test[0] == m.COMPARE and (test[1] in _UNLIKE) != holds and test[1] in (*_ALIKE, *_UNLIKE):
        return False
    if test[0] != m.COMPARE and holds:
        return False
    words = (re.split("_+", str(node[-1]).lower()) for node in nodes(test) if node[0] in (m.NAME, m.ATTR))
    return any(not _BROKEN_OFF.isdisjoint(one) for one in words)


def _is_passed_on(facts: FileFacts) -> bool:
    """Whether what breaks something off tells another object: `def abort(self, ids): self.worker.abort(ids)`."""
    return any(
        call[2][0] == m.ATTR and call[2][1] != (m.NAME, "self") and _breaks_off(call[2][2])
        for function in facts.functions
        if _breaks_off(function.name)
        for one in statements(function.body)
        for call in calls_of(one)
    )


def _breaks_off(name: str) -> bool:
    return not BREAKS_OFF.isdisjoint(name.lower().split("_"))
