"""Figures in, verdicts out. Nothing here runs anything, and nothing imports torch.

A program is run with N, with 2N and, where it grows, with 4N steps. Growth must go on: what is filled once, or up to
a bound, is no leak. A finding is judged by what went into the flagged statement and is still alive at later hits; only
where that says nothing (no tensor went in) by what the program as a whole does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..finding import Retains, Verdict

UNKNOWN_KEY = "[?]"  # in a path: an item under a stand-in, of which it is not known whether it comes again
_LEVEL = 0.9  # share of the highest that a level may differ by
SMALL = 64  # bytes per step that a program may keep on purpose: a number or two
HELD = 1 << 20  # bytes held from which on they matter by themselves
HELD_SHARE = 0.01  # or this share of the peak
PEAK = 1.1  # how much higher a peak must be than the one without gradients
_FEW = 6  # hits of a statement below which nothing can be said about growth
_CHILD_BYTES = 32 << 10  # per step, private to children
_CHILD_MIN = 2 << 20  # in all
COPIED = 8 << 20  # in all, of pages that are copied as they are touched
_SHM_BYTES = 1 << 10
_MOST = 0.75  # of the growth that is seen at a function's return, for another that sees it as well
_STORAGES = 0.1  # per step: one storage that is larger with more steps is a size, not a leak

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """The same program with N, 2N and perhaps 4N steps: what each run showed."""

    runs: tuple[Data, ...]
    child_bytes: tuple[int, ...]
    device: str = "cpu"

    @property
    def last(self) -> Data:
        return self.runs[-1]

    @property
    def steps(self) -> int:
        return int(self.last["steps"])

    def slopes(self, values: Sequence[float]) -> list[float]:
        """Growth per step from each run to the next."""
        steps = [run["steps"] for run in self.runs]
        return [(values[n + 1] - values[n]) / (steps[n + 1] - steps[n]) for n in range(len(values) - 1)]

    def rate(self, values: Sequence[float]) -> float:
        """Growth per step that goes on: the last slope, or 0 where it is much lower than the first."""
        slopes = self.slopes(values)
        if not slopes or min(slopes) <= 0 or slopes[-1] < 0.5 * slopes[0]:
            return 0.0
        return slopes[-1]

    def growth(self, what: str, when: str = "after") -> float:
        return self.rate([run[when][what] for run in self.runs])

    def child_growth(self) -> float:
        """Bytes per step that child processes take for themselves."""
        grown = self.child_bytes[-1] - self.child_bytes[0]
        rate = self.rate(self.child_bytes)
        return rate if rate >= _CHILD_BYTES and grown >= max(_CHILD_MIN, 0.1 * self.child_bytes[-1]) else 0.0

    def copied(self) -> float:
        """Bytes per step that children have taken by the end of the last run, beyond those of the first, much shorter
        one. Pages of a large object that are copied one by one need not go on to grow: at last all have been.
        """
        grown = self.child_bytes[-1] - self.child_bytes[0]
        rate = grown / (self.steps - self.runs[0]["steps"])
        return rate if rate >= _CHILD_BYTES and grown >= max(COPIED, 0.25 * self.child_bytes[-1]) else 0.0


@dataclass(frozen=True)
class Growth:
    """What grows in a program as a whole, per step, and where it was seen."""

    bytes: float = 0.0
    nodes: float = 0.0
    host: float = 0.0
    fds: float = 0.0
    shm: float = 0.0
    child: float = 0.0
    threads: float = 0.0  # that go on a second after the entry's return; never why a finding about bytes is true
    delayed: float = 0.0  # bytes per step that a collection frees
    scope: str = "call"  # there when the entry returns, or only inside a loop of it
    where: str = ""  # the function at whose return it was seen
    path: tuple[str, ...] = ()
    sites: Mapping[str, int] = field(default_factory=dict)  # "file:line" -> storages made there, on that path
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # flagged place -> who holds what went in there

    @property
    def any(self) -> bool:
        return bool(self.bytes or self.nodes or self.fds or self.shm or self.child)

    def said(self) -> str:
        parts = []
        if self.bytes:
            parts.append(f"{readable(self.bytes)} of tensor storages")
        if self.nodes:
            parts.append(f"{number(self.nodes)} autograd nodes")
        if self.fds:
            parts.append(f"{number(self.fds)} open descriptors")
        if self.shm:
            parts.append(f"{readable(self.shm)} of shared memory")
        if self.child:
            parts.append(f"{readable(self.child)} private to child processes")
        if self.threads:
            parts.append(several(self.threads, "thread"))
        return " and ".join(parts) + " more per step" if parts else "nothing grows"


def growth(series: Series, *, within: bool = True) -> Growth:
    """What grows in the program as a whole: at the return that was probed, or `within`, at one of its functions'."""
    nodes = series.growth("nodes")
    size = series.growth("bytes")
    before = series.growth("bytes", "before")
    fds, shm, child = series.growth("fds"), series.growth("shm"), series.child_growth()
    left = max(series.growth("bytes", "left"), 0)
    threads = series.growth("threads", "left") if series.last["left"] else 0.0
    found = Growth(
        bytes=size if size > SMALL and series.growth("storages") >= _STORAGES else 0.0,
        nodes=nodes if nodes >= 0.5 else 0.0,
        host=series.growth("heap"),
        fds=fds if fds >= 0.25 else 0.0,
        shm=shm if shm >= _SHM_BYTES else 0.0,
        child=child,
        threads=threads if threads >= 0.5 else 0.0,
        delayed=before - size if before - size > SMALL else 0.0,
        scope="call" if left > SMALL or size > SMALL or nodes >= 0.5 else "loop",
        where="the entry",
    )
    found = replace(found, paths=paths(series))
    if found.any or not within:
        held = _growing_path(series) if found.bytes or found.nodes or not found.fds else _growing_files(series)
        return found if held is None else replace(found, path=tuple(held["labels"]), sites=held["sites"])
    return _within(series, found)


