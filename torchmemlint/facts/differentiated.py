"""What a value is computed from, so far as it must have a graph where the value is back-propagated."""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr
from .walk import nodes

_ROOTS = frozenset(("torch", "F", "functional"))
_OPERATIONS = frozenset(
    """mean sum exp log sqrt rsqrt pow abs square clamp clip clamp_min clamp_max relu sigmoid tanh softmax log_softmax
    logsigmoid softplus logsumexp norm view reshape flatten squeeze unsqueeze transpose permute contiguous float half
    double bfloat16 to neg masked_fill masked_select gather index_select unbind chunk""".split()
)
_ASK = ("count", "enumerate", "get", "has", "is", "n", "num", "sample")  # first words of what does nothing to a value
_LOSSES = ("_loss", "cross_entropy", "cross_entropy_with_logits")
_SCALES = ("Multiply", "Divide")
_REFERENCES = ("label", "target", "truth", "gt", "ref", "old", "gold", "answer", "true")
_FACTORS = frozenset(  # what a loss is multiplied with
    """alpha beta coef coefs coeff coeffs coefficient factor factors lambda lam mult multiplier ratio scale scaler
    scaling weight weighting weights""".split()
)


def names_loss(name: str) -> bool:
    """`policy_loss`, `loss_ce`, and not a number that goes with one: `loss_weight`, `loss_scale_factor`."""
    return "loss" in name and name.rsplit("_", 1)[-1] not in _FACTORS


def with_graph(operation: Expr) -> tuple[Expr, ...]:
    """The sides of an operation that must have a graph for its result to have one: of `loss / steps` the first, of
    `scale * loss` the one that is called a loss."""
    _, operator, left, right = operation
    if operator not in _SCALES:
        return left, right
    losses = tuple(side for side in (left, right) if any(map(names_loss, _names(side))))
    return losses or ((left,) if operator == "Divide" else (left, right))


def _names(value: Expr) -> Iterator[str]:
    return (node[-1] for node in nodes(value) if node[0] in (m.NAME, m.ATTR))


def goes_back(method: str) -> bool:
    """Whether a method with `backward` in its name computes gradients, `engine.backward(loss)`: but for a hook that is
    called then, and for `count_backward_transitions(graph)`, which goes back some other way."""
    return "hook" not in method and method.split("_", 1)[0] not in _ASK


def operands(value: Expr) -> dict[str, str]:
    """The names in a sum, product, negation, mean or loss, and which part of each; "?" for anything else in it."""
    found: dict[str, str] = {}
    for name, part in _terms(value):
        # `sum(x) if isinstance(x, tuple) else x` is made of all that `x` is, which may be several
        found[name] = part if found.get(name) != m.ALL else m.ALL
    return found


def _terms(value: Expr) -> Iterator[tuple[str, str]]:
    op = value[0]
    if op == m.NAME:
        yield value[1], ""
    elif op == m.UNARY:
        yield from _terms(value[1])
    elif op in (m.ARITH, m.COND):
        yield from _terms(value[2])
        yield from _terms(value[3])
    elif op == m.CALL and value[2] == (m.NAME, "sum") and len(value[3]) == 1:
        added = value[3][0]
        if added[0] == m.COMP and len(added[5]) == 1 and added[5][0][0] == added[3] and not added[5][0][2]:
            added = added[5][0][1]  # `sum(loss for loss in losses.values())`
        if added[0] == m.CALL and added[2][0] == m.ATTR and added[2][2] == "values":
            added = added[2][1]
        yield (added[1], m.ALL) if added[0] == m.NAME else ("?", "")
    elif op == m.CALL and value[2][0] == m.ATTR:
        yield from _computed(value)
    elif op == m.ITEM and any(node[0] == m.SLICE for node in nodes(value[2])):
        yield from _shaped(value[1])
    elif op not in (m.CONST, m.TEXT):
        yield "?", ""


def _computed(call: Expr) -> Iterator[tuple[str, str]]:
    """What has the graph of a result: `x` of `x.mean()`, of `torch.exp(x)` and of `F.mse_loss(x, target)`."""
    _, receiver, name = call[2]
    if receiver[-1] not in _ROOTS:
        source = receiver if name in _OPERATIONS else None
    elif name in _OPERATIONS:
        source = call[3][0] if call[3] else None
    elif name.endswith(_LOSSES) and len(call[3]) == 2 and _is_reference(call[3][1]):
        source = call[3][0]
    else:
        source = None
    if source is None:
        yield "?", ""
    else:
        yield from _shaped(source)


def _shaped(value: Expr) -> Iterator[tuple[str, str]]:
    for name, part in _terms(value):
        yield name, part or m.SHAPED


def _is_reference(value: Expr) -> bool:
    """`labels`, `batch["target"].long()`: what a prediction is compared with."""
    words = [
        node[-1].lower() for node in nodes(value) if node[0] in (m.NAME, m.ATTR, m.CONST) and isinstance(node[-1], str)
    ]
    return "y" in words or any(word.startswith(_REFERENCES) or word.endswith(_REFERENCES) for word in words)
