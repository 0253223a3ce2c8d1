"""Who makes the objects of a class: whether each goes with the function that makes it, before it has grown, or when it
says that it is done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.guarded import calls_by_mode
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import expressions_of, in_loops, is_count, last_name, statements
from ..lexical.ended_by_itself import ended_by_itself
from .callers import function_at

if TYPE_CHECKING:
    from ..interpreter.linking import Project as Makers
    from .project import Project

KEPT, PASSING = "kept", "passing"


def goes_at_once(facts: FileFacts, site: Site, path: str, project: Makers | None) -> bool:
    """Whether a method's class is one whose objects others of the project make for a moment, and its own file makes
    none: `scores = Calibration().update(labels, probs).compute()`."""
    method = function_at(facts, site)
    if project is None or method is None or method.owner < 0:
        return False
    cls = facts.classes[method.owner]
    made = _made_here(facts, cls.name)
    if made is None and (heirs := [one.name for one in facts.classes if cls.name in map(last_name, one.bases)]):
        # a base of what others make: `BeamSearch(Search)` and `GreedySearch(Search)`
        found = {project.made(path, name) for name in (cls.name, *heirs) if _made_here(facts, name) is None}
        return all(_made_here(facts, name) != KEPT for name in heirs) and found - {None} == {PASSING}
    return made != KEPT and (made or project.made(path, cls.name)) == PASSING


def _made_here(facts: FileFacts, name: str) -> str | None:
    """The same of what the file itself makes, whose run has shown what it did: it need be seen to end."""
    found = None
    for function in facts.functions:
        for statement in statements(function.body):
            named = [one for one in expressions_of(statement) if _is_called(one, name)]
            if not named or all(one in _of_super(statement) for one in named):
                continue
            if len(named) > 1 or not _is_seen_to_end(facts, function, statement, name):
                return KEPT
            found = PASSING
    return found


def _of_super(statement: Stmt) -> list[Expr]:
    """`super(GreedySearch, self).__init__()`"""
    found = (one for one in expressions_of(statement) if one[0] == m.CALL and one[2] == (m.NAME, "super"))
    return [given for one in found for given in one[3]]


def made_by_others(project: Project, path: str, name: str) -> str | None:
    """Whether all objects of a class that other files make are for a moment; None if they make none. Tests say nothing,
    and a file with a class of that name means its own."""
    word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
    own = re.compile(rb"\bclass %s\b|\b%s +as\b" % ((re.escape(name.encode()),) * 2))
    found = None
    for other, raw in project.texts():
        if other == path or not word.search(raw):
            continue
        outline = project.known(other)
        if outline is None or own.search(raw):
            return KEPT
        facts = outline.whole
        if any(last_name(base) == name for cls in facts.classes for base in cls.bases):
            return KEPT
        for function in facts.functions:
            for statement, looped in in_loops(function.body):
                named = [one for one in expressions_of(statement) if _is_called(one, name)]
                if named and not (len(named) == 1 and _goes(facts, function, statement, name, looped)):
                    return KEPT
                found = PASSING if named else found
    return found


def _is_called(node: Expr, name: str) -> bool:
    return bool(node[0] in (m.NAME, m.ATTR) and node[-1] == name)


def _goes(facts: FileFacts, function: FunctionFacts, statement: Stmt, name: str, looped: bool) -> bool:
    return _goes_unheld(function, statement, name, looped) or _is_seen_to_end(facts, function, statement, name)


def _is_seen_to_end(facts: FileFacts, function: FunctionFacts, statement: Stmt, name: str) -> bool:
    """Whether what a statement makes with gradients off is for rounds that go on until it says that it is done."""
    if (
        statement[0] != m.ASSIGN
        or not _makes(statement[-1], name)
        or [one[0] for one in targets(statement)] != [m.NAME]
    ):
        return False
    if not any(off for call, off in calls_by_mode(function) if _is_called(call[2], name)):
        return False
    return function.name not in ("<module>", "main") and ended_by_itself(facts, function, targets(statement)[0])


def _goes_unheld(function: FunctionFacts, statement: Stmt, name: str, looped: bool) -> bool:
    """Whether a statement gives what it makes a name of the function, or none, and all that is done with that is to ask
    it for something, in no round of a loop but the one that has made it. What collects one pass over a loader goes
    before the next, in a function that trains or evaluates: `meter = Meter()`, `for x, y in loader: meter.add(y)`."""
    if function.name == "<module>" or function.inner or not _makes(statement[-1], name):
        return False
    if statement[0] == m.EXPR:
        return True
    if statement[0] != m.ASSIGN or len(statement[2]) != 1 or statement[2][0][0] != m.NAME or looped:
        return False
    place = statement[2][0]
    once = _in_one_pass(function)
    for one, again in in_loops(function.body):
        if one[0] in (m.GLOBAL, m.NONLOCAL) and place[1] in one[2]:
            return False
        found = expressions_of(one)
        asked = sum(node[:2] == (m.ATTR, place) for node in found)
        if one is not statement and (found.count(place) != asked or (asked and again and one not in once)):
            return False
    return True


def _in_one_pass(function: FunctionFacts) -> list[Stmt]:
    """The statements of loops over data that no other loop is around, where a function trains or evaluates."""
    if not function.flags & (m.BACKWARD | m.EVALUATES):
        return []
    outer = (one for one, looped in in_loops(function.body) if not looped and one[0] == m.FOR and not is_count(one[3]))
    return [inner for loop in outer for inner, again in in_loops(loop[4]) if not again]


def _makes(value: object, name: str) -> bool:
    """`Calibration()`, `Calibration(4).update(labels)`"""
    while type(value) is tuple and value and value[0] == m.CALL:
        callee = value[2]
        if _is_called(callee, name):
            return True
        value = callee[1] if callee[0] == m.ATTR else None
    return False
