"""Helpers of other files that run a model for one function with gradients off, and for another with gradients on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.evaluating import says_no_grad
from ..facts.guarded import calls_by_mode, mentions
from ..facts.knowledge import GRAD_OFF
from ..facts.model import BACKWARD, Expr, FunctionFacts, Site
from ..facts.model_names import names_model
from ..facts.program import Program, text
from ..facts.walk import calls, expressions_of, last_name, root_of, statements
from ..interpreter.machine import Machine
from ..interpreter.values import Function

_OFF = frozenset(GRAD_OFF)
_RUNS_NOTHING = frozenset("eval train parameters named_parameters state_dict to cpu cuda modules buffers".split())


class Unguarded(NamedTuple):
    """A call of a helper with gradients on."""

    site: Site
    model: str  # what it is given to run, as it is written
    function: FunctionFacts  # that calls it
    beside: str  # that makes the same call with gradients off


def guarded_elsewhere(machine: Machine, program: Program) -> Iterator[Unguarded]:
    """`utils.draw(self.net, x)` of a helper that asks for a model in eval mode, where another function of the file
    makes that call under `no_grad`: neither has a use for the graph."""
    if machine.project is None:
        return
    guarded: dict[str, str] = {}
    open_ones: dict[str, list[tuple[FunctionFacts, Expr]]] = defaultdict(list)
    for function, call, off in _calls(program, _says_off):
        if off:
            guarded.setdefault(text(call[2]), function.name)
    names = {callee.rpartition(".")[2] for callee in guarded}
    for function, call, off in _calls(program, lambda function: not names.isdisjoint(function.calls)) if names else ():
        if not off and not function.flags & BACKWARD:
            open_ones[text(call[2])].append((function, call))
    for callee, found in open_ones.items():
        for function, call in found if callee in guarded else ():
            model = next((text(given) for given in _given_models(call) if _infers(machine, call, given)), "")
            if model and function.name != guarded[callee] and not _is_called_with_off(program, function):
                yield Unguarded(call[1], model, function, guarded[callee])


def _says_off(function: FunctionFacts) -> bool:
    """Whether a function, or a decorator of it, names what turns gradients off."""
    if not _OFF.isdisjoint(function.calls):
        return True
    decorators = map(last_name, function.decorators) if function.decorators else ()
    return any(one in GRAD_OFF or says_no_grad(one) for one in decorators)


def _calls(program: Program, wanted: Callable[[FunctionFacts], bool]) -> Iterator[tuple[FunctionFacts, Expr, bool]]:
    """The calls of imported helpers that are given a model, each with whether gradients are off there, in the functions
    that are wanted, themselves or for what is around them."""
    functions = program.facts.functions
    chosen = [wanted(function) for function in functions]
    if not any(chosen):
        return
    within = {inner: at for at, outer in enumerate(functions) for inner in outer.inner if outer.name != "<module>"}
    for index, function in enumerate(functions):
        around = within.get(index, index)
        if not (chosen[index] or chosen[around]):
            continue
        off = around != index and _is_off_in(functions[around], function.name)
        for call, here in calls_by_mode(function, off):
            root = root_of(call[2])
            if root[0] == m.NAME and root[1] in program.imports and any(True for _ in _given_models(call)):
                yield function, call, here


def _is_off_in(outer: FunctionFacts, name: str) -> bool:
    """Whether a function calls the one that is defined in it with gradients off only."""
    modes = [off for call, off in calls_by_mode(outer) if call[2] == (m.NAME, name)]
    return bool(modes) and all(modes)


def _given_models(call: Expr) -> Iterator[Expr]:
    return (one for one in call[3] if one[0] in (m.NAME, m.ATTR) and names_model(one[-1]))


def _is_called_with_off(program: Program, function: FunctionFacts) -> bool:
    """Whether all of the file that calls a function does so with gradients off."""
    modes = [off for _, off in mentions(program.facts, function.name)]
    return bool(modes) and all(modes)


def _infers(machine: Machine, call: Expr, model: Expr) -> bool:
    """Whether what is called is a helper of another file that runs a model, which has to be in eval mode, and neither
    sees to gradients nor goes back through them."""
    found = [atom for atom in machine.eval(machine.module_frame, call[2]) if type(atom) is Function]
    return bool(found) and all(_infers_with(machine, one, call[3].index(model)) for one in found)


def _infers_with(machine: Machine, helper: Function, index: int) -> bool:
    facts = helper.facts
    if helper.frame.unit is machine.home or helper.grad is not None or facts.flags & BACKWARD or helper.owner:
        return False
    if index >= len(facts.params) or any(off for _, off in calls_by_mode(facts)):
        return False
    model = (m.NAME, facts.params[index].name)
    runs = any(
        call[2] == model or (call[2][0] == m.ATTR and call[2][1] == model and call[2][2] not in _RUNS_NOTHING)
        for call in calls(facts.body)
    )
    return runs and _wants_eval_mode(facts, model)


def _wants_eval_mode(facts: FunctionFacts, model: Expr) -> bool:
    """`model.eval()`, `assert not model.training`"""
    if any(call[2] == (m.ATTR, model, "eval") for call in calls(facts.body)):
        return True
    wanted = (m.NOT, (m.ATTR, model, "training"))
    return any(one[0] == m.ASSERT and wanted in list(expressions_of(one)) for one in statements(facts.body))
