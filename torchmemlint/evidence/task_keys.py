"""Keys that all tasks of a pool have alike, since they belong to the object that is called for each."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, statement_of
from ..facts.program import targets
from ..facts.walk import statements
from ..interpreter.arguments import argument
from ..interpreter.contexts import Kept
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.values import Bound, Class, Function, Obj, Partial

_SELF = (m.NAME, "self")


def is_of_the_callable(note: Plain, kept: Kept) -> bool:
    """`pool.map(operator, samples)`, where `self.model_key` of the operator says which entry of a table is asked for:
    one, however many tasks. A function or partial as a key is another one in each copy that a task brings along."""
    frame: Frame | None = note.frame
    key = key_of(note)
    while frame is not None and key is not None and key[0] == m.NAME:
        key, frame = argument(frame, key[1]), frame.caller
    if frame is None or key is None or key[:2] != (m.ATTR, _SELF) or type(frame.receiver) is not Obj:
        return False
    task = frame.receiver
    values = task.fields.get(key[2], ())
    anew = any(type(one) in (Function, Partial, Bound) or (type(one) is Obj and one.kind != "tuple") for one in values)
    return not anew and not _is_rebound(task, key) and _is_called(frame, task, kept)


def key_of(note: Plain) -> Expr | None:
    """What the value is stored under: `models[key] = value`."""
    for one in statements(note.frame.facts.body):
        if statement_of(one[1]) == statement_of(note.site):
            return next((target[2] for target in targets(one) if target[0] == m.ITEM), None)
    return None


def _is_rebound(task: Obj, attribute: Expr) -> bool:
    """Whether a method other than the constructor binds the attribute."""
    assert isinstance(task.cls, Class)
    return any(
        attribute in targets(one)
        for entry in task.cls.mro
        for name, index in entry.facts.methods.items()
        if name != "__init__"
        for one in statements(entry.frame.unit.facts.functions[index].body)
    )


def _is_called(frame: Frame | None, task: Obj, kept: Kept) -> bool:
    """Whether it is the object itself that the worker calls."""
    while frame is not None and frame.call_site != kept.context.site:
        frame = frame.caller
    return frame is not None and frame.receiver is task
