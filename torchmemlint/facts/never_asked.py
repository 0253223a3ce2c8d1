"""Releases that a function makes only if it is told to, where no call in sight tells it.

def reset(self, everything=False):         log.reset()
    self.count = 0
    if everything:
        self.rows.clear()

What is asked for may also be one of several words, `if what in ("rows", "both")`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import model as m
from .left_off import is_handed_over
from .model import Expr, FileFacts, FunctionFacts
from .program import keyword, targets
from .walk import calls, last_name, statements, with_conditions
from .ways import lets_go

_SAME = {"Equal": True, "Is": True, "NotEqual": False, "IsNot": False}
_AMONG = {"In": True, "NotIn": False}


def is_never_asked_for(files: Sequence[FileFacts], name: str, place: str) -> bool:
    """Whether all that functions of a name take out of an attribute they take out only if they are told to, and each
    call in sight leaves that be."""
    if name.startswith(("__", "on_")):
        return False
    table = (m.ATTR, (m.NAME, "self"), place)
    letting_go = [function for file in files for function in file.functions if function.name == name]
    under = [
        (function, literals)
        for function in letting_go
        for statement, literals in with_conditions(function.body)
        if lets_go(statement, table)
    ]
    if not under or not all(literals for _, literals in under):
        return False
    found = list(_calls_of(files, name))
    return (
        bool(found)
        and all(_is_passed_by(function, literals, found) for function, literals in under)
        and not is_handed_over(files, name)
    )


def _calls_of(files: Sequence[FileFacts], name: str) -> Iterator[Expr]:
    for file in files:
        for function in file.functions:
            if name in function.calls:
                yield from (call for call in calls(function.body) if last_name(call[2]) == name)


def _is_passed_by(function: FunctionFacts, literals: Sequence[tuple[Expr, bool]], found: list[Expr]) -> bool:
    """Whether one of the conditions is one of a parameter that is not met by any call."""
    for test, holds in literals:
        tested = test[1] if test[0] == m.NOT else test
        name = tested[2] if tested[0] == m.COMPARE else tested
        place = next((at for at, param in enumerate(function.params) if (m.NAME, param.name) == name), -1)
        if place < 1 or function.params[place].kind or any(name in targets(one) for one in statements(function.body)):
            continue
        if all(_meets(test, _given(call, function, place)) is (not holds) for call in found):
            return True
    return False


def _given(call: Expr, function: FunctionFacts, place: int) -> Expr | None:
    """What a call of a method gives a parameter; None where that is not seen."""
    if any(given[0] == m.STAR for given in call[3]) or any(not key for key, _ in call[4]):
        return None
    given = keyword(call, function.params[place].name, place - 1)
    return function.params[place].default if given is None else given


def _meets(test: Expr, value: Expr | None) -> bool | None:
    """Whether a test of a parameter holds with a value; None where that is not known."""
    if value is None or value[0] != m.CONST:
        return None
    if test[0] == m.NOT:
        inner = _meets(test[1], value)
        return None if inner is None else not inner
    if test[0] == m.NAME:
        return bool(value[1])
    if test[0] == m.COMPARE and test[1] in _SAME and test[3][0] == m.CONST:
        return (value == test[3]) is _SAME[test[1]]
    if test[0] == m.COMPARE and test[1] in _AMONG and test[3][0] == m.NEW:
        listed = all(one[0] == m.CONST for one in test[3][3])
        return (value in test[3][3]) is _AMONG[test[1]] if listed else None
    return None
