"""Work that an `except` clause, or the next round of its loop, tries again, and what is alive while it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.low_memory import too_little_memory
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, expressions
from ..facts.walk import blocks, calls, calls_of, last_name, loops, nodes, statements, with_tests
from .at_work import reaches_work
from .caught import LETS_GO, lets_go, says_memory, type_names
from .native import is_native
from .other_engines import of_another_engine

Clause = tuple[Expr | None, str, tuple[Stmt, ...]]  # what an `except` catches, the name that it gives it, its body

_BROAD = ("RuntimeError", "Exception", "BaseException", "")
_HALVES = ("FloorDivide", "Divide", "RightShift")
_LIGHT = (
    knowledge.REPORTERS
    | knowledge.BUILTINS
    | knowledge.MODULE_EVIDENCE  # `for p in model.parameters(): p.grad = None`
    | {"append", "get", "join", "format", "empty_cache", "collect", "sleep"}
)
_OF_TEXT = frozenset(dir(str))
_TELLS = ("log_", "warn", "print", "report", "notify", "put", "send", "emit", "publish", "set_exception", "set_result")


class Retry(NamedTuple):
    """The work of a `try` done again in its `except` clause."""

    site: Site
    callee: str
    called: Expr
    function: str
    certain: bool  # the clause is about memory, in so many words
    otherwise: bool = False  # another way to do it


def retries(program: Program, function: FunctionFacts, tried_in: Sequence[Stmt]) -> Iterator[list[Retry]]:
    """Work that is tried again, or done another way, while the traceback of the first try keeps its frames: of each
    clause the calls that may be it, in their order."""
    for statement in tried_in:
        if is_native(program, statement[2]):
            continue
        callees = {call[2] for call in calls(statement[2]) if call[2][0] in (m.NAME, m.ATTR)}
        tried = {last_name(call[2]) for call in calls(statement[2])} | {function.name}
        tried = {name for name in tried - _LIGHT - _OF_TEXT if not _tells(name)}
        done = {one for one in callees if last_name(one) in tried}
        for clause in statement[3]:
            yield list(_in_clause(program, function, tried, done, clause))


def _in_clause(
    program: Program, function: FunctionFacts, tried: set[str], callees: set[Expr], clause: Clause
) -> Iterator[Retry]:
    caught, error, body = clause
    certain = _about_memory(program, caught, body)
    says_nothing = not certain and not _empties_cache(body)
    if says_nothing and not (_makes_less(body) and reaches_work(program, tried)):
        return
    if not set(type_names(program, caught)) & set(_BROAD) and not certain:
        return
    if any(last_name(call[2]) in LETS_GO for call in calls(body)):
        return
    raised = {one[2] for one in statements(body) if one[0] == m.RAISE}
    leaves = any(_moves_off(last_name(call[2])) for call in calls(body))  # for the CPU, mostly
    for call in calls(body):
        name = last_name(call[2])
        if call in raised or _on_the_cpu(call) or (error and (m.NAME, error) in nodes(call)):
            continue  # not the work again, or not on the device, or it tells somebody of the error
        if says_nothing and not _asks_for_less(call, body):
            continue
        if of_another_engine(program, call[2]):
            continue  # what it had on the device was never torch's
        again = None if leaves or not certain else _handed_on(program, call, callees)
        if name in tried and len(name) > 2:
            yield Retry(call[1], name, call[2], function.name, certain)
        elif again is not None:
            yield Retry(call[1], last_name(again), again, function.name, certain)  # `in_pieces(func, batch)`
        elif certain and not leaves and _is_another_way(program, name):
            yield Retry(call[1], name, call[2], function.name, certain, True)


def _makes_less(body: tuple[Stmt, ...]) -> bool:
    return any(map(_is_less, expressions(body))) or any(_is_cut(one) for one in statements(body))


def _asks_for_less(call: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether work is done again with half of it: `self.search(size // 2)`, `size //= 2` and `self.search(size)`."""
    given = [part for value in (*call[3], *(v for _, v in call[4])) for part in nodes(value)]
    less = [one[2] for one in statements(body) if _is_cut(one)]
    less += [target for one in statements(body) if one[0] == m.ASSIGN and _has_less(one[3]) for target in one[2]]
    return any(_is_less(part) or part in less for part in given)


def _has_less(value: Expr) -> bool:
    return any(map(_is_less, nodes(value)))


def _is_less(expr: Expr) -> bool:
    """`size // 2`"""
    return bool(expr[0] == m.ARITH and expr[1] in _HALVES and expr[3][0] == m.CONST)


