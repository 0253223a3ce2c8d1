"""Annotations that promise numbers and text, and nothing that could be heavy."""

from __future__ import annotations

from collections.abc import Set

from . import model as m
from .model import Expr, FileFacts, FunctionFacts

PLAIN = ("int", "float", "str", "bool", "bytes")
PLAIN_GENERICS = ("Optional", "Union", "Tuple", "tuple", "List", "list", "Sequence")
_OTHER_GENERICS = ("Dict", "dict", "Mapping", "Set", "set", "FrozenSet", "frozenset", "Iterable")
_NO_NAMES: frozenset[str] = frozenset()


def is_plain_hint(hint: Expr, names: Set[str] = _NO_NAMES) -> bool:
    """Whether an annotation promises numbers and text only: `int`, `Tuple[int, str]`, `dict[str, float] | None`.
    `names` are those that the file gives to such annotations."""
    if hint[0] == m.ITEM:
        inner = hint[2]
        parts = inner[3] if inner[0] == m.NEW else (inner,)
        generic = hint[1][-1] in PLAIN_GENERICS or hint[1][-1] in _OTHER_GENERICS
        return generic and all(is_plain_hint(part, names) for part in parts)
    if hint[0] == m.ARITH:
        return hint[1] == "BitOr" and is_plain_hint(hint[2], names) and is_plain_hint(hint[3], names)
    if hint[0] == m.CONST:
        return hint[1] is None
    return hint[0] in (m.NAME, m.ATTR) and (hint[-1] in PLAIN or hint[-1] in names)


def names_of_plain_hints(facts: FileFacts) -> frozenset[str]:
    """The names that a file gives to such annotations: `Requirements = dict[str, set[str]]`."""
    names: set[str] = set()
    for one in facts.functions[0].body:
        if one[0] == m.ASSIGN and one[3][0] in (m.ITEM, m.ARITH) and is_plain_hint(one[3], names):
            names.update(target[1] for target in one[2] if target[0] == m.NAME)
    return frozenset(names)


def asks_for_plain(function: FunctionFacts, names: Set[str]) -> bool:
    """Whether a function of a module says of all that it is given, and of what it returns, that it is plain."""
    if function.owner >= 0 or function.returns is None or not is_plain_hint(function.returns, names):
        return False
    return all(param.hint is not None and is_plain_hint(param.hint, names) for param in function.params)
