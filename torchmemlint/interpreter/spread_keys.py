"""Keys made of what a call was given: all its arguments, `(args, tuple(sorted(kwargs.items())))`, or a parameter whose
name says less than what the caller gave for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.program import targets
from ..facts.walk import expressions_of, nodes, root_of, statements
from .arguments import argument, call_of

if TYPE_CHECKING:
    from ..facts.model import Expr, Stmt
    from .frames import Frame

_WRAPPERS = frozenset("tuple sorted frozenset list dict str repr hash float".split())
_PARTS = ("items", "values")
_SAYS_WHICH = frozenset(
    """available supported allowed known valid choices config configs configured settings specs paths registry
    registered catalog zoo""".split()
)
_SENT = frozenset("request req payload".split())
_IMPLIED = ("self", "cls", "mcs", "mcls", "klass")
_DRAWS = frozenset("uniform random gauss normalvariate expovariate betavariate rand randn".split())
_COMPUTES = _DRAWS | {"item"}  # of a tensor
_KEEPS = frozenset("float abs min max sqrt exp log".split())  # of a number that no other is, another such
_ROUNDS = frozenset("round int floor ceil".split())
_STEPS = 6  # that a number is followed back from the key to the draw


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


def sent_as(key: Expr, frame: Frame) -> str:
    """Under which name somebody has sent a key, `model` of `payload["model"]`, to the function itself or to those that
    lead to it: `load(request.model)` of `def load(model_name)`; "" if it was not sent, or somebody looks whether it is
    one of a few."""
    for _ in range(_STEPS):
        if _is_one_of_a_few(key, frame.facts.body):
            return ""
        if key[0] != m.NAME:
            return _part_of_a_request(key)
        bound = _bound_to(key, frame)
        given = bound[0] if len(bound) == 1 else argument(frame, key[1]) if not bound else None
        if given is None or given == key or (not bound and frame.caller is None):
            return ""
        frame = frame if bound or frame.caller is None else frame.caller
        key = given
    return ""


def _part_of_a_request(part: Expr) -> str:
    """`model` of `request.model`, `payload["model"]` and `req.get("model")`."""
    named: object = part[2] if part[0] == m.ATTR else None
    if part[0] == m.CALL and part[2][0] == m.ATTR and part[2][2] == "get" and part[3]:
        part = (m.ITEM, part[2][1], part[3][0])
    if part[0] == m.ITEM and part[2][0] == m.CONST:
        named = part[2][1]
    root = root_of(part)
    sent = root[0] == m.NAME and root is not part and not _SENT.isdisjoint(root[1].lower().split("_"))
    return named if sent and isinstance(named, str) else ""


def _is_one_of_a_few(key: Expr, body: tuple[Stmt, ...]) -> bool:
    """`if name not in SUPPORTED: raise ...`, `CONFIGS[name]`: a constant, or one that is written there, says which ones
    there are; not the table itself that is filled, `if name not in MODELS: MODELS[name] = ...`."""
    filled = {target[1] for one in statements(body) for target in targets(one) if target[0] == m.ITEM}
    for one in statements(body):
        for node in expressions_of(one):
            table = None
            if node[0] == m.COMPARE and node[1] in ("In", "NotIn") and node[2] == key:
                table = node[3]
            elif node[0] == m.ITEM and node[2] == key:
                table = node[1]
            if table is not None and table not in filled and (table[0] == m.NEW or _is_constant(table)):
                return True
    return False


def _is_constant(table: Expr) -> bool:
    """`CONFIGS`, or what is called so that it says which ones there are: `self.supported`."""
    named = str(table[-1]) if table[0] in (m.NAME, m.ATTR) else ""
    return named.isupper() or not _SAYS_WHICH.isdisjoint(named.lower().strip("_").split("_"))


def is_drawn(name: Expr, frame: Frame | None) -> bool:
    """Whether a name is bound to a number that was drawn, or computed: `ratio = 2 ** rng.uniform(-1, 1)`; or a caller
    gives one that was drawn."""
    if frame is None:
        return False
    parts = [part for value in _bound_to(name, frame) for part in nodes(value)]
    called = {part[2][-1] for part in parts if part[0] == m.CALL and part[2][0] in (m.NAME, m.ATTR)}
    if not _COMPUTES.isdisjoint(called) and _ROUNDS.isdisjoint(called):
        return True
    return _comes_from_a_draw(name, frame, _STEPS)


def _comes_from_a_draw(name: Expr, frame: Frame, steps: int) -> bool:
    """Whether a number is made of one that was drawn, in the function itself or in those that lead to it."""
    if name[1] in _IMPLIED:
        return False
    bound, within = _bound_to(name, frame), frame
    if not bound and frame.caller is not None:
        given = argument(frame, name[1])
        bound, within = () if given is None else (given,), frame.caller
    parts = [part for value in bound for part in _terms(value)]
    if any(part[0] == m.CALL and part[2][-1] in _ROUNDS for part in parts):
        return False
    if any(part[0] == m.CALL and part[2][-1] in _DRAWS for part in parts):
        return True
    names = {part for part in parts if part[0] == m.NAME and (part != name or within is not frame)}
    return steps > 0 and any(_comes_from_a_draw(one, within, steps - 1) for one in names)


def _bound_to(name: Expr, frame: Frame) -> tuple[Expr, ...]:
    return tuple(one[3] for one in statements(frame.facts.body) if one[0] == m.ASSIGN and one[2] == (name,))


def _terms(value: Expr) -> Iterator[Expr]:
    """The names and calls that a number is reckoned from; not a tensor that it is the size of."""
    if value[0] in (m.NAME, m.CALL):
        yield value
    parts: tuple[Expr, ...] = ()
    if value[0] == m.ARITH:
        parts = value[2:4]
    elif value[0] == m.UNARY:
        parts = value[1:2]
    elif value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "item":
        parts = (value[2][1],)
    elif value[0] == m.CALL and value[2][-1] in _KEEPS:
        parts = value[3]
    for part in parts:
        yield from _terms(part)
