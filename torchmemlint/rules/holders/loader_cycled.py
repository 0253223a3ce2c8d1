"""`itertools.cycle` over a data loader keeps every batch of the first pass.

## What it does
Reports `itertools.cycle(loader)`, where the argument is a `DataLoader` or is
named as one; with low confidence also `list(loader)`. Likewise
`executor.map(score, loader)` of a pool of threads. And a branch of
`itertools.tee` over batches, or what else has tensors, that is looked at once
and then stays bound while the other one is gone through, or that each pass
splits anew.

## Why it retains
`cycle` cannot restart an iterable, so it saves a copy of each element of the
first pass and repeats those. Over a loader that is the whole data set, batch
after batch, augmented once and never again: memory grows until the first pass
is over and stays at that height. The later passes also repeat the first one's
order and augmentation. `tee` keeps what one branch has given until the other
has given it too: a branch that nobody advances keeps all that follows.
`map` of an executor submits one call for each item before it returns, however
few threads there are, so all batches are loaded at once.

## When it is fine
- `map` over paths or indices, each of which its call loads by itself.
- A generator that starts the loader anew each time:
  `while True: yield from loader`.
- `cycle` over a short list of names or devices.
- Both branches of `tee` are advanced together, or the one that was looked at is
  a local that ends with its function, or is deleted.

## How to release it
Write the generator above, or call `iter(loader)` again on `StopIteration`.
To look at the first batch: `first = next(batches)`, and
`itertools.chain([first], batches)`.

## References
- Python documentation, `itertools.cycle`: "saving a copy of each";
  `Executor.map`: the iterables are collected immediately rather than lazily.
- Bytes per batch: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...evidence.led_from import line_of_home
from ...facts import model as m
from ...facts.walk import calls_of, last_name, statements
from ...finding import Confidence, Remedy, Retains
from ...lexical.branches import Behind, left_behind
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Expr, Site
    from ...interpreter.events import Plain

code = "TML308"
name = "loader-cycled"
retains: Retains | None = Retains.GROWING

_TAKES_ALL = ("map", "imap", "imap_unordered", "map_async", "starmap")  # of executors and pools of threads
_CONFIDENCE = {  # a list of everything may be what is wanted
    (True, True): Confidence.HIGH,
    (True, False): Confidence.MEDIUM,
    (False, True): Confidence.LOW,
}


def check(evidence: Evidence) -> Iterator[Report]:
    noted: dict[Site, tuple[str, bool]] = {}
    elsewhere: dict[Site, Plain] = {}
    for note in evidence.machine.plain:
        if note.kind == "cycled":
            function, known = note.detail
            noted[note.site] = (function, known or noted.get(note.site, ("", False))[1])
            if function == "cycle" and known and not evidence.machine.is_home(note.site):
                site = line_of_home(evidence.machine, *note.trail[::-1], loops=note.loops)
                if site is not None:
                    elsewhere.setdefault(site, note)
    for behind in left_behind(evidence.program):
        yield _left(behind)
    names = _names(evidence, set(noted)) if noted else {}
    for site, (function, known) in sorted(noted.items()):
        argument = names.get(site, "")
        if function in _TAKES_ALL:
            yield _mapped(site, function)
            continue
        named = "loader" in argument.lower() and function == "cycle"
        if known or named:
            confidence = _CONFIDENCE[function == "cycle", known]
            yield _cycled(site, f"`{function}` keeps every batch of `{argument}`'s first pass", function, confidence)
    for site, note in sorted(elsewhere.items()):
        words = f"`{note.frame.name}()`, to which this leads, has `cycle` keep every batch of a loader's first pass"
        report = _cycled(site, words, "cycle", Confidence.HIGH)
        related = ((note.site, "cycled here"),)
        yield replace(report, related=related, said_by=note.site, said_along=note.trail, remedy=None)


def _cycled(site: Site, words: str, function: str, confidence: Confidence) -> Report:
    return Report(
        site=site,
        message=(
            f"{words}: the whole data set stays as long as its result lives; start the loader anew instead, "
            "`while True: yield from loader`"
        ),
        confidence=confidence,
        value="every batch of the first pass",
        holder=function,
        release="start the loader anew for each pass: `while True: yield from loader`",
        remedy=Remedy("restart", sure=False),
    )


def _mapped(site: Site, function: str) -> Report:
    return Report(
        site=site,
        message=(
            f"`{function}` takes every batch of the loader before it gives back the first result: those that no thread "
            "has come to yet are all in memory; submit a few at a time"
        ),
        confidence=Confidence.MEDIUM,
        value="every batch that waits for a thread",
        holder="the executor's queue",
        release="submit a batch when the result of an earlier one has been taken",
    )


def _left(behind: Behind) -> Report:
    if behind.again:
        message = (
            f"`{behind.branch}` is split anew for each pass: `tee` keeps every batch that `{behind.other}` gives, the "
            "whole data set; start the iterable anew instead, `while True: yield from loader`"
        )
        release = "start the loader anew for each pass: `while True: yield from loader`"
    else:
        message = (
            f"`{behind.branch}` stays where it is while `{behind.other}` goes on: `tee` keeps every batch in "
            "between; take the first one with `next` and put it back with `chain([first], batches)`"
        )
        release = "`itertools.chain([first], batches)` instead of a second branch"
    return Report(
        site=behind.site,
        message=message,
        confidence=Confidence.MEDIUM,
        value="every batch that one branch has given and the other has not",
        holder=behind.branch,
        release=release,
    )


def _inner(argument: Expr) -> Expr:
    """`loader` of `tqdm(loader)`."""
    return argument[3][0] if argument[0] == m.CALL and argument[3] else argument


def _names(evidence: Evidence, sites: set[Site]) -> dict[Site, str]:
    """The names of the first arguments of these calls."""
    return {
        call[1]: last_name(_inner(call[3][0]))
        for function in evidence.facts.functions
        if function.calls
        for statement in statements(function.body)
        for call in calls_of(statement)
        if call[1] in sites and call[3]
    }
