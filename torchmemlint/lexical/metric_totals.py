"""What a metric sums up of a model's outputs, with the graph that these have where they come from.

A file that makes such an object shows what it is given: there the abstract run decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.knowledge import GRAD_MODES
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, last_name, nodes, statements

_ADDS = frozenset(("add_", "lerp_", "addcmul_"))
_CUTS = knowledge.GRAPH_FREE | knowledge.LIGHT_RESULTS | frozenset(("detach", "detach_", "size", "dim", "numel"))
_PLAIN = frozenset("data shape dtype device grad ndim".split())
_SELF = (m.NAME, "self")

_UPDATES = ("update", "_update")
_PROTOCOL = frozenset(("reset", "compute"))
_OUTPUTS = ("output", "pred", "logits", "y_hat")
_TARGETS = frozenset("y y_true target targets label labels gt mask".split())
_WITHOUT_GRAPH = ("torchmetrics.", "pytorch_lightning.", "lightning.")  # whose `Metric` updates with gradients off


class Total(NamedTuple):
    """`place` is computed from itself and from `given` at each update of a metric."""

    site: Site
    place: str
    given: str


def metric_totals(program: Program, whole: Callable[[], Program]) -> Iterator[Total]:
    """Sums of what the `update` of a metric computes of a model's outputs, where none of its methods sees to the
    gradients, nor one that it inherits from another file, which `whole` has behind those of this one."""
    for klass in program.facts.classes if program.called.isdisjoint(_UPDATES[:1]) else ():
        if _is_made(program, klass):
            continue
        line = list(_line(program, klass))
        if not _is_metric(program, line):
            continue
        functions = whole().facts.functions
        methods = [functions[index] for one in _line(whole(), klass) for index in one.methods.values()]
        if any(method.flags & m.MODE or "detach" in method.calls for method in methods):
            continue
        for name in _UPDATES:
            method = program.facts.functions[klass.methods[name]] if name in klass.methods else None
            if method is not None and not any(last_name(one) in GRAD_MODES for one in method.decorators):
                yield from _summed_up(program, method)


def _line(program: Program, klass: ClassFacts) -> Iterator[ClassFacts]:
    """A class, and those of its file that it comes from."""
    by_name = {one.name: one for one in program.facts.classes}
    names, seen = [klass.name], set[str]()
    by_name[klass.name] = klass
    for name in names:
        one = by_name.get(name) if name not in seen else None
        seen.add(name)
        if one is not None:
            yield one
            names += [last_name(base) for base in one.bases]


def _is_metric(program: Program, line: list[ClassFacts]) -> bool:
    """Whether a class has a metric's methods, itself or from where it comes from: what is called `EpochMetric` and is
    not in the file has them."""
    own = {one.name for one in line}
    bases = [program.dotted(base) for one in line for base in one.bases if last_name(base) not in own]
    if any(base.startswith(_WITHOUT_GRAPH) for base in bases):
        return False
    has = {name for one in line for name in one.methods}
    return has >= _PROTOCOL or ("reset" in has and any(base.endswith("Metric") for base in bases))


def _is_made(program: Program, klass: ClassFacts) -> bool:
    """Whether the file makes such an object, in other functions than those that return it."""
    for function in program.facts.functions if klass.name in program.called else ():
        if klass.name not in function.calls:
            continue
        body = statements(function.body)
        given = {one[2] for one in body if one[0] == m.RETURN}
        for one in body:
            handed = given.intersection(targets(one)) or one[0] == m.RETURN
            if not handed and any(last_name(call[2]) == klass.name for call in calls_of(one)):
                return True
    return False


def _summed_up(program: Program, method: FunctionFacts) -> Iterator[Total]:
    given = [param.name for param in method.params if any(word in param.name for word in _OUTPUTS)]
    for one, made_of in _followed(program, method, dict(zip(given, given, strict=True))):
        for place, value in _added(one):
            found = _given(program, value, made_of) if place[0] == m.ATTR and place[1] == _SELF else ""
            if found and any(part[0] == m.CALL for part in nodes(value)):
                yield Total(one[1], f"self.{place[2]}", found)


def _followed(
    program: Program, method: FunctionFacts, made_of: dict[str, str]
) -> Iterator[tuple[Stmt, dict[str, str]]]:
    """The statements of a method, each with the names that are computed from what it is given by then."""
    for one in statements(method.body):
        yield one, made_of
        for target, value in list(_bound(one)):
            given = _given(program, value, made_of)
            made_of.pop(target, None)
            if given and target not in _TARGETS:
                made_of[target] = given


def _added(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What is added to what is there: in place, `place += value`, or `place = decay * place + value`."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _ADDS and call[3]:
            place = call[2][1]
            while place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2][-1:] == "_":
                place = place[2][1]
            yield place, call[3][0]
    if statement[0] == m.AUGMENT:
        yield statement[2], statement[4]
    elif statement[0] == m.ASSIGN:
        yield from ((target, statement[3]) for target in statement[2] if target in nodes(statement[3]))


def _bound(statement: Stmt) -> Iterator[tuple[str, Expr]]:
    """The names that a statement binds, each with what it gets."""
    if statement[0] != m.ASSIGN:
        return
    value = statement[3]
    found = targets(statement)
    apart = value[0] == m.NEW and len(value[3]) == len(found)
    for index, target in enumerate(found):
        if target[0] == m.NAME:
            yield target[1], value[3][index] if apart else value


def _given(program: Program, value: Expr, made_of: dict[str, str]) -> str:
    """The parameter that a value is computed from, by operations that keep the graph; "" if none is."""
    op = value[0]
    if op == m.NAME:
        return made_of.get(value[1], "")
    if op == m.ATTR:
        return "" if value[2] in _PLAIN else _given(program, value[1], made_of)
    if op == m.ITEM:
        return _given(program, value[1], made_of)
    if op == m.UNARY:
        return _given(program, value[1], made_of)
    if op == m.ARITH:
        return _given(program, value[2], made_of) or _given(program, value[3], made_of)
    if op == m.NEW:
        return next((one for part in value[3] if (one := _given(program, part, made_of))), "")
    if op != m.CALL or last_name(value[2]) in _CUTS:
        return ""
    if value[2][0] == m.ATTR:
        found = _given(program, value[2][1], made_of)
        if found or not program.dotted(value[2]).startswith("torch."):
            return found
        return next((one for part in value[3] if (one := _given(program, part, made_of))), "")
    return ""
