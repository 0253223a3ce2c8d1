"""Hooks that are put on once more in each pass: by another hook on the module that is being run, or by a `forward` on
its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import MODULE_PARTS
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.walk import calls, calls_of, last_name, nodes, root_of, with_tests

_ON_MODULES = frozenset(
    """register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_backward_hook""".split()
)
_GIVEN = frozenset("input inputs inp inps args x xs".split())  # what a hook of a pass gets beside the module


class Rehooked(NamedTuple):
    """A place in an object whose handle the next pass replaces. `place`: `self.handles[...]`, in words."""

    site: Site
    place: str


def rehooked(facts: FileFacts) -> Iterator[Rehooked]:
    """`self.handles[name] = module.register_forward_hook(self.after)` in a hook that runs before each pass of `module`,
    where neither it nor `after` takes one out."""
    for function in facts.functions:
        if not function.flags & m.HOOKS or _takes_out(facts, function):
            continue
        params = [(m.NAME, param.name) for param in function.params[function.owner >= 0 :]]
        if len(params) < 2 or not _is_hook(facts, function, params[1]):
            continue
        for statement, tests in with_tests(function.body):
            call = statement[3] if statement[0] == m.ASSIGN and statement[3][0] == m.CALL else ()
            if not call or len(statement[2]) != 1 or last_name(call[2]) not in _ON_MODULES or tests:
                continue
            place, hook = statement[2][0], call[3][0] if call[3] else ()
            if call[2][0] == m.ATTR and call[2][1] == params[0] and _is_own(place) and _stays(facts, function, hook):
                yield Rehooked(statement[1], f"self.{last_name(place[1] if place[0] == m.ITEM else place)}")


_EACH = MODULE_PARTS | {"parameters", "named_parameters"}
_OF_A_PASS = frozenset("training requires_grad is_grad_enabled is_leaf".split())  # true in each of them, or in none


def hooked_in_each_pass(facts: FileFacts) -> Iterator[Site]:
    """`for param in self.module.parameters(): param.register_hook(reduce)` in `forward`, or in a method that it calls,
    where nobody has the handles."""
    hooking = {function.owner for function in facts.functions if function.flags & m.HOOKS}
    for number, cls in enumerate(facts.classes) if hooking else ():
        if number not in hooking or "forward" not in cls.methods:
            continue
        methods = {name: facts.functions[index] for name, index in cls.methods.items()}
        forward = methods["forward"]
        if _leaves_first(forward) or any("remove" in one.calls for one in methods.values()):
            continue
        called = {
            call[2][2]
            for statement, tests in with_tests(forward.body)
            for call in calls_of(statement)
            if call[2][:2] == (m.ATTR, (m.NAME, "self")) and all(map(_is_of_a_pass, tests))
        }
        for function in (forward, *(one for name, one in methods.items() if name in called and one is not forward)):
            if function.flags & m.HOOKS and not _leaves_first(function):
                yield from _on_each(function)


def _on_each(function: FunctionFacts) -> Iterator[Site]:
    for loop, outer in with_tests(function.body):
        if loop[0] != m.FOR or not _goes_through_own(loop[3]) or not all(map(_is_of_a_pass, outer)):
            continue
        items = {part for part in nodes(loop[2]) if part[0] == m.NAME}
        for statement, tests in with_tests(loop[4]):
            if statement[0] != m.EXPR or statement[2][0] != m.CALL or not all(map(_is_of_a_pass, tests)):
                continue
            callee = statement[2][2]
            if callee[0] == m.ATTR and callee[1] in items and callee[2][:9] == "register_" and callee[2][-4:] == "hook":
                yield statement[2][1]


def _goes_through_own(over: Expr) -> bool:
    """`self.parameters()`, `self.module.named_parameters()`"""
    return bool(over[0] == m.CALL and last_name(over[2]) in _EACH and root_of(over[2]) == (m.NAME, "self"))


def _leaves_first(function: FunctionFacts) -> bool:
    """Whether a function may end early, for a reason that a pass before it may have given."""
    return any(one[0] in m.LEAVES and not all(map(_is_of_a_pass, tests)) for one, tests in with_tests(function.body))


def _is_of_a_pass(test: Expr) -> bool:
    """Whether a test asks for nothing that the first pass may have changed: `self.training`, `param.requires_grad`."""
    return any(part[0] in (m.NAME, m.ATTR) and part[-1] in _OF_A_PASS for part in nodes(test)) and not any(
        part[0] == m.BOOL for part in nodes(test)
    )


def _is_hook(facts: FileFacts, function: FunctionFacts, second: Expr) -> bool:
    """Whether a function is called before or after a pass: by what it is called and gets, or since the file registers
    it."""
    if "hook" in function.name and second[1].strip("_") in _GIVEN:
        return True
    return any(
        last_name(call[2]).startswith("register_") and call[3] and last_name(call[3][0]) == function.name
        for one in facts.functions
        if one.flags & m.HOOKS
        for call in calls(one.body)
    )


def _is_own(place: Expr) -> bool:
    """`self.handle`, and `self.handles[name]`"""
    place = place[1] if place[0] == m.ITEM else place
    return place[:2] == (m.ATTR, (m.NAME, "self"))


def _stays(facts: FileFacts, function: FunctionFacts, hook: Expr) -> bool:
    """Whether what is registered is a function of the file, or one that such a function makes, and takes no hook out,
    least of all itself."""
    made = bool(hook) and hook[0] == m.CALL
    hook = hook[2] if made else hook
    if not hook or hook[0] not in (m.NAME, m.ATTR):
        return False
    meant = [one for one in facts.functions if one.name == last_name(hook) and one is not function]
    meant = [one for one in meant if one.owner >= 0] if hook[0] == m.ATTR else meant
    if len(meant) != 1 or bool(meant[0].inner) != made:
        return False
    return not any(_takes_out(facts, one) for one in (meant[0], *(facts.functions[n] for n in meant[0].inner)))


def _takes_out(facts: FileFacts, function: FunctionFacts) -> bool:
    """Whether a function calls `remove()` of anything, itself or by a function of the file."""
    return "remove" in function.calls or any(
        "remove" in one.calls for one in facts.functions if one.name in function.calls
    )
