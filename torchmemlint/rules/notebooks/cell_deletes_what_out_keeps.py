"""A model is deleted that an earlier cell has shown, so `Out` keeps it.

## What it does
Reports `del model` in a notebook, or in a script with `# %%` cells, where the
last expression of an earlier cell was that very model: `model`,
`model.eval()`; or an object that has one, as a pipeline has: `pipe.to(device)`.
So is `model = None`, where the notebook empties the cache or collects garbage
afterwards. A tensor that is shown is reported where that happens (TML801).

## Why it retains
IPython keeps what a cell shows in `_`, in `Out[n]` and in `_n`, for the whole
session. `del` takes away one name of several; the collector and
`empty_cache()` then find nothing that is free. Showing a model in order to
read its layers is enough.

## When it is fine
- The earlier line ends with `;`, or prints.
- The name was bound to something else in between.
- `Out` is emptied before: `Out.clear()`, `%reset -f out`.

## How to release it
End the line that shows it with `;`, or print it: `print(model)`. What is
already kept goes with `%reset -f out`, or with `del Out[5], _5, _`.

## References
- IPython documentation, "Output caching system": "Be aware that every output
  is kept ... potentially large objects"; `%reset out`.
- What is alive after `del`: measured by this rule's fixtures, in a copy of
  the display hook's bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.knowledge import GIVES_ITSELF
from ...facts.model import Expr, Site
from ...facts.program import targets
from ...facts.walk import calls, statements
from ...finding import Confidence, Retains
from ...interpreter.holders import heavy_objects
from ...interpreter.values import Obj
from ...interpreter.weights import heavy
from ...lexical.library_pipelines import binds_pipeline
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.values import Value

code = "TML802"
name = "cell-deletes-what-out-keeps"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    if not evidence.displays:
        return
    body = evidence.facts.functions[0].body
    cleaned = max((call[1] for call in calls(body) if call[2][-1] in ("empty_cache", "collect")), default=-1)
    shown: dict[str, tuple[Site, int]] = {}
    pipelines = set[str]()
    for statement in statements(body):
        site = statement[1]
        if statement[0] == m.EXPR and site in evidence.displays:
            weight = _weight_of_model(evidence, evidence.machine.shown.get(site, ()))
            one = _named(statement[2])
            if weight > 1 or one in pipelines:
                shown[one] = (site, max(weight, 2))
        elif any(call[2][-2:] == ((m.NAME, "Out"), "clear") for call in calls((statement,))):
            shown.clear()
        gone = [target[1] for target in statement[2] if target[0] == m.NAME] if statement[0] == m.DELETE else []
        bound = [target[1] for target in targets(statement) if target[0] == m.NAME]
        if statement[0] == m.ASSIGN and statement[3] == (m.CONST, None) and cleaned > site:
            gone += bound
        for one in gone:
            if one in shown:
                yield _report(site, one, *shown[one])
        for one in (*gone, *bound):
            shown.pop(one, None)
            pipelines.discard(one)
        pipelines.update(bound if binds_pipeline(evidence.program, statement) else ())


def _weight_of_model(evidence: Evidence, value: Value) -> int:
    """How sure it is that a value keeps a model: it is one, or an object of a class in sight that has one."""
    what, weight = heavy(evidence.machine, value, 1)
    if what == "module":
        return weight
    owned = heavy_objects(tuple(atom for atom in value if type(atom) is Obj and atom.kind == "instance"))
    return max((one.weight for one in owned if one.kind == "module"), default=0)


def _named(expr: Expr) -> str:
    """`model` of `model` and of `model.cuda().eval()`; a tensor's methods give another tensor."""
    while expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] in GIVES_ITSELF:
        expr = expr[2][1]
    return str(expr[1]) if expr[0] == m.NAME else ""


def _report(site: Site, one: str, shown_at: Site, weight: int) -> Report:
    return Report(
        site=site,
        message=(
            f"this frees nothing: an earlier cell has shown `{one}`, and `Out` and `_` keep the model for the whole "
            "session; print it there, or end that line with `;`"
        ),
        confidence=Confidence(min(weight, 3)),
        value="the model",
        holder="Out",
        release="print it in the earlier cell, or end its line with `;`; `%reset -f out` empties `Out`",
        related=((shown_at, "shown here"),),
    )
