"""Keys made of all the arguments of a call, `(args, tuple(sorted(kwargs.items())))`: what the caller gave for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.walk import nodes, statements
from .arguments import call_of

if TYPE_CHECKING:
    from ..facts.model import Expr, Stmt
    from .frames import Frame

_WRAPPERS = frozenset("tuple sorted frozenset list dict str repr hash".split())
_PARTS = ("items", "values")
_IMPLIED = ("self", "cls", "mcs", "mcls", "klass")
_DRAWS = frozenset("uniform random gauss normalvariate expovariate betavariate item".split())
_ROUNDS = frozenset("round int floor ceil".split())


def unwrapped(expr: Expr) -> Expr:
    """`kwargs` of `tuple(sorted(kwargs.items()))`."""
    while expr[0] == m.CALL:
        callee = expr[2]
        if callee[0] == m.NAME and callee[1] in _WRAPPERS and len(expr[3]) == 1:
            expr = expr[3][0]
        elif callee[0] == m.ATTR and callee[2] in _PARTS and not expr[3]:
            expr = callee[1]
        else:
            break
    return expr


def given_for_all(name: Expr, frame: Frame) -> tuple[Expr, ...] | None:
    """What the caller gives for `*args` or `**kwargs`; None if the name is no such parameter, or it is not seen."""
    params = frame.facts.params
    place = next((i for i, param in enumerate(params) if param.kind and (m.NAME, param.name) == name), None)
    call = call_of(frame) if place is not None else None
    if place is None or call is None or frame.caller is None:
        return None
    if any(one[0] == m.STAR for one in call[3]) or any(not keyword for keyword, _ in call[4]):
        return None
    if params[place].kind == "**":
        named = {param.name for param in params if not param.kind}
        return tuple(value for keyword, value in call[4] if keyword not in named)
    return tuple(call[3][place - (params[0].name in _IMPLIED) :])


def turns_away(name: Expr, body: tuple[Stmt, ...]) -> bool:
    """`if any(isinstance(a, Tensor) for a in args): return ...`: what comes after has no tensors among them."""
    for one in statements(body):
        if one[0] == m.IF and one[3] and one[3][-1][0] in (m.RETURN, m.RAISE):
            test = tuple(nodes(one[2]))
            if name in test and any(node[0] == m.CALL and node[2] == (m.NAME, "isinstance") for node in test):
                return True
    return False


def is_drawn(name: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether a name is bound to a number that was drawn, or computed: `ratio = 2 ** rng.uniform(-1, 1)`."""
    bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and one[2] == (name,)]
    called = {
        node[2][-1] for value in bound for node in nodes(value) if node[0] == m.CALL and node[2][0] in (m.NAME, m.ATTR)
    }
    return not _DRAWS.isdisjoint(called) and _ROUNDS.isdisjoint(called)
