"""What a parameter was given: the way from a name back to the caller's expression for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts.program import keyword
from ..facts.walk import call_at

if TYPE_CHECKING:
    from ..facts.model import Expr
    from .frames import Frame


def call_of(frame: Frame) -> Expr | None:
    """The call that entered a function, if it is written as one."""
    if frame.caller is None:
        return None
    return call_at(frame.caller.facts.body, frame.call_site)


def argument(frame: Frame, name: str) -> Expr | None:
    """What the call that entered a function gives for one of its parameters, as the caller has it."""
    params = [param.name for param in frame.facts.params]
    call = call_of(frame) if name in params else None
    bound = params[:1] == ["self"]
    return None if call is None else keyword(call, name, params.index(name) - bound)
