"""Methods that give a container of their object to other modules, which may put into it what they compute."""

from __future__ import annotations

from . import model as m
from .model import ClassFacts, Expr, FileFacts, FunctionFacts
from .walk import calls, loops

_OWN = (m.ATTR, (m.NAME, "self"))
_EMPTY = ("list", "dict", "deque", "defaultdict", "OrderedDict")


def give_containers(facts: FileFacts) -> set[int]:
    """`for block in self.blocks: x = block(x, self.maps)`, `self.encoder(x, taps=self.taps)`, of what the constructor
    has made empty."""
    found: set[int] = set()
    for klass in facts.classes:
        made = klass.methods.get("__init__", -1)
        empty = _made_empty(facts.functions[made]) if made >= 0 else set()
        if empty:
            others = (index for index in klass.methods.values() if index != made)
            found.update(index for index in others if _gives(facts.functions[index], klass, empty))
    return found


def _made_empty(constructor: FunctionFacts) -> set[Expr]:
    return {
        target
        for one in constructor.body
        if one[0] == m.ASSIGN and is_empty(one[3])
        for target in one[2]
        if target[:2] == _OWN
    }


def is_empty(value: Expr) -> bool:
    if value[0] == m.CALL:
        return value[2][-1] in _EMPTY and not value[4]
    return (value[0] == m.NEW and value[2] == "list" and not value[3]) or (value[0] == m.DICT and not value[2])


def _gives(method: FunctionFacts, klass: ClassFacts, empty: set[Expr]) -> bool:
    each = {loop[2] for loop, _ in loops(method.body)}
    return any(
        (call[2] in each or (call[2][:2] == _OWN and call[2][2] not in klass.methods))
        and not empty.isdisjoint((*call[3], *(value for name, value in call[4] if name)))
        for call in calls(method.body)
    )
