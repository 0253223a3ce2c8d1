"""Handlers of a logger that keep the records of errors, whose `exc_info` has the traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import bounded, drained
from ..facts.model import FunctionFacts, Site
from ..facts.program import Program, keyword
from ..facts.walk import calls, last_name, statements
from .at_work import is_called_at_work

_HANDLERS = ("logging.Handler", "logging.StreamHandler", "logging.NullHandler")


class KeptRecords(NamedTuple):
    """A list on a handler that gains each record."""

    site: Site
    holder: str
    logged: Site


def kept_records(program: Program) -> Iterator[KeptRecords]:
    """`self.records.append(record)` in the `emit` of a handler, where the file logs errors with their traceback from
    functions that have tensors at hand, and nothing takes one out."""
    if "emit" not in program.by_name:
        return
    for place in program.by_name["emit"]:
        function = place.facts
        if len(function.params) != 2 or not set(_HANDLERS).intersection(place.bases) or _takes_off(function):
            continue
        record = (m.NAME, function.params[1].name)
        for call in calls(function.body):
            callee = call[2]
            own = callee[0] == m.ATTR and callee[2] == "append" and callee[1][:2] == (m.ATTR, (m.NAME, "self"))
            if own and record in call[3] and not (drained(program, callee[1][2]) or bounded(program, callee[1][2])):
                logged = next(_logged(program), None)
                if logged is not None:
                    yield KeptRecords(call[1], f"self.{callee[1][2]}", logged)


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
