"""Lists of a function that gain what each batch gives, and of which it asks at most how long they are.

`everything.extend(detections)` in a loop over a loader, and after it `print(len(everything))`: a number would do.
What a formatted string shows is not seen, nor needed: `f"{len(everything)} detections"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.walk import expressions_of, statements
from ..interpreter.values import Obj

if TYPE_CHECKING:
    from ..interpreter.frames import Frame
    from .retentions import Retention

_ADDS = ("append", "extend", "insert")
_TO_KEEP = re.compile(r"keep|alive|refs?(_|$)|hold|pinned|leak|hog|ballast")  # which is what such a list is for
_LONG = ("loader", "while")


def only_counted(retentions: list[Retention]) -> Iterator[Retention]:
    """Local lists that gain tensors in the rounds of a loop over a loader, or of one that goes on until it is told to
    stop, and that nobody looks into."""
    for retention in retentions:
        store = retention.store_event
        if retention.holder.kind != "local" or retention.how != "grow" or not retention.growing:
            continue
        if retention.graph or retention.small or retention.weight < 2:
            continue
        name = retention.holder.text
        if not isinstance(store.owner, Obj) or not is_own_list(store.frame, store.owner, name):
            continue
        if any(loop.name in _LONG for loop in retention.loops) and _is_only_counted(store.frame, name):
            yield retention


def is_own_list(frame: Frame, owner: Obj, name: str) -> bool:
    """Whether a list is a variable of the function that adds to it, and of no other, and not there to keep things."""
    if owner.kind != "list" or owner.home is None or owner.home[0] is not frame:
        return False  # by now something else has it, and calls it otherwise: `self.running = still_running`
    if not name.isidentifier():
        return False  # a list in something else, `results[rows]`, of which others ask in other words
    function = frame.facts
    if function.name == "<module>" or function.generator or _TO_KEEP.search(name.lower()):
        return False
    return not any(param.name == name for param in function.params) and not _is_shared(frame, function, name)


def _is_only_counted(frame: Frame, name: str) -> bool:
    """Whether all that a function does with its own list is to bind it, to add to it and to ask for its length."""
    function, place = frame.facts, (m.NAME, name)
    for one in statements(function.body):
        seen = sum(part == place for part in expressions_of(one))
        lengths = sum(_is_length(part, place) for part in expressions_of(one))
        if seen != lengths + _binds(one, place) + _adds(one, place):
            return False
    return True


def _is_shared(frame: Frame, function: FunctionFacts, name: str) -> bool:
    """Whether functions within this one may use the name."""
    functions = frame.unit.outline.whole.functions
    return any(
        part == (m.NAME, name)
        for index in function.inner
        for one in statements(functions[index].body)
        for part in expressions_of(one)
    )


def _is_length(part: Expr, place: Expr) -> bool:
    return bool(part[0] == m.CALL and part[2] == (m.NAME, "len") and part[3] == (place,))


def _binds(statement: Stmt, place: Expr) -> int:
    """`rows = []`"""
    bound = statement[2] if statement[0] == m.ASSIGN else (statement[2],) if statement[0] == m.ANNOTATE else ()
    return sum(target == place for target in bound)


def _adds(statement: Stmt, place: Expr) -> int:
    """`rows.append(row)`, `rows += some`"""
    if statement[0] == m.AUGMENT:
        return int(statement[2] == place)
    call = statement[2] if statement[0] == m.EXPR else ()
    adds = call and call[0] == m.CALL and call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in _ADDS
    return int(bool(adds))
