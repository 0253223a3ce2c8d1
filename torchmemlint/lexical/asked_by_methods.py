"""Which attributes of its object a method looks at, itself or through methods beside it."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts
from ..facts.program import expressions, targets
from ..facts.walk import statements

_DEEPEST = 3
_SELF: Expr = (m.NAME, "self")


def attributes_asked_by(facts: FileFacts, name: str) -> set[str] | None:
    """The attributes that a method of this name reads or sets; with "" among them where the object as a whole goes
    somewhere. None unless just one class of the file, which inherits from none, has such a method."""
    having = [cls for cls in facts.classes if name in cls.methods]
    if len(having) != 1 or any(base[0] != m.NAME or base[1] != "object" for base in having[0].bases):
        return None
    return _asked(facts, having[0], name, _DEEPEST)


def _asked(facts: FileFacts, cls: ClassFacts, method: str, depth: int) -> set[str]:
    function = facts.functions[cls.methods[method]]
    if function.inner or not depth or not function.params or function.params[0].name != "self":
        return {""}
    own = [part for part in expressions(function.body) if part[0] == m.ATTR and part[1] == _SELF]
    own += [part for one in statements(function.body) for part in targets(one) if part[:2] == (m.ATTR, _SELF)]
    bare = sum(part == _SELF for part in expressions(function.body))
    found = {part[2] for part in own}
    for name in found & cls.methods.keys():
        found = (found - {name}) | _asked(facts, cls, name, depth - 1)
    inside = sum(part[0] == m.ATTR and part[1] == _SELF for part in expressions(function.body))
    return found | ({""} if bare > inside else set())
