"""What other files of the project empty of a file's globals: `kept.SEEN.clear()`, or `kept.SEEN = []`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.model import Expr, FileFacts, FunctionFacts
from ..facts.program import targets, text
from ..facts.walk import in_loops
from ..lexical.once import ONCE
from .repeated import Meant, meant_by

if TYPE_CHECKING:
    from ..interpreter.linking import Project as Users
    from ..rules import Report
    from .project import Project

EMPTIED = "emptied"
_FIRST = (*ONCE, "main", "<module>")


def is_emptied_by_others(report: Report, facts: FileFacts, path: str, project: Users | None) -> bool:
    """Whether what is said to grow is a global of the file that another file of the project empties."""
    name = (report.holder or "").partition("[")[0]
    if project is None or not name.isidentifier():
        return False
    bound = (target for one in facts.functions[0].body for target in targets(one))
    return (m.NAME, name) in bound and project.emptied(path, name) == EMPTIED


def emptied_by_others(project: Project, path: str, name: str) -> str | None:
    """`emptied` if a file that imports a global, or its module, lets it go again and again: in a loop, or in a function
    that is there for more than the start. Tests say nothing."""
    word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
    for other, raw in project.texts():
        outline = project.known(other) if other != path and word.search(raw) else None
        meant = None if outline is None else meant_by(project, other, outline.program, path, name)
        if outline is not None and meant is not None:
            for function in outline.whole.functions:
                if any(_is_of(meant, place, how, name) for how, place in _let_go(function, name)):
                    return EMPTIED
    return None


def _let_go(function: FunctionFacts, name: str) -> list[tuple[str, Expr]]:
    """What a function empties by that name, again and again."""
    looped = [statement for statement, again in in_loops(function.body) if again]
    found = emptyings(function, name)
    return [
        (one.how, one.place)
        for one in found
        if function.name not in _FIRST or any(one.statement is statement for statement in looped)
    ]


def _is_of(meant: Meant, place: Expr, how: str, name: str) -> bool:
    """Whether a place is the global of the other file: the imported name, or that of its module."""
    if place[0] == m.NAME:
        return how != BOUND and place[1] in meant.direct
    return place[0] == m.ATTR and place[2] == name and text(place[1]) in meant.modules
