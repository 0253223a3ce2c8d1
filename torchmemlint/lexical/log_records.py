"""Handlers of a logger that keep the records of errors, whose `exc_info` has the traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import bounded, drained, emptyings
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, last_name, statements
from .at_work import is_called_at_work

_ADDS = ("append", "appendleft", "add", "insert")
_MANY = 100  # a ring of as many failed calls with all their tensors is full late, if ever
_HANDLERS = ("logging.Handler", "logging.StreamHandler", "logging.NullHandler")


class KeptRecords(NamedTuple):
    """A list on a handler that gains each record."""

    site: Site
    holder: str
    logged: Site
    limit: int  # how many there may be; 0: any number


def kept_records(program: Program) -> Iterator[KeptRecords]:
    """`self.records.append(record)` in the `emit` of a handler, where the file logs errors with their traceback from
    functions that have tensors at hand, and nothing takes one out, or only after hundreds of them."""
    if "emit" not in program.by_name:
        return
    for place in program.by_name["emit"]:
        function = place.facts
        if len(function.params) != 2 or not set(_HANDLERS).intersection(place.bases) or _takes_off(function):
            continue
        record = (m.NAME, function.params[1].name)
        for call in calls(function.body):
            callee = call[2]
            own = callee[0] == m.ATTR and callee[2] in _ADDS and callee[1][:2] == (m.ATTR, (m.NAME, "self"))
            if not own or not any(record in (part, *_items(part)) for part in call[3]):
                continue
            name = callee[1][2]
            limit = _limit(program, place, name) if bounded(program, name) else 0
            logged = next(_logged(program), None)
            if logged is not None and not drained(program, name) and not 0 < limit < _MANY:
                yield KeptRecords(call[1], f"self.{name}", logged, limit)


def _items(value: Expr) -> tuple[Expr, ...]:
    """`(record.created, record)`"""
    return tuple(value[3]) if value[0] == m.NEW else ()


def _limit(program: Program, handler: Place, name: str) -> int:
    """The limit of a handler's `deque`, the least of those that its makers give; 1 where that is not seen."""
    for place in program.places:
        if place.facts.name != "__init__" or place.facts.owner != handler.facts.owner:
            continue
        for one in emptyings(place.facts, name):
            made = one.statement[-1]
            limits = _numbers(program, place, keyword(made, "maxlen", 1)) if made and made[0] == m.CALL else []
            return min(limits, default=1)
    return 1


def _numbers(program: Program, init: Place, limit: Expr | None) -> list[int]:
    """What a name in a constructor may be: what it is told, its default, a constant of the module."""
    if limit is None or limit[0] != m.NAME:
        return [limit[1]] if limit is not None and limit[0] == m.CONST and isinstance(limit[1], int) else []
    params = [param.name for param in init.facts.params]
    if limit[1] not in params:
        bound = [one for one in statements(program.facts.functions[0].body) if limit in targets(one)]
        return _numbers(program, init, bound[0][-1]) if len(bound) == 1 and bound[0][-1][0] == m.CONST else []
    row = params.index(limit[1])
    cls = program.facts.classes[init.facts.owner].name
    makers = [place.facts.body for place in program.places if cls in place.facts.calls]
    made = [call for body in makers for call in calls(body) if last_name(call[2]) == cls]
    given = [keyword(call, limit[1], row - 1) or init.facts.params[row].default for call in made]
    values = given or [init.facts.params[row].default]
    numbers = [value[1] for value in values if value is not None and value[0] == m.CONST and isinstance(value[1], int)]
    return numbers if len(numbers) == len(values) else []


def _takes_off(function: FunctionFacts) -> bool:
    """`record.exc_info = None`, or a copy that has none."""
    bound = (target for one in statements(function.body) if one[0] == m.ASSIGN for target in one[2])
    return any(target[0] == m.ATTR and target[2] == "exc_info" for target in bound)


def _logged(program: Program) -> Iterator[Site]:
    """Where a function with tensors at hand logs an error with its traceback."""
    for place in program.places:
        for call in calls(place.facts.body):
            told = keyword(call, "exc_info", -1)
            with_it = told is not None and told not in ((m.CONST, False), (m.CONST, None))
            if call[2][0] != m.ATTR or not (call[2][2] == "exception" or with_it):
                continue
            logger = last_name(call[2][1]).lower().strip("_").startswith("log")
            if logger and is_called_at_work(program, place.facts):
                yield call[1]
