"""Tables into which a pack hook puts activations, and that only the backward pass empties.

`saved_tensors_hooks(pack, unpack)`: what is packed is unpacked when its node runs backward. Of a graph that never does,
an evaluation or an expert that no row was sent to, the entries stay. A program that runs all of them backward, or
raises where some are left, keeps none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.program import keyword, targets, text
from ..facts.walk import calls, in_loops, last_name, nodes, statements, with_tests

HOOKS = "saved_tensors_hooks"


class Packed(NamedTuple):
    site: Site
    table: str
    taken: bool  # anything takes an entry out


def never_unpacked(facts: FileFacts) -> Iterator[Packed]:
    """The tables of objects that keep what was packed, where nothing empties them for the next step."""
    own = {i for i, cls in enumerate(facts.classes) if any(last_name(base) == HOOKS for base in cls.bases)}
    if not own and not any(HOOKS in function.calls for function in facts.functions):
        return
    all_run_back = _differentiates_all(facts, {HOOKS, *(facts.classes[i].name for i in own)})
    for function in facts.functions:
        said: set[str] = set()
        for pack in packs(facts, function, function.owner in own):
            makers = _makers(facts, function, pack)
            for site, table in _filled(pack, _globals(facts)):
                if table in said or _is_emptied(facts, makers, pack, table):
                    continue
                taken = _is_taken(facts, makers, table)
                certain = function.owner in own or any(pack is facts.functions[one] for one in function.inner)
                if not taken or (certain and not (all_run_back or _must_be_empty(facts, table))):
                    said.add(table)
                    yield Packed(site, table, taken)


def _differentiates_all(facts: FileFacts, classes: set[str]) -> bool:
    """Whether a file that enters such a context itself runs what comes of it backward, and not one of several results
    alone, `results[i].backward()`. A pass that evaluates enters it for nothing."""
    every = [one for function in facts.functions for one in statements(function.body)]
    made = (one for one in every if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3]) in classes)
    names = {last_name(target) for one in made for target in targets(one)} | classes
    entering = [
        function
        for function in facts.functions
        for one in statements(function.body)
        if one[0] == m.WITH and any(last_name(context) in names for context, _ in one[2])
    ]
    losses = [
        call[2][1]
        for function in facts.functions
        for call in calls(function.body)
        if call[2][0] == m.ATTR and call[2][2] == "backward" and call[2][1][0] != m.CALL
    ]
    if not entering or not losses or any(function.flags & m.EVALUATES for function in entering):
        return False
    return all(loss[0] in (m.NAME, m.ATTR) for loss in losses)


def _makers(facts: FileFacts, function: FunctionFacts, pack: FunctionFacts) -> list[FunctionFacts]:
    """The functions that a table of packed tensors may come from: what sets the hooks, the constructor of an object
    that has them, and the module itself."""
    constructors = {facts.classes[one.owner].methods.get("__init__", 0) for one in (function, pack) if one.owner >= 0}
    return [function, facts.functions[0], *(facts.functions[index] for index in constructors)]


def _globals(facts: FileFacts) -> set[str]:
    """The names that the module's own statements bind."""
    return {target[1] for one in facts.functions[0].body for target in targets(one) if target[0] == m.NAME}


def _is_taken(facts: FileFacts, makers: list[FunctionFacts], table: str) -> bool:
    """Whether anything takes entries out of a table, but for the functions that make it."""
    name = table.rpartition(".")[2]
    return any(True for one in facts.functions if not _is_among(one, makers) for _ in emptyings(one, name))


def _is_among(function: FunctionFacts, makers: list[FunctionFacts]) -> bool:
    return any(function is one for one in makers)


def _must_be_empty(facts: FileFacts, table: str) -> bool:
    """Whether something is raised where a table still has entries, `if len(self.table) != 0: raise ...`."""
    return any(
        one[0] == m.RAISE and any(text(part[3][0]) == table for test in tests for part in _sizes(test))
        for function in facts.functions
        for one, tests in with_tests(function.body)
    )


