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
from ..facts.program import targets, text
from ..facts.walk import calls, last_name, nodes, statements, with_tests

_HOOKS = "saved_tensors_hooks"


class Packed(NamedTuple):
    site: Site
    table: str
    taken: bool  # anything takes an entry out


def never_unpacked(facts: FileFacts) -> Iterator[Packed]:
    """The tables of objects that keep what was packed, where nothing empties them for the next step."""
    own = {i for i, cls in enumerate(facts.classes) if any(last_name(base) == _HOOKS for base in cls.bases)}
    if not own and not any(_HOOKS in function.calls for function in facts.functions):
        return
    all_run_back = _differentiates_all(facts, {_HOOKS, *(facts.classes[i].name for i in own)})
    for function in facts.functions:
        said: set[str] = set()
        for pack in _packs(facts, function, function.owner in own):
            for site, table in _filled(pack):
                if table in said or _is_emptied(facts, function, pack, table):
                    continue
                taken = _is_taken(facts, function, table)
                if not taken or not (all_run_back or _must_be_empty(facts, table)):
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


def _is_taken(facts: FileFacts, made_by: FunctionFacts, table: str) -> bool:
    """Whether anything takes entries out of a table, but for the function that makes it."""
    name = table.rpartition(".")[2]
    return any(True for one in facts.functions if one is not made_by for _ in emptyings(one, name))


def _must_be_empty(facts: FileFacts, table: str) -> bool:
    """Whether something is raised where a table still has entries, `if len(self.table) != 0: raise ...`."""
    return any(
        one[0] == m.RAISE and any(text(part[3][0]) == table for test in tests for part in _sizes(test))
        for function in facts.functions
        for one, tests in with_tests(function.body)
    )


def _sizes(test: Expr) -> Iterator[Expr]:
    return (part for part in nodes(test) if part[0] == m.CALL and part[2] == (m.NAME, "len") and len(part[3]) == 1)


def _packs(facts: FileFacts, function: FunctionFacts, derives: bool) -> Iterator[FunctionFacts]:
    """The pack hooks that a function sets: its own inner ones, or methods of its object."""
    for call in calls(function.body):
        base = derives and call[2][0] == m.ATTR and call[2][2] == "__init__"
        if not (base or last_name(call[2]) == _HOOKS) or len(call[3]) < 2:
            continue
        name = last_name(call[3][0])
        inner = function.inner if call[3][0][0] == m.NAME else ()
        methods = facts.classes[function.owner].methods if function.owner >= 0 and not inner else {}
        yield from (facts.functions[index] for index in inner if facts.functions[index].name == name)
        if name in methods:
            yield facts.functions[methods[name]]


def _filled(pack: FunctionFacts) -> Iterator[tuple[Site, str]]:
    """Where a pack hook puts the tensor, or what it makes of it, into a table of an object."""
    tensors = {param.name for param in pack.params[-1:]}
    for statement in statements(pack.body):
        if statement[0] != m.ASSIGN or not any(_is(tensors, node) for node in nodes(statement[3])):
            continue
        for target in targets(statement):
            if target[0] == m.NAME and statement[3][0] == m.CALL and statement[3][2][0] == m.ATTR:
                tensors.add(target[1])  # `tensor.to("cpu")`
            if target[0] == m.ITEM and text(target[1]).startswith("self.") and _keeps(tensors, statement[3]):
                yield statement[1], text(target[1])


def _is(names: set[str], node: Expr) -> bool:
    return bool(node[0] == m.NAME and node[1] in names)


def _keeps(tensors: set[str], value: Expr) -> bool:
    """`tensor`, `(tensor, True)`, `tensor.cpu()`; not `tensor.shape`."""
    if value[0] == m.NEW:
        return any(_keeps(tensors, part) for part in value[3])
    if value[0] == m.CALL and value[2][0] == m.ATTR:
        return value[2][2] in ("to", "cpu", "detach", "clone", "pin_memory") and _keeps(tensors, value[2][1])
    return _is(tensors, value)


def _is_emptied(facts: FileFacts, made_by: FunctionFacts, pack: FunctionFacts, table: str) -> bool:
    """Whether something empties a table or makes a new one, or the hook itself makes room in it."""
    return any(
        one.how == "clear" or function is pack or (one.how == BOUND and function is not made_by)
        for function in facts.functions
        for one in emptyings(function, table.rpartition(".")[2])
        if one.how != BOUND or one.place[0] == m.ATTR
    )
