"""The rules' own fixtures, run and judged: every bad program retains what its rule says, its good twin does not.

A fixture has a `main(steps)`, which is run with N and with 2N steps. Its docstring may say how to look at it:

    Probe: train_epoch        look when this function returns (its last call), not when `main` does
    Shows: held               what the pair shows, where it differs from the rule's own word
    Steps: 12                 N, where 6 says too little
    Only: cpu                 what it asserts holds there alone

The words are those of the rules (growing, held, delayed, peak, cached) and of what a ledger of tensors does not see:
heap (bytes of the C heap per step), nothing (the rule is about code without effect), storages, idle, workers, copies,
uncollected, processes, threads, descriptors and segments (see `_GROWING` and `_HELD`). What needs a GPU: allocated,
placed and reserved (bytes of PyTorch's caching allocator), taken and contexts (bytes of the device that are not free:
run alone).
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .client import Answer, Server
from .isolation import Limits

_PACKAGE = Path(__file__).parents[1]
FOLDER = next((f for f in (_PACKAGE / "_fixtures", _PACKAGE.parent / "fixtures") if f.is_dir()), _PACKAGE)
RECEIPTS = "receipts.json"
STEPS = 6
_SMALL = 64  # bytes per step that a good program may keep on purpose: a number or two
_HEAP_NOISE = 4096  # bytes of heap per step that say nothing
_PEAK_FACTOR = 1.25
_NOTHING = "nothing"
ON_A_DEVICE = ("allocated", "reserved", "placed", "taken", "contexts")
_ALONE = ("taken", "contexts")  # what others take of the device counts, too
_LIMITS = Limits(timeout=120.0)
_NO_DEVICE = "needs a GPU"
# what PyTorch says of programs that take their tensors for the CPU's, or that fork when CUDA is in use
_CPU_ONLY = re.compile(
    r"re-initialize CUDA in forked|convert cuda:\d+ device type tensor to numpy|only dense CPU tensors can be pinned"
    r"|device type for generator|tensors to be on the same device"
)
_MIB = 1 << 20

# word -> what of a look, its unit, the least per step (or in all) that counts, what to divide by
_GROWING: Mapping[str, tuple[str, str, float, int]] = {
    "workers": ("private", "MiB private to the workers", 0.05, _MIB),
    "processes": ("children", "child processes", 0.5, 1),
    "threads": ("threads", "threads", 0.5, 1),
    "descriptors": ("fds", "open descriptors", 0.5, 1),
    "segments": ("shm", "B in shared segments", 64, 1),
    "storages": ("bytes", "B of live storages", 64, 1),
    "allocated": ("allocated", "B allocated on the device", 512, 1),
    "reserved": ("reserved", "B reserved on the device", 4096, 1),
    "taken": ("taken", "MiB taken of the device", 0.5, _MIB),
}
_HELD: Mapping[str, tuple[str, str, float, int]] = {
    "copies": ("private", "MiB private to the workers", 1.0, _MIB),
    "placed": ("allocated", "B allocated on the device", 4096, 1),
    "contexts": ("taken", "MiB taken of the device", 100.0, _MIB),
    "idle": ("bytes", "B of live storages", 64, 1),
    "uncollected": ("bytes", "B of live storages", 64, 1),  # before the cyclic collector has run
}
_OF_THE_SYSTEM = {"workers", "copies"}  # the kernel's figures move with the machine's load: looked at twice
_STATUS = {
    **dict.fromkeys(_GROWING, "growing"),
    **dict.fromkeys(_HELD, "held"),
    "heap": "growing",
    "uncollected": "delayed",
}


@dataclass(frozen=True)
class Header:
    """The module docstring of a fixture."""

    doc: str
    probe: str = "main"
    shows: str | None = None
    steps: int = STEPS
    only: str | None = None
    measured: str | None = None

    @staticmethod
    def read(path: Path) -> Header:
        doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        entry = dict(re.findall(r"^(Probe|Shows|Steps|Only): *(\w+)$", doc, re.MULTILINE))
        measured = re.search(r"^Measured \(.*?\): .*?(?=\n\n|\n[A-Z]\w+: |\Z)", doc, re.MULTILINE | re.DOTALL)
        said = " ".join(measured[0].split()) if measured else None
        steps = int(entry.get("Steps", STEPS))
        return Header(doc, entry.get("Probe", "main"), entry.get("Shows"), steps, entry.get("Only"), said)


@dataclass(frozen=True)
class Pair:
    """A bad fixture and the good one beside it, which differs in the release."""

    code: str
    bad: Path
    good: Path
    shows: str
    steps: int = STEPS
    only: str | None = None  # the device that it is about

    @property
    def name(self) -> str:
        return f"{self.code}/{self.bad.stem}"

    def paths(self) -> tuple[Path, Path]:
        return self.bad, self.good

    @property
    def alone(self) -> bool:
        """Whether nothing else may use the device meanwhile."""
        return self.shows in _ALONE


def pairs(retains: Mapping[str, str | None], codes: Iterable[str] = (), folder: Path = FOLDER) -> list[Pair]:
    """All pairs; `bad_x.py` goes with `good_x.py`, or with `good.py`.

    `retains` is each rule's own word, by code.
    """
    wanted = tuple(codes)
    found = []
    for bad in sorted(folder.glob("TML*/bad*.py")):
        code = bad.parent.name
        if (wanted and code not in wanted) or code not in retains:
            continue
        good = bad.with_name(bad.name.replace("bad", "good", 1))
        if not good.exists():
            good = bad.with_name("good.py")
        header = Header.read(bad)
        shows = header.shows or retains[code] or _NOTHING
        found.append(Pair(code, bad, good, shows, header.steps, header.only))
    return found


# --- figures ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """A fixture measured: a run of N and one of 2N steps, or the reason why there are none."""

    path: Path
    short: dict[str, Any] = field(default_factory=dict)
    long: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    def per_step(self, what: str, when: str = "after") -> int:
        """Growth of a quantity, from the difference of the two runs."""
        return round(self.growth(what, when))

    def growth(self, what: str, when: str = "after") -> float:
        grown: int = self.long[when][what] - self.short[when][what]
        steps: int = self.long["steps"] - self.short["steps"]
        return grown / steps


def _measure(path: Path, steps: int, server: Server) -> Figures:
    header = Header.read(path)
    arguments = {"file": str(path), "steps": steps, "everywhere": False}
    if header.probe != "main":
        arguments["probe"] = header.probe
    answer: Answer = server.run("fixture", arguments, _LIMITS)
    if answer.result is None:
        return Figures(path, error=answer.reason)
    short, long = answer.result
    error = short["error"] or long["error"]
    return Figures(path, short, long, error)


@dataclass(frozen=True)
class Outcome:
    """A pair measured and judged. `problems` is empty where it shows what it says."""

    pair: Pair
    bad: Figures
    good: Figures
    bad_line: str = ""
    good_line: str = ""
    problems: tuple[str, ...] = ()
    skipped: str | None = None  # why the pair cannot be run here

    @property
    def status(self) -> str:
        """The verdict on the bad program; the good one's is the opposite, or there are problems."""
        return "inconclusive" if self.problems or self.skipped else _STATUS.get(self.pair.shows, self.pair.shows)


