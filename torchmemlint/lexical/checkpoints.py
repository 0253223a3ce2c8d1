"""Second sets of weights: what `torch.load` gives and copies of modules, where they go, and for how long they stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, heads, last_name, nodes, statements

_WORDS = ("ckpt", "checkpoint", "state", "model", "weight", "resume", "pretrained", "optim", "snapshot")
_SMALL = ("scaler", "sched", "rng", "random", "metric", "statistic", "index", "config", "arg", "dataloader", "sampler")
_OF_NUMBERS = ("sched", "scaler", "stopp", "sampler", "loader", "dataloader")  # what has no tensors for a state
TAKES_OVER = (*_OF_NUMBERS, "optim")  # what takes loaded tensors for its own [torch.optim.Optimizer; measured]
_RUN_STARTS = frozenset("setup on_fit_start on_train_start on_train_begin on_pretrain_routine_start".split())
MODULES = frozenset("module model pl_module layer net network".split())
_OF_DICTS = frozenset("items keys values get pop popitem update setdefault copy clear".split())


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
    for statement in statements(function.body):
        for call in calls_of(statement):
            if call[2] == (m.ATTR, (m.NAME, "torch"), "load"):
                target = None
                if statement[0] == m.ASSIGN and statement[3] == call and len(statement[2]) == 1:
                    target = statement[2][0]
                elif statement[0] == m.ANNOTATE and statement[4] == call:
                    target = statement[2]
                words = [str(node[-1]).lower() for part in (call[3], target or ()) for node in telling(part)]
                words += [last_name(other[2]).lower() for other in calls_of(statement) if other is not call]
                named = any(word in text for text in words for word in _WORDS)
                named = named and not any(word in text for text in (*words, function.name) for word in _SMALL)
                yield Load(statement[1], call, target, named)


def names_host(value: Expr) -> bool:
    """`to_cpu(state)`, `move(state, torch.device("cpu"))`"""
    return any(
        node == (m.CONST, "cpu") or (node[0] in (m.NAME, m.ATTR) and "cpu" in str(node[-1]).lower().split("_"))
        for node in nodes(value)
    )


def is_model(functions: Iterable[FunctionFacts], place: Expr) -> bool:
    """Whether what was loaded has more than a dictionary has, `self.model.state_dict()`: it is no second set."""
    return any(
        node[0] == m.ATTR and node[1] == place and node[2] not in _OF_DICTS
        for function in functions
        for one in statements(function.body)
        for node in expressions_of(one)
    )


def parts_under_names(
    function: FunctionFacts, place: Expr, used: Callable[[Expr], Site]
) -> Iterator[tuple[Site, Expr]]:
    """The names that stand for a part of what was loaded, and go into a module: `states = checkpoint["model"]`; `used`:
    where a name does, or -1."""
    for statement in statements(function.body):
        if statement[0] == m.ASSIGN and len(statement[2]) == 1 and is_part(statement[3], place):
            name = statement[2][0]
            if name[0] == m.NAME and name != place and used(name) >= 0:
                yield statement[1], name


def is_part(value: Expr, place: Expr) -> bool:
    """`place["model"]`, `place.get("model", place)`, or either of such."""
    if value[0] == m.COND:
        return any(arm == place or is_part(arm, place) for arm in value[2:])
    if value[0] == m.ITEM:
        return bool(value[1] == place)
    return bool(value[0] == m.CALL and value[2] == (m.ATTR, place, "get"))


def _names(part: object) -> Iterator[Expr]:
    return (node for node in nodes(part) if node[0] in (m.NAME, m.ATTR, m.CONST))  # type: ignore[arg-type]


def telling(part: object) -> Iterator[Expr]:
    """The names in a path but those of the settings that have it: `args.resume`, `kwargs["checkpoint"]`."""
    settings = {id(node[1]) for node in nodes(part) if node[0] in (m.ATTR, m.ITEM) and _are_settings(node[1])}  # type: ignore[arg-type]
    return (node for node in _names(part) if id(node) not in settings)


def consumed(function: FunctionFacts, place: Expr) -> Site:
    """The last call of `load_state_dict` that copies a part of a place; -1 if there is none, or only what has numbers
    for a state takes of it, such as a scheduler, or an optimizer, to which the loaded tensors belong then."""
    found, heavy = -1, False
    light = _OF_NUMBERS if any(map(names_host, _loaded_into(function, place))) else TAKES_OVER
    for statement in statements(function.body):
        for call in calls_of(statement):
            copies = last_name(call[2]).startswith("load_state_dict") and ("assign", (m.CONST, True)) not in call[4]
            if copies and any(node == place for argument in call[3] for node in nodes(argument)):
                found = max(found, statement[1])
                heavy |= not is_of(call, light)
    return found if heavy else -1


def _loaded_into(function: FunctionFacts, place: Expr) -> list[Expr]:
    """What a place is bound to, and what it is a part of: `state = loaded.get("optimizer")`."""
    bound = [one for one in statements(function.body) if one[0] == m.ASSIGN]
    own = [one[3] for one in bound if place in one[2]]
    return own + [one[3] for one in bound if any(target in nodes(value) for value in own for target in one[2])]


def is_of(call: Expr, words: tuple[str, ...]) -> bool:
    """Whether a method is one of what is called so: `self.lr_scheduler.load_state_dict(...)`, `schedulers[0]....`."""
    owner = call[2][1] if call[2][0] == m.ATTR else None
    while owner is not None and owner[0] == m.ITEM:
        owner = owner[1]
    named = last_name(owner).lower().split("_") if owner is not None else ()
    return any(part.startswith(words) or (part in ("opt", "opts") and "optim" in words) for part in named)


def wanted_after(function: FunctionFacts, place: Expr, parts: frozenset[str], site: Site = -1) -> bool:
    """Whether a place is named, bound again or deleted after a statement; but for asking whether it is there, and
    for small parts that are loaded nowhere, `place["epoch"]`."""
    return any(
        statement[1] > site
        and not (statement[0] == m.IF and statement[2] == place)
        and any(_wants(head, place, parts) for head in heads(statement))
        for statement in statements(function.body)
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
        for statement in statements(function.body)
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
        for statement in statements(place.facts.body):
            called = [last_name(call[2]) for call in calls_of(statement)]
            copied = any(
                last_name(call[2]) == "deepcopy" and call[3] and last_name(call[3][0]) in MODULES
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


def _are_settings(owner: Expr) -> bool:
    return owner[0] in (m.NAME, m.ATTR) and str(owner[-1]).lower().endswith(("args", "config"))
