"""What a logger hands to the handlers that were seen to be added to one: records, with the arguments as they are."""

from __future__ import annotations

from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .values import Class, Obj, Tensor, Value

LOGS = frozenset("debug info warning error critical exception log".split())


def add_handlers(machine: Machine, handlers: Value) -> None:
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
