"""Hooks that a function takes out again only if nothing raises in between.

`handle = model.register_forward_hook(keep); model(x); handle.remove()`: an error in the pass, say of a device that is
out of memory, leaves the hook on the caller's model, with all that it has recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import Program, keyword, targets
from ..facts.walk import blocks, calls, calls_of, expressions_of, last_name, names_of, nodes, root_of, statements
from .gone_on import goes_on_after_an_error

ON_MODULES = frozenset(
    f"register_{kind}_hook" for kind in ("forward", "forward_pre", "backward", "full_backward", "full_backward_pre")
)
_ADDS = ("append", "add", "extend", "setdefault", "update", "insert", "__setitem__")
_ELSEWHERE = frozenset(("__exit__", "__del__", "__init__", "__post_init__", "<module>", "main"))
_SAFE = knowledge.REPORTERS | frozenset(
    """append extend range zip enumerate list dict tuple set items keys values named_modules named_children modules
    named_parameters children parameters eval train getattr setattr get copy deepcopy remove clear partial zeros ones
    rand randn empty tensor to cpu cuda device sorted next iter cast any all min max sum""".split()
)
_SMALL = frozenset("shape dtype device ndim size dim numel len item type stride".split())
_COUNTS = ("flop", "mac", "count", "num", "shape", "size", "param", "time")
_PLAIN = ("int", "float", "bool", "str")
_STEPS = 6
_SELF = (m.NAME, "self")


class Unguarded(NamedTuple):
    """A statement that puts a hook on a module which outlives the function."""

    site: Site
    hook: str
    removed: Site  # where it is taken out if all goes well


def unguarded_hooks(program: Program) -> Iterator[Unguarded]:
    """Hooks that keep tensors, and that an error leaves on a module which the function was given."""
    facts = program.facts
    if not any(function.flags & m.HOOKS for function in facts.functions):
        return
    file = _File(facts, frozenset(program.imports))
    for function in facts.functions:
        fixture = any(last_name(one) == "fixture" for one in function.decorators)  # its end runs in any case
        if _is_by_itself(function) and not fixture and not function.name.startswith("test_"):
            found = file.left_by(function)
            if found is not None and goes_on_after_an_error(facts, function):
                yield found


def _is_by_itself(function: FunctionFacts) -> bool:
    return function.name not in _ELSEWHERE


class _File:
    """A file's functions that put in hooks which keep something, and those that take hooks out: its own, and those
    that it has of a module which it `imports`."""

    def __init__(self, facts: FileFacts, imports: frozenset[str]) -> None:
        self._facts = facts
        self._imports = imports
        own = [function for function in facts.functions if _is_by_itself(function)]
        self._removing = {one.name for one in own if any(_removes_one(call) for call in calls(one.body))}
        self._installing: dict[str, tuple[str, Site, FunctionFacts, str]] = {}  # with whose module it is
        for one in own:
            for call in calls(one.body) if one.flags & m.HOOKS and one.name not in self._removing else ():
                hook = self._registered(one, call)
                if hook:
                    self._installing.setdefault(one.name, (hook, call[1], one, _origin(one, call[2][1])))

    def left_by(self, function: FunctionFacts) -> Unguarded | None:
        """The first hook that a function puts in, and takes out again unless something raises."""
        body = list(statements(function.body))
        removals = [one for one in body if any(self._removes(call) for call in calls_of(one))]
        if not removals or any(_is_in_case_of_error(body, one) for one in removals):
            return None
        for one in body:
            if one[1] > removals[0][1]:
                break
            hook, site = next((said for call in calls_of(one) if (said := self._installs(function, call))), ("", -1))
            if not hook and _is_manager(function):
                hook = next((lent for call in calls_of(one) if (lent := self._lent(function, call))), "")
            if hook and not _is_taken_out(body, one, removals):
                continue
            between = [other for other in body if one[1] < other[1] < removals[0][1]]
            if any(_is_a_training(other) for other in between):
                continue  # they are there for the whole run, and an error ends that
            if hook and not _is_apart(body, one, removals[0]) and any(_may_raise(other) for other in between):
                return Unguarded(one[1] if site < 0 else site, hook, removals[0][1])
        return None

    def _installs(self, function: FunctionFacts, call: Expr) -> tuple[str, Site] | None:
        """The hook that a call puts on a module which was there before, itself or through a function of the file,
        `self._hook()`, `model.apply(self._hook)`; and where, if one of its own inner functions does it."""
        inner = {self._facts.functions[index].name for index in function.inner}
        for part in (call[2], *call[3]):
            if self._is_own(part) and part[-1] in self._installing and part[-1] != function.name:
                hook, site, helper, whose = self._installing[part[-1]]
                if part is call[2] and _is_given_new(function, call, helper, whose):
                    continue
                return hook, site if part[-1] in inner else -1
        hook = self._registered(function, call)
        return (hook, -1) if hook else None

    def _registered(self, function: FunctionFacts, call: Expr) -> str:
        registers = call[2][0] == m.ATTR and call[2][2] in ON_MODULES and call[3]
        whose = _origin(function, call[2][1]) if registers else ""
        if whose and self._keeps(function, call[3][0], whose == "self"):
            name = last_name(call[3][0])
            return f"`{name}`" if name else "the hook"
        return ""

    def _lent(self, function: FunctionFacts, call: Expr) -> str:
        """The hook that a context manager puts on a module for the block, with something that it was given."""
        registers = call[2][0] == m.ATTR and call[2][2] in ON_MODULES and call[3]
        if not registers or not _was_there(function, call[2][1]):
            return ""
        hook = call[3][0]
        for one in (hook, *(_bound_to(function, hook) if hook[0] == m.NAME else ())):
            if one[0] == m.CALL and last_name(one) == "partial" and any(map(_is_big, _given(one)[1:])):
                return f"`{last_name(one[3][0]) or 'the hook'}`" if one[3] else "the hook"
        made = [self._facts.functions[hook[1]]] if hook[0] == m.LAMBDA else []
        made += [one for index in function.inner if (one := self._facts.functions[index]).name == last_name(hook)]
        given = {
            param.name for param in function.params[1:] if param.hint is None or last_name(param.hint) not in _PLAIN
        }
        if any(given & (names_of(one.body) - {param.name for param in one.params}) for one in made):
            return f"`{last_name(hook)}`" if last_name(hook) else "the hook"
        return ""

    def _keeps(self, function: FunctionFacts, hook: Expr, own: bool) -> bool:
        """Whether a hook, or one that a function makes, puts some of what it is given where that stays. Of an object's
        hooks on its `own` modules, those that only set its attributes keep what the next pass replaces."""
        if hook[0] == m.LAMBDA:
            return records(self._facts.functions[hook[1]], own)
        if hook[0] == m.CALL and last_name(hook) == "partial" and hook[3]:
            return self._keeps(function, hook[3][0], own)
        named = [one for one in self._facts.functions if one.name == last_name(hook)]
        made = [self._facts.functions[index] for one in named for index in one.inner]
        return any(records(one, own) for one in (*named, *made))

    def _removes(self, call: Expr) -> bool:
        return _removes_one(call) or (self._is_own(call[2]) and last_name(call[2]) in self._removing)

    def _is_own(self, callee: Expr) -> bool:
        """Whether an expression names a function of the file: `hook`, `self.hook`, `probes.hook`."""
        if callee[0] != m.ATTR or callee[1][0] != m.NAME:
            return bool(callee[0] == m.NAME)
        return callee[1] == _SELF or callee[1][1] in self._imports


def _removes_one(call: Expr) -> bool:
    """`handle.remove()`: without an argument, unlike that of a list."""
    return bool(call[2][0] == m.ATTR and call[2][2] == "remove" and not call[3])


def _is_manager(function: FunctionFacts) -> bool:
    return function.generator and any("contextmanager" in last_name(one) for one in function.decorators)


def _given(call: Expr) -> list[Expr]:
    return [*call[3], *(value for _, value in call[4])]


def _is_big(value: Expr) -> bool:
    """Whether a value may be more than a constant or a loop's number."""
    return value[0] != m.CONST and not (value[0] == m.NAME and len(value[1]) < 3) and not _is_count(last_name(value))


