"""Hooks for all modules of the process that code which runs again and again registers, dropping their handles."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.program import Place, Program, keyword
from ..facts.walk import in_loops, last_name
from .once import ONCE, is_repeated

_OF_THE_PROCESS = ("torch.nn.modules.module.register_module_", "torch.utils.checkpoint._register_checkpoint_")


def global_hooks(program: Program) -> Iterator[Site]:
    """`register_module_forward_hook(hook)` whose handle is dropped, with a hook that keeps what is around it."""
    if not any(name.startswith(("register_module_", "_register_checkpoint_")) for name in program.called):
        return
    within = (place.facts for place in program.places if place.facts.name != "<module>")
    nested = {id(program.facts.functions[index]) for function in within for index in function.inner}
    for place in program.places:
        for statement, looped in in_loops(place.facts.body):
            call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
            if call is None or not program.dotted(call[2]).startswith(_OF_THE_PROCESS):
                continue
            hook = keyword(call, "hook", 0)
            if hook is None or not last_name(call[2]).endswith("hook") or not _keeps(program, place, hook):
                continue
            again = looped or is_repeated(program, place, driven=True)
            if again or (id(place.facts) in nested and place.facts.name not in ONCE):
                yield call[1]


def _keeps(program: Program, place: Place, hook: Expr) -> bool:
    """Whether a hook is made here and refers to what is here: an inner function, a method, a `partial`."""
    if hook[0] == m.NAME:
        return any(program.facts.functions[index].name == hook[1] for index in place.facts.inner)
    if hook[0] == m.ATTR:
        return bool(hook[1] == (m.NAME, "self"))
    return hook[0] == m.LAMBDA or (hook[0] == m.CALL and last_name(hook) == "partial")
