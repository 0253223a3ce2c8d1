"""What other files of the project empty of what a file's functions fill: `kept.SEEN.clear()`, `Extra.losses = []`, or
`model.losses.clear()` of an object whose class is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.model import Expr, FileFacts, FunctionFacts
from ..facts.program import targets, text
from ..facts.walk import in_loops
from ..lexical.once import ONCE
from .repeated import Meant, imports_from, meant_by

if TYPE_CHECKING:
    from ..facts.program import Program
    from ..interpreter.linking import Project as Users
    from ..rules import Report
    from .project import Project

EMPTIED = "emptied"
_SELF = "self"
_FIRST = (*ONCE, "main", "<module>")


def is_emptied_by_others(report: Report, facts: FileFacts, path: str, project: Users | None) -> bool:
    """Whether what is said to grow with each call, for all that the file shows, is a global, or an attribute of a class
    or its objects, that another file of the project empties."""
    place = (report.holder or "").partition("[")[0]
    whole, _, part = place.rpartition(".")
    if project is None or not report.by_calls or not part.isidentifier() or "." in whole:
        return False
    if whole != _SELF:
        bound = {target[1] for one in facts.functions[0].body for target in targets(one) if target[0] == m.NAME}
        if (whole or part) not in bound | {cls.name for cls in facts.classes}:
            return False
    return project.emptied(path, place) == EMPTIED


def emptied_by_others(project: Project, path: str, place: str) -> str | None:
    """`emptied` if a file that imports a global, a class or its module lets it go again and again: in a loop, or in a
    function that is there for more than the start. Tests say nothing."""
    whole, _, part = place.rpartition(".")
    word = re.compile(rb"\b%s\b" % re.escape(part.encode()))
    for other, raw in project.texts():
        outline = project.known(other) if other != path and word.search(raw) else None
        if outline is None:
            continue
        let_go = [one for function in outline.whole.functions for one in _let_go(function, part)]
        if let_go and any(_is_of(project, other, outline.program, path, whole, part, one) for one in let_go):
            return EMPTIED
    return None


def _let_go(function: FunctionFacts, name: str) -> Iterator[tuple[str, Expr]]:
    """How a function empties what goes by that name, again and again."""
    looped = [statement for statement, again in in_loops(function.body) if again]
    for one in emptyings(function, name):
        if function.name not in _FIRST or any(one.statement is statement for statement in looped):
            yield one.how, one.place


def _is_of(
    project: Project, other: str, program: Program, path: str, whole: str, part: str, let_go: tuple[str, Expr]
) -> bool:
    """Whether what a file empties is a global of another one, the attribute of a class of it, or that of an object that
    is not its own."""
    how, place = let_go
    if place[0] == m.ATTR and place[2] != part:
        return False
    if whole == _SELF:
        return place[0] == m.ATTR and place[1] != (m.NAME, _SELF) and imports_from(project, other, program, path)
    meant = meant_by(project, other, program, path, whole or part)
    if meant is None:
        return False
    if whole:
        return place[0] == m.ATTR and _is_named(meant, place[1], whole)
    return _is_named(meant, place, part) and (place[0] == m.ATTR or how != BOUND)


def _is_named(meant: Meant, place: Expr, name: str) -> bool:
    """Whether a place is what a file imports, by its name or that of its module."""
    if place[0] == m.NAME:
        return place[1] in meant.direct
    return place[0] == m.ATTR and place[2] == name and text(place[1]) in meant.modules
