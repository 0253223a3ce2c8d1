"""Whether an object that a function has made is anybody else's business: whether it is ended, kept, or only lent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from ..facts import model as m
from ..facts.knowledge import REPORTERS
from ..facts.model import ClassFacts, Expr, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls, calls_of, heads, last_name, names_of, nodes, statements

_GOING_OVER = ("__iter__", "__next__")
_ASKS = ("next", "len", "isinstance", "bool", "id", "repr", "str", "print")
ENDS = frozenset(
    """close stop shutdown terminate join finish end kill cleanup stop_workers __exit__ quit exit teardown
    destroy""".split()
)


def is_seen_to(
    place: Place,
    made: Stmt | None,
    name: Expr,
    program: Program | None = None,
    depth: int = 3,
    fed: Collection[str] = (),
    *,
    gone_over: bool = True,
) -> bool:
    """Whether the object is ended, used by `with`, or handed to somebody who may end it: all but its other methods
    are called on it. With its program, the functions that only use what they are given are told apart.
    `fed`: its attributes by which nothing ends it; `gone_over`: whether it may end when it has been gone over."""

    def lent(call: Expr) -> bool:
        return program is not None and depth > 0 and _only_uses(program, place, call, name, depth)

    inner = () if program is None else (program.facts.functions[index] for index in place.facts.inner)
    return any(name[1] in names_of(function.body) for function in inner) or any(
        is_given(head, name, lent, fed)
        for statement in statements(place.facts.body)
        if statement is not made and (gone_over or not goes_over(statement, name))
        for head in heads(statement)
    )


def goes_over(statement: Stmt, name: Expr) -> bool:
    """`for batch in reader:`, `yield from reader`"""
    if statement[0] == m.FOR:
        return bool(statement[3] == name)
    return bool(statement[0] == m.EXPR and statement[2] == (m.YIELD_FROM, name))


def may_end_itself(program: Program, cls: ClassFacts) -> bool:
    """Whether an object may end what it has started when it has been gone over: where its class says how that is done,
    and a method that is not there for the end joins something, or tells it that nothing more will come."""
    methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
    going = [function for name, function in methods.items() if name.lstrip("_") not in ENDS]
    return methods.keys().isdisjoint(_GOING_OVER) or any(
        last_name(call[2]).lstrip("_") in ENDS
        or last_name(call[2]) == "set"
        or (last_name(call[2]) in ("put", "put_nowait", "send") and call[3][:1] == ((m.CONST, None),))
        for function in going
        for call in calls(function.body)
    )


def _only_uses(program: Program, place: Place, call: Expr, name: Expr, depth: int) -> bool:
    """Whether a function of the file is called with an object that it neither ends nor keeps nor hands back."""
    own, callee = call[2] if call[2][0] == m.ATTR and call[2][1] == (m.NAME, "self") else None, last_name(call[2])
    found = [one for one in program.by_name.get(callee, ()) if one.cls == (place.cls if own else "")]
    if len(found) != 1 or (own is None and call[2][0] != m.NAME):
        return False
    params = found[0].facts.params[own is not None :]
    by_name = {param.name for param in params}
    given = [param.name for param, value in zip(params, call[3], strict=False) if value == name and not param.kind]
    given += [key for key, value in call[4] if value == name and key in by_name]
    passed = (*call[3], *(value for _, value in call[4]))
    if len(given) != 1 or sum(part == name for value in passed for part in nodes(value)) != 1:
        return False
    return not is_seen_to(found[0], None, (m.NAME, given[0]), program, depth - 1)


def _receiver(call: Expr) -> tuple[Expr, ...]:
    return (call[2][1],) if call[2][0] == m.ATTR else ()


def is_given(expr: Expr, name: Expr, lent: Callable[[Expr], bool] | None = None, fed: Collection[str] = ()) -> bool:
    """Whether an expression does more with an object than to call its other methods or to read what it says, or to
    call what it is only `lent` to."""
    if expr == name:
        return True
    if expr[0] == m.ATTR and expr[1] == name:
        return False
    parts: list[object] = list(expr)
    called = expr[0] == m.CALL and len(expr) == 5
    if called and lent is not None and name in (*expr[3], *(value for _, value in expr[4])) and lent(expr):
        return False
    if called and expr[2][0] == m.NAME and expr[2][1] in _ASKS and name in expr[3]:
        return False
    reads = called and expr[2][0] == m.NAME and expr[2][1] in REPORTERS  # `len(watch.queue)`
    given = (*_receiver(expr), *expr[3]) if called and not reads else ()
    if any(part[0] == m.ATTR and part[1] == name and part[2] not in fed for part in given):
        return True  # `watch.done.set()`, `drain(watch.queue)`: what ends it may be a part of it
    if expr[0] == m.CALL and len(expr) == 5 and expr[2][0] == m.ATTR and expr[2][1] == name:
        if expr[2][2].lstrip("_") in ENDS:
            return True
        parts = [*expr[3], *expr[4]]
    while parts:
        part = parts.pop()
        if type(part) is tuple and part:
            if type(part[0]) is int:
                if is_given(part, name, lent, fed):
                    return True
            else:
                parts.extend(part)
    return False


def listed(statement: Stmt, makers: dict[str, str]) -> Iterator[tuple[str, Expr]]:
    """The attribute of `self` that gains an object right where it is made, and the call that makes it."""
    for call in calls_of(statement):
        adds = call[2][0] == m.ATTR and call[2][2] in ("append", "add", "appendleft") and call[3]
        if adds and call[3][0][0] == m.CALL and last_name(call[3][0]) in makers:
            place = call[2][1]
            if place[0] == m.ATTR and place[1] == (m.NAME, "self"):
                yield place[2], call[3][0]


def may_be_told(program: Program, attribute: str, end: str) -> bool:
    """Whether anybody calls the method that ends such objects, or gets the container that they are in."""
    for place in program.places:
        for statement in statements(place.facts.body):
            for head in heads(statement):
                for part in nodes(head):
                    if part[0] == m.ATTR and part[2] == end:
                        return True
                    given = part[3] if part[0] == m.CALL and len(part) == 5 else ()
                    if any(one[0] == m.ATTR and one[2] == attribute for one in given):
                        return True
                if statement[0] != m.ASSIGN and head[0] == m.ATTR and head[2] == attribute:
                    return True  # gone over, or handed back
    return False


def dropped_from(statement: Stmt) -> Iterator[Expr]:
    """The containers that a statement takes something out of, which nobody gets."""
    if statement[0] == m.DELETE:
        yield from (target[1] for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement) if statement[0] == m.EXPR else ():
        if call is statement[2] and call[2][0] == m.ATTR and call[2][2] in ("pop", "popitem", "clear"):
            yield call[2][1]


def may_end(program: Program, attribute: str, end: str) -> bool:
    """Whether anybody asks for the method that ends such objects, or gets the container that they are in."""
    for place in program.places:
        for head in (head for statement in statements(place.facts.body) for head in heads(statement)):
            for part in nodes(head):
                given = part[3] if part[0] == m.CALL and len(part) == 5 and last_name(part[2]) not in _ASKS else ()
                if (part[0] == m.ATTR and part[2] == end) or any(last_name(one) == attribute for one in given):
                    return True
    return False
