"""Findings with their source: the flagged code underlined, the holder labelled, the release named."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ...finding import Finding, Location

if TYPE_CHECKING:
    from . import Context

_NEAR = 1  # rows between two labels that are shown rather than left out
_GAP = "..."  # in the margin: rows are left out
_WIDEST = 140  # columns of a line that are shown; generated code can have thousands


@dataclass(frozen=True, slots=True)
class _Label:
    """A span to underline, and what is said under it."""

    start: Location
    end: Location
    note: str
    primary: bool

    @property
    def last(self) -> int:
        """The last row to underline: of a long block only its head."""
        return self.start.row if self.end.row - self.start.row > 3 else max(self.end.row, self.start.row)


def render(findings: Sequence[Finding], context: Context) -> str:
    """One block a finding, with an empty line between."""
    return "\n".join("".join(line + "\n" for line in _block(finding, context)) for finding in findings)


def _block(finding: Finding, context: Context) -> Iterator[str]:
    paint = _Paint(context.color)
    yield f"{paint.code(finding.code)} {paint.strong(finding.name)}: {finding.message}"
    labels = {finding.filename: [_Label(finding.start, finding.end, _verdict(finding), True)]}
    for related in finding.related:
        labels.setdefault(related.filename, []).append(_Label(related.start, related.end, related.message, False))
    snippets = {
        name: _snippet(sorted(of, key=_order), context.lines(name, finding.cell), paint) for name, of in labels.items()
    }
    rows = [label.last for name, of in labels.items() if snippets[name] for label in of]
    margin = len(str(max(rows, default=finding.start.row)))
    for name, of in labels.items():
        head = next((label for label in of if label.primary), of[0]).start
        arrow = "-->" if of[0].primary else ":::"
        cell = f"cell {finding.cell}:" if finding.cell is not None else ""
        yield f"{' ' * margin}{paint.frame(arrow)} {name}:{cell}{head.row}:{head.column}"
        if snippets[name]:
            yield f"{' ' * margin} {paint.frame('|')}"
        for row, text in snippets[name]:
            yield _GAP if row == _GAP else f"{paint.frame(f'{row:>{margin}}')} {paint.frame('|')} {text}".rstrip()
    notes = [("keeps", _kept(finding)), ("release", finding.release), ("fix", _fix(finding)), *_verified(finding)]
    if any(note for _, note in notes):
        yield f"{' ' * margin} {paint.frame('|')}"
    for title, note in notes:
        if note:
            yield f"{' ' * margin} {paint.frame('=')} {paint.strong(title)}: {note}"


def _order(label: _Label) -> tuple[Location, bool]:
    return label.start, label.primary


def _verdict(finding: Finding) -> str:
    retains = [] if finding.retains is None else [finding.retains.value]
    return ", ".join([*retains, f"{finding.confidence.label} confidence"])


def _verified(finding: Finding) -> Iterator[tuple[str, str]]:
    """What running it showed."""
    verdict = finding.verdict
    if verdict is None:
        return
    yield "verified", f"{verdict.status} ({verdict.tier}): {verdict.reason}"
    if verdict.path:
        yield "held by", " -> ".join(verdict.path)
    if verdict.after_fix is not None:
        yield "fixed", f"{verdict.after_fix.status}: {verdict.after_fix.reason}"


def _kept(finding: Finding) -> str | None:
    if finding.value and finding.holder:
        return f"{finding.value}, kept by {finding.holder}"
    return finding.value or (f"what {finding.holder} refers to" if finding.holder else None)


def _fix(finding: Finding) -> str | None:
    if finding.fix is None:
        return None
    return f"{finding.fix.message}: `--fix{'' if finding.fix.applicability == 'safe' else ' --unsafe-fixes'}`"


def _snippet(labels: list[_Label], lines: list[str], paint: _Paint) -> list[tuple[str, str]]:
    """The rows to show, each with what stands in the margin: a number, nothing, or dots for a gap."""
    shown: list[tuple[str, str]] = []
    done = 0
    for label in labels:
        first, last = label.start.row, label.last
        if last > len(lines) or last < done:
            continue
        lead = first - 1 if label.primary and first > 1 and lines[first - 2].strip() else first
        if done and lead > done + 1 + _NEAR:
            shown.append((_GAP, ""))
        elif done:
            lead = done + 1
        for row in range(lead, last + 1):
            line = lines[row - 1]
            window = _window(line, label)
            if row > done:
                shown.append((str(row), _shown(line, window)))
            if row >= max(first, done):
                shown.append(("", _underline(line, row, label, window, paint)))
            done = max(done, row)
        if done == last and lead > last:  # a second label on the row shown last
            line = lines[last - 1]
            shown.append(("", _underline(line, last, label, _window(line, label), paint)))
    return shown


def _window(line: str, label: _Label) -> int:
    """How many characters at the start of a very long line are left out."""
    return max(label.start.column - 40, 0) if len(line) > _WIDEST and label.start.column > _WIDEST // 2 else 0


def _shown(line: str, window: int) -> str:
    """A line as it can be printed: no tabs, no control characters, not endless."""
    return "".join("    " if c == "\t" else c if c.isprintable() else "?" for c in line[window : window + _WIDEST])


def _underline(line: str, row: int, label: _Label, window: int, paint: _Paint) -> str:
    first = label.start.column - 1 if row == label.start.row else len(line) - len(line.lstrip())
    last = label.end.column - 1 if row == label.end.row else len(line.rstrip())
    if label.last != label.end.row and row == label.last:
        last = len(line.rstrip())
    first, last = max(first, window), min(last, window + _WIDEST)
    indent = _width(_shown(line[:first], window))
    mark = ("^" if label.primary else "-") * max(_width(_shown(line[:last], window)) - indent, 1)
    note = f" {label.note}" if row == label.last else ""
    return " " * indent + (paint.primary if label.primary else paint.second)(mark + note)


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class _Paint:
    """Colours, or none."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def _style(self, text: str, fg: str | None, bold: bool = True) -> str:
        return click.style(text, fg=fg, bold=bold) if self._color else text

    def code(self, text: str) -> str:
        return self._style(text, "red")

    def strong(self, text: str) -> str:
        return self._style(text, None)

    def frame(self, text: str) -> str:
        return self._style(text, "blue")

    def primary(self, text: str) -> str:
        return self._style(text, "red")

    def second(self, text: str) -> str:
        return self._style(text, "blue")
