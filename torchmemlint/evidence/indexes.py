"""Tables that are there to be gone through: what is put into an index is wanted for as long as it is searched."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts
from ..facts.program import expressions, targets
from ..facts.walk import calls, last_name, statements
from ..interpreter.events import Store
from ..interpreter.keys import FRESH, IDENTITY, kind_of_key
from ..interpreter.values import Class, Obj

_ALL = ("items", "values")
# What asks how much there is, or of a table for its keys.
_ASK = frozenset("len bool print id max min sorted".split())


def is_an_index(store: Store, table: str) -> bool:
    """`self.vectors[name] = embed(sheet)`, where another function goes through all of them, `for name, vector in
    self.vectors.items()`, and the key is a name that it is given, which does not say of itself that each is new."""
    receiver = store.frame.receiver
    owner = receiver.cls.facts.name if isinstance(receiver, Obj) and isinstance(receiver.cls, Class) else ""
    if "cache" in f"{table} {owner}".lower():
        return False  # which somebody goes through to find an entry, or to know how large it is
    number = m.statement_of(store.site)
    keys = [
        place[2]
        for one in statements(store.frame.facts.body)
        if m.statement_of(one[1]) == number
        for place in targets(one)
        if place[0] == m.ITEM
    ]
    given = {(m.NAME, param.name) for param in store.frame.facts.params}
    if not keys or any(key not in given or kind_of_key((), key) in (FRESH, IDENTITY) for key in keys):
        return False
    others = (function for function in store.frame.unit.facts.functions if function is not store.frame.facts)
    return any(_is_all_of(over, table) for function in others for over in _gone_through(function))


def is_read_whole(store: Store, table: str) -> bool:
    """Whether a function of the file wants all that is in a place: it goes through it, or gives it to a call,
    `torch.stack(self.frames)`."""
    return any(
        _is_all_of(over, table)
        for function in store.frame.unit.facts.functions
        for over in (*_gone_through(function), *_given(function))
    )


def _given(function: FunctionFacts) -> Iterator[Expr]:
    """What calls are given, but for those that only ask how much it is, or for its keys."""
    for call in calls(function.body):
        if last_name(call[2]) not in _ASK:
            yield from call[3]
            yield from (value for _, value in call[4])


def _gone_through(function: FunctionFacts) -> Iterator[Expr]:
    for statement in statements(function.body):
        if statement[0] == m.FOR:
            yield statement[3]
    for expr in expressions(function.body):
        if expr[0] == m.COMP:
            yield from (iterable for _, iterable, _ in expr[5])


def _is_all_of(over: Expr, table: str) -> bool:
    while over[0] == m.CALL:
        if over[2][0] == m.ATTR and over[2][2] in _ALL:
            over = over[2][1]
        elif over[3]:
            over = over[3][0]  # `sorted(...)`, `enumerate(...)`
        else:
            return False
    return over[0] in (m.NAME, m.ATTR) and over[-1] == table
