"""Modules that are told by a flag to run without gradients: `net(x, is_inference=True)`, whose pass has a `with
torch.set_grad_enabled(not is_inference)`, or those of the parts that it gives the flag to."""

from __future__ import annotations

from ..facts import model as m
from ..facts.walk import call_at, calls, last_name
from ..interpreter.events import ModuleCall
from ..interpreter.values import Class


def turned_off(call: ModuleCall) -> bool:
    """Whether the file of a module's class turns gradients off for what a run of it is told by name."""
    cls = call.module.cls
    if not isinstance(cls, Class):
        return False
    said = call_at(call.frame.facts.body, call.site)
    flags = {} if said is None else {name: value[1] for name, value in said[4] if value[0] == m.CONST}
    flags = {name: value for name, value in flags.items() if isinstance(value, bool)}
    functions = cls.frame.unit.facts.functions if flags else ()
    for function in functions:
        if "set_grad_enabled" in function.calls and not flags.keys().isdisjoint(one.name for one in function.params):
            for one in calls(function.body):
                if last_name(one[2]) == "set_grad_enabled":
                    given = (*one[3], *(value for _, value in one[4]))
                    if any(value in given for name, on in flags.items() for value in _that_turns_off(name, on)):
                        return True
    return False


def _that_turns_off(name: str, on: bool) -> tuple[m.Expr, ...]:
    return ((m.NOT, (m.NAME, name)),) if on else ((m.NAME, name),)
