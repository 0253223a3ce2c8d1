"""What a parameter was given: the way from a name back to the caller's expression for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import statement_of
from ..facts.program import keyword
from ..facts.walk import call_at, expressions_of, last_name, statements

if TYPE_CHECKING:
    from ..facts.model import Expr, Site
    from .frames import Frame

_SUBSCRIPTED = ("__missing__", "__getitem__", "__setitem__")  # what an index enters


def call_of(frame: Frame) -> Expr | None:
    """The call that entered a function, if it is written as one."""
    if frame.caller is None:
        return None
    return call_at(frame.caller.facts.body, frame.call_site)


def argument(frame: Frame, name: str) -> Expr | None:
    """What the call that entered a function gives for one of its parameters, as the caller has it."""
    params = [param.name for param in frame.facts.params]
    if name not in params:
        return None
    call = call_of(frame)
    bound = params[:1] == ["self"]
    if frame.name in _SUBSCRIPTED and frame.caller is not None and (call is None or last_name(call[2]) != frame.name):
        return _index(frame.caller, frame.call_site) if params.index(name) == 1 else None
    return None if call is None else keyword(call, name, params.index(name) - bound)


def _index(caller: Frame, site: Site) -> Expr | None:
    """`sigma` of a statement with `kernels[sigma]`, if that is the only index in it."""
    number = statement_of(site)
    for statement in statements(caller.facts.body):
        if statement_of(statement[1]) == number:
            items = {node[2] for node in expressions_of(statement) if node[0] == m.ITEM}
            return items.pop() if len(items) == 1 else None
    return None
