"""What hooks put on the modules that they are given, and nobody takes off when the hooks are removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import FileFacts, FunctionFacts, Site
from ..facts.program import expressions
from ..facts.walk import calls, last_name, nodes, statements
from ..interpreter.values import FEW, SCALAR, Obj

if TYPE_CHECKING:
    from ..facts.releases import Releases
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine

_DELETES = ("delattr", "__delattr__")


class Leftover(NamedTuple):
    """An attribute of a module with what a hook saw last."""

    site: Site
    attribute: str
    module: str  # what the hook calls it


def left_by_hooks(machine: Machine, releases: Releases) -> Iterator[Leftover]:
    """Attributes that only hooks use, of modules that live on, in a file that takes its hooks out again."""
    facts = machine.facts
    called = {name for function in facts.functions for name in function.calls}
    if not any("remove" in name for name in called) or not called.isdisjoint(_DELETES) or releases.wholesale(""):
        return
    hooks = _hooks(facts)
    said: set[Site] = set()
    for store in machine.stores:
        if not machine.is_home(store.site) or store.site in said or not _is_activation(store):
            continue
        module = _given_module(store)
        if not module or releases.of(store.key) - hooks or _users(facts, store.key) - hooks:
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


def _users(facts: FileFacts, attribute: str) -> set[str]:
    return {function.name for function in facts.functions if _uses(function, attribute)}


def _uses(function: FunctionFacts, attribute: str) -> bool:
    return any(
        (expr[0] == m.ATTR and expr[2] == attribute) or expr == (m.CONST, attribute)
        for expr in expressions(function.body)
    )
