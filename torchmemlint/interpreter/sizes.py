"""Tensors that have another size in each round: a cache under their shapes gains an entry each time.

What is seen is a factory whose size is made of the number of the round, `torch.randn(1, 32 + 8 * i, 64)`, or drawn;
what is computed of it has a size of its own, too, unless that is set on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.program import expressions
from ..facts.walk import call_at, is_count, last_name, once, places_with_values, statements
from .values import COUNT, LIGHT

if TYPE_CHECKING:
    from ..facts.model import Expr, Site, Stmt
    from .frames import Frame
    from .machine import Machine
    from .values import Value

_DRAWS = frozenset(("randint", "randrange"))
_FEW = 8
_STEPS = 3  # that a size is followed back to the number of a round
_FAR = 200
# What has the size that it is told, or of which one does not ask for the shape: `interpolate(x, (224, 224))`.
SETS_SIZE = frozenset("interpolate upsample resize pad center_crop adaptive_avg_pool2d adaptive_avg_pool1d".split())


def note_varied(machine: Machine, frame: Frame, node: int, site: Site) -> None:
    """Note a tensor that a factory makes, if each round of a loop makes one of another size."""
    if not any(loop.kind == "loop" for loop in machine.loops):
        return
    call = call_at(frame.facts.body, site)
    if call is None or all(one[0] == m.CONST for one in call[3]):
        return
    if any(_of_the_round(one, frame.facts.body, _STEPS) for one in call[3]):
        machine.derivation.varied.add(node)


def size_of(machine: Machine, node: int) -> Value:
    """A shape, or a part of one: a new one in each round, or a number."""
    varied = machine.derivation.varied
    if not varied:
        return LIGHT
    queue, seen = [node], {node}
    for one in queue:
        if one in varied:
            return (COUNT,)
        if one in machine.derivation.sized or len(queue) > _FAR:
            continue
        new = [parent for parent in machine.derivation.parents[one] if parent not in seen]
        seen.update(new)
        queue += new
    return LIGHT


def _of_the_round(size: Expr, body: tuple[Stmt, ...], steps: int) -> bool:
    """Whether a size is reckoned from the number of a round, or drawn; `64 * (i % 2)` and `n // 64` are one of few."""
    if size[0] == m.ARITH:
        return size[1] not in ("Modulo", "FloorDivide") and any(_of_the_round(one, body, steps) for one in size[2:4])
    if size[0] == m.NEW:
        return any(_of_the_round(one, body, steps) for one in size[3])
    if size[0] == m.CALL:
        limits = [one[1] for one in size[3] if one[0] == m.CONST and type(one[1]) is int]
        few = len(limits) == len(size[3]) and bool(limits) and max(limits) - min((*limits[:-1], 0)) <= _FEW
        return last_name(size[2]) in _DRAWS and not few
    if size[0] != m.NAME or not steps:
        return False
    numbers, bound = _bindings(body)
    return size[1] in numbers or any(_of_the_round(one, body, steps - 1) for one in bound.get(size[1], ()))


def _bound(body: tuple[Stmt, ...]) -> tuple[frozenset[str], dict[str, list[Expr]]]:
    """The names that count the rounds of a loop, and what others are assigned."""
    rounds = [(one[2], one[3]) for one in statements(body) if one[0] == m.FOR]
    rounds += [clause[:2] for expr in expressions(body) if expr[0] == m.COMP for clause in expr[5]]
    bound: dict[str, list[Expr]] = {}
    for one in statements(body):
        for place, value in places_with_values(one) if one[0] == m.ASSIGN else ():
            if place[0] == m.NAME:
                bound.setdefault(place[1], []).append(value)
    return frozenset(filter(None, (_number_of(*one) for one in rounds))), bound


def _number_of(target: Expr, iterable: Expr) -> str:
    """The name of the number of a round: of `range(steps)`, and of `enumerate(items)`."""
    if is_count(iterable):
        few = all(one[0] == m.CONST for one in iterable[3]) and iterable[3][-1][1] <= _FEW
        return str(target[1]) if target[0] == m.NAME and not few else ""
    counted = iterable[0] == m.CALL and last_name(iterable[2]) == "enumerate" and target[0] == m.NEW and target[3]
    return str(target[3][0][1]) if counted and target[3][0][0] == m.NAME else ""


_bindings = once(_bound)