def measure_all(pairs: Iterable[Pair], server: Server) -> Iterator[Outcome]:
    """Several at a time; then those that must have the device for themselves."""
    pairs = list(pairs)
    yield from server.map(partial(measure, server=server), [pair for pair in pairs if not pair.alone])
    yield from (measure(pair, server) for pair in pairs if pair.alone)


def measure(pair: Pair, server: Server) -> Outcome:
    """Run both programs of a pair, and judge them."""
    if pair.shows in ON_A_DEVICE and server.device == "cpu":
        return Outcome(pair, Figures(pair.bad), Figures(pair.good), skipped=_NO_DEVICE)
    outcome = _measure_once(pair, server)
    return _measure_once(pair, server) if outcome.problems and pair.shows in _OF_THE_SYSTEM else outcome


def _measure_once(pair: Pair, server: Server) -> Outcome:
    return judge(pair, *(_measure(path, pair.steps, server) for path in pair.paths()))


def judge(pair: Pair, bad: Figures, good: Figures) -> Outcome:
    """Does the bad program retain, in the way the pair says, and the good one not?"""
    for figures in (bad, good):
        if pair.shows in ON_A_DEVICE and figures.long.get("device", "cpu") == "cpu":
            return Outcome(pair, bad, good, skipped=_NO_DEVICE)
        if figures.error is not None:
            skipped = _cannot_run(pair, figures)
            return Outcome(pair, bad, good, problems=() if skipped else (_named(figures),), skipped=skipped)
    where = f"Measured (torch {bad.long['torch'].split('+')[0]}, {bad.long['card'] or bad.long['device']}): "
    if pair.shows in _GROWING or pair.shows in _HELD:
        said, problems = _judge_elsewhere(pair.shows, bad, good)
        good_line = f"{said[1]} kept"
        said = f"{said[0]} kept", said[1]
    else:
        problems = _grows(bad, good)
        said = _JUDGES.get(pair.shows, _judge_nothing)(bad, good, problems)
        good_line = {
            "held": f"{said[1]} alive",
            "peak": f"peak {said[1]}",
            "cached": f"{said[1]} reserved",
            _NOTHING: f"nothing is kept ({said[1]})",
        }.get(pair.shows, f"{said[1]} kept")
    if bad.long["left_on"] and pair.shows in ("held", "heap"):
        said = f"{said[0]}; left on: {', '.join(bad.long['left_on'])}", said[1]
    lines = f"{where}{said[0]}; good twin {said[1]}.", f"{where}{good_line}."
    return Outcome(pair, bad, good, *lines, tuple(problems))


