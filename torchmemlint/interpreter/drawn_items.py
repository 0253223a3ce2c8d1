"""Objects that were there before a loop which takes another one of them in each round: samples, nodes, graphs."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import targets
from ..facts.walk import is_count, last_name, statements
from .arguments import argument
from .frames import Frame, Loop
from .machine import Machine
from .values import Obj, Value

_KINDS = ("instance", "dict")
_HANDED_ON = 3  # calls that an index is handed on by


def note_drawn(loop: Loop, value: Value, depth: int = 2) -> None:
    """Note what a round of a loop gets of what was there before, also as a part of `(number, sample)`."""
    for atom in value:
        if type(atom) is not Obj or atom.is_put_off:
            continue
        if atom.kind in _KINDS and not atom.unknown and loop not in atom.made:
            loop.drawn.add(atom)
        elif atom.kind == "tuple" and depth:
            for part in atom.fields.values():
                note_drawn(loop, part, depth - 1)


def note_drawn_by_index(machine: Machine, frame: Frame, value: Value, index: Expr) -> None:
    """`samples[i]`, where `i` counts the rounds of a loop, also of a caller."""
    if index[0] != m.NAME or not machine.loops or not any(type(a) is Obj and a.kind in _KINDS for a in value):
        return
    place: Frame | None = frame
    expr: Expr | None = index
    for _ in range(_HANDED_ON):
        if place is None or expr is None or expr[0] != m.NAME:
            return
        counting = [one[1] for one in statements(place.facts.body) if one[0] == m.FOR and _counts(one, expr)]
        loops = [loop for loop in machine.loops if loop.site in counting]
        if loops:
            note_drawn(loops[-1], value)
            return
        expr, place = argument(place, expr[1]), place.caller


def _counts(statement: Stmt, name: Expr) -> bool:
    iterated = statement[3]
    return name in targets(statement) and (is_count(iterated) or last_name(iterated) == "enumerate")


def draws(loop: Loop, owner: Obj) -> bool:
    """Whether what holds something is another object in each round of a loop, or a part of one."""
    return bool(loop.drawn) and any(holder in loop.drawn for holder in owner.holders if isinstance(holder, Obj))
