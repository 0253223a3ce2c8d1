"""Errors that are raised while another one is handled: they keep that one when their own traceback is gone.

`raise PageError(text) from None` in a clause says that the first error is not to be shown. It is still there, in
`__context__`, with the frames of what failed [Python: The raise statement], and `error.with_traceback(None)` takes
only those frames off that the second one has gone through.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, expressions
from ..facts.walk import calls, last_name, statements
from .at_work import has_tensors, reaches_work, started
from .caught import LETS_GO, lets_go, tries, type_names

_DEEPEST = 3
_WIPES = LETS_GO - {"with_traceback"}  # what lets go of the locals of the frames, whoever has those


def raised_in_a_clause(program: Program, function: FunctionFacts, tried: tuple[Stmt, ...], caught: Expr | None) -> Site:
    """Where what a clause catches is made in another clause, for an error of work with tensors, in what is tried or in
    what that calls; -1 if nobody is seen to, or somebody cuts the chain."""
    types = set(type_names(program, caught))
    names, seen = set(started(tried)), {function.name}
    inner = [(function, one) for one in statements(tried) if one[0] == m.TRY]
    for _ in range(_DEEPEST):
        found = next((one[1] for place, one in inner for one in _raised_anew(program, place, one, types)), -1)
        if found >= 0:
            return -1 if _cuts_chains(program) else found
        seen |= names
        found_by_name = (program.by_name.get(name, ()) for name in names)  # `get` also looks into other files
        places = [known[0].facts for known in found_by_name if len(known) == 1]
        inner = [(place, one) for place in places for one in tries(place)]
        names = {name for place in places for name in place.calls} - seen
    return -1


def _raised_anew(program: Program, function: FunctionFacts, tried: Stmt, types: set[str]) -> Iterator[Stmt]:
    for _, _, body in tried[3]:
        raised = [one for one in statements(body) if one[0] == m.RAISE and one[2] is not None and one[2][0] == m.CALL]
        made = [one for one in raised if _is_one_of(program, last_name(one[2][2]), types)]
        if not made or lets_go(body):
            continue
        if has_tensors(program, function) or reaches_work(program, set(started(tried[2])), making=True):
            yield made[0]


def _is_one_of(program: Program, name: str, types: set[str], depth: int = _DEEPEST) -> bool:
    """Whether an error of a class is caught by a clause for these."""
    if name in types or "" in types:
        return True
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return any(cls.__name__ in types for cls in known.__mro__)
    bases = (last_name(base) for cls in program.facts.classes if cls.name == name for base in cls.bases)
    return depth > 0 and any(_is_one_of(program, base, types, depth - 1) for base in bases)


def _cuts_chains(program: Program) -> bool:
    """Whether anybody looks at what errors were raised for, or empties frames."""
    if not _WIPES.isdisjoint(program.called):
        return True
    return any(
        part[0] == m.ATTR and part[2] == "__context__"
        for place in program.places
        for statement in statements(place.facts.body)
        for part in (*expressions((statement,)), *(statement[2] if statement[0] == m.ASSIGN else ()))
    )


def as_with_frames(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A suite as it would be without `with_traceback(None)`."""
    taking = any(last_name(call[2]) == "with_traceback" for call in calls(body))
    return _without(body) if taking else body


def _without(part: Any) -> Any:
    if type(part) is not tuple:
        return part
    called = part[2] if len(part) == 5 and part[0] == m.CALL else None
    if type(called) is tuple and called[:1] == (m.ATTR,) and called[2] == "with_traceback":
        return _without(called[1])
    return tuple(map(_without, part))
