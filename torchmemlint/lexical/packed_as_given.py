"""Pack hooks that give back the tensor which they are given, over a pass that nobody differentiates.

Many operations save their own result: `tanh`, `relu`, `softmax`. What the pack hook gives for it is kept by the node of
the operation, and a result refers to its node: a circle in the graph, which neither counting nor the collector frees
[docs: torch.autograd.graph.saved_tensors_hooks]. A backward pass lets go of what is saved, and ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.guarded import calls_by_mode, mentions
from ..facts.knowledge import LIGHT_RESULTS, MAY_COPY, VIEWS
from ..facts.model import Expr, FunctionFacts, Site, file_of
from ..facts.model_names import names_model
from ..facts.program import Block, Program, targets
from ..facts.walk import calls, heads, last_name, nodes, statements, with_conditions
from .keepers import kept_parts
from .packed import HOOKS, packs

_NAMED = (m.NAME, m.ATTR)
_MANAGERS = ("contextmanager", "asynccontextmanager")
_DIFFERENTIATES = frozenset("backward grad vjp jacobian hessian step".split())
_SAME = (VIEWS - MAY_COPY) | {"reshape", "flatten", "contiguous"}
_OF_LEAVES = frozenset("is_leaf Parameter grad_fn requires_grad is_parameter".split())
_READS = LIGHT_RESULTS | frozenset("print len float int str isinstance detach repr format info debug shape".split())


class PackedAsGiven(NamedTuple):
    """A pass whose graph nobody differentiates, and what is packed for it as it is."""

    site: Site
    run: bool  # it is said of the pass, as the hook is in another file
    other: Site  # of the two the other one


def packed_as_given(program: Program) -> Iterator[PackedAsGiven]:
    """Of hooks that this file or one that it imports sets, and passes that are made with them in sight."""
    given = dict(_hooks_that_give_back(program))
    for place in program.places if given else ():
        function = place.facts
        if not _DIFFERENTIATES.isdisjoint(function.calls):
            continue
        for block, returned in _entered(program, function, given):
            run = _pass_of_no_use(program, function, block)
            if run is not None:
                yield PackedAsGiven(returned, False, run)
                if file_of(run) != file_of(returned):
                    yield PackedAsGiven(run, True, returned)


# -- the hooks ----------------------------------------------------------------------------------------


def _hooks_that_give_back(program: Program) -> Iterator[tuple[str, Site]]:
    """By what contexts with such hooks are made, a class, a function, or the very name of torch's class in this
    function: where the tensor is returned."""
    facts = program.facts
    for number, function in enumerate(facts.functions):
        derives = function.owner >= 0 and any(last_name(one) == HOOKS for one in facts.classes[function.owner].bases)
        for pack in packs(facts, function, derives) if derives or HOOKS in function.calls else ():
            returned = _given_back(program, pack)
            if returned is None:
                continue
            yield f"{number}.{HOOKS}", returned
            if function.owner >= 0:
                names = {facts.classes[function.owner].name}
                names |= {cls.name for cls in facts.classes if any(last_name(base) in names for base in cls.bases)}
                yield from ((name, returned) for name in names)
            elif _makes_a_context(function):
                yield function.name, returned


def _makes_a_context(function: FunctionFacts) -> bool:
    if function.generator:
        return any(last_name(one) in _MANAGERS for one in function.decorators)
    return any(one[0] == m.RETURN and one[2] is not None and last_name(one[2]) == HOOKS for one in function.body)


def _given_back(program: Program, pack: FunctionFacts) -> Site | None:
    """Where a pack hook returns its tensor, or something that has it; not if it knows that it is nobody's result."""
    params = [param.name for param in pack.params if param.name != "self"]
    if not params or any((m.NAME, params[0]) in targets(one) for one in statements(pack.body)):
        return None
    for one, conditions in with_conditions(pack.body):
        if one[0] == m.RETURN and one[2] is not None and _has(program, one[2], params[0]):
            words = {part[-1] for test, holds in conditions if holds for part in nodes(test) if part[0] in _NAMED}
            if words.isdisjoint(_OF_LEAVES):
                return pack.site if pack.name == "<lambda>" else int(one[1])
    return None


