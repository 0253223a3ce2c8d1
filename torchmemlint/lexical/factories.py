"""What makes an object that has workers of its own: its class, a function that returns one, a class around one."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.program import Program
from ..facts.walk import calls, last_name, statements
from .forked import is_chosen
from .starters import Owner, construction


def with_factories(program: Program, owners: dict[str, Owner]) -> dict[str, str]:
    """What makes such an object when it is called -> its class: the classes, and functions that return one."""
    wrapped = {name: name for name in owners} | dict(_wrappers(program, owners))
    makers = dict(wrapped)
    for place in program.places if owners else ():
        usual = _usual_classes(program, place.facts, wrapped)
        none = not usual and owners.keys().isdisjoint(place.facts.calls)
        if none or len(program.by_name[place.facts.name]) > 1:
            continue
        made: dict[Expr, str] = {}
        for statement in statements(place.facts.body):
            if statement[0] not in (m.ASSIGN, m.RETURN) or statement[-1] is None:
                continue
            value = construction(statement[-1])
            cls = made.get(value, "")
            if value[0] == m.CALL:
                cls = wrapped.get(last_name(value), "") or usual.get(value[2], "")
                cls = cls or next((made[one] for one in value[3] if _wraps(program, value, owners, made.get(one))), "")
            if cls and statement[0] == m.ASSIGN:
                made[statement[2][0]] = cls
            elif cls:
                makers[place.facts.name] = cls
    return makers


def _wraps(program: Program, made: Expr, owners: dict[str, Owner], cls: str | None) -> bool:
    """Whether an object is made around such an object, `ToTensor(envs)`, and ends it by the same name."""
    return cls is not None and owners[cls].end in _methods(program, last_name(made))


def _methods(program: Program, name: str, depth: int = 3) -> set[str]:
    """The methods of a class of the file, with those of its bases there."""
    cls = next((cls for cls in program.facts.classes if cls.name == name), None)
    if cls is None or not depth:
        return set()
    return set(cls.methods).union(*(_methods(program, last_name(base), depth - 1) for base in cls.bases))


def _usual_classes(program: Program, factory: FunctionFacts, wrapped: dict[str, str]) -> dict[Expr, str]:
    """The parameters of a factory that name a class, `env_cls=WorkerEnvs`, where nobody is seen to name another."""
    return {
        (m.NAME, param.name): wrapped[last_name(param.default)]
        for param in factory.params
        if param.default is not None and param.default[0] in (m.NAME, m.ATTR) and last_name(param.default) in wrapped
        if not is_chosen(program, factory, param)
    }


def _wrappers(program: Program, owners: dict[str, Owner]) -> Iterator[tuple[str, str]]:
    """The classes that are given such an object right where it is made, `ToTensor(Envs(seeds))`, with its class: what
    ends it is called by the same name."""
    for place in program.places if owners else ():
        for call in calls(place.facts.body) if not owners.keys().isdisjoint(place.facts.calls) else ():
            given = [last_name(one) for one in call[3] if one[0] == m.CALL and last_name(one) in owners]
            if given and last_name(call) not in owners and _wraps(program, call, owners, given[0]):
                yield last_name(call), given[0]
