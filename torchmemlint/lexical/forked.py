"""Processes that begin as a copy of the one that starts them, with all that is open in it."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Param
from ..facts.program import Program, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, loops, nodes, statements


def forks(program: Program, function: FunctionFacts, started: Expr) -> bool:
    """Whether a process begins as a copy of this one, with all that is open here [docs: the default on Linux]."""
    module, _, name = program.dotted(started[2]).rpartition(".")
    context = started[2][1] if started[2][0] == m.ATTR else None
    for one in (*statements(function.body), *program.facts.functions[0].body):  # `ctx = mp.get_context("fork")`
        if one[0] == m.ASSIGN and context in one[2] and one[3][0] == m.CALL and last_name(one[3]) == "get_context":
            method = keyword(one[3], "method", 0)
            return method is not None and _usual_value(program, function, method) == (m.CONST, "fork")
    chosen = "set_start_method" in program.called
    return module in ("multiprocessing", "torch.multiprocessing") and name == "Process" and not chosen


def _usual_value(program: Program, function: FunctionFacts, value: Expr) -> Expr | None:
    """What an argument is, or by default is where nobody is seen to choose: `start_method="fork"`."""
    param = next((one for one in function.params if value == (m.NAME, one.name)), None)
    if param is None:
        return value
    bound = any(value in targets(one) for one in statements(function.body))
    return None if bound or is_chosen(program, function, param) else param.default


def is_chosen(program: Program, function: FunctionFacts, param: Param) -> bool:
    """Whether a call that may be one of this function gives the parameter a value of its own."""
    made = function.owner >= 0 and function.name == "__init__"
    called = program.facts.classes[function.owner].name if made else function.name
    before = function.params.index(param) - (function.owner >= 0)  # `self` is given by nobody
    for call in (call for place in program.places for call in calls(place.facts.body)):
        if any(key == param.name for key, _ in call[4]):
            return True
        spread = any(one[0] == m.STAR for one in call[3]) or any(not key for key, _ in call[4])
        if last_name(call[2]) == called and (spread or (len(call[3]) > before and not param.keyword)):
            return True
    return False


def pipes_first(setup: FunctionFacts) -> bool:
    """Whether a constructor makes several pipes and then starts the processes: each gets the others' ends with its own,
    so no pipe ends while one of them lives
    [measured: three forked workers stay when their owner goes, one does not]."""
    if "Pipe" not in setup.calls:
        return False
    comprehended = (part for one in statements(setup.body) for part in expressions_of(one))
    rounds = [{last_name(c[2]) for one in inside for c in calls_of(one)} for _, inside in loops(setup.body)]
    rounds += [
        {last_name(call[2]) for call in nodes(part) if call[0] == m.CALL and len(call) == 5}
        for part in comprehended
        if part[0] == m.COMP
    ]
    return any("Pipe" in called and "start" not in called for called in rounds)