def _has(program: Program, value: Expr, name: str) -> bool:
    """`x`, `(x, 0)`, `x.reshape(-1)`, `Packed(x)` of a class of the file that keeps it."""
    if value[0] == m.NAME:
        return bool(value[1] == name)
    if value[0] == m.NEW:
        return any(_has(program, part, name) for part in value[3])
    if value[0] == m.DICT:
        return any(_has(program, part, name) for _, part in value[2])
    if value[0] == m.COND:
        return any(_has(program, part, name) for part in value[2:])
    if value[0] != m.CALL:
        return False
    if value[2][0] == m.ATTR and value[2][2] in _SAME:
        return _has(program, value[2][1], name)
    classes = [cls for cls in program.facts.classes if value[2] == (m.NAME, cls.name)]
    kept = [keeps for cls in classes for _, keeps in kept_parts(program.facts, cls)]
    return any(keeps and _has(program, part, name) for part, keeps in zip(value[3], kept, strict=False))


# -- the pass -----------------------------------------------------------------------------------------


def _entered(program: Program, function: FunctionFacts, given: dict[str, Site]) -> Iterator[tuple[Block, Site]]:
    """The blocks of a function that run with such hooks, and where those return the tensor."""
    number = next(index for index, one in enumerate(program.facts.functions) if one is function)
    own = given.get(f"{number}.{HOOKS}")
    made: dict[Expr, Site] = {}
    for one in statements(function.body):
        value = one[3] if one[0] == m.ASSIGN else None
        returned = None if value is None else _made_with(value, given, own)
        made |= dict.fromkeys(targets(one), returned) if returned is not None else {}
        for context, _ in one[2] if one[0] == m.WITH else ():
            returned = made.get(context, _made_with(context, given, own))
            if returned is not None:
                yield one[3], returned


def _made_with(context: Expr, given: dict[str, Site], own: Site | None) -> Site | None:
    if context[0] != m.CALL:
        return None
    return own if last_name(context) == HOOKS else given.get(last_name(context))


def _pass_of_no_use(program: Program, function: FunctionFacts, block: Block) -> Site | None:
    """The first pass of a model in a block, with gradients on, if nothing that comes of it goes anywhere that might
    differentiate it: it is dropped, or asked for its shape and its numbers."""
    called = {last_name(call[2]) for call in calls(block)}
    within = [one.facts for name in called for one in program.by_name.get(name, ()) if name != "__init__"]
    if any(not _DIFFERENTIATES.isdisjoint(one.calls) for one in within):
        return None
    inside = {call[1] for call in calls(block)}
    runs = [call for call, off in calls_by_mode(function) if not off and call[1] in inside and _is_pass(program, call)]
    modes = [off for caller, off in mentions(program.facts, function.name) if caller is not function]
    if not runs or (modes and all(modes)) or _is_used(function, set(runs)):
        return None
    return int(runs[0][1])


def _is_pass(program: Program, call: Expr) -> bool:
    name = last_name(call[2])
    return name in program.models or names_model(name) or name == "forward"


def _is_used(function: FunctionFacts, runs: set[Expr]) -> bool:
    """Whether something of these passes is returned, kept or handed on."""
    results = set[str]()
    for one in statements(function.body):
        parts = [part for head in heads(one) for part in _beside_reads(head) if part not in targets(one)]
        if not any(part in runs or (part[0] == m.NAME and part[1] in results) for part in parts):
            continue
        if one[0] == m.ASSIGN and all(target[0] == m.NAME for target in targets(one)):
            results |= {target[1] for target in targets(one)}
        elif not (one[0] == m.EXPR and one[2] in runs):
            return True
    return False


def _beside_reads(expr: Expr) -> Iterator[Expr]:
    """What an expression is made of, without what is only asked for light things: `out.shape`, `loss.item()`."""
    yield expr
    if expr[0] == m.ATTR and expr[2] in _READS:
        return
    if expr[0] == m.CALL and expr[2][-1] in _READS:
        return
    for part in _parts(expr):
        yield from _beside_reads(part)


def _parts(expr: tuple[object, ...]) -> Iterator[Expr]:
    for part in expr[1:]:
        if type(part) is tuple and part:
            yield from (part,) if type(part[0]) is int else _parts((0, *part))
