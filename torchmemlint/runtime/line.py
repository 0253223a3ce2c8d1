"""Figures of a snippet's runs in, the verdict on its flagged line out. Nothing here runs anything.

A verdict is given only where the flagged statement itself was seen at work: reached often enough, none of the lines
that it depends on passed over, and what goes in is known. All else is inconclusive, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..finding import Retains, Verdict
from . import judge
from .judge import Series

PAYLOAD = 4096  # bytes of a stand-in for a tensor
_FEW = 6
_TASKS = ("threads", "processes")  # of an account
_GOES_ON = 1.7  # times as many hits in twice as many steps


def base(status: str, reason: str, series: Series) -> Verdict:
    account = series.last["account"]
    tier = "simulated" if account["guessed"] or account["assumed"] or account["passed"] else "replayed"
    last = series.last
    seen: dict[str, Any] = {"peak_bytes": last["peak"], "curve": tuple(map(tuple, last["curve"]))}
    seen["hits"] = tuple(map(tuple, last["sites"]["0"]["samples"]))
    return Verdict(
        status, tier, reason, steps=series.steps, device=series.device, torch=last["torch"].split("+")[0], **seen
    )


def judged_line(series: Series, retains: Retains, *, starts: bool = False) -> Verdict:
    """What the flagged statement was seen to do. With `starts`, it is about threads or processes that go on."""
    record, account = series.last["sites"]["0"], series.last["account"]
    reason = _untrusted(record, account)
    if reason:
        return base("inconclusive", reason, series)
    stops = _stops(series)
    if stops:
        return base("refuted", stops, series)
    if retains is Retains.DELAYED:
        return _delayed(record, series)
    stays = _tasks(series, record, starts=starts) or _tensors(series, record, retains)
    return stays or _objects(series, record, retains, starts=starts) or _let_go(series, record, retains)


def _tasks(series: Series, record: dict[str, Any], *, starts: bool) -> Verdict | None:
    """Threads and processes that go on."""
    account = series.last["account"]
    threads, processes = (series.rate([run["account"][kind] for run in series.runs]) for kind in _TASKS)
    if threads + processes < 0.5:
        return None
    if account["cut"]:
        said = "a thread goes on, and a loop that may read what it gives was ended after a few turns"
        return base("inconclusive", said, series)
    if not starts:
        return None
    kind, count = ("process", processes) if processes > threads else ("thread", threads)
    said = f"what is started at this line goes on: {judge.several(count, kind)} more at each of {record['hits']} hits"
    return replace(base("growing", said + _assumptions(account, record), series), scope="call")


def _tensors(series: Series, record: dict[str, Any], retains: Retains) -> Verdict | None:
    """Tensors that stay, more of them at each hit or a constant amount."""
    account = series.last["account"]
    path = judge.paths(series).get("0", ())
    size, nodes = judge.own_growth(record) or (0.0, 0.0)
    if size >= PAYLOAD / 4 or nodes >= 0.5:
        if account["keyed"] or any("key of" in label or judge.UNKNOWN_KEY in label for label in path):
            return base("inconclusive", "whether the keys that it stores under come again is not known", series)
        kept = [stand_ins(size)] if size >= PAYLOAD / 4 else []
        kept += [f"{judge.number(nodes)} autograd nodes"] if nodes >= 0.5 else []
        said = f"what goes in at this line stays: {' and '.join(kept)} more at each of {record['hits']} hits"
        verdict = base("growing", said + _assumptions(account, record), series)
        figures = {"bytes_per_step": round(size), "nodes_per_step": round(nodes, 2)}
        return replace(verdict, **figures, path=path, scope=_scope(series))  # type: ignore[arg-type]
    held = int(record.get("held", 0))
    if retains is not Retains.HELD or held < PAYLOAD:
        return None
    said = f"{stand_ins(held)} that went in at this line are alive at the end"
    return replace(base("held", said + _assumptions(account, record), series), held_bytes=held, path=path)


def _objects(series: Series, record: dict[str, Any], retains: Retains, *, starts: bool) -> Verdict | None:
    """Objects without a tensor that stay."""
    objects, account = judge.rising(record["objects"]), series.last["account"]
    if objects < 0.5 or retains is not Retains.GROWING or account["keyed"]:
        return None
    scope = "call" if 2 * record["alive"] > record["objects"][-1][1] else "loop"
    if starts and scope == "loop":  # threads that are told to end may do so after some more hits
        return None
    said = f"what goes in at this line stays: {judge.several(objects, 'object')} more at each of {record['hits']} hits"
    return replace(base("growing", said + _assumptions(account, record), series), scope=scope)


def _let_go(series: Series, record: dict[str, Any], retains: Retains) -> Verdict:
    """What is said where nothing was seen to stay."""
    own = judge.own_growth(record)
    if record["into"]:
        return base("inconclusive", "what it goes into is not known", series)
    if record["opaque"]:
        return base("inconclusive", "of what goes in at this line nothing is known", series)
    if not record["tensors"]:
        said = f"reached {record['hits']} times, and no tensor went in at this line"
        known = retains is Retains.GROWING and 0 < record["given"] == record["plain"]  # numbers and text alone
        return base("refuted" if known else "inconclusive", said, series)
    if own is not None and own[0] > 0:
        said = f"reached {record['hits']} times, and of what goes in no more than {judge.readable(own[0])} a hit stay"
        return base("refuted" if own[0] <= judge.SMALL else "inconclusive", said, series)
    unsure = _why_not_refuted(record, series.last["account"]) if retains is not Retains.PEAK else ""
    said = unsure or f"reached {record['hits']} times, and what goes in is let go again"
    return base("inconclusive" if unsure else "refuted", said, series)


def _why_not_refuted(record: dict[str, Any], account: dict[str, Any]) -> str:
    """Why what is let go in such a run may well stay; empty if nothing says so."""
    if record["onto"]:
        return "it is set on what was handed in, and whether that stays is not known"
    seen = [[(sample[0], sample[what]) for sample in record["samples"]] for what in (1, 2)]
    if account["again"] and any(map(judge.is_filled_once, seen)):
        return "what it goes over are a few items, which came again: too few to tell growth"
    if any(map(judge.is_cut_short, seen)):
        return "what goes in is let go after a few turns: too few to tell growth"
    return ""


def _delayed(record: dict[str, Any], series: Series) -> Verdict:
    """Whether what goes in stays until the cyclic collector runs, and no longer."""
    objects = judge.rising(record["objects"])
    if objects < 0.5:
        return base("inconclusive", f"reached {record['hits']} times, and no object more stays at any", series)
    if record["alive"] > 0.5 * record["objects"][-1][1]:
        return base("inconclusive", "what goes in stays even when cycles have been collected", series)
    said = f"{judge.several(objects, 'object')} more at each of {record['hits']} hits, until the cyclic collector runs"
    return base("delayed", said, series)


def limit_ahead(series: Series) -> tuple[int, int] | None:
    """A test that leads to the flagged line and compares a number with another which it has come nearer to and not
    reached: the line of the test and the limit."""
    counts: dict[str, list[int]] = series.last["account"]["counts"]
    found = [(int(line), limit) for line, (first, last, limit) in counts.items() if first < last < limit]
    return max(found, key=lambda pair: pair[1]) if found else None


def _stops(series: Series) -> str:
    """How the flagged line stops being reached while the program goes on; empty if it does not."""
    few, many = (run["sites"]["0"]["hits"] for run in series.runs[:2])
    if many >= _GOES_ON * few or many > series.steps:  # with more than one a step, something else may have ended it
        return ""
    return f"reached {few} times in {series.runs[0]['steps']} steps, and {many} times in {series.steps}: it is bounded"


def _untrusted(record: dict[str, Any], account: dict[str, Any]) -> str:
    """Why nothing can be said; empty if something can."""
    if not record["hits"]:
        return "the flagged line is not reached with stand-ins"
    failed = sorted(set(map(int, account["healed"])) & set(account["slice"]))
    if failed:
        said = account["healed"][str(failed[0])]
        return f"line {failed[0]}, which it depends on, cannot be run with stand-ins: {said}"
    if record["hits"] < _FEW:
        return f"the flagged line was reached {record['hits']} times: too few to tell growth"
    return ""


def _assumptions(account: dict[str, Any], record: dict[str, Any]) -> str:
    """What a confirmed verdict takes for granted."""
    said = []
    if account["assumed"]:
        rows: Sequence[int] = sorted(set(account["assumed"]))
        said.append(f"the test at line {rows[0]} to lead here")
    if record["into"]:
        said.append("what it goes into for a list")
    return f" (taking {' and '.join(said)})" if said else ""


def _scope(series: Series) -> str:
    return "call" if series.growth("bytes", "left") > judge.SMALL or series.growth("nodes", "left") >= 0.5 else "loop"


def stand_ins(size: float) -> str:
    """Bytes of stand-ins say nothing: how many of them there are does."""
    return judge.several(size / PAYLOAD, "stand-in tensor")
