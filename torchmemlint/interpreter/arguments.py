"""What a parameter was given: the way from a name back to the caller's expression for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts.program import keyword
from ..facts.walk import calls

if TYPE_CHECKING:
    from ..facts.model import Expr
    from .frames import Frame


def argument(frame: Frame, name: str) -> Expr | None:
    """What the call that entered a function gives for one of its parameters, as the caller has it."""
    params = [param.name for param in frame.facts.params]
    if frame.caller is None or name not in params:
        return None
    call = next((call for call in calls(frame.caller.facts.body) if call[1] == frame.call_site), None)
    bound = params[:1] == ["self"]
    return None if call is None else keyword(call, name, params.index(name) - bound)
