"""Names for a part of what is there before and after: `layer = model.layers[i]`, `found = find_layers(layer)`.

To drop such a name is to tidy up. What it stood for stays with its whole, whoever else has a name for it.
"""

from __future__ import annotations

from collections.abc import Collection

from ..facts import model as m
from ..facts.knowledge import GIVES_ITSELF
from ..facts.model import Expr, FunctionFacts
from ..facts.program import targets
from ..facts.walk import calls_of, last_name, root_of, statements

_FINDS = ("find_", "collect_", "filter_", "select_", "list_", "named_")
_TAKES_OUT = ("pop", "popitem", "clear", "remove")
_DEEPEST = 4


def is_part_of_what_stays(function: FunctionFacts, name: str, used: Collection[str], depth: int = _DEEPEST) -> bool:
    """Whether a variable stands for an item or attribute, or for what was found in one, of `self`, a parameter, or a
    name that is `used` afterwards; which nothing takes out there."""
    variable = (m.NAME, name)
    bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and variable in one[2]]
    bound = [value for value in map(_itself, bound) if value != variable]
    return depth > 0 and bool(bound) and all(_stays(function, value, used, depth - 1) for value in bound)


def _stays(function: FunctionFacts, value: Expr, used: Collection[str], depth: int) -> bool:
    op = value[0]
    if op in (m.ITEM, m.ATTR):
        whole = root_of(value)
        if whole[0] != m.NAME or _is_taken_out(function, value):
            return False
        known = whole[1] in used or any(param.name == whole[1] for param in function.params)
        return known or is_part_of_what_stays(function, whole[1], used, depth)
    if op == m.COMP:
        return _stays(function, _itself(value[3] if value[4] is None else value[4]), used, depth)
    if op == m.CALL and last_name(value[2]).lstrip("_").startswith(_FINDS):
        return any(one[0] == m.NAME and is_part_of_what_stays(function, one[1], used, depth) for one in value[3])
    return bool(op == m.NAME and is_part_of_what_stays(function, value[1], used, depth))


def _itself(value: Expr) -> Expr:
    """`layers[i]` of `layers[i].to(device).eval()`."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in GIVES_ITSELF:
        value = value[2][1]
    return value


def _is_taken_out(function: FunctionFacts, part: Expr) -> bool:
    """Whether the function takes a part out of its whole: `layers[i] = None`, `del self.encoder`, `layers.pop(i)`."""
    whole = part[1]
    for one in statements(function.body):
        gone = one[2] if one[0] == m.DELETE else targets(one) if one[0] == m.ASSIGN and one[3][0] == m.CONST else ()
        if any(place[0] == part[0] and place[1] == whole and (place[0] == m.ITEM or place == part) for place in gone):
            return True
        if any(call[2][0] == m.ATTR and call[2][1] == whole and call[2][2] in _TAKES_OUT for call in calls_of(one)):
            return True
    return False
