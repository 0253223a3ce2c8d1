"""Lists that are made anew of what a place has: with one thing more, `handlers[event] = [*handlers.get(event, ()), f]`,
or without one, `handlers[event] = [one for one in handlers[event] if one is not f]`."""

from __future__ import annotations

from . import model as m
from .model import Expr, FunctionFacts
from .walk import last_name, nodes, statements

_COPIES = ("list", "tuple", "set", "dict", "filter", "sorted", "deque")
_OF_A_TEST = frozenset((m.CALL, m.CONST, m.COMPARE, m.NOT, m.UNARY, m.BOOL))


def put_beside(target: Expr, made: Expr, functions: tuple[FunctionFacts, ...]) -> tuple[Expr, ...]:
    """What is put beside that which the target had; nothing if anything is taken out on the way, but for references
    whose object is gone. `functions` are those of the file: one of them may say what is there, `[*alive(event), f]`."""
    place = _place(target)
    if made[0] == m.ARITH and made[1] == "Add":
        sides = made[2], made[3]
        rest = [one for one in sides if not _has_all_of(place, one, functions)]
        return rest[0][3] if len(rest) == 1 and rest[0][0] == m.NEW else ()
    if made[0] != m.NEW or not any(one[0] == m.STAR and _has_all_of(place, one[1], functions) for one in made[3]):
        return ()
    return tuple(one for one in made[3] if one[0] != m.STAR)


def sifted(target: Expr, made: Expr) -> tuple[Expr, ...] | None:
    """The names that say which of the things that the target had are left out; None if none are, or only references
    whose object is gone."""
    copies = made[0] == m.CALL and made[2][0] == m.NAME and made[2][1] in _COPIES
    inside = tuple(nodes(made)) if copies or made[0] == m.COMP else ()
    if _place(target) not in inside:
        return None
    if any(one[0] == m.CALL and one[2] == (m.NAME, "filter") for one in inside):
        return ()  # a function says which
    sifting = [one for one in inside if one[0] == m.COMP and not _goes_if_dead(one)]
    tests = [test for one in sifting for clause in one[5] for test in clause[2]]
    return tuple(one for test in tests for one in nodes(test) if one[0] in (m.NAME, m.ATTR)) if tests else None


def _place(target: Expr) -> Expr:
    """The table that an entry is in."""
    return target[1] if target[0] == m.ITEM else target


def _has_all_of(place: Expr, expr: Expr, functions: tuple[FunctionFacts, ...]) -> bool:
    """Whether an expression gives what a place, or an entry of it, has."""
    inside = tuple(nodes(expr))
    if place in inside:
        return not any(one[0] == m.SLICE or (one[0] == m.COMP and not _goes_if_dead(one)) for one in inside)
    if expr[0] != m.CALL or not functions:
        return False
    named = [one for one in functions if one.name == last_name(expr)]
    given = [one[2] for one in statements(named[0].body) if one[0] == m.RETURN] if len(named) == 1 else []
    return bool(given) and all(one is not None and _has_all_of(place, one, ()) for one in given)


def _goes_if_dead(comp: Expr) -> bool:
    """`[ref for ref in refs if ref() is not None]`: a list of what it goes through, without what is gone by itself."""
    _, _, _, element, value, clauses = comp
    if value is not None or len(clauses) > 1 or element != clauses[0][0]:
        return False
    return all(_asks_for_life(test, element) for test in clauses[0][2])


def _asks_for_life(test: Expr, element: Expr) -> bool:
    inside = tuple(nodes(test))
    called = any(one[0] == m.CALL and one[2] == element and not one[3] for one in inside)
    return called and all(one == element or one[0] in _OF_A_TEST for one in inside)
