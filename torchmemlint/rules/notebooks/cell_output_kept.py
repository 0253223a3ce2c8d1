"""A notebook cell ends with a tensor, which the history of outputs keeps.

## What it does
Reports a cell of a notebook, or of a script with `# %%` cells, whose last
expression is a tensor: a batch, as a `DataLoader` gives it or by a name, the
output of a model, a loss with its graph.

## Why it retains
IPython keeps what a cell shows: in `_`, in `Out[n]` and in `_n`, for the whole
session. A later `del logits` removes one name of several, and the cache that is
emptied after it has nothing to give back. A value with a graph keeps that too.

## When it is fine
- The expression ends with `;`, or is printed: neither is kept.
- It is a number, a shape or a string.

## How to release it
Show what you want to know, `logits.shape` or `print(logits)`; or end the line
with `;`. What is already kept goes with `%reset -f out`, or with
`del Out[5], _5, _`.

## References
- IPython documentation, "Output caching system": "Be aware that every output is
  kept ... potentially large objects"; `%reset out`.
- What is alive after `del`: measured by this rule's fixtures, in IPython's own
  display hook where that is installed and in a copy of its bookkeeping here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...facts import model as m
from ...facts.walk import last_name, statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import ATTACHED, CONTAINERS, Obj, Tensor
from ...interpreter.weights import heavy
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Expr
    from ...interpreter.values import Value

code = "TML801"
name = "cell-output-kept"
retains: Retains | None = Retains.HELD


_DRAWS = (  # what begins so gives a picture or a text
    "draw",
    "plot",
    "show",
    "print",
    "display",
    "render",
    "visualize",
    "summar",
    "describe",
)


def check(evidence: Evidence) -> Iterator[Report]:
    shown = {one[1]: one[2] for one in evidence.facts.functions[0].body if one[0] == m.EXPR}
    drawn = {site for site, expr in shown.items() if _draws(expr)}
    for site in sorted(evidence.displays - drawn):
        value = tuple(_taken_apart(evidence.machine.shown.get(site, ())))
        what, weight = heavy(evidence.machine, value, 1)
        graph = any(type(atom) is Tensor and atom.graph == ATTACHED and atom.weight > 1 for atom in value)
        batch = weight == 1 and _is_batch(evidence, value, shown[site])
        if (what != "tensor" or weight < 2) and not graph and not batch:
            continue
        kept = "the batch" if batch else "the tensor and its graph" if graph else "the tensor"
        yield Report(
            site=site,
            message=(
                f"the last expression of this cell is shown, and `Out` and `_` keep {kept} for the whole session, also "
                "after `del`; show its `.shape`, print it, or end the line with `;`"
            ),
            confidence=Confidence(max(weight, 2)),
            value=kept,
            holder="Out",
            release="end the line with `;`, or print what you want to see",
            remedy=Remedy("semicolon", sure=False),
        )


def _is_batch(evidence: Evidence, value: tuple[Any, ...], shown: Expr) -> bool:
    """Whether what is shown is all that a loader has given, `next(iter(loader))`, or the first part of it, mostly the
    inputs; what else is in a batch may be small, or texts."""
    derivation = evidence.machine.derivation
    given = any(type(atom) is Tensor and derivation.comes_from(atom.node, derivation.batches) for atom in value)
    first = shown[0] == m.ITEM and shown[2] == (m.CONST, 0)
    shown = shown[1] if first else shown
    return given and (_asks_loader(shown) or (shown[0] == m.NAME and _is_bound_to_first(evidence, shown)))


def _asks_loader(expr: Expr) -> bool:
    return bool(expr[0] == m.CALL and expr[2] == (m.NAME, "next"))


def _is_bound_to_first(evidence: Evidence, name: Expr) -> bool:
    """`batch` of `batch = next(iter(loader))`, and `images` of `images, labels = next(iter(loader))`."""
    for one in statements(evidence.facts.functions[0].body):
        if one[0] == m.ASSIGN and _asks_loader(one[3]):
            target: Expr = one[2][0]
            if name == (target[3][0] if target[0] == m.NEW and target[3] else target):
                return True
    return False


def _taken_apart(value: Value, depth: int = 3) -> Iterator[Any]:
    """What is in containers: a detector gives a list with a dictionary for each image."""
    for atom in value:
        if depth and type(atom) is Obj and atom.kind in CONTAINERS:
            for part in atom.fields.values():
                yield from _taken_apart(part, depth - 1)
        else:
            yield atom


def _draws(expr: Expr) -> bool:
    """`model.plot_attention(...)`: what it gives is a picture or a text."""
    return bool(expr[0] == m.CALL and last_name(expr[2]).startswith(_DRAWS))
