"""Metrics of torchmetrics that keep all that they are given until they are reset, and that nobody resets.

`compute` leaves what was gathered; only `reset` drops it, and that of a metric around another one knows the states that
it has added itself [docs of torchmetrics: Metric]. Lightning resets what was given to `log` as an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, expressions, keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, in_loops, last_name, loops, statements

_KINDS = ("Binary", "Multiclass", "Multilabel")
_OF_SAMPLES = frozenset(
    "MeanAveragePrecision IntersectionOverUnion GeneralizedIntersectionOverUnion DistanceIntersectionOverUnion "
    "CompleteIntersectionOverUnion RetrievalMAP RetrievalMRR RetrievalPrecision RetrievalRecall RetrievalHitRate "
    "RetrievalFallOut RetrievalNormalizedDCG RetrievalRPrecision RetrievalPrecisionRecallCurve SpearmanCorrCoef "
    "KendallRankCorrCoef CosineSimilarity CalibrationError CatMetric BERTScore InfoLM ROUGEScore "
    "KernelInceptionDistance UniversalImageQualityIndex SpectralAngleMapper FleissKappa DiceScore AdjustedRandScore "
    "RandScore MutualInfoScore NormalizedMutualInfoScore FowlkesMallowsIndex VMeasureScore".split()
)
_OF_CURVES = frozenset(  # unless they are given thresholds, at which they count
    "AUROC ROC AveragePrecision PrecisionRecallCurve PrecisionAtFixedRecall RecallAtFixedPrecision "
    "SpecificityAtSensitivity SensitivityAtSpecificity LogAUC EER".split()
)
_FEEDS = ("update", "forward")
_ASKED = frozenset((*_FEEDS, "compute", "to", "cpu", "cuda", "eval", "train", "warn_on_many_detections"))
_SETUP = ("__init__", "setup", "__post_init__")
_STAYING = ("Module", "Metric", "Callback")  # endings of bases whose objects live as long as a training
_SELF = (m.NAME, "self")


class Unreset(NamedTuple):
    """A metric that is fed at `site`."""

    site: Site
    place: str
    metric: str


def unreset_metrics(program: Program) -> Iterator[Unreset]:
    if not any(one.startswith("torchmetrics") for one in program.imports.values()):
        return
    for place in program.places:
        for one in statements(place.facts.body):
            metric = _made(program, one)
            if not metric:
                continue
            target = one[2][0]
            if target[0] == m.ATTR and target[1] == _SELF and place.cls and place.facts.name in _SETUP:
                found = _of_object(program, place, target)
            else:
                found = _of_function(place, one, target) if target[0] == m.NAME else None
            if found is not None:
                yield Unreset(found, f"self.{target[2]}" if target[0] == m.ATTR else target[1], metric)


def _made(program: Program, statement: Stmt) -> str:
    """The metric that a statement makes, alone or in a collection."""
    if statement[0] != m.ASSIGN or len(statement[2]) != 1 or statement[3][0] != m.CALL:
        return ""
    made = statement[3]
    within = calls_of(statement) if last_name(made[2]) == "MetricCollection" else iter((made,))
    return next((name for name in (_keeps_samples(program, call) for call in within) if name), "")


def _keeps_samples(program: Program, call: Expr) -> str:
    name = last_name(call[2])
    kind = next((name.removeprefix(one) for one in _KINDS if name.startswith(one)), name)
    counts = kind not in _OF_CURVES or keyword(call, "thresholds") not in (None, (m.CONST, None))
    if kind not in _OF_SAMPLES and counts:
        return ""
    return name if program.dotted(call[2]).startswith("torchmetrics.") else ""


def _of_object(program: Program, made: Place, attribute: Expr) -> Site | None:
    """Where an object that stays feeds a metric of its own, if nothing in the file resets it or has it from there."""
    methods = [place for place in program.places if place.cls == made.cls]
    hooked = any(place.facts.name.endswith("_epoch_end") for place in methods)
    if not (hooked or any(base.endswith(_STAYING) for base in made.bases)):
        return None
    if any(_may_reset(place, attribute) for place in methods) or _is_reset(program, attribute[2]):
        return None
    fed = [call for place in methods for call in calls(place.facts.body) if _feeds(call, attribute)]
    uses = [expr for place in methods for expr in expressions(place.facts.body)]
    kept = _is_only_asked(uses, attribute) and any(place.facts.name not in _SETUP for place in methods)
    return fed[0][1] if fed and kept else None


def _is_reset(program: Program, name: str) -> bool:
    """Whether something anywhere in the file is reset that has the name of a metric: `model.map.reset()`."""
    found = (call[2] for place in program.places if "reset" in place.facts.calls for call in calls(place.facts.body))
    return any(one[0] == m.ATTR and one[2] == "reset" and last_name(one[1]) == name for one in found)


def _may_reset(place: Place, attribute: Expr) -> bool:
    """Whether a method resets things that it does not name: `for metric in self.children(): metric.reset()`."""
    for call in calls(place.facts.body) if any("reset" in name for name in place.facts.calls) else ():
        callee = call[2]
        if "reset" not in last_name(callee):
            continue
        if callee[0] != m.ATTR or callee[1] == attribute or callee[1][0] != m.ATTR or callee[1][1] != _SELF:
            return True
    return False


def _feeds(call: Expr, metric: Expr) -> bool:
    callee = call[2]
    return bool(callee == metric or (callee[0] == m.ATTR and callee[1] == metric and callee[2] in _FEEDS))


def _is_only_asked(uses: list[Expr], metric: Expr) -> bool:
    """Whether all that is done with a metric, once it is made, is to feed it and to ask for its value."""
    named = sum(one == metric for one in uses)
    asked = sum(one[0] == m.ATTR and one[1] == metric and one[2] in _ASKED for one in uses)
    called = sum(one[0] == m.CALL and one[2] == metric for one in uses)
    return bool(named == asked + called + 1)


def _of_function(place: Place, made: Stmt, name: Expr) -> Site | None:
    """Where a loop feeds a metric that was made before, in rounds each of which asks for its value."""
    if any(one is made and looped for one, looped in in_loops(place.facts.body)) or place.facts.inner:
        return None
    uses = list(expressions(place.facts.body))
    if not _is_only_asked(uses, name) or any(name in targets(one) for one in _others(place, made)):
        return None
    around = loops(place.facts.body)
    for _, inner in around:
        fed = [call for one in inner for call in calls_of(one) if _feeds(call, name)]
        if not fed or any(_asks(one, name) for one in inner):
            continue
        if any(inner[0] in outer and any(_asks(one, name) for one in outer) for _, outer in around):
            return int(fed[0][1])
    return None


def _others(place: Place, made: Stmt) -> Iterator[Stmt]:
    return (one for one in statements(place.facts.body) if one is not made)


def _asks(statement: Stmt, metric: Expr) -> bool:
    wanted = (m.ATTR, metric, "compute")
    return any(part == wanted for part in expressions_of(statement))
