"""One file through the analysis: text -> facts -> abstract run -> evidence -> rules -> findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from ..facts.entries import run
from ..facts.evidence import Evidence
from ..facts.lower import lower
from ..facts.positions import Span, positions
from ..finding import Finding, Location, Related
from ..rules import Report, Rule
from ..source import Source


class Unparsable(Exception):
    """The text is not Python that can be parsed. `row` and `column` count from 1."""

    def __init__(self, row: int, column: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.column = column
        self.message = message


def findings(source: Source, rules: Collection[Rule]) -> list[Finding]:
    """All findings of one file, unsorted and with suppressions not applied yet.

    Raises Unparsable where libcst refuses the text.
    """
    try:
        facts = lower(source.text)
    except cst.ParserSyntaxError as error:
        raise Unparsable(error.raw_line, error.raw_column + 1, error.message) from None
    evidence = Evidence(run(facts))
    spoken = [(rule, report) for rule in rules for report in rule.check(evidence)]
    if not spoken:
        return []
    spans = _spans(source.text, (report for _, report in spoken))
    made = [_finding(source, rule, report, spans) for rule, report in spoken]
    return list({(finding.code, finding.start): finding for finding in reversed(made)}.values())


def _spans(text: str, reports: Iterable[Report]) -> dict[int, Span]:
    sites = {site for report in reports for site in (report.site, *(note[0] for note in report.related))}
    try:
        return positions(text, sites)
    except (SyntaxError, ValueError, RecursionError):
        return {}  # newer syntax than this Python knows: rows are lost, findings are not


def _finding(source: Source, rule: Rule, report: Report, spans: dict[int, Span]) -> Finding:
    start, end = spans.get(report.site, (Location(1, 1), Location(1, 1)))
    related = tuple(Related(source.path, *spans[site], message) for site, message in report.related if site in spans)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=report.message,
        filename=source.path,
        start=start,
        end=end,
        confidence=report.confidence,
        retains=report.retains or rule.retains,
        value=report.value,
        holder=report.holder,
        release=report.release,
        related=related,
    )
