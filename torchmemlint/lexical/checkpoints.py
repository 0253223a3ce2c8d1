"""Second sets of weights: what `torch.load` gives and copies of modules, where they go, and for how long they stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, heads, last_name, nodes, statements

_WORDS = ("ckpt", "checkpoint", "state", "model", "weight", "resume", "pretrained", "optim", "snapshot")

_SMALL = ("scaler", "sched", "rng", "random", "metric", "statistic", "index", "config", "arg")

_RUN_STARTS = frozenset("setup on_fit_start on_train_start on_train_begin on_pretrain_routine_start".split())

_MODULES = frozenset("module model pl_module layer net network".split())


class Load(NamedTuple):
    """`place = torch.load(path)`."""

    site: Site  # of the statement
    call: Expr
    target: Expr | None
    named: bool  # the path or the place is called a checkpoint, a state or a model


def loads(function: FunctionFacts) -> Iterator[Load]:
    """The calls of `torch.load` in a function."""
    if "load" not in function.calls:
        return
    for statement, _ in statements(function.body):
        for call in calls_of(statement):
            if call[2] == (m.ATTR, (m.NAME, "torch"), "load"):
                target = None
                if statement[0] == m.ASSIGN and statement[3] == call and len(statement[2]) == 1:
                    target = statement[2][0]
                words = [str(node[-1]).lower() for part in (call[3], target or ()) for node in _names(part)]
                words += [last_name(other[2]).lower() for other in calls_of(statement) if other is not call]
                named = any(word in text for text in words for word in _WORDS)
                named = named and not any(word in text for text in words for word in _SMALL)
                yield Load(statement[1], call, target, named)


def parts_under_names(function: FunctionFacts, place: Expr) -> Iterator[tuple[Site, Expr]]:
    """The names that stand for a part of what was loaded, and go into a module: `states = checkpoint["model"]`."""
    for statement, _ in statements(function.body):
        if statement[0] == m.ASSIGN and len(statement[2]) == 1 and _is_part(statement[3], place):
            name = statement[2][0]
            if name[0] == m.NAME and name != place and consumed(function, name) >= 0:
                yield statement[1], name


def _is_part(value: Expr, place: Expr) -> bool:
    """`place["model"]`, `place.get("model", place)`, or either of such."""
    if value[0] == m.COND:
        return any(arm == place or _is_part(arm, place) for arm in value[2:])
    if value[0] == m.ITEM:
        return bool(value[1] == place)
    return bool(value[0] == m.CALL and value[2] == (m.ATTR, place, "get"))


def _names(part: object) -> Iterator[Expr]:
    return (node for node in nodes(part) if node[0] in (m.NAME, m.ATTR, m.CONST))  # type: ignore[arg-type]


def consumed(function: FunctionFacts, place: Expr) -> Site:
    """The last call of `load_state_dict` that takes a part of a place; -1 if there is none."""
    found = -1
    for statement, _ in statements(function.body):
        for call in calls_of(statement):
            if last_name(call[2]).startswith("load_state_dict") and any(
                node == place for argument in call[3] for node in nodes(argument)
            ):
                found = max(found, statement[1])
    return found


def wanted_after(function: FunctionFacts, place: Expr, parts: frozenset[str], site: Site = -1) -> bool:
    """Whether a place is named, bound again or deleted after a statement; but for asking whether it is there, and
    for small parts that are loaded nowhere, `place["epoch"]`."""
    return any(
        statement[1] > site and any(_wants(head, place, parts) for head in heads(statement))
        for statement, _ in statements(function.body)
    )


def _wants(expr: object, place: Expr, parts: frozenset[str]) -> bool:
    if type(expr) is not tuple or not expr:
        return False
    if expr == place:
        return True
    if expr[0] == m.ITEM and expr[1] == place:
        return expr[2][0] != m.CONST or expr[2][1] in parts
    if expr[0] == m.CALL and expr[2] == (m.ATTR, place, "get") and expr[3]:
        return expr[3][0][0] != m.CONST or expr[3][0][1] in parts
    if expr[0] == m.COND and expr[1] == place:
        return any(_wants(arm, place, parts) for arm in expr[2:])
    if expr[0] == m.NOT and expr[1] == place:
        return False
    if expr[0] == m.COMPARE and expr[1] in ("Is", "IsNot", "In", "NotIn"):
        return False
    return any(_wants(part, place, parts) for part in expr)


def loaded_parts(functions: Iterable[FunctionFacts], place: Expr) -> frozenset[str]:
    """The keys of the states that go into a module or an optimizer: "model", "optim"."""
    return frozenset(
        str(node[2][1])
        for function in functions
        for statement, _ in statements(function.body)
        for call in calls_of(statement)
        if last_name(call[2]).startswith("load_state_dict")
        for argument in call[3]
        for node in nodes(argument)
        if node[0] == m.ITEM and node[1] == place and node[2][0] == m.CONST
    )


class Copy(NamedTuple):
    """`self._name = deepcopy(module)` in a callback's hook at the start of a run."""

    site: Site
    name: str
    cls: str
    function: str


def copies_of_callbacks(program: Program) -> Iterator[Copy]:
    """Copies of modules that a callback makes for a run and that only its own methods can reach."""
    for place in program.places:
        if place.facts.name not in _RUN_STARTS or "deepcopy" not in place.facts.calls:
            continue
        if not any(base.endswith("Callback") for base in place.bases):
            continue
        for statement, _ in statements(place.facts.body):
            called = [last_name(call[2]) for call in calls_of(statement)]
            copied = any(
                last_name(call[2]) == "deepcopy" and call[3] and last_name(call[3][0]) in _MODULES
                for call in calls_of(statement)
            )
            name = _own_attribute(statement)
            if copied and name.startswith("_") and "cpu" not in called:
                yield Copy(statement[1], name, place.cls, place.facts.name)


def _own_attribute(statement: Stmt) -> str:
    """`layers` of `self.layers = ...`, `self.layers[key] = ...` and `self.layers.append(...)`; "" if it is none."""
    receivers = [call[2][1] for call in calls_of(statement) if call[2][0] == m.ATTR]
    for place in (*targets(statement), *receivers):
        while place[0] == m.ITEM:
            place = place[1]
        if place[0] == m.ATTR and place[1] == (m.NAME, "self"):
            return str(place[2])
    return ""
