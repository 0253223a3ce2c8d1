"""What is gathered while one function is lowered, and which of its expressions make or keep nothing."""

from __future__ import annotations

from . import model as m
from .differentiated import names_loss
from .model import Expr, Param, Site

SELF: Expr = (m.NAME, "self")
_LIGHT_CALLS = frozenset("int float str bool len round isinstance hasattr type id range".split())
_LIGHT_HINTS = frozenset("int float str bool bytes".split())
_OF_HINTS = frozenset("Optional Union Tuple List Sequence Set Dict Literal tuple list set dict".split())
_CONTAINERS = frozenset("list dict set tuple deque defaultdict OrderedDict Counter".split())
_LOOK_UPS = frozenset("get setdefault pop popleft popitem".split())


class Scope:
    """What is gathered while one function is walked."""

    def __init__(self) -> None:
        self.generator = False
        self.flags = 0
        self.calls: set[str] = set()
        self.uses: dict[str, set[str]] = {}
        self.assigned: dict[str, list[Site]] = {}
        self.backward: dict[Site, str] = {}
        self.unpacked: set[Site] = set()  # assignments to several names
        self.operands: dict[Site, dict[str, str]] = {}  # what an assigned value is computed from -> the part of it
        self.inner: list[int] = []
        self.loops = 0
        self.made: set[str] = set()  # names bound to something new
        self.taken: set[str] = set()  # names bound to what may be somebody else's
        self.light: set[str] = set()  # parameters that are numbers, strings, flags
        self.added_to: set[tuple[int, str]] = set()  # (flag, name at the root of the place)
        self.mixed_into: list[Expr] = []  # places that in-place operations write to

    def keep(self, flag: int, place: Expr) -> None:
        """Something is added to a place: whether that place is the function's own shows at its end."""
        while place[0] in (m.ATTR, m.ITEM):
            place = place[1]
        if place[0] == m.NAME:
            self.added_to.add((flag, place[1]))
        else:
            self.flags |= flag

    def all_flags(self, name: str, off: bool = False) -> int:
        """What the function may do; `off` if it is decorated with what turns gradients off: then what is mixed into a
        tensor leaves no graph on it."""
        for place in self.mixed_into if not off or self.flags & m.MODE else ():
            self.keep(m.GROWS, place)
        own = self.made - self.taken
        if name == "__init__":
            own.add("self")  # what a constructor gives its object is new
        flags = self.flags
        for flag, name in self.added_to:
            flags |= m.LOCAL if name in own else flag
        return flags

    def differentiate(self, name: str, part: str, ordinal: int) -> None:
        """`name` is back-propagated here: mark the assignment that gave it its value."""
        before = [site for site in self.assigned.get(name, ()) if site < ordinal * m.CALLS_PER_STATEMENT]
        if not before:
            return
        last = before[-1]
        self.backward[last] = name if last in self.unpacked and part in ("", m.SHAPED) else part
        operands = self.operands.pop(last, {})
        for operand, of_it in operands.items():
            # the only operand must be attached; of several, those that are called a loss
            if len(operands) == 1 or names_loss(operand):
                self.differentiate(operand, of_it, m.statement_of(last))


def may_bind(value: Expr) -> bool:
    """Whether a value may be a method of the object, a lambda that refers to it, or something that keeps one."""
    if value[0] == m.CALL:
        given = (*value[3], *(item for _, item in value[4]))
        return any(one[0] == m.LAMBDA or one[:2] == (m.ATTR, SELF) for one in given)
    return value[0] == m.LAMBDA or value[:2] == (m.ATTR, SELF)


def is_light(scope: Scope, value: Expr) -> bool:
    """Whether an expression keeps nothing that was not kept before: what is set to it is at most let go."""
    op = value[0]
    if op in (m.CONST, m.TEXT, m.COMPARE, m.NOT):
        return True
    if op == m.NAME:
        return value[1] in scope.light
    if op == m.UNARY:
        return is_light(scope, value[1])
    if op == m.ARITH:
        return is_light(scope, value[2]) and is_light(scope, value[3])
    if op == m.COND:
        return is_light(scope, value[2]) and is_light(scope, value[3])
    if op == m.NEW:
        return all(is_light(scope, item) for item in value[3])
    if op == m.DICT:
        return all(is_light(scope, item) for _, item in value[2])
    if op in (m.ATTR, m.ITEM):
        while value[0] in (m.ATTR, m.ITEM):
            value = value[1]
        return value == (m.NAME, "self")
    if op == m.CALL:
        callee = value[2]
        if callee[0] == m.ATTR and callee[1] == (m.NAME, "nn"):
            return bool(callee[2][0].isupper() and callee[2] != "Parameter")
        return callee[0] == m.NAME and (callee[1] in _LIGHT_CALLS or (callee[1] in _CONTAINERS and not value[3]))
    return False


def is_light_param(param: Param) -> bool:
    hint, default = param.hint, param.default
    if hint is not None and _is_light_hint(hint):
        return True
    return default is not None and default[0] == m.CONST and default[1] is not None


def _is_light_hint(hint: Expr) -> bool:
    """`int`, `Optional[str]`, `float | None`, `Tuple[int, int]`: nothing that keeps memory."""
    op = hint[0]
    if op == m.NAME:
        return hint[1] in _LIGHT_HINTS
    if op == m.ITEM:
        return hint[1][0] == m.NAME and hint[1][1] in _OF_HINTS and _is_light_hint(hint[2])
    if op == m.NEW:
        return all(map(_is_light_hint, hint[3]))
    if op == m.ARITH:
        return _is_light_hint(hint[2]) and _is_light_hint(hint[3])
    return bool(op == m.TEXT or (op == m.CONST and (hint[1] is None or isinstance(hint[1], int))))  # `...` is a text


def is_new(value: Expr) -> bool:
    """Whether an expression makes something, as opposed to naming what others may hold."""
    if value[0] != m.CALL:
        return value[0] in (m.NEW, m.DICT, m.COMP, m.CONST, m.TEXT, m.ARITH)
    callee = value[2]
    if callee[0] == m.NAME:
        return callee[1] not in ("getattr", "next", "vars")
    if callee[0] != m.ATTR or callee[2] in _LOOK_UPS:
        return False
    return bool(callee[1][0] != m.CALL and callee[1] != (m.NAME, "self"))
