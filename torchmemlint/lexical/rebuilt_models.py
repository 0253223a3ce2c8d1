"""Models that a method makes anew, while the optimizer of the one before stays.

`self.net = self.build()` in `reset`, where the constructor has made `self.optimizer` from the parameters of the first
net: that one's parameters, gradients and moments stay with the optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, nodes, statements

_SELF = (m.NAME, "self")
_PARAMETERS = frozenset(("parameters", "named_parameters"))
_GROUPS = frozenset(("add_param_group", "param_groups"))


class Rebuilt(NamedTuple):
    """Where a model takes the place of the one that an optimizer was made for."""

    site: Site
    model: str
    optimizer: str


def rebuilt_models(program: Program) -> Iterator[Rebuilt]:
    """Attributes that a method binds to a new model, made as the first one, where nothing makes the optimizer anew."""
    if _PARAMETERS.isdisjoint(program.called):
        return
    for cls in program.facts.classes:
        methods = [program.facts.functions[index] for index in cls.methods.values()]
        for maker in methods:
            for model, optimizer in _pairs(maker) if not _PARAMETERS.isdisjoint(maker.calls) else ():
                made = {callee for method in methods for _, callee in _made(method, model) if _sets_up(method, maker)}
                if not made or _is_renewed(program, maker, optimizer):
                    continue
                for method in methods:
                    if not _sets_up(method, maker) and not _keeps(method, model):
                        yield from _replaced(method, model, optimizer, made)


def _pairs(function: FunctionFacts) -> Iterator[tuple[Expr, Expr]]:
    """A model and the optimizer of its parameters, both attributes of the object."""
    for statement in statements(function.body):
        for target in statement[2] if statement[0] == m.ASSIGN else ():
            if target[0] == m.ATTR and target[1] == _SELF and "optim" in target[2].lower():
                for call in calls_of(statement):
                    given = call[2][1] if call[2][0] == m.ATTR and call[2][2] in _PARAMETERS else ()
                    if given and given[0] == m.ATTR and given[1] == _SELF:
                        yield given, target


def _made(function: FunctionFacts, model: Expr) -> Iterator[tuple[Site, str]]:
    """Where the model is made by a call that is not given the one before, and the name of what is called."""
    for statement in statements(function.body):
        value = statement[3] if statement[0] == m.ASSIGN and model in statement[2] else None
        while value is not None and value[0] == m.CALL and value[2][0] == m.ATTR and value[2][1][0] == m.CALL:
            value = value[2][1]  # `Net().to(device)`
        if value is not None and value[0] == m.CALL and model not in nodes(statement[3]):
            yield statement[1], last_name(value[2])


def _sets_up(method: FunctionFacts, maker: FunctionFacts) -> bool:
    """Whether a method is part of what makes the optimizer: that method, or the constructor."""
    return method is maker or method.name in ("__init__", "__post_init__") or maker.name in method.calls


def _is_renewed(program: Program, maker: FunctionFacts, optimizer: Expr) -> bool:
    """Whether anybody else has a hand in the optimizer: binds it, deletes it, or changes its groups."""
    functions = program.facts.functions
    return any(
        function is not maker
        and not (function.name == "__init__" and maker.name in function.calls)
        and any(
            any(last_name(target) == optimizer[2] for target in targets(one))
            or (one[0] == m.DELETE and any(last_name(target) == optimizer[2] for target in one[2]))
            or any(part[0] == m.ATTR and part[2] in _GROUPS for part in expressions_of(one))
            for one in statements(function.body)
        )
        for function in functions
    ) or (maker.name != "__init__" and any(maker.name in one.calls and one.name != "__init__" for one in functions))


def _keeps(method: FunctionFacts, model: Expr) -> bool:
    """Whether the model that was there goes somewhere else: `self.former.append(self.net)`."""
    return any(
        (one[0] == m.ASSIGN and one[3] == model)
        or any(model in (*call[3], *(value for _, value in call[4])) for call in calls_of(one))
        for one in statements(method.body)
    )


def _replaced(method: FunctionFacts, model: Expr, optimizer: Expr, made: set[str]) -> Iterator[Rebuilt]:
    """Where a method makes another model as the first one was made; to call the constructor again makes both."""
    if "__init__" in method.calls:
        return
    for site, callee in _made(method, model):
        if callee in made:
            yield Rebuilt(site, model[2], optimizer[2])
