"""What is made once for each key and used again: the function asks first whether it is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import targets, text
from ..facts.walk import calls_of, expressions_of, heads, last_name, loops, nodes, statements
from ..interpreter.arguments import argument
from ..interpreter.frames import Frame

_ONCE_ASKED = re.compile(r"(?:^|_)(?:request|req|rid|uuid|ticket)(?:$|_)")
_COUNTERS = ("range", "count", "enumerate")


def made_once(frame: Frame) -> bool:
    """Whether a function on the way asks first, `if key not in self.made`, and fills what it asks of; for keys that
    a loop counts, and for those of requests, each one is new."""
    current: Frame | None = frame
    while current is not None:
        asked: dict[str, Expr | None] = {}
        filled: set[str] = set()
        for statement in statements(current.facts.body):
            for expr in heads(statement) if statement[0] != m.WHILE else ():  # a loop that goes on until it is told
                asked.update(question for part in nodes(expr) for question in _asks(part))
            filled |= {text(target[1] if target[0] == m.ITEM else target) for target in targets(statement)}
        for holder, key in asked.items():
            stays = "." in holder or holder.isupper()
            new = key is not None and (_ONCE_ASKED.search(last_name(key)) or is_counted(current, key))
            if stays and holder in filled and not new:
                return True
        current = current.caller
    return False


def looks_up(facts: FunctionFacts, name: str) -> bool:
    """Whether a function asks for entries of the table that it fills: it is there to be called for one after another.
    `name`: the last part of the table's. Where it is told the type or the device, it makes a few constants."""
    return next(keys_asked(facts, name), None) is not None


def keys_asked(facts: FunctionFacts, name: str) -> Iterator[Expr]:
    """The keys that it asks for."""
    if not facts.params or any(param.name in ("dtype", "device") for param in facts.params):
        return
    for statement in statements(facts.body):
        returned = statement[2] if statement[0] == m.RETURN else None
        if returned is not None and returned[0] == m.ITEM and last_name(returned[1]) == name:
            yield returned[2]
        for expr in heads(statement):
            for part in nodes(expr):
                if part[0] == m.COMPARE and part[1] in ("In", "NotIn") and last_name(part[3]) == name:
                    yield part[2]
                called: Expr = part[2] if part[0] == m.CALL and len(part) == 5 else ()
                if called[:1] == (m.ATTR,) and called[2] in ("get", "setdefault") and last_name(called[1]) == name:
                    yield part[3][0] if part[3] else part


def _asks(test: Expr) -> Iterator[tuple[str, Expr | None]]:
    """The place that a test asks for a key, and the key; or whether it is set."""
    if test[0] == m.COMPARE and test[1] in ("In", "NotIn"):
        yield text(test[3]), test[2]
    elif test[0] == m.COMPARE and test[3] == (m.CONST, None):
        yield text(test[2]), None
    elif test[0] == m.NOT:
        yield text(test[1]), None
    elif test[0] == m.CALL and len(test) == 5 and test[2][0] == m.ATTR and test[2][2] == "get" and test[3]:
        yield text(test[2][1]), test[3][0]


def is_counted(frame: Frame, key: Expr) -> bool:
    """Whether a key is the number of a round or made of it, `index + 1`, here or where it is handed over."""
    current: Frame | None = frame
    site = -1
    while current is not None:
        names = _parts(key)
        rounds = [over for targets_of, over in _rounds(current.facts) if names & targets_of]
        if key[0] == m.TEXT and not names:  # what is in it is not known: whatever the rounds around it change
            rounds = [
                loop[3] for loop, inside in loops(current.facts.body) if loop[0] == m.FOR and _calls(inside, site)
            ]
        if rounds:
            return bool(rounds[0][0] == m.CALL and rounds[0][2][-1] in _COUNTERS)
        given = argument(current, min(names)) if len(names) == 1 else None
        if given is None:
            return False
        site, current, key = current.call_site, current.caller, given
    return False


def _parts(key: Expr) -> set[str]:
    """The names that a key is made of, one for each of their values: not of a remainder."""
    if (key[0] == m.ARITH and key[1] in ("Modulo", "FloorDivide")) or key[0] not in (m.NAME, m.ARITH, m.NEW, m.TEXT):
        return set()
    return {part[1] for part in nodes(key) if part[0] == m.NAME}


def _rounds(facts: FunctionFacts) -> Iterator[tuple[set[str], Expr]]:
    """What the loops and comprehensions of a function bind, and what they go over."""
    for statement in statements(facts.body):
        clauses = [(statement[2], statement[3])] if statement[0] == m.FOR else []
        clauses += [clause[:2] for part in expressions_of(statement) if part[0] == m.COMP for clause in part[5]]
        for target, over in clauses:
            yield {part[1] for part in nodes(target) if part[0] == m.NAME}, over


def _calls(inside: list[Stmt], site: Site) -> bool:
    return any(call[1] == site for one in inside for call in calls_of(one))
