"""One file through the whole pipeline: read, judge, suppress, select."""

from __future__ import annotations

import functools
import os
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..config import Settings
from ..facts.model import FileFacts
from ..finding import Confidence, Finding, Location
from ..rules import Rule, registry
from ..source import Source, Unreadable, read, read_stdin
from . import limits, suppressions
from .project import Project
from .selection import UNREADABLE, Selection, select


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker needs to know to lint a file."""

    selection: Selection
    min_confidence: Confidence
    max_file_size: int
    root: Path  # of the project: what imports lead to is looked for below it
    exclude: tuple[str, ...]
    noqa: bool = True  # off under flake8, which sees to its own comments


def plan(settings: Settings, *, noqa: bool = True) -> Plan:
    """The plan that the settings ask for. Raises ConfigError for a selector that names no rule."""
    return Plan(
        select(settings, registry()),
        settings.min_confidence,
        settings.max_file_size,
        settings.root,
        settings.exclude,
        noqa,
    )


def lint_file(path: str, plan: Plan) -> list[Finding]:
    """The findings to report in the file at `path`, in order. Raises nothing: failures are findings."""
    try:
        source = read(path, plan.max_file_size)
    except Unreadable as error:
        return _only_if_on([unreadable(path, error)], plan)
    return lint_source(source, plan)


def lint_source(source: Source, plan: Plan) -> list[Finding]:
    """The findings to report in a source, in order. Raises nothing: failures are findings."""
    try:
        return sorted(_lint(source, plan), key=lambda finding: finding.key)
    except Unreadable as error:
        return _only_if_on([unreadable(source.path, error)], plan)
    except Exception as error:  # a bug of ours in one file must not end the run over all others
        return [unreadable(source.path, Unreadable(_internal(error)))]


def lint_stdin(name: str, plan: Plan) -> tuple[list[Finding], dict[str, Source]]:
    """The findings in standard input, called `name`, and its source for the report to quote."""
    try:
        source = read_stdin(name, plan.max_file_size)
    except Unreadable as error:
        return _only_if_on([unreadable(name, error)], plan), {}
    return lint_source(source, plan), {name: source}


def unreadable(path: str, error: Unreadable) -> Finding:
    """The finding that says why a file was not linted."""
    rule = registry().get(UNREADABLE)
    place = Location(error.row, error.column)
    name = rule.name if rule else "unreadable-file"
    return Finding(UNREADABLE, name, f"this file {error.message}", path, place, place)


def internal_error(path: str, reason: str) -> Finding:
    """The finding for a file that torchmemlint itself failed on."""
    return unreadable(path, Unreadable(f"could not be linted: internal error: {reason}; please report it"))


def _only_if_on(findings: list[Finding], plan: Plan) -> list[Finding]:
    return [finding for finding in findings if finding.code in plan.selection.codes_for(finding.filename)]


def _lint(source: Source, plan: Plan) -> list[Finding]:
    codes = plan.selection.codes_for(source.path)
    if suppressions.skips_file(source, noqa=plan.noqa):
        return []
    rules = registry()
    found = _judge(source, {code: rules[code] for code in codes if code in rules}, plan)
    kept = suppressions.apply(source, found, codes, rules, noqa=plan.noqa)
    return [finding for finding in kept if finding.code in codes and finding.confidence >= plan.min_confidence]


def _judge(source: Source, rules: Mapping[str, Rule], plan: Plan) -> list[Finding]:
    """All findings of a source, before comments have a say. Raises Unreadable."""
    limits.check(source)
    project = _project(plan.root, plan.exclude, plan.max_file_size)
    path = os.path.abspath(source.path)
    if not source.has_trace() and not project.leads_to_trace(path, source.raw):
        _check_syntax(source)
        return []
    from . import analysis  # brings libcst, which most files and commands can do without

    try:
        with limits.deep_stack(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CPython's about the linted code: not ours to report
            return analysis.findings(source, list(rules.values()), path, project)
    except analysis.Unparsable as error:
        raise _better(source, error.message, error.row, error.column) from error
    except RecursionError as error:
        raise Unreadable(f"is nested too deeply to be analysed{_where(error)}") from error


@functools.lru_cache(maxsize=4)
def _project(root: Path, exclude: tuple[str, ...], max_size: int) -> Project:
    """The files of the project as this process knows them."""

    def load(path: str) -> FileFacts | None:
        from . import analysis

        try:
            source = read(path, max_size)
            limits.check(source)
            with limits.deep_stack(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return analysis.facts_of(source)
        except (Unreadable, analysis.Unparsable, RecursionError):
            return None  # a finding of its own where that file is linted

    return Project(root, exclude, load)


def _check_syntax(source: Source) -> None:
    """Raises Unreadable unless CPython or libcst, which may know newer syntax, can parse the source."""
    try:
        limits.parse_ast(source)
    except SyntaxError as error:
        import libcst

        try:
            libcst.parse_module(source.text)
        except libcst.ParserSyntaxError:
            raise limits.unreadable(error) from error


def _better(source: Source, message: str, row: int, column: int) -> Unreadable:
    """CPython's account of a syntax error, which is the clearer one, if it sees an error at all."""
    try:
        limits.parse_ast(source)
    except SyntaxError as error:
        return limits.unreadable(error)
    return Unreadable(f"cannot be parsed: {message}", row, column)


def _internal(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return f"could not be linted: internal error{_where(error)}: {said}; please report it"


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" (at {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