def paths(series: Series) -> dict[str, tuple[str, ...]]:
    """For each flagged place the path that most of what went in there is on; of equals, the heaviest."""
    best: dict[str, tuple[tuple[int, int, int], tuple[str, ...]]] = {}
    for held in series.last["held"]:
        for place, count in held["watched"].items():
            weight = (count, held["bytes"] + held["saved_bytes"], held["nodes"])
            if place not in best or weight > best[place][0]:
                best[place] = weight, tuple(held["labels"])
    return {place: labels for place, (_, labels) in best.items()}


def _growing_path(series: Series) -> Data | None:
    """The path that gains most from run to run."""
    before = {tuple(held["labels"]): held for held in series.runs[-2]["held"]} if len(series.runs) > 1 else {}
    best, most = None, (0, 0)
    for held in series.last["held"]:
        old = before.get(tuple(held["labels"]), {})
        gained = (
            held["bytes"] + held["saved_bytes"] - old.get("bytes", 0) - old.get("saved_bytes", 0),
            held["nodes"] - old.get("nodes", 0),
        )
        if gained[0] <= SMALL * (series.steps // 2):  # numbers: what counts is the graph
            gained = (0, gained[1])
        if gained > most:
            best, most = held, gained
    return best


def _growing_files(series: Series) -> Data | None:
    """The path that leads to most more open files from run to run."""
    before = (
        {tuple(held["labels"]): held.get("files", 0) for held in series.runs[-2]["held"]} if series.runs[1:] else {}
    )
    best, most = None, 0
    for held in series.last["held"]:
        gained = held.get("files", 0) - before.get(tuple(held["labels"]), 0)
        if gained > most:
            best, most = held, gained
    return best


def _within(series: Series, found: Growth) -> Growth:
    """Growth that is over when the entry returns: the function that sees most of it, and of those that see nearly as
    much the one that returned least often: the loop is in it, not around it.
    """
    names = set.intersection(*(set(run["points"]) for run in series.runs))
    seen = []
    for name in sorted(names):
        points = [run["points"][name] for run in series.runs]
        size = series.rate([point["bytes"] for point in points])
        nodes = series.rate([point["nodes"] for point in points])
        storages = series.rate([point["storages"] for point in points])
        if nodes < 0.5 and (storages < 0.5 or size <= SMALL):
            continue
        kept = nodes if nodes >= 0.5 else 0.0
        hits = points[-1]["hits"]
        seen.append((hits, replace(found, bytes=max(size, 0.0), nodes=kept, scope="loop", where=name)))
    if not seen:
        return found
    most = max((one for _, one in seen), key=lambda one: (one.nodes, one.bytes))
    enough = [pair for pair in seen if pair[1].nodes >= _MOST * most.nodes and pair[1].bytes >= _MOST * most.bytes]
    return min(enough, key=lambda pair: pair[0])[1]


# --- one finding ------------------------------------------------------------------------------------


def verdict(
    series: Series, site: int, retains: Retains | None, whole: Growth, *, alone: bool, starts: bool = False
) -> Verdict:
    """The verdict on one finding. `alone`: no other finding's own values explain what the program does. `starts`: it is
    about threads or processes that go on.
    """
    record = series.last["sites"].get(str(site), {"hits": 0, "samples": []})
    base: dict[str, Any] = {
        "tier": "observed",
        "steps": series.steps,
        "device": series.device,
        "torch": series.last["torch"].split("+")[0],
        "peak_bytes": series.last["peak"],
        "curve": tuple(map(tuple, series.last["curve"])),
        "hits": tuple(map(tuple, record["samples"])),
        "host_bytes_per_step": round(whole.host),
    }
    if not record["hits"] and (whole.child or whole.shm) and alone:
        where = "in a child process" if record.get("below") else "in a process of its own, if at all"
        said = f"{whole.said()}; the flagged line runs {where}"
        return Verdict("growing", reason=said, **figures(whole), **base)
    if not record["hits"]:
        below = ": only child processes came by" if record.get("below") else ""
        return Verdict("inconclusive", reason=f"the flagged line was not reached{below}", **base)
    own = own_growth(record)
    if own is not None and (own[0] > SMALL or own[1] >= 0.5):
        size, nodes = own
        said = f"what goes in at this line stays: {kept(size, nodes)} more at each of {record['hits']} hits"
        return Verdict(
            "growing",
            reason=said,
            bytes_per_step=round(size),
            nodes_per_step=round(nodes, 2),
            scope=whole.scope,
            path=whole.paths.get(str(site)) or tuple(record.get("path", ())) or whole.path,
            **base,
        )
    if whole.delayed and (alone or retains is Retains.DELAYED):
        said = f"{readable(whole.delayed)} more per step until the cyclic collector runs, which frees them"
        return Verdict("delayed", reason=said, bytes_per_step=round(whole.delayed), **base)
    if whole.any and alone:
        return Verdict("growing", reason=f"{whole.said()}, seen at {whole.where}", **figures(whole), **base)
    if starts and whole.threads:
        return Verdict("growing", reason=f"{several(whole.threads, 'thread')} more per step", scope="call", **base)
    left = int(series.last["left"]["bytes"])
    if alone and left >= _matters(series):
        said = f"{readable(left)} are still alive after the call"
        path = tuple(series.last["held"][0]["labels"]) if series.last["held"] else ()
        return Verdict("held", reason=said, held_bytes=left, scope="call", path=path, **base)
    held = int(record.get("held", 0))
    if retains is Retains.HELD and held >= _matters(series):
        said = f"{readable(held)} that went in at this line are still alive at the end"
        return Verdict("held", reason=said, held_bytes=held, path=whole.paths.get(str(site), ()), **base)
    if record["hits"] < _FEW and retains is Retains.GROWING and own is None:
        few = f"the flagged line was reached {record['hits']} times: too few to tell growth"
        return Verdict("inconclusive", reason=few, **base)
    plain = retains is Retains.GROWING and 0 < record.get("given", 0) == record.get("plain", 0)
    if not record.get("tensors") and not plain:  # but for numbers and text, that no tensor went in says nothing
        nothing = f"reached {record['hits']} times, and no tensor went in at this line"
        return Verdict("inconclusive", reason=nothing, **base)
    if record.get("tensors") and own is not None and not any(size or nodes for _, size, nodes in record["samples"]):
        return Verdict("inconclusive", reason="only empty tensors went in here: what replaces them may stay", **base)
    return Verdict("refuted", reason=_refuted(record, whole), bytes_per_step=0, nodes_per_step=0, **base)


def _matters(series: Series) -> float:
    """Bytes from which on what is merely held matters."""
    return float(min(HELD, max(SMALL, HELD_SHARE * series.last["peak"])))


def figures(whole: Growth) -> dict[str, Any]:
    """A growth's figures, by the names of a verdict."""
    return {
        "bytes_per_step": round(whole.bytes),
        "nodes_per_step": round(whole.nodes, 2),
        "fds_per_step": round(whole.fds, 2) or None,
        "shm_bytes_per_step": round(whole.shm) or None,
        "child_bytes_per_step": round(whole.child) or None,
        "scope": whole.scope,
        "path": whole.path,
    }


def own_growth(record: Data) -> tuple[float, float] | None:
    """Bytes and nodes per hit that what went into a statement gains, from hit to hit; None if too few hits."""
    samples = record["samples"]
    if len(samples) < _FEW:
        return None
    return rising([(s[0], s[1]) for s in samples]), rising([(s[0], s[2]) for s in samples])


def rising(points: Sequence[tuple[int, int]]) -> float:
    """The slope of the longest stretch without a reset of which each third lies above the one before; else 0.

    A sum that is reset each epoch is growth inside the epoch, not a bounded buffer: the series is cut at a reset. So
    is a list of a function that is called again and again. What comes to a level and stays there has been filled.
    """
    stretches = _stretches(points)
    grown = [one for number, one in enumerate(stretches) if not _fills_up(one, stretches[number + 1 :])]
    slopes = map(_slope, sorted(grown, key=len, reverse=True))
    return next((slope for slope in slopes if slope), 0.0)


def _fills_up(stretch: Sequence[tuple[int, int]], later: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether all that comes later is no lower than where this ends, and rises no more: a ring, a few running sums."""
    values = [value for one in later for _, value in one]
    tail = values[len(values) // 2 :]
    return len(values) >= _FEW and min(values) >= _LEVEL * stretch[-1][1] and min(tail) >= _LEVEL * max(tail)


def is_cut_short(points: Sequence[tuple[int, int]]) -> bool:
    """Whether it rises from hit to hit and is let go before there were enough to tell growth, again and again: so does
    a table that is emptied after each epoch, where the epochs that were run have a few turns each. The first hits tell,
    none of which was left out."""
    first = [point for number, point in enumerate(points, 1) if point[0] == number]
    values = [[value for _, value in stretch] for stretch in _stretches(first)]
    short = [one for one in values if 2 < len(one) < _FEW and one[0] < one[-1] and one == sorted(one)]
    return len(values) > 1 and 2 * len(short) >= len(values)


def is_filled_once(points: Sequence[tuple[int, int]]) -> bool:
    """Whether it rises at the first few hits and stays where it is then."""
    values = [value for _, value in points]
    return len(values) >= _FEW and values[0] < values[_FEW - 1] == values[-1] == max(values)


def _slope(stretch: Sequence[tuple[int, int]]) -> float:
    if len(stretch) < _FEW:
        return 0.0
    third = len(stretch) // 3
    values = [value for _, value in stretch]
    first, middle, last = values[:third], values[third:-third], values[-third:]
    if not (min(last) >= max(middle) and min(middle) >= max(first) and last[-1] > middle[0] > first[0] - 1):
        return 0.0
    if last[-1] <= first[-1] or last[0] <= first[0]:
        return 0.0
    return (values[-1] - values[third]) / (stretch[-1][0] - stretch[third][0])


def _stretches(points: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The series, cut where it falls to less than half, and where the looks become rarer: what happened in between
    is not known."""
    found: list[list[tuple[int, int]]] = [[]]
    for point in points:
        if found[-1] and (point[1] < 0.5 * found[-1][-1][1] or _is_late(found[-1], point)):
            found.append([])
        found[-1].append(point)
    return found


def _is_late(stretch: Sequence[tuple[int, int]], point: tuple[int, int]) -> bool:
    return len(stretch) > 1 and point[0] - stretch[-1][0] > stretch[-1][0] - stretch[-2][0]


def _refuted(record: Data, whole: Growth) -> str:
    hits = record["hits"]
    if not record.get("tensors"):
        return f"reached {hits} times, and no tensor went in at this line"
    if not record.get("with_graph") and not whole.any:
        return f"reached {hits} times: what went in has no graph, and nothing grows"
    return f"reached {hits} times, and what goes in is let go again"


def kept(size: float, nodes: float) -> str:
    if nodes >= 0.5 and size > 0:
        return f"{readable(size)} and {number(nodes)} autograd nodes"
    return f"{number(nodes)} autograd nodes" if nodes >= 0.5 else readable(size)


def readable(size: float) -> str:
    """Bytes for people."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(size) >= 10 * factor or (unit != "KiB" and abs(size) >= factor):
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} B"


def several(count: float, kind: str) -> str:
    """`1 thread`, `1.5 threads`, `2 processes`"""
    return f"{number(count)} {kind}{('es' if kind.endswith('s') else 's') * (round(count, 1) != 1)}"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
