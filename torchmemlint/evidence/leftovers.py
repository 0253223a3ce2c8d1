"""What hooks put on the modules that they are given, and nobody takes off when the hooks are removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import expressions, targets
from ..facts.walk import calls, expressions_of, last_name, nodes, statements
from ..interpreter.values import FEW, SCALAR, Obj

if TYPE_CHECKING:
    from ..facts.releases import Releases
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine

_DELETES = ("delattr", "__delattr__")
_MAKERS = frozenset(("__init__",))
_LEVELS = 3  # of helpers of helpers


class Leftover(NamedTuple):
    """An attribute of a module with what a hook saw last."""

    site: Site
    attribute: str
    module: str  # what the hook calls it


def left_by_hooks(machine: Machine, releases: Releases) -> Iterator[Leftover]:
    """Attributes that only hooks use, of modules that live on, in a file that takes its hooks out again."""
    facts = machine.facts
    called = {name for function in facts.functions for name in function.calls}
    if not any("remove" in name for name in called) or not called.isdisjoint(_DELETES):
        return
    stores = [store for store in machine.stores if machine.is_home(store.site) and _is_activation(store)]
    if not stores or releases.wholesale(""):
        return
    hooks = _with_their_helpers(facts, _hooks(facts))
    said: set[Site] = set()
    for store in stores:
        module = "" if store.site in said else _given_module(store)
        if not module:
            continue
        others = (releases.of(store.key) | _users(facts, store.key)) - hooks
        if others - _MAKERS or (others and not _only_begins(facts, store.key)):
            continue
        said.add(store.site)
        yield Leftover(store.site, store.key, module)


def _is_activation(store: Store) -> bool:
    """Whether a hook binds an attribute of a module to a tensor that may be large. A `weight` is what the module
    computes with."""
    on_module = store.hook and store.how == "set" and isinstance(store.owner, Obj) and store.owner.kind == "module"
    large = any(tensor.size not in (SCALAR, FEW) and tensor.weight > 1 for tensor in store.tensors)
    return on_module and large and not store.key.startswith(("weight", "bias"))


def _given_module(store: Store) -> str:
    """The parameter of the hook that the module is, if it is that which gets the attribute."""
    params = store.frame.facts.params[store.frame.receiver is not None :]
    name = params[0].name if params else ""
    written = (m.ATTR, (m.NAME, name), store.key)
    body = statements(store.frame.facts.body)
    return name if any(s[1] == store.site and s[0] == m.ASSIGN and written in s[2] for s in body) else ""


def _hooks(facts: FileFacts) -> set[str]:
    """The functions that are registered as hooks."""
    return {
        last_name(part)
        for function in facts.functions
        for call in calls(function.body)
        if last_name(call[2]).startswith("register_") and last_name(call[2]).endswith("hook") and call[3]
        for part in nodes(call[3][0])
    }


def _with_their_helpers(facts: FileFacts, hooks: set[str]) -> set[str]:
    """The hooks, and the functions that nobody but them calls, also by way of a table of such functions."""
    users = [(function.name, _mentioned(function)) for function in facts.functions[1:]]
    tables = [pair for statement in facts.functions[0].body for pair in _bound(statement)]
    tables += [pair for function in facts.functions[1:] for one in _tables_in(function) for pair in _bound(one)]
    for _ in range(_LEVELS):
        found = set(hooks)
        for name, _used in users:
            ways = {name, *(table for table, named in tables if name in named)}
            by = {user for user, used in users if user != name and not ways.isdisjoint(used)}
            if by and by <= hooks:
                found.add(name)
        if found == hooks:
            break
        hooks = found
    return hooks


def _mentioned(function: FunctionFacts) -> set[str]:
    """The names that a function uses for more than asking whether something is among them, `kind not in RULES`, making
    a table of them, `layer.rules = {nn.ReLU: rectified}`, or taking that off again."""
    parts = list(expressions(function.body))
    left_out = {id(side) for part in parts if part[0] == m.COMPARE for side in part[2:4]}
    for one in _tables_in(function):
        left_out |= {id(part) for part in nodes(one[3])} | {id(target) for target in one[2]}
    for one in statements(function.body):
        left_out |= {id(target) for target in one[2]} if one[0] == m.DELETE else set()
    return {last_name(part) for part in parts if part[0] in (m.NAME, m.ATTR) and id(part) not in left_out}


def _tables_in(function: FunctionFacts) -> list[Stmt]:
    """The statements of a function that bind a display: `layer.rules = {nn.ReLU: rectified}`."""
    bound = (one for one in statements(function.body) if one[0] == m.ASSIGN and one[3][0] in (m.DICT, m.NEW))
    return [one for one in bound if all(target[0] in (m.NAME, m.ATTR) for target in one[2])]


def _bound(statement: Stmt) -> Iterator[tuple[str, set[str]]]:
    """The names that a statement of the module binds, each with the names in what it is bound to."""
    if statement[0] not in (m.ASSIGN, m.ANNOTATE):
        return
    targets, value = (statement[2], statement[3]) if statement[0] == m.ASSIGN else ((statement[2],), statement[4])
    named = {last_name(part) for part in nodes(value or ()) if part[0] in (m.NAME, m.ATTR)}
    yield from ((last_name(target), named) for target in targets)


def _only_begins(facts: FileFacts, attribute: str) -> bool:
    """Whether constructors do no more to an attribute than to begin with none, `self.output = None`: that lets nothing
    go, whichever of the modules they make."""
    used = (one for function in facts.functions if function.name in _MAKERS for one in statements(function.body))
    begins = ((m.ATTR, (m.NAME, "self"), attribute),)
    return all(
        one[0] == m.ASSIGN and one[2] == begins and one[3] == (m.CONST, None)
        for one in used
        if any(expr[0] == m.ATTR and expr[2] == attribute for expr in expressions_of(one))
        or any(target[0] == m.ATTR and target[2] == attribute for target in targets(one))
    )


def _users(facts: FileFacts, attribute: str) -> set[str]:
    return {function.name for function in facts.functions if _uses(function, attribute)}


def _uses(function: FunctionFacts, attribute: str) -> bool:
    return any(
        (expr[0] == m.ATTR and expr[2] == attribute) or expr == (m.CONST, attribute)
        for expr in expressions(function.body)
    )
