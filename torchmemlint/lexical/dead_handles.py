"""Lists of an object that gain the handles of hooks again and again, and that nobody empties.

The hooks themselves are taken out, or go with the tensor that they are on. Of each the handle stays, some 300 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import calls, expressions_of, last_name, nodes, statements

_LOOKS = ("append", "extend", "len", "enumerate", "list", "reversed", "bool")
_ONCE = ("__init__", "__post_init__", "__del__")


class DeadHandles(NamedTuple):
    """A call that puts a handle into a list, once more each time. `place`: the list, in words."""

    site: Site
    place: str
    cls: str
    gone: Site | None  # where the hooks are taken out, unless they go with a tensor


def dead_handles(facts: FileFacts) -> Iterator[DeadHandles]:
    """Lists from which hooks are removed, and their handles are not, or that a hook puts another handle into."""
    for cls in facts.classes:
        methods = {name: facts.functions[index] for name, index in cls.methods.items()}
        if not any(one.flags & m.HOOKS for one in methods.values()):
            continue
        said: set[str] = set()
        for one in methods.values():
            for name, call in _filled(one) if one.name not in _ONCE else ():
                if name in said:
                    continue
                gone = _taken_out(cls, methods, one, name)
                lasting = gone is None and _is_for_each_pass(methods, one, name, call)
                if (gone or lasting) and not _is_emptied(facts, cls, name, lasting):
                    said.add(name)
                    yield DeadHandles(call[1], f"self.{name}", cls.name, gone)


def _filled(function: FunctionFacts) -> Iterator[tuple[str, Expr]]:
    """The lists of its object that a method puts handles into, with the call: `self.handles.append(handle)`."""
    if not function.flags & m.HOOKS:
        return
    bound = [one for one in statements(function.body) if one[0] == m.ASSIGN and _registers(one[3])]
    handles = {target: one[3] for one in bound for target in targets(one)}
    for call in calls(function.body):
        callee = call[2]
        own = callee[0] == m.ATTR and callee[2] == "append" and callee[1][:2] == (m.ATTR, (m.NAME, "self"))
        if own and any(_registers(value) or value in handles for value in call[3]):
            yield callee[1][2], call


def _registers(value: Expr) -> bool:
    name = last_name(value) if value[0] == m.CALL else ""
    return name.startswith("register_") and name.endswith("hook")


def _taken_out(cls: ClassFacts, methods: dict[str, FunctionFacts], fills: FunctionFacts, name: str) -> Site | None:
    """Where the hooks of a list are removed, if one method asks for both and may be called again; or if the class is a
    decorator, whose function is entered at every call."""
    for one in methods.values():
        site = _removed(one, name) if "remove" in one.calls else None
        if site is None:
            continue
        if fills.name == "__enter__" and one.name == "__exit__":
            again = any(last_name(base) == "ContextDecorator" for base in cls.bases)
        else:
            both = {fills.name, one.name}
            again = fills is one or any(both <= set(user.calls) for user in methods.values() if user.name not in _ONCE)
        if again:
            return site
    return None


def _removed(function: FunctionFacts, name: str) -> Site | None:
    """Where a method removes every hook of a list: `for handle in self.handles: handle.remove()`."""
    for one in statements(function.body):
        if one[0] == m.FOR and one[3] == (m.ATTR, (m.NAME, "self"), name):
            for call in calls(one[4]):
                if call[2] == (m.ATTR, one[2], "remove"):
                    site: Site = call[1]
                    return site
    return None


def _is_for_each_pass(methods: dict[str, FunctionFacts], fills: FunctionFacts, name: str, call: Expr) -> bool:
    """Whether a method is itself put on modules, with its handle in the same list, and puts a hook on a tensor."""
    value = call[3][0]
    given = {param.name for param in fills.params}
    if not (_registers(value) and last_name(value) == "register_hook" and value[2][1][0] == m.NAME):
        return False
    return value[2][1][1] in given and any(
        list_name == name and any(node == (m.ATTR, (m.NAME, "self"), fills.name) for node in nodes(put))
        for one in methods.values()
        for list_name, put in _filled(one)
        if one is not fills
    )


def _is_emptied(facts: FileFacts, cls: ClassFacts, name: str, lasting: bool) -> bool:
    """Whether anything makes a list shorter, replaces it, or has it from somebody who might. One that also has the
    handles of modules is emptied when the work is done."""
    for function in facts.functions:
        own = function.owner >= 0 and facts.classes[function.owner] is cls
        if (own and function.name in _ONCE) or (lasting and "remove" in function.calls):
            continue
        for one in statements(function.body):
            gone = one[2] if one[0] == m.DELETE else () if one[0] == m.FOR else targets(one)
            if any(_is_list(node, name) for place in gone for node in nodes(place)):
                return True
            if any(_lets_go(node, name) for node in expressions_of(one)):
                return True
            if one[0] in (m.ASSIGN, m.RETURN) and _is_list(one[-1] or (), name):
                return True
    return False


def _is_list(node: Expr, name: str) -> bool:
    return node[:1] == (m.ATTR,) and node[2] == name


def _lets_go(node: Expr, name: str) -> bool:
    """`self.handles.clear()`, `release(self.handles)`"""
    if node[0] != m.CALL:
        return False
    of_it = node[2][0] == m.ATTR and _is_list(node[2][1], name)
    return (of_it or any(_is_list(arg, name) for arg in node[3])) and last_name(node[2]) not in _LOOKS
