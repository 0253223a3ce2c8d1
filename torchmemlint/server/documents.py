"""What the server knows of an open file: its text, its findings, the fixes that were asked for."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..config import Settings, load
from ..finding import Edit, Finding, Location
from ..linter import baseline, comments, engine, files
from ..linter.fixes.run import Wanted, fix_source
from ..linter.session import Session
from ..source import Source

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@functools.lru_cache(maxsize=64)
def settings_of(folder: Path) -> Settings:
    """The settings for files in a folder. Raises ConfigError."""
    return replace(load(folder, {}), force_exclude=True)


@functools.lru_cache(maxsize=64)
def session_of(folder: Path) -> Session:
    """The project around the files in a folder, as it is on disk. Raises ConfigError."""
    return engine.session(engine.plan(settings_of(folder)))


def forget_settings() -> None:
    """Settings files, and what other files of the project say, are read again at the next need."""
    settings_of.cache_clear()
    session_of.cache_clear()


@dataclass(slots=True)
class Document:
    """One version of an open file."""

    path: str
    text: str
    version: int
    since: float = field(default_factory=time.monotonic)  # seconds
    lines: list[str] = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    _fixed: dict[tuple[str, Location], Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = _LINE.findall(self.text)

    @property
    def source(self) -> Source:
        return Source(self.path, self.text, self.text.encode("utf-8", "replace"))

    @property
    def settings(self) -> Settings:
        return settings_of(Path(self.path).parent)

    @property
    def session(self) -> Session:
        return session_of(Path(self.path).parent)

    def lint(self) -> None:
        """Finds what there is to find. Raises ConfigError."""
        self.findings = []
        if not files.is_excluded(self.path, self.settings):
            self.findings = self._new(engine.lint_source(self.source, engine.plan(self.settings), self.session))

    def _new(self, findings: list[Finding]) -> list[Finding]:
        """The findings that no baseline knows."""
        if self.settings.baseline is None:
            return findings
        return baseline.load(self.settings.baseline).new(findings, lambda *_: self.lines)[0]

    def within(self, start: Location, end: Location) -> list[Finding]:
        """The findings that a range touches."""
        return [finding for finding in self.findings if finding.start <= end and start <= finding.end]

    def with_fix(self, finding: Finding) -> Finding:
        """The finding with its fix, if there is one; worked out when it is first asked for."""
        key = (finding.code, finding.start)
        if key not in self._fixed:
            self._fixed[key] = engine.with_fixes(self.source, [finding], self.session)[0]
        return self._fixed[key]

    def silencing(self, finding: Finding, reason: str | None) -> list[Edit]:
        """The edits that put a comment on the finding's line."""
        return comments.silencing(self.source, [finding], reason)

    def all_fixed(self) -> str | None:
        """The text with all safe fixes made; None if there are none."""
        plan = engine.plan(self.settings, fixes=True)
        fixed = fix_source(self.source, Wanted(plan, accepted=lambda _, found: self._new(found)))
        return fixed.source.text if fixed.mended else None


def units(lines: Sequence[str], place: Location, encoding: str) -> int:
    """A column as a client counts it, from 0: in bytes (utf-8), pairs of bytes (utf-16) or code points."""
    line = lines[place.row - 1] if place.row <= len(lines) else ""
    before = line[: place.column - 1]
    if encoding == "utf-16":
        return len(before.encode("utf-16-le", "surrogatepass")) // 2
    return len(before.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else len(before)


def location(lines: Sequence[str], row: int, column: int, encoding: str) -> Location:
    """A client's position, both from 0, as a location."""
    line = lines[row] if row < len(lines) else ""
    if encoding == "utf-16":
        before = line.encode("utf-16-le", "surrogatepass")[: column * 2].decode("utf-16-le", "replace")
    elif encoding == "utf-8":
        before = line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace")
    else:
        before = line[:column]
    return Location(row + 1, len(before) + 1)