def _is_taken_out(body: list[Stmt], one: Stmt, removals: list[Stmt]) -> bool:
    """Whether the handle that a statement gets may be one of those that are removed in the end."""
    removing = [call for other in removals for call in calls_of(other) if _removes_one(call)]
    if len(removing) < len(removals):
        return True  # another function sees to it
    bound = set(targets(one)) if one[0] == m.ASSIGN else set()
    handles = bound | {target[1] for target in bound if target[0] == m.ITEM}
    for other in body[body.index(one) :]:
        if other[0] == m.ASSIGN and other[3] in bound:  # `handles[name] = handle`
            handles |= {target[1] if target[0] == m.ITEM else target for target in targets(other)}
        bound -= set(targets(other)) if other is not one else set()  # the name is another handle's from here on
        for call in calls_of(other):
            if call[2][0] == m.ATTR and call[2][2] in _ADDS and (other is one or not bound.isdisjoint(call[3])):
                handles.add(call[2][1])
    if not handles:
        return True
    removed = {node for call in removing for node in nodes(call[2][1]) if node[0] in (m.NAME, m.ATTR)}
    for loop in (other for other in body if other[0] == m.FOR):
        if not removed.isdisjoint(targets(loop)):
            removed = removed - set(targets(loop)) | {node for node in nodes(loop[3]) if node[0] in (m.NAME, m.ATTR)}
    return not handles.isdisjoint(removed)


