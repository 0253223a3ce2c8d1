"""Threads that take one item after another from a queue, and end when one of them is a word: `queue.put(None)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls, last_name, nodes, places_with_values, root_of, statements
from .lent import ENDS
from .once import SETUPS
from .serving import serves

_SELF: Expr = (m.NAME, "self")
_LIBRARIES = ((m.NAME, "torch"), (m.NAME, "np"), (m.NAME, "numpy"))
_PUTS = ("put", "put_nowait")
_COUNTS = ("qsize", "empty", "full")
_WORDS = ("stop", "sentinel", "done", "quit", "exit", "end", "poison")


def worker_of(program: Program, cls: ClassFacts, target: Expr) -> FunctionFacts | None:
    """The method or function that a thread of an object runs, if it waits for items round after round."""
    if target[0] == m.ATTR and target[1] == _SELF and target[2] in cls.methods:
        found = [program.facts.functions[cls.methods[target[2]]]]
    elif target[0] == m.NAME:
        found = [one for one in program.facts.functions if one.name == target[1] and one.owner < 0]
    else:
        return None
    return found[0] if len(found) == 1 and serves(Place(found[0], cls.name, ())) else None


def told_by_word(program: Program, cls: ClassFacts) -> str:
    """The method that puts the word into a queue of the object; the one named for it, of several."""
    found = [
        name
        for name, index in cls.methods.items()
        if name not in SETUPS and any(map(_puts_a_word, calls(program.facts.functions[index].body)))
    ]
    return min(found, key=lambda name: (name.lstrip("_") not in ENDS, found.index(name)), default="")


def idle_parts(setup: list[FunctionFacts]) -> Iterator[str]:
    """The attributes by which nobody ends a worker: numbers, texts, arrays and tensors."""
    for one in (one for function in setup for one in statements(function.body) if one[0] == m.ASSIGN):
        callee: Expr = one[3][2] if one[3][0] == m.CALL else one[3]
        while callee[0] == m.ATTR:
            callee = callee[1]
        if one[3][0] == m.CONST or callee in _LIBRARIES:
            yield from (target[2] for target in one[2] if target[:2] == (m.ATTR, _SELF))


def given_items(program: Program, place: Place, head: Expr, owner: Expr) -> set[str]:
    """The queues of an object that an expression puts items of work into, `self.worker.inbox.put(Request(x))`, or asks
    how many there are: that ends nothing. An item is what is made there, or what a function is given, if nobody gives
    it None."""
    told = [one for one in nodes(head) if one[0] == m.CALL and len(one) == 5 and one[2][0] == m.ATTR]
    of_parts = [(call[2][1][2], call) for call in told if call[2][1][:2] == (m.ATTR, owner)]
    ending = {part for part, call in of_parts if call[2][2] not in _COUNTS and not _puts_an_item(program, place, call)}
    return {part for part, _ in of_parts} - ending


def _puts_an_item(program: Program, place: Place, call: Expr) -> bool:
    return call[2][2] in _PUTS and bool(call[3]) and _is_item(program, place, call[3][0])


def _is_item(program: Program, place: Place, given: Expr) -> bool:
    if given[0] == m.NEW:
        return True
    if given[0] == m.CALL:
        return last_name(given[2])[:1].isupper() or root_of(given[2]) in _LIBRARIES
    if given[0] != m.NAME or _is_word(given):
        return False
    bound = [value for one in statements(place.facts.body) for value in _values(one, given)]
    if bound:
        return all(value != given and _is_item(program, place, value) for value in bound)
    told = (call for one in program.places if place.facts.name in one.facts.calls for call in calls(one.facts.body))
    told = (call for call in told if last_name(call[2]) == place.facts.name)
    ends = any((m.CONST, None) in (*call[3], *(value for _, value in call[4])) for call in told)
    params = [param for param in place.facts.params if param.name == given[1]]
    return bool(params) and params[0].default is None and not ends and place.facts.name.lstrip("_") not in ENDS


def _values(statement: Stmt, name: Expr) -> list[Expr]:
    return (
        [value for place, value in places_with_values(statement) if place == name] if statement[0] == m.ASSIGN else []
    )


def _puts_a_word(call: Expr) -> bool:
    callee, given = call[2], call[3]
    own = callee[0] == m.ATTR and callee[2] in _PUTS and callee[1][:2] == (m.ATTR, _SELF)
    return own and bool(given) and (given[0] == (m.CONST, None) or _is_word(given[0]))


def _is_word(given: Expr) -> bool:
    name = str(given[-1]) if given[0] in (m.NAME, m.ATTR) else ""
    word = name.strip("_").lower()
    return bool(name) and (name.isupper() or any(map(word.startswith, _WORDS)))