def _sizes(test: Expr) -> Iterator[Expr]:
    return (part for part in nodes(test) if part[0] == m.CALL and part[2] == (m.NAME, "len") and len(part[3]) == 1)


def packs(facts: FileFacts, function: FunctionFacts, derives: bool) -> Iterator[FunctionFacts]:
    """The pack hooks that a function sets: its own inner ones, those of the module, methods of its object or of another
    one that no round of a loop makes."""
    for call in calls(function.body):
        base = derives and call[2][0] == m.ATTR and call[2][2] == "__init__"
        pack, unpacked = keyword(call, "pack_hook", 0), keyword(call, "unpack_hook", 1)
        if not (base or last_name(call[2]) == HOOKS) or pack is None or unpacked is None:
            continue
        name, unpack = last_name(pack), last_name(unpacked)
        if pack[0] == m.LAMBDA:
            yield facts.functions[pack[1]]
        if pack[0] == m.NAME:
            beside = [facts.functions[index] for index in function.inner] or facts.functions[1:]
            yield from (one for one in beside if one.name == name and one.owner < 0)
        if pack[0] == m.NAME or (pack[0] == m.ATTR and pack[1] == (m.NAME, "self")):
            methods = facts.classes[function.owner].methods if function.owner >= 0 else {}
            if name in methods and not (pack[0] == m.NAME and function.inner):
                yield facts.functions[methods[name]]
        elif pack[0] == m.ATTR and not _is_made_in_a_loop(function, pack[1]):
            having = (cls.methods for cls in facts.classes if {name, unpack} <= cls.methods.keys())
            yield from (facts.functions[methods[name]] for methods in having)


def _is_made_in_a_loop(function: FunctionFacts, owner: Expr) -> bool:
    """Whether each round has an object of its own, with its table."""
    if owner[0] == m.CALL:
        return True
    return any(looped and owner in targets(one) for one, looped in in_loops(function.body))


def _filled(pack: FunctionFacts, names: set[str]) -> Iterator[tuple[Site, str]]:
    """Where a pack hook puts the tensor, or what it makes of it, into a table of an object, or one of these names."""
    tensors = {param.name for param in pack.params[-1:]}
    for statement in statements(pack.body):
        if statement[0] != m.ASSIGN or not any(_is(tensors, node) for node in nodes(statement[3])):
            continue
        for target in targets(statement):
            if target[0] == m.NAME and statement[3][0] == m.CALL and statement[3][2][0] == m.ATTR:
                tensors.add(target[1])  # `tensor.to("cpu")`
            table = text(target[1]) if target[0] == m.ITEM else ""
            if (table.startswith("self.") or table in names) and _keeps(tensors, statement[3]):
                yield statement[1], table


def _is(names: set[str], node: Expr) -> bool:
    return bool(node[0] == m.NAME and node[1] in names)


def _keeps(tensors: set[str], value: Expr) -> bool:
    """`tensor`, `(tensor, True)`, `tensor.cpu()`; not `tensor.shape`."""
    if value[0] == m.NEW:
        return any(_keeps(tensors, part) for part in value[3])
    if value[0] == m.CALL and value[2][0] == m.ATTR:
        return value[2][2] in ("to", "cpu", "detach", "clone", "pin_memory") and _keeps(tensors, value[2][1])
    return _is(tensors, value)


def _is_emptied(facts: FileFacts, makers: list[FunctionFacts], pack: FunctionFacts, table: str) -> bool:
    """Whether something empties a table or makes a new one, or the hook itself makes room in it."""
    return any(
        one.how == "clear" or function is pack or (one.how == BOUND and not _is_among(function, makers))
        for function in facts.functions
        for one in emptyings(function, table.rpartition(".")[2])
        if one.how != BOUND or one.place[0] == m.ATTR or "." not in table
    )
