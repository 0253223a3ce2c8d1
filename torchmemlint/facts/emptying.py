"""Where a text takes something out of a container, or binds another one in its place, by the container's name."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from . import model as m
from .knowledge import TAKES_OUT
from .model import Expr, FunctionFacts, Stmt
from .program import Place, Program, keyword, targets
from .walk import calls, heads, last_name, nodes, statements

BUILDERS: Final = ("__init__", "__post_init__", "setup", "__setstate__", "<module>")
BOUND: Final = "="
DELETED: Final = "del"
_TASKS = frozenset("create_task ensure_future gather run_coroutine_threadsafe start_soon wait".split())
_SENDS = ("send", "put", "put_nowait")
_ENDS = ("close", "terminate", "shutdown", "kill", "stop", "join", "deleteLater", "_shutdown_workers")


class Emptying(NamedTuple):
    """What a statement takes out of."""

    how: str  # the name of the method, which may be handed over as well as called; DELETED; BOUND
    place: Expr  # `self.rows` of `self.rows.pop()`, `del self.rows[0]`, `self.rows = []` and `self.rows[:] = []`
    statement: Stmt


def emptyings(function: FunctionFacts, name: str) -> Iterator[Emptying]:
    """All that a function does of this kind to what goes by this name, as the last part of it."""
    for statement in statements(function.body):
        for head in heads(statement):
            for part in nodes(head):
                if part[0] == m.ATTR and part[2] in TAKES_OUT and last_name(part[1]) == name:
                    yield Emptying(part[2], part[1], statement)
                elif part[0] == m.CALL and part[2] == (m.NAME, "iter") and len(part[3]) == 2:
                    taken = part[3][0]  # `iter(queue.get, None)`
                    if taken[0] == m.ATTR and taken[2] == "get" and last_name(taken[1]) == name:
                        yield Emptying("get", taken[1], statement)
        for target in statement[2] if statement[0] == m.DELETE else ():
            for one in target[3] if target[0] == m.NEW else (target,):
                if last_name(one) == name:
                    yield Emptying(DELETED, one[1] if one[0] == m.ITEM else one, statement)
        for target in targets(statement) if statement[0] in (m.ASSIGN, m.ANNOTATE) else ():
            place = target[1] if target[0] == m.ITEM and target[2][0] == m.SLICE else target
            if place[0] != m.ITEM and place[-1] == name:
                yield Emptying(BOUND, place, statement)


def goes_on_beside(call: Expr, functions: Container[str]) -> bool:
    """`create_task(self.work())` of a coroutine that empties something, from time to time, while others fill it."""
    given = (*call[3], *(value for _, value in call[4])) if last_name(call[2]) in _TASKS else ()
    return any(one[0] == m.CALL and last_name(one[2]) in functions for one in given)


def drained(program: Program, name: str, passing: Container[str] = frozenset(), *, lasting: bool = False) -> bool:
    """Whether something empties the container of this name after it was made; not one of the functions that elements
    pass by. Of one that is `lasting`, and no variable of a function, such a variable has only the name."""
    return any(
        one.how != BOUND or place.facts.name not in BUILDERS
        for place in program.places
        if place.facts.name not in passing
        for one in emptyings(place.facts, name)
        if not (lasting and one.how == BOUND and _is_variable(place.facts, one.place))
    ) or _drained_by_helper(program, name, passing)


def _drained_by_helper(program: Program, name: str, passing: Container[str]) -> bool:
    """Whether a function of the file is handed the container, and takes something out of it: `trim(self.rows, 8)`."""
    for call in (call for place in program.places for call in calls(place.facts.body)):
        given: list[tuple[int | str, Expr]] = [*enumerate(call[3]), *call[4]]
        keys = [key for key, value in given if value[0] in (m.NAME, m.ATTR) and value[-1] == name]
        if not keys or last_name(call[2]) in passing:
            continue
        for found in program.by_name.get(last_name(call[2]), ()):
            params = [one.name for one in found.facts.params[bool(found.cls) and call[2][0] == m.ATTR :]]
            taken = (
                params[key] if type(key) is int else str(key)
                for key in keys
                if key in params or key in range(len(params))
            )
            if any(one.how != BOUND for param in taken for one in emptyings(found.facts, param)):
                return True
    return False


def _is_variable(function: FunctionFacts, place: Expr) -> bool:
    """Whether what is bound is a function's own variable: not of the module, nor of a function around it."""
    outside = (s for s in statements(function.body) if s[0] in (m.GLOBAL, m.NONLOCAL))
    return place[0] == m.NAME and function.name != "<module>" and not any(place[1] in s[2] for s in outside)


