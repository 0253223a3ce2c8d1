"""`--entry file.py::function`: the user's own function, on its own data, run apart and judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..finding import Confidence, Finding, Location, Retains, Verdict
from . import judge
from .client import Answer, Server
from .judge import Growth, Series

_DELAYED = 64 << 10  # bytes per step in cycles from which on they are worth a word that no rule said
ABOUT_TASKS = frozenset({"TML408", "TML505"})  # rules about threads and processes that go on
UNFLAGGED = "unflagged-growth"  # the name of growth at a place that no rule reported


@dataclass(frozen=True)
class Entry:
    """A function to run. `function` may be dotted."""

    file: str
    function: str

    @staticmethod
    def parse(text: str) -> Entry:
        """From `file.py::function`. Raises ValueError with a message for the user."""
        file, colons, function = text.partition("::")
        if not colons or not function.replace(".", "").isidentifier():
            raise ValueError(f"{text!r} is not of the form FILE.py::FUNCTION")
        if not Path(file).is_file():
            raise ValueError(f"no such file: {file}")
        return Entry(file, function)


def verify(entry: Entry, findings: Sequence[Finding], server: Server, steps: int) -> list[Finding]:
    """The findings with verdicts; those in other files only if the run came by. Growth nobody flagged comes last."""
    sites = [site(number, one) for number, one in enumerate(findings) if one.cell is None]
    program = _Program(entry, sites, server, steps)
    series, reason = program.series()
    if series is None:
        lost = Verdict("inconclusive", "observed", reason)
        return [replace(one, verdict=lost) for one in _of(entry, findings) or [_whole(entry)]]
    whole = program.located(judge.growth(series), series)
    own = {n for n in range(len(findings)) if _grows_itself(series, n)}
    alone = (own or _suspects(findings, series, whole)) - own
    judged = []
    for number, finding in enumerate(findings):
        starts = finding.code in ABOUT_TASKS
        verdict = judge.verdict(series, number, finding.retains, whole, alone=number in alone, starts=starts)
        if number in alone and finding.retains is Retains.GROWING and verdict.status == "refuted":
            verdict = program.copies(verdict, series)
        if finding.retains is Retains.PEAK and verdict.status in ("refuted", "growing"):
            verdict = program.without_gradients(number, verdict, series)
        reached = verdict.status != "inconclusive" or series.last["sites"].get(str(number), {}).get("hits")
        if reached or finding in _of(entry, findings):
            judged.append(replace(finding, verdict=verdict))
    grows = whole.any or whole.threads or whole.delayed > _DELAYED
    if grows and not any(one.verdict and one.verdict.confirmed for one in judged):
        judged.append(_unflagged(entry, series, whole))
    return judged


def site(number: int, finding: Finding) -> dict[str, Any]:
    """A finding's place as the child needs it: columns from 0, in bytes."""
    columns = [finding.start.column - 1, finding.end.column - 1]
    try:
        lines = Path(finding.filename).read_text(encoding="utf-8", errors="replace").splitlines()
        for index, place in enumerate((finding.start, finding.end)):
            columns[index] = len(lines[place.row - 1][: place.column - 1].encode())
    except (OSError, IndexError):
        pass
    rows = {"row": finding.start.row, "end_row": finding.end.row}
    return {
        "id": number,
        "file": os.path.abspath(finding.filename),
        **rows,
        "column": columns[0],
        "end_column": columns[1],
    }


