"""Class bodies whose statements can wait until somebody asks for what they bind."""

from __future__ import annotations

from . import model as m
from .model import Expr, FileFacts, Stmt
from .walk import last_name, nodes

_FIELDS = ("field", "Field", "ib", "attrib")  # [docs: dataclasses; pydantic; attrs]
_EMPTY = ("set", "frozenset", "list", "dict", "tuple")


def members(facts: FileFacts, index: int) -> dict[str, list[Stmt]]:
    """The statements of a class's body by what they bind, if they make nothing but functions and plain values and do
    not ask for one another; otherwise nothing. Of many a class that a file imports, it needs two methods."""
    found: dict[str, list[Stmt]] = {}
    asked: set[str] = set()
    for one in facts.functions[facts.classes[index].body].body:
        if one[0] == m.DEF:
            method = facts.functions[one[2]]
            found.setdefault(method.name, []).append(one)
            defaults = (param.default for param in method.params if param.default is not None)
            asked |= _names(*method.decorators, *defaults) - {method.name}  # `@size.setter`
        elif one[0] in (m.ASSIGN, m.ANNOTATE) and _makes_nothing(one[-1]):
            for target in one[2] if one[0] == m.ASSIGN else (one[2],):
                if target[0] != m.NAME:
                    return {}
                found.setdefault(target[1], []).append(one)
            asked |= _names(one[-1])
        else:
            return {}
    return found if asked.isdisjoint(found) else {}


def _makes_nothing(value: Expr | None) -> bool:
    """Whether a value is no object of a class that might decide where an attribute goes."""
    parts = () if value is None else nodes(value)
    return all(part[0] != m.CALL or last_name(part[2]) in (*_FIELDS, *_EMPTY) for part in parts)


def _names(*values: Expr | None) -> set[str]:
    return {part[1] for value in values if value is not None for part in nodes(value) if part[0] == m.NAME}
