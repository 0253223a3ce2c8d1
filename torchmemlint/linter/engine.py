"""One file through the whole pipeline: read, judge, suppress, select."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import Settings
from ..finding import Confidence, Edit, Finding, Fix, Location
from ..rules import registry
from ..source import Source, Unreadable, decode, read, read_stdin
from . import limits, suppressions
from .cache import Cache, open_cache
from .selection import UNREADABLE, Selection, select
from .session import Session


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker needs to know to lint a file."""

    selection: Selection
    min_confidence: Confidence
    max_file_size: int
    root: Path  # of the project: what imports lead to is looked for below it
    exclude: tuple[str, ...]
    cache: Path | None = None  # the folder of what is kept between runs
    noqa: bool = True  # off under flake8, which sees to its own comments
    fixes: bool = False  # make edits of remedies: a second look at each file with findings
    linted: frozenset[str] | None = None  # absolute paths of what is linted together; None: whatever there is


def plan(settings: Settings, *, noqa: bool = True, fixes: bool = False) -> Plan:
    """The plan that the settings ask for. Raises ConfigError for a selector that names no rule."""
    return Plan(
        select(settings, registry()),
        settings.min_confidence,
        settings.max_file_size,
        settings.root,
        settings.exclude,
        settings.cache,
        noqa,
        fixes,
    )


def session(plan: Plan, cache: Cache | None = None) -> Session:
    """What a process needs for file after file. Files must not change while it is in use."""
    return Session(plan.root, plan.exclude, plan.max_file_size, cache, plan.linted)


def lint_file(path: str, plan: Plan, session: Session) -> list[Finding]:
    """The findings to report in the file at `path`, in order. Raises nothing: failures are findings."""
    try:
        source = read(path, plan.max_file_size)
    except Unreadable as error:
        return refused(path, error, plan)
    return lint_source(source, plan, session)


def lint_source(source: Source, plan: Plan, session: Session | None = None) -> list[Finding]:
    """The findings to report in a source, in order. Raises nothing: failures are findings."""
    used = session or Session(plan.root, plan.exclude, plan.max_file_size)
    try:
        return _reported(source, _judge(source, used), plan, used)
    except Unreadable as error:
        return _lost(source, error, plan)
    except Exception as error:  # a bug of ours in one file must not end the run over all others
        return [unreadable(source.path, Unreadable(_internal(error)))]


def recall_file(path: str, plan: Plan, session: Session, *, closely: bool = False) -> list[Finding] | None:
    """The findings to report in a file, if they are known from an earlier run. Raises nothing."""
    try:
        raw = Path(path).read_bytes()
        judgement = session.recall(path, raw, closely=closely) if len(raw) <= plan.max_file_size else None
        if judgement is None:
            return None
        if isinstance(judgement, Unreadable):
            return _lost(decode(path, raw), judgement, plan)
        if not judgement and not suppressions.may_be_unused(raw):
            return []
        return _reported(decode(path, raw), judgement, plan, session)
    except (OSError, Unreadable):
        return None


def prepare_file(path: str, plan: Plan, session: Session) -> None:
    """Puts the facts of a file where other processes find them. Raises nothing: linting it says what is wrong."""
    try:
        source = read(path, plan.max_file_size)
        if session.is_relevant(source) and not session.has_facts(source):
            session.outline(source)
    except Exception:
        return


def lint_stdin(name: str, plan: Plan) -> tuple[list[Finding], dict[str, Source]]:
    """The findings in standard input, called `name`, and its source for the report to quote."""
    try:
        source = read_stdin(name, plan.max_file_size)
    except Unreadable as error:
        return refused(name, error, plan), {}
    with closing(open_cache(plan.cache)) as cache:
        return lint_source(source, plan, session(plan, cache)), {name: source}


def refused(path: str, error: Unreadable, plan: Plan) -> list[Finding]:
    """The finding for a file that could not even be read, if the plan wants it."""
    return _only_if_on([unreadable(path, error)], plan)


def unreadable(path: str, error: Unreadable) -> Finding:
    """The finding that says why a file was not linted."""
    rule = registry().get(UNREADABLE)
    place = Location(error.row, error.column)
    name = rule.name if rule else "unreadable-file"
    return Finding(UNREADABLE, name, f"this file {error.message}", path, place, place)


def internal_error(path: str, reason: str) -> Finding:
    """The finding for a file that torchmemlint itself failed on."""
    return unreadable(path, Unreadable(f"could not be linted: internal error: {reason}; please report it"))


def _lost(source: Source, error: Unreadable, plan: Plan) -> list[Finding]:
    """The finding that says why a source could not be judged, unless a comment in it asks for silence."""
    if suppressions.skips_file(source, noqa=plan.noqa):
        return []
    return _only_if_on([_in_cell(source, unreadable(source.path, error))], plan)


def _only_if_on(findings: list[Finding], plan: Plan) -> list[Finding]:
    return [finding for finding in findings if finding.code in plan.selection.codes_for(finding.filename)]


