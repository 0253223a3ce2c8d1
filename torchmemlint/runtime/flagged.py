"""Flagged snippets of the user's, run with stand-ins for what they cannot have, and judged.

Which runs there are, of what, and which of their verdicts counts; `line` judges one.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..finding import Finding, Retains, Verdict
from .client import Server
from .entry import ABOUT_TASKS, site
from .judge import Series
from .line import PAYLOAD, base, judged_line, limit_ahead, stand_ins

STEPS = 12
_MOST_STEPS = 256  # for a limit that the first runs have not come to
_CALLED = "called from here"  # what the linter says of a place that leads to the flagged one
# rules that are wrong where what goes in at the line is let go: others hang on who else comes by, and with what
_ABOUT_THE_LINE = frozenset("TML101 TML102 TML105 TML108 TML110 TML201 TML204 TML206 TML310".split())
_ABOUT_A_DEVICE = frozenset({"TML310"})  # ... where what is moved to the host is no matter
_LOWER = 2  # stand-in tensors by which a peak must be lower: sizes of stand-ins say nothing about shares of it


@dataclass(frozen=True)
class Case:
    """A finding to verify: the folder that imports may lead to, the file's text with the fix made, and the text itself
    where it is not what the file says.
    """

    finding: Finding
    root: str
    fixed: str | None = None
    source: str | None = None


def project(file: str) -> str:
    """The folder that a file's imports may lead to: the first one above it that is no package."""
    folder = Path(file).absolute().parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return str(folder)


def verify(case: Case, server: Server, steps: int = STEPS) -> Finding:
    """The finding with a verdict."""
    finding = case.finding
    if finding.cell is not None:
        return replace(finding, verdict=_open("cells of notebooks are not run"))
    if finding.retains is None:
        return replace(finding, verdict=_open("this rule is about code without an effect: there is nothing to measure"))
    run = _Runs(case, server, steps)
    verdict, series = _as_called(run, finding, case)
    if verdict.status == "refuted" and finding.code not in _ABOUT_THE_LINE:
        verdict = replace(verdict, status="inconclusive", reason=f"{verdict.reason}; who else comes by is not known")
    doubtful = series.last["account"]["doubtful"] if series is not None else []
    if verdict.confirmed and doubtful and series is not None:
        run.without = tuple(doubtful)
        verdict, _ = run.judged(finding.retains)
        if not verdict.confirmed:
            verdict = base("inconclusive", _doubt(doubtful), series)
    if verdict.confirmed and case.fixed is not None and verdict.after_fix is None:
        fixed = run.fixed(case.fixed)
        if not fixed.confirmed or _is_mended_there(finding, case):
            if fixed.confirmed and fixed.reason == verdict.reason:
                fixed = replace(fixed, status="inconclusive", reason="what it changes is not seen with stand-ins")
            verdict = replace(verdict, after_fix=fixed)
    return replace(finding, verdict=verdict)


def _as_called(run: _Runs, finding: Finding, case: Case) -> tuple[Verdict, Series | None]:
    """What the function around the statement does by itself; where that confirms nothing, what it does as those call it
    that the finding names: what goes in may come from them, and so may the loop.

    That it lets go is not said by itself alone where it has callers.
    """
    assert finding.retains is not None
    alone, series = run.judged(finding.retains)
    if alone.confirmed:
        return alone, series
    open_: Verdict | None = None
    for trail in _callers(finding, case):
        run.trail = trail
        verdict, seen = run.judged(finding.retains)
        if verdict.confirmed:
            return verdict, seen
        if verdict.status == "inconclusive":
            open_ = open_ or verdict
        elif open_ is None:
            return verdict, seen
    run.trail = ()
    return (open_ if alone.status == "refuted" and open_ is not None else alone), series


def _callers(finding: Finding, case: Case) -> list[tuple[int, ...]]:
    """Lines of the file that lead to the statement, up to one in another function: first those from furthest off."""
    rows = [one.start.row for one in finding.related if one.message == _CALLED and one.filename == finding.filename]
    function = _functions(finding, case)
    own = function(finding.start.row)
    found = {around: number for number, row in enumerate(rows, 1) if (around := function(row)) not in (None, own)}
    return [tuple(rows[:number]) for number in reversed(found.values())]


def _functions(finding: Finding, case: Case) -> Callable[[int], tuple[int, int] | None]:
    """The function of the file that a row is in, as its first and last row; None outside of all."""
    try:
        source = case.source if case.source is not None else Path(finding.filename).read_text("utf-8", "replace")
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):  # the run has said so
        return lambda _: None
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return lambda row: max((span for span in spans if span[0] <= row <= span[1]), default=None)


