"""Futures whose results are used where they are submitted, and that a list keeps until all are waited for in the end.

`future = pool.submit(embed, x)`, `self.pending.append(future)`, `return future`, and in `close()` `wait(self.pending)`:
whoever submits has each result, and the list has all of them, too, for as long as the program goes round.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, statements
from ..interpreter.events import Plain
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..interpreter.weights import heavy
from ..lexical.lost_tickets import RESULTS
from .undrained import callers, emptied_after_the_loop

_ADDS = ("append", "add", "appendleft", "setdefault")
_LOOKS = frozenset("len list tuple set bool iter tqdm any all wait as_completed gather".split())


def only_waited_for(machine: Machine, program: Program, note: Plain, container: Obj, name: str) -> bool:
    """Whether a container of futures with heavy results is emptied after the loop that fills it, by what waits for
    them, while the loop uses the results."""
    future: Obj = note.detail[1]
    if not _is_heavy(machine, future.fields.get("*", ())):
        return False
    way = list(callers(note.frame))
    files = {id(facts): facts for facts in (*(frame.unit.facts for frame in way), program.facts)}
    if any(_may_use(function, name) for facts in files.values() for function in facts.functions):
        return False
    read = any(_is_result(call) for frame in way for call in calls(frame.facts.body))
    return read and emptied_after_the_loop(machine, program, note, container, name)


def _is_heavy(machine: Machine, result: Value) -> bool:
    """Whether a result is a tensor or array, or has one beside other things: `return number, image`."""
    parts = [result]
    for atom in result:
        if type(atom) is Obj and atom.kind == "tuple":
            parts += atom.fields.values()
    found = [heavy(machine, part) for part in parts]
    return any(what in ("tensor", "array") and weight > 1 for what, weight in found)


def _may_use(function: FunctionFacts, name: str) -> bool:
    """Whether a function hands the container to somebody, or reads a result other than the one that it has put in."""
    every = list(statements(function.body))
    if not any(_is_it(part, name) for one in every for part in expressions_of(one)):
        return False
    put_in = {given for one in every for given in _put_in(one, name)}
    for one in every:
        if one[0] in (m.RETURN, m.ASSIGN, m.ANNOTATE) and one[-1] is not None and _is_it(one[-1], name):
            return True
        for call in calls_of(one):
            handed = [*call[3], *(value for _, value in call[4])]
            if last_name(call[2]) not in _LOOKS and any(_is_it(part, name) for part in handed):
                return True
            if _is_result(call) and call[2][1] not in put_in and not (one[0] == m.EXPR and one[2] is call):
                return True
    return False


def _is_result(call: Expr) -> bool:
    """`future.result()`, `answer.get(timeout=5)`; not `table.get(key)`"""
    return bool(call[2][0] == m.ATTR and call[2][2] in RESULTS and not call[3])


def _put_in(statement: Stmt, name: str) -> Iterator[Expr]:
    """What a statement puts into the container."""
    for target in targets(statement) if statement[0] == m.ASSIGN else ():
        if target[0] == m.ITEM and _is_it(target[1], name):
            yield statement[3]
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _ADDS and _is_it(call[2][1], name):
            yield from call[3]


def _is_it(expr: Expr, name: str) -> bool:
    return bool(expr[0] in (m.ATTR, m.NAME) and expr[-1] == name) or (expr[0] == m.STAR and _is_it(expr[1], name))
