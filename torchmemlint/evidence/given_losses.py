"""Losses that a function is given: who gave them may differentiate them again when it is done."""

from __future__ import annotations

from ..facts import model as m
from ..facts.differentiated import with_graph
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import call_at, calls, last_name, statements
from ..interpreter.events import Backward


def may_go_on(backward: Backward) -> bool:
    """Whether a function that nobody is seen to call back-propagates what it is given, and is not the whole of a step:
    it takes none, `optimizer.step()`, after which there is no second pass, or another pass follows in it."""
    facts = backward.frame.facts
    call = call_at(facts.body, backward.site)
    if backward.frame.caller is not None or call is None:
        return False
    name = _differentiated(facts, call)
    if not any(param.name == name for param in facts.params) or _is_made_here(facts, name, backward.site):
        return False
    return "step" not in facts.calls or _another_follows(facts, name, backward.site)


def _differentiated(facts: FunctionFacts, call: Expr) -> str:
    """`loss` of `loss.backward(gradient)`, of `engine.backward(loss)` and of `autograd.grad(loss, inputs)`."""
    receiver = _name_of(call[2][1]) if call[2][0] == m.ATTR else ""
    bound = {param.name for param in facts.params if param.name != "self"}
    bound |= {target[1] for one in statements(facts.body) for target in targets(one) if target[0] == m.NAME}
    of_tensor = last_name(call[2]) == "backward" and receiver in bound
    return receiver if of_tensor or not call[3] else _name_of(call[3][0])


def _name_of(value: Expr) -> str:
    """`loss` of `(loss / steps)` and of `loss.mean()`."""
    while value[0] in (m.ARITH, m.CALL, m.ATTR, m.ITEM):
        value = with_graph(value)[0] if value[0] == m.ARITH else value[2] if value[0] == m.CALL else value[1]
    return str(value[1]) if value[0] == m.NAME else ""


def _is_made_here(facts: FunctionFacts, name: str, before: Site) -> bool:
    """Whether a parameter is given another value than one made of it, `loss = loss * self.scale`."""
    given = (one for one in statements(facts.body) if one[0] == m.ASSIGN and one[1] < before)
    return any((m.NAME, name) in targets(one) and _name_of(one[3]) != name for one in given)


def _another_follows(facts: FunctionFacts, name: str, site: Site) -> bool:
    """Whether something else is back-propagated later on, which may share what the first was made from."""
    later = (call for call in calls(facts.body) if call[1] > site and last_name(call[2]).endswith("backward"))
    return any(name not in map(_name_of, (call[2], *call[3])) for call in later)