def _cannot_run(pair: Pair, figures: Figures) -> str | None:
    """Why a program that raised is not to blame for it, in this place."""
    error = figures.error or ""
    if error.startswith("ModuleNotFoundError"):
        return error
    if figures.long.get("device", "cpu") == "cpu":
        return None
    return f"is about the CPU: {error}" if pair.only == "cpu" or _CPU_ONLY.search(error) else None


def _named(figures: Figures) -> str:
    return f"{figures.path.name}: {figures.error}"


def _kept(figures: Figures, when: str = "after") -> str:
    nodes = _amount(figures.per_step("nodes", when), "autograd node")
    return f"{figures.per_step('bytes', when)} B and {nodes} per step"


def _modest(figures: Figures, limit: int) -> bool:
    return figures.per_step("nodes") <= 0 and figures.per_step("bytes") <= max(_SMALL, limit)


def _grows(bad: Figures, good: Figures) -> list[str]:
    problems = []
    if not _modest(good, bad.per_step("bytes") // 10):
        problems.append(f"the good program grows: {_kept(good)}")
    if good.long["left_on"]:
        problems.append(f"the good program leaves changed: {', '.join(good.long['left_on'])}")
    return problems


def _judge_growing(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    if bad.per_step("bytes") <= _SMALL and bad.per_step("nodes") < 1:
        problems.append(f"the bad program does not grow: {_kept(bad)}")
    return _kept(bad) + " kept", _kept(good)


def _judge_delayed(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    if bad.per_step("bytes", "before") <= _SMALL:
        problems.append("the bad program does not grow before the collector runs")
    if not _modest(bad, 0):
        problems.append("what the bad program keeps is not collected")
    if good.per_step("bytes", "before") > _SMALL:
        problems.append("the good program grows before the collector runs")
    return f"{_kept(bad, 'before')} kept until the collector runs, then {_kept(bad)}", _kept(good, "before")


def _judge_held(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    def held(run: dict[str, Any]) -> str:
        text = f" with {run['after']['text']} B of stacks" if run["after"]["text"] else ""
        return f"{run['after']['bytes']} B and {_amount(run['after']['nodes'], 'autograd node')}{text}"

    said = held(bad.long) + " alive", held(good.long)
    one, two = bad.long["after"], good.long["after"]
    if one["bytes"] - two["bytes"] <= _SMALL and one["nodes"] <= two["nodes"] and one["text"] <= two["text"]:
        problems.append(f"the bad program holds no more than the good one: {said}")
    if bad.per_step("bytes") > _SMALL or bad.per_step("nodes") > 0:
        problems.append(f"the bad program grows: {_kept(bad)}")
    return said


def _judge_peak(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    one, two = bad.long["peak"], good.long["peak"]
    if one < _PEAK_FACTOR * two:
        problems.append(f"the peaks hardly differ: {one} and {two}")
    return f"peak {one} B", f"{two} B"


def _judge_cached(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    one, two = (run.long["after"]["reserved"] - run.long["after"]["allocated"] for run in (bad, good))
    if one - two <= _MIB:
        problems.append(f"the bad program keeps no more reserved than the good one: {one} and {two} B")
    return f"{one} B reserved and not allocated", f"{two} B"


def _judge_heap(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    # the C heap is the one figure that is not exact: rounded, and never compared to the digit
    grown, other = (round(one.per_step("heap"), -3) for one in (bad, good))
    if grown <= _HEAP_NOISE or other > _HEAP_NOISE:
        problems.append(f"heap per step: {grown} and {other}")
    return f"about {grown} B of host memory per step kept", f"about {other} B"


def _judge_nothing(bad: Figures, good: Figures, problems: list[str]) -> tuple[str, str]:
    left = ", ".join(bad.long["left_on"])
    return f"nothing is kept ({_kept(bad)})" + (f"; still changed: {left}" if left else ""), _kept(good)


_JUDGES = {
    "growing": _judge_growing,
    "delayed": _judge_delayed,
    "held": _judge_held,
    "peak": _judge_peak,
    "cached": _judge_cached,
    "heap": _judge_heap,
}


def _judge_elsewhere(shows: str, bad: Figures, good: Figures) -> tuple[tuple[str, str], list[str]]:
    """What no ledger of tensors sees: processes, descriptors, segments."""
    if shows in _GROWING:
        key, unit, least, divisor = _GROWING[shows]
        one, two = (figures.growth(key) / divisor for figures in (bad, good))
        said = f"{_round(one)} {unit} per step", f"{_round(two)} {unit} per step"
        problems = [] if one > least else [f"the bad program does not grow: {said[0]}"]
        return said, problems + ([f"the good program grows: {said[1]}"] if two > max(least, one / 5) else [])
    key, unit, least, divisor = _HELD[shows]
    when = "before" if shows == "uncollected" else "after"
    one, two = (figures.long[when][key] / divisor for figures in (bad, good))
    said = f"{_round(one)} {unit}", f"{_round(two)} {unit}"
    return said, [] if one - two > least else [f"no difference: {said}"]


def _round(value: float) -> str:
    return f"{round(value, 1) + 0:.1f}".removesuffix(".0") if abs(value) < 100 else f"{value:.0f}"  # no "-0"


def _amount(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 or unit == "B" else f"{number} {unit}s"


# --- receipts and headers ---------------------------------------------------------------------------


def receipt(outcome: Outcome) -> dict[str, Any]:
    """What is kept of a measurement: plain figures that do not depend on the machine, and the verdicts."""
    pair = outcome.pair

    def side(figures: Figures) -> dict[str, Any]:
        runs = {"N": figures.short, "2N": figures.long}
        kept: dict[str, Any] = {
            "bytes": {name: run["after"]["bytes"] for name, run in runs.items()},
            "bytes_before_collecting": {name: run["before"]["bytes"] for name, run in runs.items()},
            "nodes": {name: run["after"]["nodes"] for name, run in runs.items()},
        }
        if figures.long["device"] != "cpu":  # the allocator is a witness of its own; it hands out blocks of 512 B
            kept["allocated"] = {name: run["after"]["allocated"] for name, run in runs.items()}
        if pair.shows == "peak":  # elsewhere it may depend on how threads take turns
            kept["peak_bytes"] = {name: run["peak"] for name, run in runs.items()}
        return kept

    holders = [held for held in outcome.bad.long["held"] if any(_weight(held)) or held.get("files")]
    grown = [held for held in holders if _weight(held) > _weight_at(held, outcome)]
    held = max(grown or holders, key=_weight, default=None)
    card = outcome.bad.long["card"]
    return {
        **({"card": card} if card else {}),
        "torch": outcome.bad.long["torch"].split("+")[0],
        "steps": pair.steps,
        "shows": pair.shows,
        "bad": {**side(outcome.bad), "verdict": outcome.status, "held_by": held["labels"] if held else []},
        "good": {**side(outcome.good), "verdict": "refuted"},
        "said": outcome.bad_line.partition(": ")[2],
    }


def _weight(held: dict[str, Any]) -> tuple[int, int]:
    return held["bytes"] + held["saved_bytes"], held["nodes"]


def _weight_at(held: dict[str, Any], outcome: Outcome) -> tuple[int, int]:
    """The weight of the same path in the shorter run."""
    same = [_weight(one) for one in outcome.bad.short["held"] if one["labels"] == held["labels"]]
    return same[0] if same else (0, 0)


def write_receipts(outcomes: Iterable[Outcome]) -> None:
    """Put the receipts beside the fixtures, one file a rule, by device and pair."""
    for outcome in outcomes:
        if outcome.problems or outcome.skipped:
            continue
        file = outcome.pair.bad.with_name(RECEIPTS)
        kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
        device = outcome.bad.long["device"].partition(":")[0]
        kept.setdefault(device, {})[outcome.pair.bad.stem] = receipt(outcome)
        file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")


def write_header(path: Path, line: str) -> None:
    """Put the measured line into the docstring, after its first paragraph or in place of the old one."""
    source = path.read_text("utf-8")
    end = source.index('"""', 3)
    doc = re.sub(r"\n+Measured \(.*?\): .*?(?=\n\n|\n[A-Z]\w+: |\Z)", "", source[3:end].rstrip(), flags=re.DOTALL)
    head, _, rest = doc.partition("\n\n")
    wrapped = textwrap.fill(line, 100, break_long_words=False)
    parts = [head, wrapped] + ([rest.strip("\n")] if rest.strip() else [])
    new = '"""' + "\n\n".join(parts) + "\n" + source[end:]
    if new != source:
        path.write_text(new, "utf-8")


def exact(line: str | None) -> str:
    """A measured line without the figures that are not exact."""
    line = re.sub(r"about -?\d+ B", "about … B", line or "")
    line = re.sub(r"-?\d+ B of stacks", "… B of stacks", line)  # they name files by their paths
    line = re.sub(r"-?[\d.]+ B of live storages", "… B of live storages", line)  # as threads take turns
    return re.sub(r"-?[\d.]+ MiB (private|taken)", r"… MiB \1", line)