def _is_cut(statement: Stmt) -> bool:
    """`size //= 2`"""
    return bool(statement[0] == m.AUGMENT and statement[3] in _HALVES and statement[4][0] == m.CONST)


def _moves_off(name: str) -> bool:
    """`cpu`, `to`, `maybe_to_cpu`"""
    return name == "to" or name.lower().split("_")[-1] == "cpu"


def _handed_on(program: Program, call: Expr, tried: set[Expr]) -> Expr | None:
    """What of this a call hands to a function that calls what it is given: `in_pieces(step, batch)`."""
    found: Expr | None = None
    for place in program.by_name.get(last_name(call[2]), ()):
        own = call[2][0] == m.ATTR and bool(place.cls)
        for param, given in zip(place.facts.params[own:], call[3], strict=False):
            if given in tried and param.name in place.facts.calls and not param.kind:
                found = given
    return found


def _tells(name: str) -> bool:
    """Whether what is called so tells somebody something."""
    return name.lstrip("_").startswith(_TELLS)


def _is_another_way(program: Program, name: str) -> bool:
    """Whether the one function of this name runs a model, and not on the CPU."""
    places = program.by_name.get(name, ())
    if len(places) != 1 or not reaches_work(program, {name}):
        return False
    return not any(last_name(call[2]) == "cpu" or _on_the_cpu(call) for call in calls(places[0].facts.body))


def _on_the_cpu(call: Expr) -> bool:
    """`Merger(shape, device="cpu")`: what the device is short of is not needed there."""
    given = (*call[3], *(value for _, value in call[4]))
    return any(part == (m.CONST, "cpu") for value in given for part in nodes(value))


def emptied_in_clauses(program: Program, function: FunctionFacts) -> Iterator[Site]:
    """Where a clause empties a device cache before the next round of its loop tries again."""
    for _, inside in loops(function.body):
        clauses = [(tried, clause) for tried in inside if tried[0] == m.TRY for clause in tried[3]]
        for tried, (caught, _, body) in clauses:
            names = {last_name(call[2]) for call in calls(tried[2])} - _LIGHT - _OF_TEXT
            memory = _about_memory(program, caught, body)
            if (
                not names
                or is_native(program, tried[2])
                or not (memory or set(type_names(program, caught)) & set(_BROAD))
                or lets_go(body)
            ):
                continue
            own = {id(one) for _, clause in clauses for one in statements(clause[2])}
            if any(_empties_cache((one,)) for one in inside if id(one) not in own and not any(blocks(one))):
                continue  # once more in each round, when the exception is gone
            for at in _before_the_next(body):
                if memory or not names <= program.by_name.keys() or reaches_work(program, names):
                    yield at


def _before_the_next(body: tuple[Stmt, ...], on: bool = True) -> Iterator[Site]:
    """The calls that empty a cache on the ways through a clause that lead to the next round; `on`: whether the end of
    the block does."""
    last = body[-1] if body else None
    if last is not None and last[0] in (m.RETURN, m.RAISE, m.JUMP):
        on = last[0] == m.JUMP and not last[2]
    for statement in body:
        if statement[0] in (m.IF, m.WITH):
            for suite in blocks(statement):
                yield from _before_the_next(suite, on)
        elif on:
            yield from (call[1] for call in calls_of(statement) if last_name(call[2]) == "empty_cache")


def _about_memory(program: Program, caught: Expr | None, body: tuple[Stmt, ...]) -> bool:
    if any(map(says_memory, type_names(program, caught))) or _tells_of_memory(body):
        return True
    for statement, tests in with_tests(body):
        for expr in tests:
            for node in nodes(expr):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
        for call in calls_of(statement):
            name = last_name(call[2]).lower()
            if "oom" in name or "out_of_memory" in name:
                return True
        if statement[0] == m.IF:
            for node in nodes(statement[2]):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
                if node[0] == m.CALL and "oom" in last_name(node[2]).lower():
                    return True
    return False


def _tells_of_memory(body: tuple[Stmt, ...]) -> bool:
    """Whether the clause itself, under no further test, tells somebody that there was too little memory."""
    told = (call for one in body if one[0] == m.EXPR for call in calls_of(one) if _tells_text(last_name(call[2])))
    return any(
        node[0] == m.CONST and isinstance(node[1], str) and too_little_memory(node[1])
        for call in told
        for argument in call[3]
        for node in nodes(argument)
    )


def _tells_text(name: str) -> bool:
    return _tells(name) or name in knowledge.REPORTERS


def _empties_cache(body: tuple[Stmt, ...]) -> bool:
    return any(last_name(call[2]) == "empty_cache" for call in calls(body))
