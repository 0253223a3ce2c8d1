"""Where a method calls others of its object with gradients off, as the text has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import model as m
from .evaluating import says_no_grad
from .knowledge import GRAD_OFF
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .program import targets
from .walk import blocks, calls_of, expressions_of, heads, last_name, nodes, once, statements


@once
def own_calls(function: FunctionFacts) -> list[tuple[str, bool]]:
    """The methods that a method calls on its object, each with whether gradients are off there."""
    if not function.params:
        return []
    own = (m.NAME, function.params[0].name)
    return [
        (call[2][2], off)
        for statement, off in _modes(function.body, _decorated(function))
        for call in calls_of(statement)
        if call[2][0] == m.ATTR and call[2][1] == own
    ]


@once
def own_reads(function: FunctionFacts) -> list[tuple[str, bool]]:
    """The attributes that a method reads of its object, each with whether gradients are off there."""
    found: list[tuple[str, bool]] = []
    if function.params:
        own = (m.NAME, function.params[0].name)
        for statement, off in _modes(function.body, _decorated(function)):
            bound = targets(statement)
            for head in heads(statement):
                found += ((node[2], off) for node in nodes(head) if node[:2] == (m.ATTR, own) and node not in bound)
    return found


def calls_by_mode(function: FunctionFacts, off: bool = False) -> Iterator[tuple[Expr, bool]]:
    """The calls of a function, each with whether gradients are off there; `off` if they are where it is called."""
    for statement, here in _modes(function.body, _decorated(function, off)):
        yield from ((call, here) for call in calls_of(statement))


def mentions(facts: FileFacts, name: str) -> Iterator[tuple[FunctionFacts, bool]]:
    """Where a file calls something of this name, or hands it on: in which function, and whether gradients are off.
    What is handed on may be called with them. A variable of that name, `predict = scores.argmax()`, is no mention."""
    return ((function, off and not handed_on) for function, off, handed_on in _mentions(facts, name))


def callers(facts: FileFacts, name: str) -> set[str] | None:
    """The names of the functions that call something of this name; None if anything of it is handed on."""
    found = list(_mentions(facts, name))
    return None if any(handed_on for _, _, handed_on in found) else {function.name for function, _, _ in found}


def _mentions(facts: FileFacts, name: str) -> Iterator[tuple[FunctionFacts, bool, bool]]:
    module = _left_off(facts.functions[0].body)
    for function in facts.functions:
        known = (m.ATTR,) if _binds(function, name) else (m.NAME, m.ATTR)
        before = module and function.name != "<module>"
        for statement, off in _modes(function.body, _decorated(function, before)):
            found = expressions_of(statement)
            called = sum(node[0] == m.CALL and node[2][0] in known and last_name(node[2]) == name for node in found)
            named = sum(node[0] in known and node[-1] == name for node in found)
            if named:
                yield function, off, called != named


def _binds(function: FunctionFacts, name: str) -> bool:
    """Whether a name is a variable of a function."""
    if function.name == "<module>":
        return False
    given = any(param.name == name for param in function.params)
    return given or any((m.NAME, name) in targets(one) for one in statements(function.body))


def _modes(body: tuple[Stmt, ...], off: bool) -> Iterator[tuple[Stmt, bool]]:
    """Every statement of a body, with whether gradients are off there."""
    for statement in body:
        yield statement, off
        inside = _within(heads(statement), off) if statement[0] == m.WITH else off
        for block in blocks(statement):
            yield from _modes(block, inside)
        off = _mode_after(statement, off)


def _left_off(body: tuple[Stmt, ...]) -> bool:
    """Whether gradients are off where a block ends: what a script says for all that it calls."""
    off = False
    for statement in body:
        off = _mode_after(statement, off)
    return off


def _mode_after(statement: Stmt, off: bool) -> bool:
    """`torch.set_grad_enabled(False)` as a statement: it goes on to be so."""
    said = statement[-1] if statement[0] in (m.EXPR, m.ASSIGN) else None
    if said is None or said[0] != m.CALL or last_name(said) != "set_grad_enabled":
        return off
    return bool(said[3] == ((m.CONST, False),))


def _decorated(function: FunctionFacts, off: bool = False) -> bool:
    """Whether gradients are off within a function. A mode around an `async def` ends when the coroutine is made."""
    modes = (one for one in function.decorators if not (function.coroutine and last_name(one) in GRAD_OFF))
    return _within(modes, off)


def _within(managers: Iterable[Expr], off: bool = False) -> bool:
    """Whether gradients are off within what a `with` or decorators enter."""
    for manager in managers:
        off = _turns_off(manager) or (off and last_name(manager) != "enable_grad")
    return off


def _turns_off(expr: Expr) -> bool:
    """`torch.no_grad()`, `torch.no_grad`, `set_grad_enabled(training)`: off at least where nothing is trained; so may
    be what `with nested(*self.contexts)` enters."""
    name = last_name(expr)
    if expr[0] == m.CALL and any(given[0] == m.STAR for given in expr[3]):
        return True
    if name == "set_grad_enabled" and expr[0] == m.CALL:
        return bool(expr[3] != ((m.CONST, True),))
    return name in GRAD_OFF or says_no_grad(name)
