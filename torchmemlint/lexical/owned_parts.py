"""The classes whose objects consist of such as have workers of their own, or that inherit from them.

Who drops such an object has to end its parts: by a method of its own, or, where it has none, `tracker.cache.close()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, heads, last_name, nodes, statements
from .lent import ENDS, is_given
from .starters import Owner, construction, setup_of

_WITHOUT_END = frozenset(("object", "Module", "Dataset", "ABC", "Protocol", "Generic"))


def with_parts(program: Program, owners: dict[str, Owner]) -> dict[str, Owner]:
    """The classes with those whose objects consist of such, or that inherit from them."""
    for _ in range(3 if owners else 0):
        for cls in program.facts.classes:
            bases = [last_name(base) for base in cls.bases if last_name(base) in owners]
            setup, end = setup_of(program, cls)
            if cls.name in owners:
                continue
            if bases and "__del__" not in cls.methods:
                owners[cls.name] = owners[bases[0]]._replace(gone_over=True)
            elif end and any(_keeps_one(function, owners) for function in setup):
                parts = (owners[name] for function in setup for name in function.calls if name in owners)
                owners[cls.name] = Owner(end, next(parts).started)
            elif not end and (left := next(_left_to_itself(program, cls, setup, owners), None)) is not None:
                owners[cls.name] = left
    return owners


def _keeps_one(function: FunctionFacts, owners: dict[str, Owner]) -> bool:
    """Whether a constructor puts such an object, or a list of them, on its own."""
    if owners.keys().isdisjoint(function.calls):
        return False
    for statement in statements(function.body):
        to_self = statement[0] == m.ASSIGN and any(target[0] == m.ATTR for target in statement[2])
        adds = statement[0] == m.EXPR and last_name(statement[2]) in ("append", "add")
        if (to_self or adds) and any(last_name(call[2]) in owners for call in calls_of(statement)):
            return True
    return False


def _left_to_itself(
    program: Program, cls: ClassFacts, setup: list[FunctionFacts], owners: dict[str, Owner]
) -> Iterator[Owner]:
    """What a class keeps of such, `self.cache = Cache()`, that has no method to end it, where nobody in the program
    does so, or gets it."""
    if any(_may_end(program, base) for base in cls.bases):
        return
    for one in (one for function in setup for one in statements(function.body) if one[0] == m.ASSIGN):
        made = construction(one[3])
        name = last_name(made[2]) if made[0] == m.CALL else ""
        for target in one[2] if name in owners and name != cls.name else ():
            own = target[:2] == (m.ATTR, (m.NAME, "self"))
            if own and not any(_is_handed_on(one, target[2]) for one in _every(program)):
                owner = owners[name]
                yield owner._replace(end=f"{target[2]}.{owner.end}", part=owner.part or name)


def _may_end(program: Program, base: Expr) -> bool:
    """Whether a class has a method that may end its parts, for all that is seen of it."""
    name = last_name(base)
    known = next((cls for cls in program.facts.classes if base == (m.NAME, cls.name)), None)
    if known is None:
        return name not in _WITHOUT_END
    own = any(method.lstrip("_") in ENDS or method == "__del__" for method in known.methods)
    return own or any(_may_end(program, one) for one in known.bases if one != base)


def _every(program: Program) -> Iterator[Stmt]:
    return (one for place in program.places for one in statements(place.facts.body))


def _is_handed_on(statement: Stmt, attribute: str) -> bool:
    """Whether a statement does more with such a part of any object than to call its other methods."""
    bound = targets(statement)
    return any(
        is_given(head, part)
        for head in heads(statement)
        if head not in bound
        for part in {part for part in nodes(head) if part[0] == m.ATTR and part[2] == attribute}
    )