# -- the ways from one to the other ---------------------------------------------------------------


def _is_in_case_of_error(body: list[Stmt], statement: Stmt) -> bool:
    """Whether a statement stands in a `finally`, or where an error is caught."""
    return any(
        inner is statement
        for one in body
        if one[0] == m.TRY
        for suite in (one[5], *(clause for _, _, clause in one[3]))
        for inner in statements(suite)
    )


def _is_apart(body: list[Stmt], one: Stmt, other: Stmt) -> bool:
    """Whether two statements stand in different arms of an `if`."""
    for branch in body:
        if branch[0] == m.IF:
            arms = [list(statements(suite)) for suite in blocks(branch)]
            if any(one in arm and other not in arm for arm in arms) and any(other in arm for arm in arms):
                return True
    return False


def _is_a_training(statement: Stmt) -> bool:
    """Whether a loop takes steps of an optimizer, or a call is by its name a whole training."""
    if any(_trains(call) for call in calls_of(statement)):
        return True
    return statement[0] in (m.FOR, m.WHILE) and any(
        last_name(call[2]) in ("backward", "step") for suite in blocks(statement) for call in calls(suite)
    )


def _trains(call: Expr) -> bool:
    """`trainer.train()`, `fit(model)`, `train_epoch(model)`; not `model.train()`, which is a mode."""
    name = last_name(call[2])
    if name == "train":
        return call[2][0] == m.NAME or "trainer" in last_name(call[2][1]).lower()
    return name in ("fit", "run_training") or name.startswith("train_")


def _may_raise(statement: Stmt) -> bool:
    """Whether a statement runs what is not known, or hands over to the caller of a context manager."""
    return any(
        node[0] == m.YIELD or (node[0] == m.CALL and not _is_safe(last_name(node[2])))
        for node in expressions_of(statement)
    )


def _is_safe(name: str) -> bool:
    return name in _SAFE or name.startswith(("register_", "is_", "_is_")) or name[:1].isupper()


# -- what was there, and what is kept -------------------------------------------------------------


def _was_there(function: FunctionFacts, module: Expr) -> bool:
    """Whether a module was there before the function was called, and is not the object itself: a parameter, an
    attribute, or a part of one."""
    return bool(_origin(function, module))


def _is_given_new(function: FunctionFacts, call: Expr, helper: FunctionFacts, param: str) -> bool:
    """Whether a helper puts a hook on a module that its caller has made."""
    index = next((index for index, one in enumerate(helper.params) if one.name == param), -1)
    given = keyword(call, param, index - (helper.owner >= 0 and call[2][0] == m.ATTR))
    return given is not None and not _was_there(function, given)


