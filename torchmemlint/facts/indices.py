"""Which indices take a part of a tensor, by their text alone, and which functions may collect such parts."""

from __future__ import annotations

from . import knowledge
from . import model as m
from .model import Expr, FileFacts, FunctionFacts
from .walk import expressions_of, last_name, nodes, statements


def is_box(index: tuple[Expr, ...]) -> bool:
    """`[:, y0:y1, x0:x1]`: what something found in a picture, to both sides of which there is more. That is not said of
    one of many tiles, nor of what had been padded: `[top:top + height, left:left + width]`, `[1:-1, 1:-1]`."""
    cut = [each for each in index if each[0] == m.SLICE and any(each[1:])]
    rest = all(each[0] in (m.SLICE, m.TEXT) for each in index)
    return rest and len(cut) > 1 and all(not each[3] and all(map(_is_found, each[1:3])) for each in cut)


def _is_found(bound: Expr | None) -> bool:
    return bound is not None and bound[0] in (m.NAME, m.ATTR, m.ITEM, m.CALL)


def collect_parts(facts: FileFacts) -> set[int]:
    """Functions that record no graph and may collect views of what they compute, `rows.append(states[:, 0])`, or of
    what they are given by a helper that takes such a part: `faces.append(image.crop(box))`."""
    collecting = {i for i, function in enumerate(facts.functions) if _collects_without_graphs(function)}
    if not collecting:
        return collecting
    takers = {function.name for function in facts.functions if _gives_part(function)}
    return {i for i in collecting if _takes_part(facts.functions[i]) or not takers.isdisjoint(facts.functions[i].calls)}


def _collects_without_graphs(function: FunctionFacts) -> bool:
    if not function.flags & m.LOCAL or "append" not in function.calls:
        return False
    off = {last_name(decorator) for decorator in function.decorators} | set(function.calls)
    return not off.isdisjoint(knowledge.GRAD_OFF)


def _takes_part(function: FunctionFacts) -> bool:
    return any(_is_part(part) for statement in statements(function.body) for part in expressions_of(statement))


def _gives_part(function: FunctionFacts) -> bool:
    """Whether a part is in what a function returns."""
    returned = (one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None)
    return any(_is_part(part) for value in returned for part in nodes(value))


def _is_part(part: Expr) -> bool:
    if part[0] != m.ITEM or part[2][0] != m.NEW:
        return False
    return any(map(_is_a_number, part[2][3])) or is_box(part[2][3])


def _is_a_number(index: Expr) -> bool:
    return bool(index[0] == m.CONST and type(index[1]) is int)
