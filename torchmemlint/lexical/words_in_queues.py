"""Threads that take one item after another from a queue, and end when one of them is a word: `queue.put(None)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts
from ..facts.program import Place, Program
from ..facts.walk import calls, statements
from .lent import ENDS
from .once import SETUPS
from .serving import serves

_SELF: Expr = (m.NAME, "self")
_LIBRARIES = ((m.NAME, "torch"), (m.NAME, "np"), (m.NAME, "numpy"))
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


def _puts_a_word(call: Expr) -> bool:
    callee, given = call[2], call[3]
    own = callee[0] == m.ATTR and callee[2] in ("put", "put_nowait") and callee[1][:2] == (m.ATTR, _SELF)
    if not own or not given:
        return False
    name = str(given[0][-1]) if given[0][0] in (m.NAME, m.ATTR) else ""
    word = name.strip("_").lower()
    return given[0] == (m.CONST, None) or (bool(name) and (name.isupper() or any(map(word.startswith, _WORDS))))
