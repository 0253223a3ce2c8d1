"""Predictions pile up on the device and are moved only after the loop.

## What it does
Reports lists, dictionaries and tensors grown by `torch.cat` that collect the
results of a loop with gradients off, where what was collected goes to the host,
`.cpu()`, or into a file, `torch.save`, only when the loop is over. The loop
goes over a loader, or puts on a device what it goes over. Also a list that the
hook of a framework fills for each batch of an evaluation, `validation_step` or
`on_predict_batch_end`, and that the hook for its end joins and moves. Also the
list of a function named for prediction, such as `predict` or `run_inference`,
that goes over a loader and hands all predictions out as they are.
Also a list of a function that gains tensors in such a loop, and of which
nothing is asked but its length: all of it is there until the loop is over.
Likewise one that gains a score for every candidate, and of which only the best
few of each row are asked for after the loop, `torch.cat(scores).topk(10, 1)`;
or rows for all choices, with gradients off, from which only what was chosen in
the same round is picked in the end, `torch.stack(rows, 1).gather(-1, chosen)`.
And a method that hands out an entry of what its object has cached, and moves
parts of it to the device in the entry itself,
`item["image"] = item["image"].to(self.device)`.

## Why it retains
Without a graph each element is one tensor, but all of them lie on the device at
once: the logits of a whole evaluation set, next to the model. With `torch.cat`
in each round the old and the new tensor stand there together for a moment.

## When it is fine
- Each result is moved in the loop, `outputs.append(logits.cpu())`.
- What is kept is small by its nature: a number, `argmax`.
- The result is needed on the device: the function computes something of it.
- It is no result: a loop loads inputs onto the device, for what follows.
- The rounds are the steps of one answer, and not batches.

## How to release it
Move in the loop: `outputs.append(logits.cpu())`, and concatenate on the host.
Count what is only counted, take the best few of each row in the loop, and pick
there what has been chosen.

## References
- transformers documentation, `Trainer`, `eval_accumulation_steps`: "If left
  unset, the whole predictions are accumulated on the device accelerator before
  being moved to the CPU".
- Bytes per batch: measured by this rule's fixtures, where the CPU stands in for
  the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.best_of_rows import best_of_rows
from ...evidence.collected import collected_on_device
from ...evidence.only_counted import only_counted
from ...evidence.picked_later import picked_later
from ...evidence.service_loops import filled_by_waiting
from ...facts.model import Site, statement_of
from ...finding import Confidence, Remedy, Retains
from ...lexical.handed_out import handed_out
from ...lexical.moved_at_the_end import moved_at_the_end
from ...lexical.moved_in_place import moved_in_place
from ...lexical.moved_late import moved_late
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.retentions import Retention

code = "TML310"
name = "device-results-collected"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[tuple[int, str]] = set()
    for found in collected_on_device(evidence.machine, evidence.stores):
        if (found.store.site, found.holder) in seen or found.weight <= 0:
            continue
        seen.add((found.store.site, found.holder))
        yield _report(found.store.site, found.holder, found.weight)
    rows = {statement_of(site) for site, _ in seen}
    for late in (*moved_late(evidence.program), *moved_at_the_end(evidence.program)):
        if statement_of(late.site) not in rows:
            rows.add(statement_of(late.site))
            yield _report(late.site, late.holder, 2)
    for returned in handed_out(evidence.program):
        if statement_of(returned.site) not in rows:
            rows.add(statement_of(returned.site))
            yield _report(returned.site, returned.holder, 2, "is handed out without a move to the host")
    rows |= {statement_of(kept.site) for kept in filled_by_waiting(evidence.retentions)}  # TML502 speaks of it
    for counted in only_counted(evidence.retentions):
        if statement_of(counted.site) not in rows and evidence.machine.is_home(counted.store):
            rows.add(statement_of(counted.site))
            yield _only_counted(counted)
    for site, holder in best_of_rows(evidence.machine, evidence.stores):
        if statement_of(site) not in rows:
            rows.add(statement_of(site))
            yield _best_of_rows(site, holder)
    for site, holder in picked_later(evidence.machine, evidence.stores):
        if statement_of(site) not in rows:
            rows.add(statement_of(site))
            yield _picked_later(site, holder)
    for moved in moved_in_place(evidence.program):
        yield Report(
            site=moved.site,
            message=(
                f"`{moved.entry}` is the entry of `{moved.cache}` itself: what is moved in it stays on the device with "
                "the cache, for each entry that was asked for, until all of it is there; hand out a copy, "
                f"`{moved.entry} = {moved.copied}({moved.entry})`, and move what that has"
            ),
            confidence=Confidence.MEDIUM,
            value="the entries of a cache, on the device",
            holder=moved.cache,
            release="move what a copy of the entry has, and leave the entry as it is",
        )


def _only_counted(counted: Retention) -> Report:
    return Report(
        site=counted.site,
        message=(
            f"`{counted.holder.text}` gains what each iteration gives and nobody looks into it: all of it stays until "
            "the loop is over; count what there is"
        ),
        confidence=Confidence.MEDIUM,
        value="the results of every iteration",
        holder=counted.holder.text,
        release="add up numbers instead of collecting what they are of",
    )


def _best_of_rows(site: Site, holder: str) -> Report:
    return Report(
        site=site,
        message=(
            f"`{holder}` gains all scores of every batch, and when the loop is over only the best of each "
            "row are asked for: until then every row stays in full; take the best in the loop, and collect these"
        ),
        confidence=Confidence.MEDIUM,
        value="the scores of every batch, for every candidate",
        holder=holder,
        release="take the best of each row in the loop, and collect these",
    )


def _picked_later(site: Site, holder: str) -> Report:
    return Report(
        site=site,
        message=(
            f"`{holder}` gains a row for all choices in each round, and in the end only what was chosen is picked from "
            "each: until then every row stays in full; pick it in the loop, `gather(...)`, and collect these"
        ),
        confidence=Confidence.MEDIUM,
        value="the rows of every round, for all choices",
        holder=holder,
        release="pick the entry of what is chosen in the loop, and collect these",
    )


def _report(site: Site, holder: str, weight: int, then: str = "leaves the device only after the loop") -> Report:
    return Report(
        site=site,
        message=(
            f"`{holder}` collects results of every iteration where they were computed and {then}: "
            "all of them lie on the device at once; move each one in the loop, `.cpu()`"
        ),
        confidence=Confidence(weight),
        value="the results of every iteration, on the device",
        holder=holder,
        release="move each result in the loop, `.cpu()`, and concatenate on the host",
        remedy=Remedy("call-on-stored", "cpu()", sure=False),
    )
