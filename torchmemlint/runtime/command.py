"""`--run COMMAND`: the user's own program, observed while it does its work, and judged when it is over."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..finding import Confidence, Finding, Location, Retains, Verdict
from . import judge
from .entry import UNFLAGGED, site

_FEW = 6
_LARGE = 64 << 10  # bytes in all from which on growth that nobody flagged is worth a word


@dataclass(frozen=True)
class Command:
    """A Python program: the interpreter with its own options, then a script or `-m module`, and its arguments."""

    python: tuple[str, ...]
    program: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Command:
        """Raises ValueError with a message for the user."""
        words = shlex.split(text)
        if not words:
            raise ValueError("--run: an empty command")
        first = os.path.basename(words[0])
        if first in ("pytest", "py.test"):
            return Command((sys.executable,), ("-m", "pytest", *words[1:]))
        if first.endswith(".py"):
            words = ["python", *words]
        elif not first.startswith("python"):
            raise ValueError(f"--run: {words[0]} is not Python: begin with python, a .py file or pytest")
        python = sys.executable if words[0] in ("python", "python3") else words[0]
        options = 1
        while options < len(words) and words[options].startswith("-") and words[options] != "-m":
            if words[options] == "-c":
                raise ValueError("--run: python -c has no file that could be observed")
            options += 2 if words[options] in ("-W", "-X") else 1
        program = tuple(words[options:])
        if not program or program == ("-m",):
            raise ValueError("--run: the command names no program")
        if program[0] != "-m" and not Path(program[0]).is_file():
            raise ValueError(f"--run: no such file: {program[0]}")
        return Command((python, *words[1:options]), program)

    @property
    def folder(self) -> Path:
        """Where the program's own files are."""
        return Path.cwd() if self.program[0] == "-m" else Path(self.program[0]).absolute().parent


def run(command: Command, findings: Sequence[Finding]) -> tuple[int, list[Finding]]:
    """Runs it with its streams untouched: its exit code, and the findings that it came by, with verdicts."""
    with tempfile.TemporaryDirectory(prefix="torchmemlint-") as folder:
        spec, result = Path(folder, "spec.json"), Path(folder, "result.json")
        sites = [site(number, one) for number, one in enumerate(findings) if one.cell is None]
        spec.write_text(json.dumps({"sites": sites}), "utf-8")
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), package]))
        observer = ["-m", "torchmemlint.runtime.observe", str(spec), str(result)]
        try:
            done = subprocess.run(
                [*command.python, *observer, *command.program], env={**os.environ, "PYTHONPATH": path}, check=False
            )
        except KeyboardInterrupt:
            return 130, []
        data = json.loads(result.read_text("utf-8")) if result.exists() else None
    if data is None:
        reason = f"the program ended with status {done.returncode} before anything could be read"
        verdict = Verdict("inconclusive", "observed", reason)
        return done.returncode, [replace(finding, verdict=verdict) for finding in findings]
    return done.returncode, _judged(findings, data)


def _judged(findings: Sequence[Finding], data: dict[str, Any]) -> list[Finding]:
    """Verdicts on what the program came by, and growth that nobody flagged."""
    judged = []
    for number, finding in enumerate(findings):
        record = data["sites"].get(str(number))
        if record is not None and (record["hits"] or record["below"]):
            judged.append(replace(finding, verdict=_verdict(finding, record, data)))
    if not any(one.verdict and one.verdict.confirmed for one in judged):
        judged += _unflagged(data)
    return judged


def _verdict(finding: Finding, record: dict[str, Any], data: dict[str, Any]) -> Verdict:
    hits = record["hits"]
    base: dict[str, Any] = {
        "tier": "observed",
        "steps": hits,
        "hits": tuple(map(tuple, record["samples"])),
        **_seen(data),
    }
    own = judge.own_growth(record)
    if own is not None and (own[0] > judge.SMALL or own[1] >= 0.5):
        said = f"what goes in at this line stays: {judge.kept(*own)} more at each of {hits} hits"
        figures: dict[str, Any] = {
            "bytes_per_step": round(own[0]),
            "nodes_per_step": round(own[1], 2),
            "path": tuple(record["path"]),
        }
        return Verdict("growing", reason=said, **figures, **base)
    if not hits:
        return Verdict("inconclusive", reason="only child processes came by the flagged line", **base)
    if own is None:
        few = f"the flagged line was reached {hits} times: too few to tell growth"
        return Verdict("inconclusive", reason=few, **base)
    if finding.retains is not Retains.GROWING:
        kind = finding.retains.value if finding.retains else "without effect"
        said = f"nothing grows at this line; whether it is {kind} takes a second run to compare (see --entry)"
        return Verdict("inconclusive", reason=said, **base)
    if not record["tensors"]:
        return Verdict("refuted", reason=f"reached {hits} times, and no tensor went in at this line", **base)
    return Verdict("refuted", reason=f"reached {hits} times, and what goes in is let go again", **base)


def _seen(data: dict[str, Any]) -> dict[str, Any]:
    torch = data["torch"].split("+")[0]
    return {
        "device": data["device"],
        "torch": torch,
        "peak_bytes": data["peak"],
        "curve": tuple(map(tuple, data["curve"])),
    }


def _unflagged(data: dict[str, Any]) -> list[Finding]:
    """Lines whose storages become more and more, the one with most bytes first."""
    looks = data["looks"]
    if len(looks) < _FEW:
        return []
    found = []
    for place, (size, count) in looks[-1][1].items():
        file, _, row = place.rpartition(":")
        if size < _LARGE or not _is_own(file):
            continue
        points = [(number, look[1].get(place, (0, 0))[0]) for number, look in enumerate(looks)]
        if judge.rising(points) <= 0:
            continue
        said = f"{judge.readable(size)} in {count} storages made at this line are alive, and they become more"
        verdict = Verdict("growing", "observed", f"{said}; no rule reports it", held_bytes=size, **_seen(data))
        where = Location(int(row), 1)
        shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
        found.append((size, Finding("", UNFLAGGED, said, shown, where, where, Confidence.LOW, verdict=verdict)))
    return [finding for _, finding in sorted(found, key=lambda pair: pair[0], reverse=True)[:5]]


def _is_own(file: str) -> bool:
    return os.path.realpath(file).startswith(os.path.realpath(os.getcwd()) + os.sep) and "site-packages" not in file