def _origin(function: FunctionFacts, module: Expr) -> str:
    """The parameter that a module is, or is a part of; "" of the object itself and of what the function makes."""
    given = {param.name for param in function.params}
    if module == _SELF:
        return ""
    for _ in range(_STEPS):
        while module[0] in (m.ATTR, m.ITEM, m.CALL):
            if module[0] != m.CALL:
                module = module[1]
            elif module[2][0] == m.ATTR:
                module = module[2]
            elif module[3]:
                module = module[3][0]
            else:
                return ""
        if module[0] != m.NAME or module[1] in given:
            return str(module[1]) if module[0] == m.NAME else ""
        bound = next(_bound_to(function, module), None)
        if bound is None:
            return ""
        module = bound
    return ""


def _bound_to(function: FunctionFacts, name: Expr) -> Iterator[Expr]:
    """What a name is bound to, or goes through."""
    for statement in statements(function.body):
        if statement[0] in (m.FOR, m.ASSIGN) and name in targets(statement):
            yield statement[3]
        for node in (node for node in expressions_of(statement) if node[0] == m.COMP):
            yield from (over for target, over, _ in node[5] if name in nodes(target))


def records(hook: FunctionFacts, own_modules: bool) -> bool:
    """Whether a hook puts what it is given, or what it makes of that, into what is not its own."""
    given = {param.name for param in hook.params if param.name != "self"}
    module = next((param.name for param in hook.params if param.name != "self"), "")
    tensors = given - {module}
    own = set(tensors)
    for statement in statements(hook.body):
        values = [statement[3]] if statement[0] in (m.ASSIGN, m.FOR) else []
        values += [statement[4]] if statement[0] == m.AUGMENT else []
        tells = any(_is_of(value, tensors) for value in values)
        for target in targets(statement):
            if target[0] == m.NAME:
                own.add(target[1])
                tensors |= {target[1]} if tells and not _is_count(target[1]) else set()
            elif tells and statement[0] != m.FOR and root_of(target)[-1] not in own:
                replaced = own_modules and _is_replaced(target, own | given)
                if not replaced:
                    return True
        for call in calls_of(statement):
            adds = call[2][0] == m.ATTR and call[2][2] in _ADDS and root_of(call[2][1])[-1] not in own
            if adds and any(_is_of(part, tensors) for part in _given(call)):
                return True
    return False


def _is_replaced(target: Expr, bound: set[str]) -> bool:
    """`self.output = x`, `self.outputs[name] = x` with the name that the hook was made for: a next pass replaces it."""
    place = target
    if target[0] == m.ITEM and (target[2][0] == m.CONST or (target[2][0] == m.NAME and target[2][1] not in bound)):
        place = target[1]
    return bool(place[0] == m.ATTR and place[1] == _SELF)


def _is_of(value: Expr, names: set[str]) -> bool:
    """Whether a value is made of one of these, other than its shape or the like."""
    if value[0] == m.NAME:
        return bool(value[1] in names)
    named = value[2] if value[0] == m.ATTR else last_name(value) if value[0] == m.CALL else ""
    if named in _SMALL or _is_count(named):
        return False
    if value[0] == m.COMP:  # what it gives, and not what it goes through: `[list(o.size()) for o in output]`
        each: set[str] = set()
        for target, over, _ in value[5] if any(_is_of(clause[1], names) for clause in value[5]) else ():
            numbered = last_name(over) == "enumerate" and target[0] == m.NEW
            each |= {node[1] for node in nodes(target[3][1:] if numbered else target) if node[0] == m.NAME}
        return any(_is_of(part, names | each) for part in value[3:5] if part is not None)
    return any(_is_of(part, names) for part in _parts(value))


def _is_count(name: str) -> bool:
    return name != "enumerate" and any(word in name.lower() for word in _COUNTS)


def _parts(value: tuple[object, ...]) -> Iterator[Expr]:
    for part in value:
        if type(part) is tuple and part:
            if type(part[0]) is int:
                yield part
            else:
                yield from _parts(part)