class _Program:
    """Runs of one entry."""

    def __init__(self, entry: Entry, sites: list[dict[str, Any]], server: Server, steps: int) -> None:
        self._server, self._steps, self._sites = server, steps, sites
        self._request = {"file": os.path.abspath(entry.file), "function": entry.function, "sites": sites}

    def series(self) -> tuple[Series | None, str]:
        """Runs with N and with 2N steps; with 4N, too, where something seems to grow. Else the reason why not."""
        answers = self._runs([self._steps, 2 * self._steps])
        reason = _failure(answers)
        if reason:
            return None, reason
        series = _series(answers)
        if judge.growth(series).any or judge.growth(series).delayed:
            more = self._runs([4 * self._steps])
            if not _failure(more):  # one that takes too long says nothing against the other two
                series = _series(answers + more)
        return series, ""

    def located(self, whole: Growth, series: Series) -> Growth:
        """Growth inside the entry, looked at once more where it is largest: collected, and with its path."""
        if "::" not in whole.where:
            return whole
        name = whole.where.partition("::")[2].rpartition(".")[2]
        hits = [run["points"][whole.where]["at"] for run in series.runs]
        steps = [run["steps"] for run in series.runs]
        more = {"probe": name, "everywhere": False}
        answers = [self._run(count, {**more, "at": hit}) for count, hit in zip(steps, hits, strict=True)]
        if _failure(answers):
            return whole
        close = judge.growth(_series(answers), within=False)
        if not close.any and close.delayed:
            return replace(whole, bytes=0.0, nodes=0.0, delayed=close.delayed)
        if not (close.bytes or close.nodes):
            return whole
        return replace(close, scope=whole.scope, where=whole.where)

    def copies(self, verdict: Verdict, series: Series) -> Verdict:
        """Where child processes take much from the start: how much less with few steps?"""
        few = max(self._steps // 8, 2)
        if max(series.child_bytes) <= judge.COPIED or few >= self._steps:
            return verdict
        answers = self._runs([few])
        if _failure(answers):
            return verdict
        first, more = answers[0], replace(series, runs=series.runs[:1], child_bytes=series.child_bytes[:1])
        copied = replace(
            more, runs=(first.result, *more.runs), child_bytes=(first.children_bytes, *more.child_bytes)
        ).copied()
        if not copied:
            return verdict
        sizes = [judge.readable(size) for size in (first.children_bytes, series.child_bytes[0])]
        said = f"child processes take {sizes[0]} for themselves in {few} steps, {sizes[1]} in {self._steps}"
        return replace(verdict, status="growing", reason=said, child_bytes_per_step=round(copied), bytes_per_step=None)

    def without_gradients(self, number: int, verdict: Verdict, series: Series) -> Verdict:
        """The same run with the flagged statement under `no_grad`: is the peak lower?"""
        sites = [{**site, "no_grad": site["id"] == number} for site in self._sites]
        answer = self._run(series.runs[0]["steps"], {"sites": sites, "everywhere": False})
        if answer.result is None or answer.result["error"]:
            error = answer.reason or answer.result["error"]
            return verdict if verdict.confirmed else replace(verdict, reason=f"its gradients are used: {error}")
        before, after = series.runs[0]["peak"], answer.result["peak"]
        fixed = Verdict(
            "refuted",
            "observed",
            f"peak {judge.readable(after)}",
            peak_bytes=after,
            steps=answer.result["steps"],
            curve=tuple(map(tuple, answer.result["curve"])),
        )
        if verdict.confirmed:
            return replace(verdict, after_fix=fixed)
        if before < judge.PEAK * after or before - after <= judge.SMALL:
            said = f"the peak is {judge.readable(before)}, and {judge.readable(after)} without recording gradients"
            return replace(verdict, reason=said)
        said = f"peak {judge.readable(before)}; with no_grad at this line {judge.readable(after)}"
        first = series.runs[0]  # what the fix was compared with
        seen = {"peak_bytes": before, "steps": first["steps"], "curve": tuple(map(tuple, first["curve"]))}
        return replace(verdict, status="peak", reason=said, after_fix=fixed, **seen)

    def _runs(self, steps: list[int]) -> list[Answer]:
        return [self._run(count) for count in steps]

    def _run(self, steps: int, more: dict[str, Any] | None = None) -> Answer:
        return self._server.run("run", {**self._request, "steps": steps, **(more or {})})


def _series(answers: list[Answer]) -> Series:
    runs = tuple(answer.result for answer in answers)
    return Series(runs, tuple(answer.children_bytes for answer in answers), runs[-1]["device"])


def _failure(answers: list[Answer]) -> str:
    """Why a run says nothing; empty if all do."""
    for answer in answers:
        if answer.result is None:
            return f"the program {answer.reason}"
        if answer.result["error"]:
            where = answer.result["where"]
            place = f" (at {os.path.basename(where)})" if where else ""
            return f"the program failed: {answer.result['error']}{place}"
    return ""


def _of(entry: Entry, findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if os.path.abspath(one.filename) == os.path.abspath(entry.file)]


def _grows_itself(series: Series, number: int) -> bool:
    record = series.last["sites"].get(str(number))
    own = judge.own_growth(record) if record and record["hits"] else None
    return own is not None and (own[0] > judge.SMALL or own[1] >= 0.5)


def _suspects(findings: Sequence[Finding], series: Series, whole: Growth) -> set[int]:
    """The findings that explain growth which none of them shows by itself: those at the line that made what stays."""
    reached = [n for n in range(len(findings)) if series.last["sites"].get(str(n), {}).get("hits")]

    def made_there(finding: Finding) -> bool:
        rows = range(finding.start.row, finding.end.row + 1)
        return any(f"{os.path.abspath(finding.filename)}:{row}" in whole.sites for row in rows)

    exact = {n for n in reached if made_there(findings[n])}
    if (whole.child or whole.shm) and not exact:  # in processes where no site is watched, or only counted
        below = {n for n in range(len(findings)) if series.last["sites"].get(str(n), {}).get("below")}
        unseen = {n for n in range(len(findings)) if n not in reached and findings[n].retains is Retains.GROWING}
        if below or (unseen and not reached):
            return below or unseen
    lasting = {n for n in reached if findings[n].retains is not Retains.PEAK}
    return exact or lasting or set(reached)


def _whole(entry: Entry) -> Finding:
    """The entry itself, where there is no finding to speak of."""
    start = Location(1, 1)
    return Finding("", UNFLAGGED, f"{entry.function}() was run", entry.file, start, start, Confidence.LOW)


def _unflagged(entry: Entry, series: Series, whole: Growth) -> Finding:
    """Growth at a place that no rule reported: at the line that made most of what stays."""
    made = max(whole.sites, key=lambda site: whole.sites[site], default=f"{os.path.abspath(entry.file)}:1")
    file, _, row = made.rpartition(":")
    place = Location(int(row) or 1, 1)
    grows = bool(whole.any or whole.threads)
    delayed = f"{judge.readable(whole.delayed)} more per step until the collector runs"
    status, said = ("growing", whole.said()) if grows else ("delayed", delayed)
    verdict = Verdict(
        status,
        "observed",
        f"{said}, seen at {whole.where}; no rule reports it",
        **judge.figures(whole),
        host_bytes_per_step=round(whole.host),
        steps=series.steps,
        device=series.device,
        torch=series.last["torch"].split("+")[0],
        peak_bytes=series.last["peak"],
        curve=tuple(map(tuple, series.last["curve"])),
    )
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    return Finding("", UNFLAGGED, said, shown, place, place, Confidence.LOW, verdict=verdict)
