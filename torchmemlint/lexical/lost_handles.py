"""Handles of hooks that are let go: a loop binds them to one place, so that only the last is left to be removed, or
the list of them goes, as if that took the hooks out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.walk import calls, expressions_of, last_name, loops, nodes, statements, with_tests

_ENDS = ("clear", "remove", "close", "final", "end", "stop", "release", "detach", "clean", "teardown", "finish", "exit")


class Lost(NamedTuple):
    """A place that is bound to the handle of one layer after the other. `place`: `self.handle`, in words."""

    site: Site
    place: str


def lost_handles(facts: FileFacts) -> Iterator[Lost]:
    """Handles that somebody means to remove, `self.handle.remove()`, or puts away, `handles.append(handle)`, after a
    loop has put others in their place."""
    for function in facts.functions:
        if not function.flags & m.HOOKS:
            continue
        for loop, inside in loops(function.body):
            if loop[0] != m.FOR:
                continue
            layers = {node[1] for node in nodes(loop[2]) if node[0] == m.NAME}
            ends = any(statement[0] in (m.JUMP, m.RETURN) for statement in inside)
            for statement, tests in with_tests(loop[4]) if not ends else ():
                place = _bound_to_a_handle(statement, layers)
                if place is None or _is_used(inside, statement, place) or any(_picks_one(test) for test in tests):
                    continue
                if _is_removed(facts, function, place) or _is_put_away(function, inside, place):
                    yield Lost(statement[1], ("self." if place[0] == m.ATTR else "") + last_name(place))


def dropped_handles(facts: FileFacts) -> Iterator[Lost]:
    """`del self.hooks` of handles that no method has removed, or handed to anybody who might."""
    givers = _givers(facts)
    for cls in facts.classes:
        methods = [facts.functions[index] for index in cls.methods.values()]
        if not any(one.flags & m.HOOKS or not givers.keys().isdisjoint(one.calls) for one in methods):
            continue
        for name in sorted({name for one in methods for name in _filled(one, givers)}):
            lets_go = [site for one in methods for site in _lets_go(one, name, givers)]
            if lets_go and not _is_asked_for(facts, name):
                yield Lost(min(lets_go), f"self.{name}")


def _givers(facts: FileFacts) -> dict[str, int]:
    """The functions that put hooks on and return the list of their handles, with its place in what they return; -1 for
    one that returns nothing else."""
    found = {}
    for one in facts.functions:
        if one.flags & m.HOOKS:
            lists = {call[2][1] for call in _appended(one) if call[2][1][0] == m.NAME}
            for back in statements(one.body) if lists else ():
                if back[0] == m.RETURN and back[2] in lists:
                    found[one.name] = -1
                elif back[0] == m.RETURN and back[2] is not None and back[2][0] == m.NEW:
                    found.update((one.name, index) for index, part in enumerate(back[2][3]) if part in lists)
    return found


def _appended(function: FunctionFacts) -> Iterator[Expr]:
    """`hooks.append(layer.register_forward_hook(hook))`"""
    for call in calls(function.body) if function.flags & m.HOOKS else ():
        if call[2][0] == m.ATTR and call[2][2] == "append" and any(map(_registers, call[3])):
            yield call


def _filled(function: FunctionFacts, givers: dict[str, int]) -> Iterator[str]:
    """The attributes that a method puts handles of hooks into: `self.hooks.append(layer.register_forward_hook(h))`,
    `self.cache, self.hooks = model.install()`."""
    for call in _appended(function):
        if _is_own(call[2][1]):
            yield call[2][1][2]
    for one in statements(function.body) if not givers.keys().isdisjoint(function.calls) else ():
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3]) in givers:
            index = givers[last_name(one[3])]
            for target in one[2]:
                several = target[3] if target[0] == m.NEW else ()
                place = target if index < 0 else several[index] if index < len(several) else target
                if _is_own(place):
                    yield place[2]


def _lets_go(function: FunctionFacts, name: str, givers: dict[str, int]) -> Iterator[Site]:
    """Where a method deletes or replaces the list, other than to begin a new one."""
    if function.name == "__init__" or name in _filled(function, givers):
        return
    own = (m.ATTR, (m.NAME, "self"), name)
    ends = any(word in function.name for word in _ENDS)
    for one in statements(function.body):
        gone = one[2] if one[0] == m.DELETE or (one[0] == m.ASSIGN and _is_nothing(one[3], ends)) else ()
        cleared = one[0] == m.EXPR and one[2][0] == m.CALL and one[2][2] == (m.ATTR, own, "clear")
        if cleared or own in gone:
            yield one[1]


def _is_asked_for(facts: FileFacts, name: str) -> bool:
    """Whether anything is done with the list but to fill it, and to let it go."""
    for function in facts.functions:
        for one in statements(function.body):
            seen = sum(node[0] == m.ATTR and node[2] == name for node in expressions_of(one))
            bound = one[2] if one[0] in (m.DELETE, m.ASSIGN) else ()
            plain = any(_is_own(node) and node[2] == name for place in bound for node in nodes(place))
            call = one[2] if one[0] == m.EXPR else None
            plain = plain or (call is not None and call[0] == m.CALL and _is_own_list(call[2], name))
            if seen > plain:
                return True
    return False


def _is_own_list(callee: Expr, name: str) -> bool:
    return callee[0] == m.ATTR and callee[2] in ("append", "clear") and _is_own(callee[1]) and callee[1][2] == name


def _is_own(place: Expr) -> bool:
    return place[:2] == (m.ATTR, (m.NAME, "self"))


def _is_nothing(value: Expr, ends: bool) -> bool:
    """`None`, or an empty list where something ends: elsewhere one begins."""
    return value == (m.CONST, None) or (ends and value[0] == m.NEW and not value[3])


def _registers(value: Expr) -> bool:
    """`layer.register_forward_hook(hook)`"""
    name = last_name(value) if value[0] == m.CALL else ""
    return name.startswith("register_") and name.endswith("hook")


def _bound_to_a_handle(statement: Stmt, layers: set[str]) -> Expr | None:
    """`handle = layer.register_forward_hook(hook)` with a layer of this round: the place, a name or an attribute."""
    if statement[0] != m.ASSIGN or len(statement[2]) != 1 or statement[3][0] != m.CALL:
        return None
    place, callee = statement[2][0], statement[3][2]
    if (
        callee[0] != m.ATTR
        or not _registers(statement[3])
        or not any(node[0] == m.NAME and node[1] in layers for node in nodes(callee[1]))
    ):
        return None
    return place if place[0] == m.NAME or _is_own(place) else None


def _picks_one(test: Expr) -> bool:
    """Whether a test may be for one layer: any but for a type, which several have."""
    return not (test[0] == m.CALL and last_name(test[2]) == "isinstance")


def _is_used(inside: list[Stmt], binding: Stmt, place: Expr) -> bool:
    """Whether the loop does anything with the handle: keeps it elsewhere, or removes it in the same round."""
    return any(node == place for statement in inside if statement is not binding for node in expressions_of(statement))


def _is_removed(facts: FileFacts, function: FunctionFacts, place: Expr) -> bool:
    """Whether `remove` is called on the place: a name's in its function, an attribute's in the same class."""
    near = [function]
    if place[0] == m.ATTR and function.owner >= 0:
        near = [facts.functions[index] for index in facts.classes[function.owner].methods.values()]
    return any(
        call[2] == (m.ATTR, place, "remove")
        for one in near
        if "remove" in one.calls and not _is_gone_through(one, place)
        for call in calls(one.body)
    )


def _is_put_away(function: FunctionFacts, inside: list[Stmt], place: Expr) -> bool:
    """Whether the handle that a loop leaves is kept for later: `handles.append(handle)`, `self.hook = handle`."""
    last = max(statement[1] for statement in inside)
    for one in statements(function.body):
        if one[1] <= last:
            continue
        if one[0] == m.EXPR and one[2][0] == m.CALL and last_name(one[2]) in ("append", "add"):
            kept = place in one[2][3]
        elif one[0] == m.ASSIGN:
            kept = place == one[3] and any(target[0] in (m.ATTR, m.ITEM) for target in one[2])
        else:
            kept = one[0] == m.RETURN and one[2] == place
        if kept:
            return True
    return False


def _is_gone_through(function: FunctionFacts, place: Expr) -> bool:
    """`for handle in handles: handle.remove()`: another handle under the same name."""
    return any(
        statement[0] == m.FOR and any(node == place for node in nodes(statement[2]))
        for statement in statements(function.body)
    )
