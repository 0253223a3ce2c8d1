"""What `check` does besides reporting: fixes, suppressions and the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .config import ConfigError, Settings
from .source import Source, Unreadable, read

if TYPE_CHECKING:
    from .finding import Finding
    from .linter.baseline import Baseline
    from .linter.engine import Plan
    from .linter.fingerprints import Lines
    from .linter.fixes.run import Outcome

WITH_FIXES = ("json", "sarif", "full")  # reports that show them


@dataclass(slots=True)
class Result:
    """What is left to report, or what to print instead of a report, and what to tell on standard error."""

    findings: list[Finding]
    instead: str | None = None  # a diff, a changed source, or nothing at all
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    clean: bool = False  # exit 0 whatever was found
    mended: int = 0


def check_options(settings: Settings, chosen: Mapping[str, Any]) -> None:
    """Raises ConfigError for options that contradict each other."""
    if chosen["write_baseline"] and settings.baseline is None:
        raise ConfigError("--write-baseline: needs --baseline FILE, or `baseline` in the settings")
    asked = [f"--{name.replace('_', '-')}" for name in ("add_noqa", "write_baseline", "diff") if chosen[name]]
    if len(asked) > 1 or (asked and asked[0] != "--diff" and settings.changes_files):
        raise ConfigError(f"{asked[0]} cannot be combined with {asked[1] if len(asked) > 1 else '--fix'}")
    if chosen["fail_on"] == "confirmed" and not chosen["verify"]:
        raise ConfigError("--fail-on confirmed: needs --verify")
    if chosen["reason"] and not chosen["add_noqa"]:
        raise ConfigError("--reason: needs --add-noqa")


def needs_fixes(settings: Settings, chosen: Mapping[str, Any]) -> bool:
    """Whether edits are wanted at all: making them means a second look at each file with findings."""
    return bool(chosen["verify"] or settings.changes_files or chosen["diff"] or settings.output_format in WITH_FIXES)


def make(
    findings: list[Finding],
    linted: Sequence[str],
    plan: Plan,
    settings: Settings,
    chosen: Mapping[str, Any],
    given: Mapping[str, Source],
) -> Result:
    """Everything that was asked for, in one go. `given` is standard input, if that was linted."""
    lines = _lines_of(given)
    if chosen["write_baseline"]:
        from .linter import baseline

        assert settings.baseline is not None
        count = baseline.write(settings.baseline, findings, lines, linted)
        return Result([], instead="", notes=[f"Wrote {_counted(count, 'finding')} to {settings.baseline}."], clean=True)
    notes: list[str] = []
    known = _baseline(settings)
    if known is not None:
        findings, unused = known.new(findings, lines)
        gone = sum(known.gone(unused, linted).values())
        if gone:
            notes.append(f"{_counted(gone, 'finding')} of the baseline {'is' if gone == 1 else 'are'} gone: "
                         "`--write-baseline` takes them out.")  # fmt: skip
    if chosen["add_noqa"]:
        return _add_noqa(findings, plan, chosen["reason"], given, notes)
    if settings.changes_files or chosen["diff"]:
        return _fix(findings, plan, settings, chosen, given, known, notes)
    return Result(findings, notes=notes)


def _baseline(settings: Settings) -> Baseline | None:
    if settings.baseline is None:
        return None
    from .linter import baseline

    return baseline.load(settings.baseline)


def _lines_of(given: Mapping[str, Source]) -> Lines:
    from .linter.reports import Context

    return Context(given=given).lines


def _fix(
    findings: list[Finding],
    plan: Plan,
    settings: Settings,
    chosen: Mapping[str, Any],
    given: Mapping[str, Source],
    known: Baseline | None,
    notes: list[str],
) -> Result:
    from .linter.fixes import run

    def accepted(source: Source, found: list[Finding]) -> list[Finding]:
        return known.new(found, lambda *_: source.lines())[0] if known else found

    wanted = run.Wanted(plan, unsafe=settings.unsafe_fixes, write=not chosen["diff"] and not given, accepted=accepted)
    outcome = run.fix_all(findings, wanted, given)
    mended = len(outcome.mended)
    failures = [f"{path}: not changed: {reason}" for path, reason in outcome.failed]
    result = Result(outcome.left, notes=notes, failures=failures, mended=mended)
    files = len({finding.filename for finding in outcome.mended})
    where = f"{_counted(mended, 'finding')} in {_counted(files, 'file')}"
    if chosen["diff"]:
        result.instead, result.findings = "".join(outcome.diffs), outcome.mended
        notes.append(f"Would fix {where}." if mended else "No fixes to make.")
    elif given:
        result.instead = _source_of(outcome, given)
    elif settings.fix_only:
        result.instead = ""
        notes.append(f"Fixed {where}." if mended else "No fixes to make.")
    if settings.fix_only and not chosen["diff"]:
        result.clean = True
    return result


def _source_of(outcome: Outcome, given: Mapping[str, Source]) -> str:
    return next((source.text for source in outcome.sources.values()), next(iter(given.values())).text)


def _add_noqa(
    findings: Sequence[Finding], plan: Plan, reason: str | None, given: Mapping[str, Source], notes: list[str]
) -> Result:
    from .linter.comments import silencing
    from .linter.fixes.apply import NotWritten, edited, replace_file
    from .linter.fixes.notebooks import NotPossible

    if given:
        raise ConfigError("--add-noqa cannot change standard input")
    result = Result([], instead="", notes=notes, clean=True)
    count = 0
    for path in sorted({finding.filename for finding in findings}):
        own = [finding for finding in findings if finding.filename == path]
        try:
            source = read(path, plan.max_file_size)
            edits = silencing(source, own, reason)
            if edits:
                replace_file(path, source.raw, edited(source, edits).raw)
        except (NotPossible, NotWritten, Unreadable, UnicodeEncodeError) as error:
            result.failures.append(f"{path}: not changed: {error}")
            continue
        count += len(edits)
    notes.append(f"Added {_counted(count, 'suppression')}.")
    return result


def summary(result: Result) -> str:
    """How many findings there are, and what can be or was done about them."""
    findings = result.findings
    if not findings:
        return f"Fixed {_counted(result.mended, 'finding')}, nothing is left." if result.mended else "Nothing found."
    files = len({finding.filename for finding in findings})
    count = f"{_counted(len(findings), 'finding')} in {_counted(files, 'file')}"
    if result.mended:
        return f"Fixed {_counted(result.mended, 'finding')}; left: {count}."
    fixes = [finding.fix.applicability for finding in findings if finding.fix]
    safe, other = fixes.count("safe"), len(fixes) - fixes.count("safe")
    hints = [f"{safe} can be fixed by `--fix`"] if safe else []
    if other:
        hints.append(f"{other} {'more' if safe else 'can be fixed'} by `--fix --unsafe-fixes`")
    return f"Found {count}{': ' if hints else ''}{', '.join(hints)}."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
