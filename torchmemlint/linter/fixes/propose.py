"""From findings with remedies to findings with fixes: candidates are tried, and what does not help is dropped."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...finding import Confidence, Edit, Finding, Fix
from . import bounds, endings, saved_tensors
from .remedies import REMEDIES, Candidate
from .text import Text

Judge = Callable[[Sequence[Edit]], Sequence[Finding] | None]
"""The findings after edits, of every confidence; None where they cannot be made or leave nothing that can be parsed."""
_FAMILIES = (bounds, endings, saved_tensors)  # they are registered by being imported
_MOST_TRIES = 100  # looks at one file


def with_fixes(text: str, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
    """The findings, each with a fix if there is one after which it is gone and no other has come."""
    parsed = _parsed(text) if any(finding.remedy for finding in findings) else None
    if parsed is None:
        return list(findings)
    before = judge(()) or ()
    together = _together(parsed, findings, before, judge)
    if together is not None:
        return together
    tries = itertools.islice(itertools.count(), _MOST_TRIES)
    return [replace(finding, fix=_fix(parsed, finding, before, judge, tries)) for finding in findings]


def _together(text: Text, findings: Sequence[Finding], before: Sequence[Finding], judge: Judge) -> list[Finding] | None:
    """All first candidates at once: if each helps, one look at the file is enough. None if that cannot be told."""
    first = [next(_candidates(text, finding), None) if finding.fix is None else None for finding in findings]
    edits = [edit for candidate in first if candidate for edit in candidate.edits]
    if len(edits) < 2 or _touch(edits):
        return None
    after = judge(edits)
    if after is None:
        return None
    expected = Counter(finding.code for finding in before)
    expected.subtract(finding.code for finding, candidate in zip(findings, first, strict=True) if candidate)
    there = Counter(finding.code for finding in after)
    if any(there[code] > expected[code] for code in there | expected):
        return None
    return [
        replace(finding, fix=_as_fix(finding, candidate)) if candidate else finding
        for finding, candidate in zip(findings, first, strict=True)
    ]


def _touch(edits: Sequence[Edit]) -> bool:
    ordered = sorted(edits, key=_place)
    return any(other.start <= edit.end for edit, other in itertools.pairwise(ordered))


def _parsed(text: str) -> Text | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _fix(text: Text, finding: Finding, before: Sequence[Finding], judge: Judge, tries: Iterator[int]) -> Fix | None:
    """The first candidate that helps, while there are tries left for this file."""
    if finding.fix is not None:
        return finding.fix
    for candidate, _ in zip(_candidates(text, finding), tries, strict=False):
        after = judge(candidate.edits)
        if after is not None and _helps(before, after, finding.code):
            return _as_fix(finding, candidate)
    return None


def _as_fix(finding: Finding, candidate: Candidate) -> Fix:
    remedy = finding.remedy
    safe = candidate.sure and remedy is not None and remedy.sure and finding.confidence == Confidence.HIGH
    return Fix("safe" if safe else "unsafe", candidate.message, tuple(sorted(candidate.edits, key=_place)))


def _candidates(text: Text, finding: Finding) -> Iterator[Candidate]:
    remedy = finding.remedy
    if remedy is None:
        return
    node = text.at(remedy.start or finding.start, remedy.end or finding.end)
    if node is not None:
        yield from REMEDIES[remedy.kind](text, node, remedy.about)


def _place(edit: Edit) -> tuple[int, int, int, int]:
    return (edit.start.row, edit.start.column, edit.end.row, edit.end.column)


def _helps(before: Sequence[Finding], after: Sequence[Finding], code: str) -> bool:
    """Whether there are fewer findings of a rule than before, and no more of another that would be shown."""
    shown = (Counter(f.code for f in findings if f.confidence > Confidence.LOW) for findings in (before, after))
    old, new = shown
    fewer = sum(f.code == code for f in after) < sum(f.code == code for f in before)
    return fewer and all(count <= old[other] for other, count in new.items())
