"""What the rules about long-lived holders say of a place that grows: value, holder, lifetime and remedy in words, and
the reports that several of them make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..facts.model import statement_of
from ..finding import Confidence, Remedy, Retains
from ..interpreter.values import Obj
from ..lexical.loaded_tables import loaded_tables
from ..lexical.pending import pending
from ..lexical.refused_at_entry import refused_at_entry
from . import Report, retained

if TYPE_CHECKING:
    from ..evidence.evidence import Evidence
    from ..evidence.retentions import Retention
    from ..facts.passed_by import PassedBy
    from ..facts.ways import LeftBehind


def what(retention: Retention) -> str:
    """What is added each time: "a tensor", "a module"."""
    objects = retention.store_event.objects
    if objects:
        return "an optimizer" if all(obj.kind == "optimizer" for obj in objects) else "a model"
    return "a tensor"


def each(retention: Retention) -> str:
    """When it is added."""
    if all(loop.kind == "call" for loop in retention.loops):
        return f"at each call of `{retention.function}`"
    return "in each iteration"


def lifetime(retention: Retention) -> str:
    """Until when it stays."""
    holder = retention.holder
    if holder.kind == "closure":
        return f"as long as what `{holder.owner}` made lives"
    if holder.kind == "attribute":
        return f"as long as the {holder.owner} lives" if holder.owner else "as long as its owner lives"
    return "for the rest of the process"


def limit(retention: Retention) -> Remedy | None:
    """A limit for the container, where it is of a kind that takes one."""
    owner = retention.store_event.owner
    deque = isinstance(owner, Obj) and owner.kind == "deque"
    return Remedy("bound", retention.holder.text, sure=False) if deque else None


def report(
    retention: Retention, confidence: Confidence, message: str, release: str, remedy: Remedy | None = None
) -> Report:
    """`message` and `release` are for what nothing empties."""
    value = f"{what(retention)} {each(retention)}"
    if retention.left is not None:
        return _report_left(retention, retention.left, confidence, value)
    if retention.passed is not None:
        return _report_passed(retention, retention.passed, confidence, value)
    return retained.report(retention, confidence, message, value, release, Retains.GROWING, remedy)


def _report_left(retention: Retention, left: LeftBehind, confidence: Confidence, value: str) -> Report:
    """Of an entry that is taken out on all ways but one."""
    when = "an error is caught" if left.failed else "the function leaves early"
    message = (
        f"{retained.place(retention.holder)} keeps what is put here when {when} before it is taken out: it stays "
        f"{lifetime(retention)}; take it out in a `finally`"
    )
    release = "take the entry out in a `finally`, or on each way out"
    found = retained.report(retention, confidence, message, value, release, Retains.GROWING)
    return replace(found, related=((left.site, "it stays on this way"), *found.related))


def _report_passed(retention: Retention, passed: PassedBy, confidence: Confidence, value: str) -> Report:
    """Of an entry that the only release passes by."""
    message = (
        f"{retained.place(retention.holder)} keeps {what(retention)} that {passes_by(passed)}: it stays "
        f"{lifetime(retention)}; {release_of(passed)}"
    )
    confidence = min(confidence, Confidence.MEDIUM)
    found = retained.report(retention, confidence, message, value, release_of(passed), Retains.GROWING)
    return replace(found, related=((passed.site, "the only release"), *found.related))


_PASSES_BY = {
    "ended": "takes out only as long as it has not ended",
    "ended here": "takes out where it ends by itself, and which stays where another method ends it",
    "cancelled": "takes out only when it has waited, and not when the wait is cancelled",
    "failed": "takes out only when nothing has failed",
    "skipped": "takes out only where it does not leave early, with its key gone from the queue",
    "answered": "takes out only on its last way, and gives the same answer before",
    "refused": "takes out only when it fails, and leaves there when all goes well",
    "broken only": "takes out only when its connection breaks, and not when it is closed",
    "elsewhere": "takes out on one rank only, while every rank puts it there",
    "unasked": "takes out only if its key is asked for again",
    "unclaimed": "takes out only if it has not given up waiting for it",
    "unfetched": "takes out only when somebody comes for it, and nobody does once its request is broken off",
    "exhausted": "takes out only when it has come to its end, and not when nobody asks for more",
    "raised": "takes out only when it has an answer, and not when it has an exception",
    "told": "takes out only when it has not failed, and not before it raises its error",
    "put back": "takes out only to put another one there",
    "broken off": "takes out only when it comes to its end, and nobody says so when it is broken off",
    "other key": "takes out under another key only",
    "one for many": "takes out one at a time, while several have come since",
    "undifferentiated": "takes out only for its backward pass, and none comes with gradients off",
    "full": "takes out only while there is room in a queue, and more is added whether there is or not",
    "apart": "alone takes out, while it goes from the table beside this one elsewhere as well",
}
_RELEASES = {
    "ended": "take it out when it has ended as well",
    "ended here": "take it out wherever it ends",
    "unfetched": "take it out where the request is broken off as well",
    "skipped": "take it out as soon as its key is taken from the queue",
    "answered": "take it out before the first answer that is the last one",
    "broken only": "take it out in a `finally` around the loop",
    "elsewhere": "take it out on every rank",
    "unasked": "go through all that has expired as well, where one is added",
    "unclaimed": "note that nobody waits for it any more, and do not put it there",
    "exhausted": "close it and take it out where whoever asks has enough as well",
    "told": "take it out before the error is raised",
    "put back": "take it out when it has served its turn",
    "broken off": "take it out where it is broken off as well",
    "other key": "take it out under the key that it was put there with",
    "one for many": "take out as many as are too much, `while` and not `if`",
    "undifferentiated": "put nothing there while gradients are off, `if torch.is_grad_enabled():`",
    "full": "wait until there is room, or add nothing as long as something is left",
    "apart": "take it out wherever its entry in the other table goes",
}


def passes_by(passed: PassedBy) -> str:
    """What a release does not come to, to go on after "what" or "a tensor that"."""
    return f"`{passed.function}` {_PASSES_BY[passed.why]}"


def release_of(passed: PassedBy) -> str:
    return _RELEASES.get(passed.why, "take it out in a `finally`")


def left_pending(evidence: Evidence, *, everywhere: bool) -> Iterator[Report]:
    """Of tables, the file's or an object's, whose entries are taken out only if a wait ends well."""
    for one in pending(evidence.facts):
        if one.everywhere == everywhere:
            yield Report(
                site=one.site,
                message=(
                    f"`{one.table}` keeps the tensors of this entry when what stands before in the `try` fails: no "
                    "`except` clause takes it out; take it out there as well, or in a `finally`"
                ),
                confidence=Confidence.MEDIUM,
                value="the tensors of what has failed",
                holder=one.table,
                release="take the entry out in a `finally`",
                related=((one.put, "put there"),),
            )


def left_by_refusals(evidence: Evidence, kind: str) -> Iterator[Report]:
    """Of what the `with` of an object puts into something of this kind, and then raises an error of its own."""
    for one in refused_at_entry(evidence.program, evidence.reaching):
        if one.kind != kind:
            continue
        holder = f"`{one.holder}` keeps {one.kept}" if one.holder else "the hook stays on its module"
        yield Report(
            site=one.site,
            message=(
                f"{holder} when the check after this refuses to enter: a `with` that was not entered is not left "
                "either, and nothing undoes this; check first, or undo it when the check fails"
            ),
            confidence=Confidence.MEDIUM,
            value="what belongs to a block that was never entered",
            holder=one.holder or "the module's hook table",
            release="check before, or undo it in an `except` clause around the check",
            retains=Retains.GROWING,
            related=((one.raised, "it may be refused here"),),
        )


def loaded(evidence: Evidence, *, of_class: bool) -> Iterator[Report]:
    """Of tables of the module, or of a class, that get what was loaded for each path or text that is asked for."""
    said = {statement_of(retention.store) for retention in evidence.retentions if not retention.graph}
    for one in loaded_tables(evidence.program, evidence.releases, evidence.imported_tables):
        unsaid = statement_of(one.site) not in said
        if bool(one.cls) == of_class and unsaid and not evidence.in_tests:
            yield Report(
                site=one.site,
                message=(
                    f"`{one.table}` keeps what was loaded or computed for every `{one.key}` that was ever asked for, "
                    "and nothing takes it out: it stays for the rest of the process; bound it and evict, or let the "
                    "caller keep it"
                ),
                confidence=Confidence.MEDIUM,
                value="what was loaded for each key",
                holder=one.table,
                release="bound the table and evict, or let the caller keep what it asked for",
            )
