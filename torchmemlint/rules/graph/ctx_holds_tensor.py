"""A custom autograd function keeps a tensor on `ctx` and not in the saved tensors.

## What it does
Reports `ctx.name = tensor` in the `forward` or `setup_context` of a
`torch.autograd.Function`, where the tensor is an input or an output of the
function, alone or inside a tuple, list or dict, or was computed in there for
the backward pass.

## Why it retains
Tensors given to `save_for_backward` are unpacked without an owner cycle and
are dropped as soon as the backward pass is over. An attribute has neither
property. Measured with torch 2.13 on the CPU:

- an *output* on `ctx` and the graph node own each other. One such cycle is
  freed by the garbage collector, so memory comes back late; in a chain of
  layers each collection frees only the last link, so n layers need n
  collections. When two outputs are stored, or an output and a view of it, the
  collector does not see the whole cycle: the outputs are never freed and every
  call adds one set;
- an *input* on `ctx`, or a temporary, makes no cycle by itself, but is not
  dropped by `backward()`: it stays as long as anything keeps the graph, for
  example the variable `loss` during the next forward pass, or a loss that is
  collected for a plot.

## When it is fine
- The attribute is no tensor: a shape, a flag, a number, a dtype.
- It is neither input nor output, and `backward` takes it off `ctx` when it has
  used it: `del ctx.grads`.

## How to release it
Call `ctx.save_for_backward(x, y)` once and read `ctx.saved_tensors` in
`backward`.

## References
- PyTorch documentation,
  `torch.autograd.function.FunctionCtx.save_for_backward`: tensors should be
  saved with it "as opposed to directly on ctx" to prevent "incorrect gradients
  and memory leaks".
- PyTorch documentation, "Extending PyTorch".
- What is collected and what is not: measured by this rule's fixtures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.model import Expr, Param, Site
from ...facts.program import Place, targets
from ...facts.walk import calls, calls_of, last_name, statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import ANY, ATTACHED, SCALAR, Class, Obj, tensors
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.events import Plain

code = "TML106"
name = "ctx-holds-tensor"
retains: Retains | None = Retains.GROWING
# no tensors, or parameters, which live as long as the module
_LIVES_ANYWAY = frozenset("group groups pg comm handle event stream weight weights bias biases quant quants".split())
_SMALL = ("splits", "sizes", "lengths", "shape", "seqlens", "counts", "rng_state", "random_state")
# A buffer of the caller that the backward pass writes to: what is saved for it must not change.
_WRITTEN_BACK = re.compile(r"(?:^|_)[a-z]?grad_?.*(?:out|buf|buffer|acc)(?:_|$)")
_PLAIN = frozenset(("bool", "int", "float", "str"))
_TEMPORARY = "what the function computed for its backward pass"


def check(evidence: Evidence) -> Iterator[Report]:
    found = list(_kept(evidence))
    together: dict[int, list[str]] = {}
    for note, _, _ in found:
        together.setdefault(note.frame.facts.site, []).append(note.detail[0])
    for note, weight, value in found:
        ctx = _called(note)
        place = f"{ctx}.{note.detail[0]}"
        worse = "" if value == _TEMPORARY else ", and an output kept there is never freed"
        yield Report(
            site=note.site,
            message=(
                f"`{place}` keeps a tensor as long as the graph lives, also after backward{worse}; "
                f"use `{ctx}.save_for_backward`"
            ),
            confidence=Confidence(weight),
            value=value,
            holder=place,
            release=f"pass it to `{ctx}.save_for_backward(...)` and read `{ctx}.saved_tensors`",
            remedy=Remedy("save-for-backward", " ".join(together[note.frame.facts.site]), sure=False),
        )


def _called(note: Plain) -> str:
    """What the function calls its context: the first functions of this kind had themselves for one, `self.x = x`."""
    for statement in statements(note.frame.facts.body):
        for target in targets(statement) if statement[1] == note.site else ():
            if target[0] == m.ATTR and target[2] == note.detail[0] and target[1][0] == m.NAME:
                return str(target[1][1])
    return "ctx"


def _kept(evidence: Evidence) -> Iterator[tuple[Plain, int, str]]:
    """Tensors that a function keeps on its `ctx`, with the weight of the evidence: each place once."""
    found: dict[Site, tuple[Plain, int, str]] = {}
    for one in _stores(evidence):
        if one[0].site not in found or one[1] > found[one[0].site][1]:
            found[one[0].site] = one
    yield from found.values()


def _stores(evidence: Evidence) -> Iterator[tuple[Plain, int, str]]:
    """As the first caller shows them, and as the function by itself does."""
    seen: set[Site] = set()
    for note in evidence.machine.plain:
        if note.kind != "context-store" or not evidence.machine.is_home(note.site):
            continue
        if note.site in seen and note.trail:
            continue
        seen.add(note.site)
        name, value, given = note.detail
        given_back = _is_returned(note)
        if not given_back and _lives_anyway(name):
            continue
        if name.lower().endswith(_SMALL):
            continue
        if _WRITTEN_BACK.search(name.lower()) or _is_number(evidence, note):
            continue
        if _is_let_go_again(note, name):
            continue
        if not given_back and (_is_of_the_module(note) or _is_kept_anyway(evidence, note)):
            continue
        if any(type(atom) is Obj and isinstance(atom.cls, Class) for atom in value):
            continue  # an object of the project that has a tensor sees to it itself
        returned = {tensor.node for tensor in evidence.machine.reach(note.frame.returns)}
        kept = evidence.machine.reach(value, 2)
        kept = [one for one in kept if one.size != SCALAR or one.graph == ATTACHED or one.node in returned]
        weights = [tensor.weight for tensor in kept if tensor.node in given or tensor.node in returned]
        if given_back:
            weights.append(2)  # what a function gives is a tensor, however it was made
        made = [tensor.weight for tensor in tensors(value) if tensor.size == ANY]
        if not (max(weights, default=0) >= 2 or max(made, default=0) >= 2) or _taken_off(note, name, bool(weights)):
            continue
        if max(weights, default=0) >= 2:
            yield note, min(max(weights), 3), "input or output of the function"
        else:
            yield note, 2, _TEMPORARY


def _lives_anyway(name: str) -> bool:
    return not _LIVES_ANYWAY.isdisjoint(name.lower().split("_"))


def _is_let_go_again(note: Plain, name: str) -> bool:
    """Whether the function empties the place before it returns, `ctx.parts = []`, having saved what was in it."""
    return any(
        one[0] == m.ASSIGN
        and one[1] > note.site
        and (one[3] in ((m.CONST, None), (m.DICT, one[3][1], ())) or (one[3][0] == m.NEW and not one[3][3]))
        and any(target[0] == m.ATTR and target[2] == name for target in one[2])
        for one in note.frame.facts.body
    )


def _is_number(evidence: Evidence, note: Plain) -> bool:
    """Whether what is kept is a parameter that says it is a number, a flag or a text, or that is given one."""
    params = note.frame.facts.params
    plain = {(m.NAME, one.name) for one in params if _says_plain(one)}
    kept = [one[3] for one in statements(note.frame.facts.body) if one[0] == m.ASSIGN and one[1] == note.site]
    if any(value in plain for value in kept):
        return True
    return any(_are_numbers(evidence, given) for given in _given(evidence, note))


def _given(evidence: Evidence, note: Plain) -> list[list[tuple[Place, Expr | None]]]:
    """Of each parameter that is kept, what all calls in the file give for it, and where: `Steps.apply(x, self.size)`,
    also by a name that the file has for that, `steps = Steps.apply`."""
    function = note.frame.function
    if function is None or function.owner is None:
        return []
    kept = [one[3] for one in statements(note.frame.facts.body) if one[0] == m.ASSIGN and one[1] == note.site]
    places = [place for place, one in enumerate(note.frame.facts.params) if (m.NAME, one.name) in kept]
    applied = (m.ATTR, (m.NAME, function.owner.facts.name), "apply")
    named = (one for one in evidence.facts.functions[0].body if one[0] == m.ASSIGN and one[3] == applied)
    names = {applied, *(target for one in named for target in one[2])}
    calling = [(one, call[3]) for one in evidence.program.places for call in calls(one.facts.body) if call[2] in names]
    # the `ctx` is none of what a call gives
    return [[(at, given[place - 1] if place <= len(given) else None) for at, given in calling] for place in places]


def _are_numbers(evidence: Evidence, given: list[tuple[Place, Expr | None]]) -> bool:
    """Whether it is a number each time, whatever the annotation says: the constructor has `size: int = 64`."""
    plain = {one.name for place in evidence.program.places for one in place.facts.params if _says_plain(one)}
    return bool(given) and all(value is not None and last_name(value) in plain for _, value in given)


def _is_kept_anyway(evidence: Evidence, note: Plain) -> bool:
    """Whether what is kept is each time what the caller's object has had since it was made, `self.order`: that is there
    for longer than any graph."""
    return any(
        given and all(value is not None and _has_from_the_start(evidence, at, value) for at, value in given)
        for given in _given(evidence, note)
    )


def _has_from_the_start(evidence: Evidence, place: Place, value: Expr) -> bool:
    binding = {
        one.facts.name
        for one in evidence.program.places
        if one.cls and one.cls == place.cls
        for statement in statements(one.facts.body)
        if value in targets(statement)
    }
    return value[:2] == (m.ATTR, (m.NAME, "self")) and binding == {"__init__"}


def _is_of_the_module(note: Plain) -> bool:
    """Whether what is kept are weights that the function is given, and numbers: `ctx.kept = (weight, quant, scale)`."""
    body, params = note.frame.facts.body, {one.name: one for one in note.frame.facts.params}
    kept: Expr = (m.CONST, None)
    kept = next((one[3] for one in statements(body) if one[0] == m.ASSIGN and one[1] == note.site), kept)
    names = [str(one[1]) for one in _names(kept)]
    if not names or len(names) != (len(kept[3]) if kept[0] == m.NEW else 1) or not params.keys() >= set(names):
        return False
    made = {part for one in statements(body) if one[0] == m.ASSIGN for target in one[2] for part in _names(target)}
    weights = {name for name in names if "W" in name.split("_") or _lives_anyway(name)}
    plain = all(_says_plain(params[name]) for name in set(names) - weights)
    return bool(weights) and plain and all((m.NAME, name) not in made for name in names)


def _says_plain(param: Param) -> bool:
    return param.hint is not None and param.hint[-1] in _PLAIN


def _is_returned(note: Plain) -> bool:
    """Whether what is kept is what the function returns, by its name, alone or with others, or a part of it:
    `times, states = found`, `ctx.times = times`, `return found`."""
    bound: dict[Expr, Site] = {}
    kept: set[Expr] = set()
    parts: dict[Expr, set[Expr]] = {}
    for statement in statements(note.frame.facts.body):
        if statement[0] == m.ASSIGN and statement[1] == note.site:
            kept.update(_names(statement[3]))
        elif statement[0] == m.ASSIGN and statement[3][0] != m.CONST:  # `probs = None` gives no tensor back
            bound.update((name, statement[1]) for target in statement[2] for name in _names(target))
            parts.setdefault(statement[3], set()).update(
                name for target in statement[2] if target[0] == m.NEW for name in _names(target)
            )
        elif statement[0] == m.RETURN and statement[2] is not None:
            whole = _names(statement[2])
            given = kept.intersection(whole).union(*(kept & parts.get(name, set()) for name in whole))
            if any(bound.get(name, note.site) < note.site for name in given):
                return True
    return False


def _names(value: Expr) -> tuple[Expr, ...]:
    """The names in a tuple or list, or among the values of a dictionary, or the one that stands alone."""
    parts = value[3] if value[0] == m.NEW else (value,)
    if value[0] == m.DICT:
        parts = tuple(item for _, item in value[2])
    return tuple(part for part in parts if part[0] == m.NAME)


def _taken_off(note: Plain, name: str, given: bool) -> bool:
    """Whether another method of the class lets the attribute go, `ctx.grads = None`, `del ctx.grads`, or takes out what
    is in it, `ctx.outputs.pop()`, as it does where it empties the storages of what the function was `given`."""
    function = note.frame.function
    if function is None or function.owner is None:
        return False
    facts = note.frame.unit.facts
    for index in function.owner.facts.methods.values():
        for statement in statements(facts.functions[index].body):
            emptied = statement[0] == m.DELETE or (statement[0] == m.ASSIGN and statement[3] == (m.CONST, None))
            if emptied and not given and any(one[0] == m.ATTR and one[2] == name for one in statement[2]):
                return True
            taken = (call[2] for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][2] in ("pop", "clear"))
            if any(callee[1][0] == m.ATTR and callee[1][2] == name for callee in taken):
                return True
    return False
