"""`except` clauses that have a shell show the traceback, which keeps what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets, text
from ..facts.walk import calls, statements
from .at_work import started
from .caught import lets_go, says_memory, type_names
from .handlers import POST_MORTEM, Kept, only_asserts

_SHOWS = "showtraceback"
_SHELLS = ("get_ipython", "InteractiveShell.instance", "TerminalInteractiveShell.instance")


def shown(program: Program, function: FunctionFacts, tried_in: Sequence[Stmt]) -> Iterator[Kept]:
    """`get_ipython().showtraceback()`: IPython puts what it shows into `sys.last_value` and `sys.last_traceback`, for
    `%debug`, where it stays until it shows another one [IPython, `InteractiveShell._get_exc_info`]."""
    if _SHOWS not in function.calls or _is_let_go(program):
        return
    shells = {
        target
        for one in (program.facts.functions[0], function)
        for statement in statements(one.body)
        if statement[0] == m.ASSIGN and _is_shell(statement[3])
        for target in targets(statement)
    }
    for statement in tried_in:
        if only_asserts(statement[2]):
            continue
        called = started(statement[2])
        for caught, _, body in statement[3]:
            certain = any(map(says_memory, type_names(program, caught)))
            for call in () if lets_go(body) else calls(body):
                shows = call[2][0] == m.ATTR and call[2][2] == _SHOWS
                if shows and (call[2][1] in shells or _is_shell(call[2][1])):
                    kept = Kept(call[1], POST_MORTEM[0], "sys", False, function, called, True, certain)
                    yield kept._replace(by_parts=True, shown=True)


def _is_shell(value: Expr) -> bool:
    return value[0] == m.CALL and text(value[2]).endswith(_SHELLS)


def _is_let_go(program: Program) -> bool:
    """Whether the file takes what was shown from there again, `sys.last_value = None`, or lets go of its frames."""
    if "clear_frames" in program.called:
        return True
    return any(
        text(target).startswith(POST_MORTEM)
        for place in program.places
        for one in statements(place.facts.body)
        for target in (one[2] if one[0] == m.DELETE else _emptied(one))
    )


def _emptied(statement: Stmt) -> tuple[Expr, ...]:
    """What a statement binds to None, alone or side by side."""
    if statement[0] != m.ASSIGN:
        return ()
    value = statement[3]
    none = all(one == (m.CONST, None) for one in (value[3] if value[0] == m.NEW else (value,)))
    return targets(statement) if none else ()
