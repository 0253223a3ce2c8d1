"""Shared memory segments: who makes one, where its handle goes, and whether anybody unlinks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, expressions, keyword, targets
from ..facts.walk import blocks, calls, calls_of, expressions_of, heads, last_name, nodes, statements
from .exits import left_before
from .once import SETUPS, is_repeated

_GO_OVER = tuple((m.NAME, name) for name in ("enumerate", "zip", "reversed"))
Key = tuple[str, str]  # (function, name) of a local, ("", name) of an attribute or global


def never_unlinked(program: Program) -> Iterator[tuple[Site, str, Site]]:
    """The calls that create a segment which nothing in the file unlinks, and the name of its handle; or which the
    same function unlinks, but not where it returns before: then where that is, else -1."""
    if not has_segments(program):
        return
    unlinked = called_on(program, "unlink")
    created: list[tuple[Site, set[Key], bool, Site]] = []
    for place in program.places:
        for call, statement in made_in(program, place):
            keys, escapes = flow(program, place, statement, call)
            create = keyword(call, "create", 1)
            if create == (m.CONST, True):
                created.append((call[1], keys, escapes, _left_early(place, statement, call)))
            elif create is None and keys & unlinked:
                return  # who attaches unlinks
    for site, keys, escapes, leave in created:
        if not escapes and (leave >= 0 or not keys & unlinked):
            yield site, next(iter(sorted(name for _, name in keys)), ""), leave


def replaced_segments(program: Program) -> Iterator[tuple[Site, str, Site]]:
    """The calls that create the next segment of an attribute, again and again, in a function that only closes the one
    before: what unlinks does so elsewhere, to the last one. With the attribute, and where it is closed."""
    if not {"unlink", "close"} <= program.called or not has_segments(program):
        return
    unlinking = {place.facts.name for place in program.places if "unlink" in place.facts.calls}
    for place in program.places:
        made = list(made_in(program, place))
        if not made or place.facts.name in unlinking.union(SETUPS):
            continue
        told = list(calls(place.facts.body))
        closing = [call for call in told if call[2][0] == m.ATTR and call[2][2] == "close" and call[2][1][0] == m.ATTR]
        if any(last_name(call) in unlinking for call in told if call not in closing):
            continue  # `self.close()` may be it
        closed = {_key(place, call[2][1]): call[1] for call in closing}
        for call, statement in made:
            keys, escapes = flow(program, place, statement, call)
            own = [key for key in keys if not key[0] and key in closed]
            if own and not escapes and keyword(call, "create", 1) == (m.CONST, True) and is_repeated(program, place):
                yield call[1], own[0][1], closed[own[0]]


def _left_early(place: Place, made: Stmt, call: Expr) -> Site:
    """Where the function that makes a segment and unlinks it returns without having done so; -1 if nowhere."""
    names = {target for target in targets(made) if target[0] == m.NAME and made[0] == m.ASSIGN and made[3] is call}
    frees = [
        one
        for one in statements(place.facts.body)
        for freeing in calls_of(one)
        if freeing[2][0] == m.ATTR and freeing[2][2] == "unlink" and freeing[2][1] in names
    ]
    leave = left_before(place, made, frees, names)
    return -1 if leave is None else leave[1]


def made_in(program: Program, place: Place) -> Iterator[tuple[Expr, Any]]:
    for statement in statements(place.facts.body):
        for expr in heads(statement):
            for part in nodes(expr):
                if part[0] == m.CALL and makes_segment(program, part[2]):
                    yield part, statement


def has_segments(program: Program) -> bool:
    """Whether a file may make such a segment, also by a class of its own."""
    heirs = (base for cls in program.facts.classes for base in cls.bases)
    return "SharedMemory" in program.called or any(last_name(base) == "SharedMemory" for base in heirs)


def makes_segment(program: Program, callee: Expr) -> bool:
    """Whether a call makes a segment or attaches to one; also by a class of the file that only adds to what Python's
    does: one which unlinks by itself, when it is closed or goes, needs nobody to do so."""
    if program.dotted(callee).endswith("shared_memory.SharedMemory"):
        return True
    cls = next((cls for cls in program.facts.classes if callee == (m.NAME, cls.name)), None)
    if cls is None or not any(program.dotted(base).endswith("shared_memory.SharedMemory") for base in cls.bases):
        return False
    methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
    return not any("unlink" in methods[name].calls for name in ("close", "__del__", "__exit__") if name in methods)


def _key(place: Place, expr: Expr) -> Key | None:
    if expr[0] == m.NAME:
        return (f"{place.cls}.{place.facts.name}", expr[1])
    if expr[0] == m.ATTR:
        return ("", expr[2])
    return _key(place, expr[1]) if expr[0] == m.ITEM else None


def called_on(program: Program, method: str) -> set[Key]:
    """What `.unlink()` or the like is called on; the variable of a loop stands for what it goes over.

    What only an `except` clause does, itself or by calling what does it, happens when something went wrong.
    """
    found: set[Key] = set()
    rescuing = _in_handlers(program)
    for place in program.places:
        if place.facts.name in rescuing:
            continue
        over: dict[str, set[Key]] = {}
        for statement in statements(place.facts.body):
            if statement[0] == m.FOR:
                keys = {_key(place, part) for part in nodes(statement[3]) if part[0] in (m.NAME, m.ATTR)}
                for target in nodes(statement[2]):  # also of pairs: `for rank, (worker, block) in enumerate(jobs)`
                    over.setdefault(last_name(target), set()).update(key for key in keys if key)
        for call, rescue in _calls(place.facts.body):
            if call[2][0] == m.ATTR and call[2][2] == method and not rescue:
                receiver = call[2][1]
                key = _key(place, receiver)
                if key is not None:
                    found.add(key)
                found |= over.get(last_name(receiver), set())
    return found


def _calls(body: Block, rescue: bool = False) -> Iterator[tuple[Expr, bool]]:
    """Every call in a body, with whether an `except` clause makes it."""
    for statement in body:
        for call in calls_of(statement):
            yield call, rescue
        handlers = [handler[2] for handler in statement[3]] if statement[0] == m.TRY else []
        for block in blocks(statement):
            yield from _calls(block, rescue or any(block is one for one in handlers))


def _in_handlers(program: Program) -> set[str]:
    """The functions of the file that it calls in `except` clauses and names nowhere else."""
    called: set[str] = set()
    for place in program.places:
        called |= {last_name(call[2]) for call, rescue in _calls(place.facts.body) if rescue}
    called &= program.by_name.keys()
    if not called:
        return called
    others: set[str] = set()
    for place in program.places:
        rescues = {id(call[2]) for call, rescue in _calls(place.facts.body) if rescue}
        for expr in expressions(place.facts.body):
            if expr[0] in (m.ATTR, m.NAME) and expr[-1] in called and id(expr) not in rescues:
                others.add(expr[-1])
    return called - others


def flow(program: Program, place: Place, statement: Any, call: Expr) -> tuple[set[Key], bool]:
    """Where a handle goes: the names it has, and whether it gets out of sight."""
    keys: set[Key] = set()
    direct = _handed(program, place, statement, lambda expr: expr is call or expr == call)
    if direct is None:
        return keys, True
    keys |= direct
    pending = list(keys)
    while pending:
        key = pending.pop()
        for other in program.places:
            local = key[0] == f"{other.cls}.{other.facts.name}"
            if key[0] and not local:
                continue
            for one in statements(other.facts.body):
                if not _mentions(one, key):
                    continue
                more = _handed(program, other, one, lambda expr, other=other, key=key: _key(other, expr) == key)
                if more is None:
                    return keys, True
                for new in more - keys:
                    keys.add(new)
                    pending.append(new)
    return keys, False


def _mentions(statement: Any, key: Key) -> bool:
    return any(part[-1] == key[1] for part in expressions_of(statement))


def _handed(program: Program, place: Place, statement: Any, same: Any) -> set[Key] | None:
    """The names that one statement gives a handle; None if it hands it to code that is not seen."""
    found: set[Key] = set()

    def holds(expr: Expr | None) -> bool:
        if expr is None:
            return False
        if same(expr):
            return True
        if expr[0] == m.NEW:
            return any(holds(item) for item in expr[3])
        if expr[0] == m.DICT:
            return any(holds(item) for _, item in expr[2])
        if expr[0] == m.COND:
            return holds(expr[2]) or holds(expr[3])
        if expr[0] == m.COMP:
            return holds(expr[3]) or holds(expr[4])  # an element, or the value of an entry
        return expr[0] == m.STAR and holds(expr[1])

    op = statement[0]
    if op in (m.ASSIGN, m.ANNOTATE, m.AUGMENT) and holds(statement[3] if op == m.ASSIGN else statement[4]):
        found |= {key for target in targets(statement) if (key := _key(place, target)) is not None}
    if op == m.WITH:
        for context, target in statement[2]:
            if holds(context) and target is not None:
                found |= {key} if (key := _key(place, target)) is not None else set()
    if op == m.RETURN and holds(statement[2]):
        users = _results(program, place.facts.name)
        if users is None:
            return None
        found |= users
    for expr in heads(statement):
        for part in nodes(expr):
            if part[0] != m.CALL or (op == m.FOR and part[2] in _GO_OVER):
                continue
            for index, value in enumerate(part[3]):
                if holds(value):
                    more = _argument(program, place, part, index, "")
                    if more is None:
                        return None
                    found |= more
            for name, value in part[4]:
                if holds(value):
                    more = _argument(program, place, part, -1, name)
                    if more is None:
                        return None
                    found |= more
        if any(part[0] == m.YIELD and holds(part[1]) for part in nodes(expr)):
            return None
    return found


def _results(program: Program, function: str) -> set[Key] | None:
    """The names that the results of a function get in this file."""
    found: set[Key] = set()
    seen = False
    for place in program.places:
        for statement in statements(place.facts.body):
            for expr in heads(statement):
                if expr[0] == m.CALL and last_name(expr[2]) == function:
                    seen = True
                    found |= {key for target in targets(statement) if (key := _key(place, target)) is not None}
                    if statement[0] == m.RETURN:
                        return None
    return found if seen else None


def _argument(program: Program, place: Place, call: Expr, index: int, name: str) -> set[Key] | None:
    """What an argument is called inside: by a constructor's attribute, a parameter, or a container."""
    callee = last_name(call[2])
    if callee in ("append", "add", "insert", "appendleft") and call[2][0] == m.ATTR:
        key = _key(place, call[2][1])
        return {key} if key is not None else None
    if callee in ("print", "len", "str", "repr", "isinstance", "id", "debug", "info"):
        return set()
    owner = place.cls if callee == "cls" else callee
    inside = [one for one in program.places if one.cls == owner and one.facts.name == "__init__"]
    shift = 1
    if not inside:
        inside = [one for one in program.by_name.get(callee, []) if one.facts.name == callee]
        shift = 1 if inside and inside[0].cls and call[2][0] == m.ATTR else 0
    if len(inside) != 1:
        return None
    params = inside[0].facts.params
    if name:
        chosen = [param.name for param in params if param.name == name]
    else:
        chosen = [param.name for param in params[index + shift : index + shift + 1]]
    return {(f"{inside[0].cls}.{inside[0].facts.name}", one) for one in chosen} or None
