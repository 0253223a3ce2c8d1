"""Deep copies that an object collects for nobody: `self._bank.append(deepcopy(self._posterior))`, where no line of the
file reads `_bank`. Whatever the copies are of, each call leaves one more, and all that can be done with them is to keep
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, FileFacts, Site
from ..facts.walk import calls_of, expressions_of, last_name, nodes, statements

_SETS_UP = ("__init__", "__post_init__", "setup", "reset")
_ADDS = ("append", "extend", "add", "appendleft")


class UnreadCopy(NamedTuple):
    """A copy that is put where nobody looks."""

    site: Site
    attribute: str
    method: str
    cls: str


def unread_copies(facts: FileFacts) -> Iterator[UnreadCopy]:
    """Those in attributes that are their class's own, by a name with an underscore."""
    for cls in facts.classes:
        for attribute, uses in cls.uses.items():
            if attribute[:1] == "_" and attribute[:2] != "__" and len(uses) == 1 and uses[0] in _ADDS:
                yield from _copied_into(facts, cls, attribute)


def _copied_into(facts: FileFacts, cls: ClassFacts, attribute: str) -> Iterator[UnreadCopy]:
    place = (m.ATTR, (m.NAME, "self"), attribute)
    found = [
        UnreadCopy(call[1], attribute, name, cls.name)
        for name, index in cls.methods.items()
        if name not in _SETS_UP and "deepcopy" in facts.functions[index].calls
        for statement in statements(facts.functions[index].body)
        for call in calls_of(statement)
        if call[2][0] == m.ATTR and call[2][1] == place and len(call[3]) == 1 and _is_copy(call[3][0])
    ]
    if found and nobody_reads(facts, attribute):
        yield from found


def _is_copy(value: m.Expr) -> bool:
    return bool(value[0] == m.CALL and last_name(value[2]) == "deepcopy" and len(value[3]) == 1)


def nobody_reads(facts: FileFacts, name: str) -> bool:
    """Whether no function of the file does anything with an attribute that is its class's own, but add to it."""
    if name[:1] != "_" or name.startswith("__"):
        return False
    place = (m.ATTR, (m.NAME, "self"), name)
    for function in facts.functions:
        for one in statements(function.body):
            if one[0] == m.ASSIGN and place in one[2] and not any(name in node for node in nodes(one[3])):
                continue
            seen = sum(node[0] == m.ATTR and node[2] == name for node in expressions_of(one))
            adds = one[0] == m.EXPR and one[2][0] == m.CALL and one[2][2] in [(m.ATTR, place, way) for way in _ADDS]
            if seen > adds:
                return False
    return True