def bounded(program: Program, name: str) -> bool:
    """Whether all that the container of this name is made of is a `deque` with a limit, which lets go by itself."""
    made = [
        value
        for place in program.places
        for one in emptyings(place.facts, name)
        if one.how == BOUND
        and (value := one.statement[4 if one.statement[0] == m.ANNOTATE else 3]) is not None
        and value != (m.CONST, None)
    ]
    return bool(made) and all(
        value[0] == m.CALL
        and last_name(value[2]) == "deque"
        and keyword(value, "maxlen", 1) not in (None, (m.CONST, None))
        for value in made
    )


def ending(program: Program, name: str) -> Iterator[Place]:
    """The functions that close the elements of the container of this name."""
    for place in program.places:
        for statement in statements(place.facts.body):
            if statement[0] != m.FOR or not any(part[-1] == name for part in nodes(statement[3])):
                continue
            if any(call[2][0] == m.ATTR and call[2][2] in _ENDS for call in calls(statement[4])):
                yield place


def told_to_end(program: Program, name: str) -> bool:
    """Whether what is filled beside the container of this name takes a word to each of its elements at which their
    loop is left: `for conn in self.conns.values(): conn.send("exit")`, `if command == "exit": break`."""
    beside = {name}
    for place in program.places:
        filled = {last_name(one) for one in _filled(place.facts)}
        beside |= filled if name in filled else set()
    said: set[Expr] = set()
    for one in (one for place in program.places for one in statements(place.facts.body) if one[0] == m.FOR):
        if any(part[0] in (m.NAME, m.ATTR) and part[-1] in beside for part in nodes(one[3])):
            sent = (call for call in calls(one[4]) if last_name(call[2]) in _SENDS and len(call[3]) == 1)
            said |= {call[3][0] for call in sent if call[3][0][0] == m.CONST}
    return any(_leaves_at(one, said) for place in program.places for one in statements(place.facts.body))


def _leaves_at(statement: Stmt, words: set[Expr]) -> bool:
    """`if command == "exit": break`, `while command != "exit":`, `for command in iter(conn.recv, "exit"):`."""
    if statement[0] == m.FOR:
        call = statement[3]
        return call[0] == m.CALL and call[2] == (m.NAME, "iter") and words.issuperset(call[3][1:2] or [call])
    same = {m.IF: ("Is", "Equal"), m.WHILE: ("IsNot", "NotEqual")}.get(statement[0], ())
    if not any(
        node[0] == m.COMPARE and node[1] in same and node[3] in words
        for head in heads(statement)
        for node in nodes(head)
    ):
        return False
    return statement[0] == m.WHILE or any(
        one[0] == m.RETURN or one[:1] + one[2:] == (m.JUMP, True) for one in statements(statement[3])
    )


def _filled(function: FunctionFacts) -> Iterator[Expr]:
    """What a function adds to: `self.rows[key] = row`, `self.rows.append(row)`."""
    for one in statements(function.body):
        yield from (target[1] for target in targets(one) if target[0] == m.ITEM)
        if one[0] == m.EXPR and one[2][0] == m.CALL and one[2][2][0] == m.ATTR and one[2][2][2] == "append":
            yield one[2][2][1]


def gone_through(program: Program, name: str) -> bool:
    """Whether something goes through each element of the container of this name: `for loader in self.loaders: for x in
    loader:`, also with others beside it."""
    for place in program.places:
        for statement in statements(place.facts.body):
            if statement[0] != m.FOR or not any(part[-1] == name for part in nodes(statement[3])):
                continue
            elements = {part for part in nodes(statement[2]) if part[0] == m.NAME}
            inner = (one[3] for one in statements(statement[4]) if one[0] == m.FOR)
            if any(part in elements for over in inner for part in nodes(over)):
                return True
    return False
