"""What a function returns that is not run, by its name and by how its `return` is written."""

from __future__ import annotations

from ..facts import model as m
from ..facts.differentiated import names_loss
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import last_name, once, statements
from .frames import Frame
from .hints import is_tensor_hint, rules_out_tensors, value_of_hint
from .machine import Machine
from .unknown import by_name
from .values import ATTACHED, UNKNOWN, Function, Kwargs, Opaque, Tensor, Value

_CUTS = frozenset("item float int tolist detach numpy".split())


def returned_by_text(
    machine: Machine, frame: Frame, function: Function, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """What the name vouches for, which of several results is the loss: `return total_loss, metrics` of a function
    called `compute_loss`. What stands beside it is as its annotation says; the name says nothing of that."""
    facts = function.facts
    named = by_name(machine, frame, (m.NAME, facts.name), args, kwargs, site)
    parts = _parts(facts)
    attached = bool(named) and all(type(atom) is Tensor and atom.graph == ATTACHED for atom in named or ())
    if named is None or not attached or not parts:
        return named
    hints = _hints(facts, len(parts))
    cut = _cut_parts(facts)
    losses = [index for index, names in enumerate(parts) if index not in cut and any(map(names_loss, names))] or [0]
    made = machine.allocate(frame, ("by text", site), "tuple")
    for index in range(len(parts)):
        hint = hints[index]
        part: Value = (Opaque(machine.unknown_node(tuple(machine.nodes(named)))),)
        if hint is not None and rules_out_tensors(machine, function.frame, hint):
            part = value_of_hint(machine, frame, hint, 2, ("by text", site, index)) or UNKNOWN
        elif index in losses or (hint is not None and is_tensor_hint(hint)):
            part = named
        made.fields[f"[{index}]"] = part
    return (made,)


@once
def _parts(function: FunctionFacts) -> tuple[tuple[str, ...], ...]:
    """The names of what each `return` of a function gives in turn, if all of them give as many values."""
    return tuple(tuple(map(_name_of, column)) for column in _columns(function))


def _columns(function: FunctionFacts) -> tuple[tuple[Expr, ...], ...]:
    """What each `return` of a function gives in turn, if all of them give as many values."""
    returned = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    rows = [one[3] for one in returned if one[0] == m.NEW and one[2] == "tuple"]
    if not rows or len(rows) != len(returned) or len({len(row) for row in rows}) != 1:
        return ()
    return tuple(zip(*rows, strict=True))


@once
def _cut_parts(function: FunctionFacts) -> frozenset[int]:
    """Which of several results are cut off their graph as they are written: `return loss, loss.item()`, and
    `dense_loss = dense.item()` under whatever name."""
    bound: dict[Expr, list[Expr]] = {}
    for one in statements(function.body):
        plain = one[0] == m.ASSIGN and len(one[2]) == 1
        for target in targets(one):
            bound.setdefault(target, []).append(one[3] if plain and one[2][0] == target else one[2])
    return frozenset(
        index
        for index, column in enumerate(_columns(function))
        if all(map(_is_cut, [value for given in column for value in bound.get(given, [given])]))
    )


def _is_cut(value: Expr) -> bool:
    """`loss.item()`, `float(loss)`, `loss.detach()`, or a constant."""
    return value[0] == m.CONST or (value[0] == m.CALL and last_name(value[2]) in _CUTS)


def _name_of(value: Expr) -> str:
    """`loss` of `loss / steps`, `losses` of `losses.mean()`."""
    while value[0] in (m.ARITH, m.CALL, m.UNARY) or (value[0] == m.ATTR and value[1][0] != m.NAME):
        value = value[1] if value[0] in (m.UNARY, m.ATTR) else value[2]
    if value[0] == m.ATTR:
        return str(value[2] if value[1][1] == "self" else value[1][1])
    return str(value[1]) if value[0] == m.NAME else ""


def _hints(function: FunctionFacts, count: int) -> list[Expr | None]:
    """What the annotation says of each value: `-> tuple[Tensor, dict[str, float]]`."""
    hint = function.returns
    if hint is None or hint[0] != m.ITEM or hint[1][-1] not in ("tuple", "Tuple") or hint[2][0] != m.NEW:
        return [None] * count
    parts = hint[2][3]
    return list(parts) if len(parts) == count else [None] * count
