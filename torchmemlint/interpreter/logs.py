"""What a logger hands to the handlers that were seen to be added to one: records, with the arguments as they are; and
which handlers and filters are removed again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..facts import model as m
from ..facts.knowledge import OF_LOGGERS
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.walk import call_at, calls, expressions_of, last_name, statements
from .events import Plain
from .frames import Frame
from .machine import Machine
from .values import Class, Obj, Tensor, Value

LOGS = frozenset("debug info warning error critical exception log".split())
_REMOVERS = frozenset(OF_LOGGERS.values())
HANDLERS = _REMOVERS | set(OF_LOGGERS)  # the methods that put a handler or filter there and take it out


def note_handlers(machine: Machine, frame: Frame, name: str, values: list[Value], site: Site) -> None:
    if name in _REMOVERS:
        machine.note("handler-removed", site, frame, values)
        return
    machine.note("handler-added", site, frame, values)
    _add_handlers(machine, values[0] if values else ())


def is_removed(machine: Machine, note: Plain) -> bool:
    """Whether something takes a handler or filter out again that a logger was given: in the run that very object, or
    by the text of the file something of that name, or all that the logger has."""
    handlers = {atom for value in note.detail for atom in value if type(atom) is Obj}
    for other in machine.plain:
        if other.kind == "handler-removed" and any(atom in handlers for value in other.detail for atom in value):
            return True
    call = call_at(note.frame.facts.body, note.site)
    added = call[3][0] if call is not None and call[3] else None
    return any(
        _is_the_same(added, removed, function is note.frame.facts) or _goes_through_handlers(function)
        for function in machine.facts.functions
        for removed in _removed_in(function)
    )


def _removed_in(function: FunctionFacts) -> Iterator[Expr]:
    """What a function takes out of a logger, at once or by a callback: `stack.callback(logger.removeHandler, one)`."""
    for call in calls(function.body):
        given = call[3]
        if last_name(call[2]) in _REMOVERS:
            yield from given[:1]
        for method, argument in itertools.pairwise(given):
            if method[0] == m.ATTR and method[2] in _REMOVERS:
                yield argument


def _is_the_same(added: Expr | None, removed: Expr, beside: bool) -> bool:
    """Whether the text says so: the name of a variable in the same function, or of an attribute, whoever has it."""
    if added is None or added[0] != removed[0]:
        return False
    return added[2] == removed[2] if added[0] == m.ATTR else beside and added == removed


def _goes_through_handlers(function: FunctionFacts) -> bool:
    return any(
        node[0] == m.ATTR and node[2] in ("handlers", "filters")
        for statement in statements(function.body)
        for node in expressions_of(statement)
    )


def _add_handlers(machine: Machine, handlers: Value) -> None:
    """`logger.addHandler(handler)`: one that the project defines gets what is logged from now on."""
    for atom in handlers:
        if type(atom) is Obj and isinstance(atom.cls, Class) and atom.cls.find("emit") is not None:
            machine.log_handlers[atom] = None


def hand_to_handlers(machine: Machine, frame: Frame, args: list[Value], site: Site) -> None:
    """`logger.debug("gradient %s", grad)`: the record has `grad` itself; only its message has the text of it
    [docs: logging.LogRecord]."""
    if not any(type(atom) is Tensor for value in args for atom in value):
        return
    given = machine.allocate(frame, ("logged", site), "tuple")
    for index, value in enumerate(args[1:]):
        machine.put(given.fields, f"[{index}]", value)
    record = machine.allocate(frame, ("log-record", site), "instance")
    machine.put(record.fields, "args", (given,))
    for handler in tuple(machine.log_handlers):
        machine.call_method(frame, handler, "emit", [(record,)], {}, site)
