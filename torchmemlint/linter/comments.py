"""Edits that add suppression comments, for `--add-noqa` and for editors."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Mapping, Sequence

from ..finding import Edit, Finding, Location
from ..source import Source
from .selection import UNREADABLE, UNUSED_SUPPRESSION
from .suppressions import Directive, read, tokens


def silencing(source: Source, findings: Iterable[Finding], reason: str | None = None) -> list[Edit]:
    """Edits that add a `noqa` to each flagged line; with a reason, `torchmemlint: ignore[...] -- reason`."""
    wanted: dict[int, list[str]] = {}
    ends = _ends_of_statements(source)
    firsts: dict[int | None, int] = {cell.number: cell.first for cell in source.cells}
    for finding in findings:
        if finding.code not in (UNREADABLE, UNUSED_SUPPRESSION):
            row = finding.start.row + firsts.get(finding.cell, 1) - 1
            wanted.setdefault(ends.get(row, row), []).append(finding.code)
    lines = source.lines()
    known = {directive.row: directive for directive in read(source).lines if directive.words}
    return [_silence(lines, row, sorted(set(codes)), known, reason) for row, codes in sorted(wanted.items())]


def _silence(
    lines: Sequence[str], row: int, codes: list[str], known: Mapping[int, Directive], reason: str | None
) -> Edit:
    directive = known.get(row)
    if directive is not None and directive.ours == (reason is not None):
        start, end = directive.words_at
        words = [*directive.words, *(code for code in codes if code not in directive.words)]
        return Edit(Location(row, start), Location(row, end), ", ".join(words))
    text = lines[row - 1].rstrip("\r\n") if row <= len(lines) else ""
    end = len(text.rstrip()) + 1
    comment = f"  # noqa: {', '.join(codes)}"
    if reason is not None:
        comment = f"  # torchmemlint: ignore[{', '.join(codes)}] -- {reason}"
    return Edit(Location(row, end), Location(row, len(text) + 1), comment)


def _ends_of_statements(source: Source) -> dict[int, int]:
    """Row -> the row to comment: the last one of its statement or header, where a comment always fits."""
    ends: dict[int, int] = {}
    first: int | None = None
    for token in tokens(source):
        if token.type == tokenize.NEWLINE and first is not None:
            ends.update(dict.fromkeys(range(first, token.start[0] + 1), token.start[0]))
            first = None
        elif first is None and token.type not in (
            tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE,
        ):  # fmt: skip
            first = token.start[0]
    return ends
