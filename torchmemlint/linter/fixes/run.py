"""Fixes over the files of a run: what `--fix`, `--fix-only` and `--diff` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...finding import Finding
from ...source import Source, Unreadable, read
from ..engine import Plan, lint_source, session
from .apply import Fixed, NotWritten, diff, fix, is_allowed, replace_file

Accepted = Callable[[Source, list[Finding]], list[Finding]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which fixes to make, and whether on disk. `accepted` leaves out findings that a baseline knows."""

    plan: Plan
    unsafe: bool = False
    write: bool = True
    accepted: Accepted = lambda _, findings: findings


@dataclass(slots=True)
class Outcome:
    """What a run has changed, or would change."""

    left: list[Finding] = field(default_factory=list)
    mended: list[Finding] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)  # the new ones
    failed: list[tuple[str, str]] = field(default_factory=list)  # file, reason


def fix_source(source: Source, wanted: Wanted) -> Fixed:
    """One source with its fixes made; nothing is written."""
    used = session(wanted.plan)

    def lint(changed: Source) -> list[Finding]:
        return wanted.accepted(changed, lint_source(changed, wanted.plan, used))

    return fix(source, lint, unsafe=wanted.unsafe)


def _diff(path: str, before: Source, after: Source) -> str:
    """The change of a file; of a notebook that of its JSON, so that `patch` can read it."""
    if before.cells:
        return diff(path, before.raw.decode("utf-8-sig"), after.raw.decode("utf-8-sig"))
    return diff(path, before.text, after.text)


def fix_all(findings: Sequence[Finding], wanted: Wanted, given: Mapping[str, Source]) -> Outcome:
    """Fixes the files that have findings with fixes; `given` are sources that are not on disk."""
    fixable = {finding.filename for finding in findings if is_allowed(finding, unsafe=wanted.unsafe)}
    outcome = Outcome([finding for finding in findings if finding.filename not in fixable])
    for path in sorted(fixable):
        try:
            source = given.get(path) or read(path, wanted.plan.max_file_size)
            fixed = fix_source(source, wanted)
            if fixed.mended and wanted.write:
                replace_file(path, source.raw, fixed.source.raw)
        except (NotWritten, Unreadable) as error:
            outcome.failed.append((path, str(error)))
            outcome.left += [finding for finding in findings if finding.filename == path]
            continue
        outcome.mended += fixed.mended
        outcome.left += fixed.left
        if fixed.mended:
            outcome.sources[path] = fixed.source
            outcome.diffs.append(_diff(path, source, fixed.source))
    outcome.left.sort(key=lambda finding: finding.key)
    return outcome