def _reported(source: Source, found: list[Finding], plan: Plan, session: Session) -> list[Finding]:
    """What is left of a source's findings when comments and the selection have had their say."""
    codes = plan.selection.codes_for(source.path)
    if suppressions.skips_file(source, noqa=plan.noqa):
        return []
    found = most_specific([finding for finding in found if finding.code in codes], plan.min_confidence)
    if not suppressions.may_be_unused(source.raw):  # then what nobody is shown needs no comment to silence it
        found = [finding for finding in found if finding.confidence >= plan.min_confidence]
    kept = suppressions.apply(source, found, codes, registry(), noqa=plan.noqa)
    kept = [finding for finding in kept if finding.code in codes and finding.confidence >= plan.min_confidence]
    if plan.fixes:
        kept = with_fixes(source, kept, session)
    if source.cells:
        kept = [_in_cell(source, finding) for finding in kept]
    return sorted(kept, key=lambda finding: finding.key)


def most_specific(found: list[Finding], least: Confidence = Confidence.MEDIUM) -> list[Finding]:
    """One finding a place: the word of a general rule, that a container grows, is needless where another rule says why
    it does, no less surely or at least so surely as what is shown; there, or on the way to where it grows."""
    general = {code for code, rule in registry().items() if rule.general}
    claimed: dict[tuple[Location, str | None], Confidence] = {}
    for finding in found:
        if finding.code not in general:
            on_the_way = [(one.start, finding.holder) for one in finding.related if one.filename == finding.filename]
            for place in ((finding.start, None), *on_the_way):
                claimed[place] = max(finding.confidence, claimed.get(place, finding.confidence))

    shown = max(least, Confidence.MEDIUM)

    def has_its_say(finding: Finding) -> bool:
        places = (finding.start, None), (finding.start, finding.holder)
        more = max((claimed[place] for place in places if place in claimed), default=None)
        return finding.code not in general or more is None or more < min(finding.confidence, shown)

    return [finding for finding in found if has_its_say(finding)]


def _in_cell(source: Source, finding: Finding) -> Finding:
    """A finding in a notebook: its rows count within its cell. What stands in other cells is left out."""
    cell = source.cell_at(finding.start.row)
    if cell is None:
        return finding

    def within(place: Location) -> Location:
        return Location(place.row - cell.first + 1, place.column)

    related = tuple(
        replace(one, start=within(one.start), end=within(one.end))
        for one in finding.related
        if one.filename == source.path and cell.holds(one.start.row)
    )
    fix = finding.fix
    if fix is not None and all(cell.holds(edit.start.row) for edit in fix.edits):
        edits = tuple(Edit(within(edit.start), within(edit.end), edit.content) for edit in fix.edits)
        fix = Fix(fix.applicability, fix.message, edits)
    else:
        fix = None  # it needs another cell, too
    return replace(
        finding, fix=fix, cell=cell.number, start=within(finding.start), end=within(finding.end), related=related
    )


def with_fixes(source: Source, findings: list[Finding], session: Session) -> list[Finding]:
    """The findings of a source, each with a fix where there is one."""
    from .fixes import apply, propose
    from .fixes.notebooks import NotPossible

    wanted = {finding.code for finding in findings}
    codes = {code for code, rule in registry().items() if code in wanted or not rule.preview}

    def judge(edits: Sequence[Edit]) -> list[Finding] | None:
        try:
            changed = apply.edited(source, edits) if edits else source
            return [finding for finding in _findings(changed, session, keep=not edits) if finding.code in codes]
        except (Unreadable, UnicodeEncodeError, NotPossible):
            return None

    return propose.with_fixes(source.text, findings, judge)


def _judge(source: Source, session: Session) -> list[Finding]:
    """All findings of all rules in a source, before comments have a say; kept for the next run. Raises Unreadable."""
    session.project.begin()
    try:
        found = _findings(source, session)
    except Unreadable as error:
        session.keep(source.path, source.raw, error)
        raise
    session.keep(source.path, source.raw, found)
    return found


def _findings(source: Source, session: Session, *, keep: bool = True) -> list[Finding]:
    """All findings of all rules in a source; `keep` its facts for later runs. Raises Unreadable."""
    if not session.is_relevant(source):
        limits.check(source)
        _check_syntax(source)
        return []
    from . import analysis  # brings the interpreter, which most files and commands can do without

    try:
        outline = session.outline(source, keep=keep)
        with limits.deep_stack():
            path = os.path.abspath(source.path)
            return analysis.findings(source, outline, list(registry().values()), path, session.project)
    except RecursionError as error:
        raise Unreadable(f"is nested too deeply to be analysed{_where(error)}") from error


def _check_syntax(source: Source) -> None:
    """Raises Unreadable unless CPython or libcst, which may know newer syntax, can parse the source."""
    try:
        limits.parse_ast(source)
    except SyntaxError as error:
        from ..facts.from_libcst import parse

        try:
            parse(source.text)
        except SyntaxError:
            raise limits.unreadable(error) from error


def _internal(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return f"could not be linted: internal error{_where(error)}: {said}; please report it"


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" (at {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