def _is_mended_there(finding: Finding, case: Case) -> bool:
    """Whether its fix changes the function that is run: what another one is to take back is not seen to be."""
    edits = finding.fix.edits if finding.fix is not None else ()
    function = _functions(finding, case)
    return function(finding.start.row) in [function(edit.start.row) for edit in edits]


def _doubt(callees: Sequence[str]) -> str:
    others = f" (and of {len(callees) - 1} more)" if len(callees) > 1 else ""
    return f"whether what `{callees[0]}(...)`{others} gives has a graph is not known: it could not be followed"


def _open(reason: str) -> Verdict:
    return Verdict("inconclusive", "simulated", reason)


class _Runs:
    """Runs of one snippet."""

    def __init__(self, case: Case, server: Server, steps: int) -> None:
        self._server, self._finding, self._root, self._source = server, case.finding, case.root, case.source
        self._request = {"file": os.path.abspath(case.finding.filename), "steps": steps, "everywhere": False}
        self.trail: tuple[int, ...] = ()  # lines that call, where not the flagged function itself is run
        self.without: tuple[str, ...] = ()  # calls that are not followed, and that give nothing with a graph

    def judged(self, retains: Retains) -> tuple[Verdict, Series | None]:
        """What the flagged statement does; and the run with 2N steps that tells, unless there is none."""
        series, reason = self.series()
        if series is None:
            return _open(reason), None
        verdict = self.line(series, retains)
        limit = limit_ahead(series) if verdict.status == "growing" else None
        if limit is not None and limit[1] <= _MOST_STEPS:  # is there anything more beyond it?
            self._request["steps"] = limit[1]
            series, reason = self.series()
            if series is None:
                return _open(reason), None
            verdict, limit = self.line(series, retains), None
        if limit is not None:
            said = f"the test at line {limit[0]} compares with {limit[1]}, which is more than was run"
            verdict = base("inconclusive", said, series)
        if retains is Retains.PEAK and verdict.status in ("refuted", "growing"):
            verdict = self.without_gradients(verdict, series)
        return verdict, series

    def line(self, series: Series, retains: Retains) -> Verdict:
        return judged_line(series, retains, starts=self._finding.code in ABOUT_TASKS)

    def series(self, source: str | None = None, moved: int = 0, no_grad: bool = False) -> tuple[Series | None, str]:
        """N and 2N steps; or the reason why there are none."""
        place = {**site(0, self._finding), "no_grad": no_grad}
        place["row"], place["end_row"] = place["row"] + moved, place["end_row"] + moved
        trail = [row + moved * (row > self._finding.start.row) for row in self.trail]
        wanted = {"row": place["row"], "root": self._root, "without": self.without, "trail": trail}
        wanted["cycles"] = self._finding.retains is Retains.DELAYED
        wanted["device"] = self._finding.code in _ABOUT_A_DEVICE
        text = source if source is not None else self._source
        answer = self._server.run("replay", {**self._request, "source": text, "sites": [place], "snippet": wanted})
        if answer.result is None:
            return None, f"the snippet {answer.reason}"
        failed = next((run["error"] for run in answer.result if run["error"]), None)
        if failed:
            return None, f"the snippet cannot be run with stand-ins: {failed}"
        return Series(tuple(answer.result), (0, 0), answer.result[-1]["device"]), ""

    def fixed(self, source: str) -> Verdict:
        """The same with the fix made."""
        edits = self._finding.fix.edits if self._finding.fix is not None else ()
        above = [edit for edit in edits if edit.end <= self._finding.start]
        moved = sum(edit.content.count("\n") - (edit.end.row - edit.start.row) for edit in above)
        series, reason = self.series(source, moved)
        if series is None:
            return _open(reason)
        assert self._finding.retains is not None
        return self.line(series, self._finding.retains)

    def without_gradients(self, verdict: Verdict, series: Series) -> Verdict:
        """Is the peak lower where the flagged statement records no gradients?"""
        other, reason = self.series(no_grad=True)
        if other is None:
            return verdict if verdict.confirmed else _open(reason)
        before, after = series.last["peak"], other.last["peak"]
        fixed = base("refuted", f"{stand_ins(after)} at the peak", other)
        if verdict.confirmed:
            return replace(verdict, after_fix=fixed)
        if before - after < _LOWER * PAYLOAD:
            return replace(verdict, status="refuted", reason="the peak is no lower without recording gradients")
        said = f"{stand_ins(before)} alive at the peak, {stand_ins(after)} with no_grad at this line"
        return replace(verdict, status="peak", reason=said, after_fix=fixed)
