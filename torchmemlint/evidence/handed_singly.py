"""Buffers of a generator out of which elements are handed one by one, and that none of them leaves."""

from __future__ import annotations

from ..facts import model as m
from ..facts.emptying import emptyings
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Site
from ..facts.walk import calls_of, expressions_of, last_name, loops, nodes, with_tests

_ONLY_LOOKS = ("len", "range", "randrange", "randint")
_PICKS = ("choice",)


def keeps_what_it_hands_out(function: FunctionFacts, site: Site, name: str) -> bool:
    """A shuffle buffer that gets every element, however full it is, and gives away copies of its references:
    `waiting.append(item)`, `yield waiting[rng.randrange(len(waiting))]`."""
    place = (m.NAME, name)
    added = site - site % CALLS_PER_STATEMENT
    around = [inside for _, inside in loops(function.body) if any(one[1] == added for one in inside)]
    if not function.generator or not around or _is_emptied(function, name):
        return False
    tests = next((tests for one, tests in with_tests(function.body) if one[1] == added), ())
    if any(place in call[3] for test in tests for call in nodes(test) if call[0] == m.CALL):
        return False  # `if len(waiting) < self.size:`
    picked = {place}
    yielded = False
    for one in around[0]:
        if one[0] == m.ASSIGN and _picks(one[3], place):
            picked |= set(one[2])
        for part in (part for part in expressions_of(one)):
            given = part[1] if part[0] == m.YIELD else None
            handed = () if given is None else nodes(given)  # `yield torch.from_numpy(waiting[index])`
            yielded = yielded or any(_picks(one, place) or one in picked - {place} for one in handed)
        if any(place in call[3] and last_name(call[2]) not in (*_ONLY_LOOKS, *_PICKS) for call in calls_of(one)):
            return False  # it may be emptied there
    return yielded


def _picks(value: Expr, place: Expr) -> bool:
    if value[0] == m.ITEM:
        return bool(value[1] == place and value[2][0] != m.SLICE)
    return value[0] == m.CALL and last_name(value[2]) in _PICKS and value[3] == (place,)


def _is_emptied(function: FunctionFacts, name: str) -> bool:
    """Whether a loop takes something out of a variable, puts something in the place of an element, or binds it anew."""
    looped = [one for _, inside in loops(function.body) for one in inside]
    replaced = (target for one in looped if one[0] == m.ASSIGN for target in one[2] if target[0] == m.ITEM)
    taken = {one.statement[1] for one in emptyings(function, name)}
    return any(target[1] == (m.NAME, name) for target in replaced) or any(one[1] in taken for one in looped)
