"""Names for the weights of a model beside its own: `state = model.state_dict()`, `made = list(model.parameters())`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.program import Place, targets
from ..facts.walk import last_name, statements

_GIVES = ("parameters", "named_parameters")
_COLLECTS = ("list", "tuple", "dict", "filter", "OrderedDict")


def weights_of(place: Place, model: str, before: Site) -> Iterator[tuple[str, Site]]:
    """The names that have the weights of a model, as they are, when it goes: with where they were bound."""
    found: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        if statement[1] >= before:
            break
        bound = statement[2] if statement[0] in (m.ASSIGN, m.DELETE) else ()
        has_it = statement[0] == m.ASSIGN and _has_weights(statement[3], (m.NAME, model))
        for name in (target[1] for target in (*bound, *targets(statement)) if target[0] == m.NAME):
            if has_it:
                found[name] = statement[1]
            else:
                found.pop(name, None)
    yield from found.items()


def _has_weights(value: Expr, model: Expr) -> bool:
    """Whether a value is made of a model's own tensors, and of no copies."""
    if value[0] == m.COMP:  # `[p for p in model.parameters() if p.requires_grad]`
        (pattern, over, _), taken = value[5][0], value[4] or value[3]
        own = taken in (pattern, *(pattern[3] if pattern[0] == m.NEW else ()))
        return len(value[5]) == 1 and own and _gives_weights(over, model)
    if value[0] != m.CALL:
        return False
    if value[2][0] == m.NAME and value[2][1] in _COLLECTS:
        return any(_gives_weights(given, model) for given in value[3])
    return bool(value[2] == (m.ATTR, model, "state_dict"))


def _gives_weights(value: Expr, model: Expr) -> bool:
    return value[0] == m.CALL and last_name(value[2]) in _GIVES and value[2][0] == m.ATTR and value[2][1] == model
