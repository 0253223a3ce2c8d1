"""`setattr(owner, name, value)` of any name: whether the attribute may be one that a place is let go by."""

from __future__ import annotations

from . import model as m
from .model import Expr, FunctionFacts
from .program import targets
from .walk import last_name, statements

_GOES_THROUGH_PARTS = frozenset(
    """named_children named_modules named_parameters named_buffers get_submodule get_parameter""".split()
)
_OPTIONS = frozenset("args opt opts option options config cfg conf namespace ns hparams parsed settings flags".split())
_MADE_OF = ("from_", "convert", "make_", "build", "create")


def may_let_go(function: FunctionFacts, call: Expr) -> bool:
    """Whether `setattr` may replace what some object has gained. It does not where a new layer takes the place of
    another in its model, `setattr(parent, name, Quantized(child))`, or options are set, `setattr(args, key, value)`."""
    if len(call[3]) != 3:
        return True
    owner, _, value = call[3]
    if owner == (m.NAME, "self") or _is_empty(value):
        return True
    if owner[0] in (m.NAME, m.ATTR) and not _OPTIONS.isdisjoint(last_name(owner).lower().split("_")):
        return False
    return _GOES_THROUGH_PARTS.isdisjoint(function.calls) and not _is_made(function, value)


def _is_empty(value: Expr) -> bool:
    """`None`, `[]`, `dict()`"""
    if value[0] == m.CALL:
        return not value[3] and not value[4] and last_name(value)[:1].islower()
    return value[0] == m.CONST or (value[0] == m.NEW and not value[3]) or (value[0] == m.DICT and not value[2])


def _is_made(function: FunctionFacts, value: Expr) -> bool:
    """Whether a value is what a class makes, by the case of its name, or a name that is bound to such."""
    if value[0] == m.NAME:
        bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and value in targets(one)]
        return bool(bound) and all(one != value and one[0] == m.CALL and _is_made(function, one) for one in bound)
    name = last_name(value[2]) if value[0] == m.CALL else ""
    return name[:1].isupper() or name.startswith(_MADE_OF)
