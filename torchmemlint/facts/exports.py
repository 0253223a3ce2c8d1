"""What `from module import *` takes along: `__all__`, as far as it is written out."""

from __future__ import annotations

from . import model as m
from .model import Expr, Stmt
from .walk import statements

_ALL: Expr = (m.NAME, "__all__")


def exported(body: tuple[Stmt, ...]) -> tuple[frozenset[str], bool]:
    """The names in `__all__`, and whether every name without an underscore goes along as well: there is no `__all__`,
    or it is filled in ways that are not seen."""
    listed: set[str] = set()
    others, outer = False, {id(statement) for statement in body}
    for statement in statements(body):
        added = _added(statement)
        if added is None:
            continue
        if statement[0] in (m.ASSIGN, m.ANNOTATE) and id(statement) in outer:
            listed, others = set(), False  # this replaces what was there
        names, complete = _written(added)
        listed |= names
        others = others or not complete
    return frozenset(listed), others or not listed


def _added(statement: Stmt) -> Expr | None:
    """What a statement makes `__all__` of, or adds to it."""
    if statement[0] == m.ASSIGN and _ALL in statement[2]:
        return statement[3]  # type: ignore[no-any-return]
    if statement[0] in (m.AUGMENT, m.ANNOTATE) and statement[2] == _ALL:
        return statement[4]  # type: ignore[no-any-return]
    if statement[0] == m.EXPR and statement[2][0] == m.CALL:
        _, _, callee, given, _ = statement[2]
        if callee[0] == m.ATTR and callee[1] == _ALL and len(given) == 1 and callee[2] in ("append", "extend"):
            return given[0] if callee[2] == "extend" else (m.NEW, 0, "list", given)
    return None


def _written(value: Expr) -> tuple[set[str], bool]:
    """The names in a list or tuple that is written out, and whether that is all of it."""
    if value[0] == m.NEW:
        parts = [_written(item[1]) if item[0] == m.STAR else _name(item) for item in value[3]]
    elif value[0] == m.ARITH and value[1] == "Add":
        parts = [_written(value[2]), _written(value[3])]
    else:
        return set(), False
    return set().union(*(names for names, _ in parts)), all(complete for _, complete in parts)


def _name(item: Expr) -> tuple[set[str], bool]:
    known = item[0] == m.CONST and isinstance(item[1], str)
    return ({item[1]} if known else set()), known
