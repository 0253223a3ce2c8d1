"""Reports: one module a format, each with `render(findings, context) -> str`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...finding import Finding
from ...source import Source, Unreadable, read
from . import full, github, gitlab, json, junit, places, sarif, text

_EVERY_FILE = 1 << 30  # the report may show a line of any file that was linted


@dataclass(frozen=True, slots=True)
class Context:
    """What a report may need besides findings: colour, the lines of the files, and where the checkout is.

    `given` are sources that cannot be read again, as standard input.
    """

    color: bool = False
    given: Mapping[str, Source] = field(default_factory=dict)
    root: Path = field(default_factory=lambda: places.repository(Path.cwd()))
    _lines: dict[tuple[str, int | None], list[str]] = field(default_factory=dict, init=False, repr=False)

    def lines(self, filename: str, cell: int | None = None) -> list[str]:
        """The lines of a file, or of one cell of a notebook, without their ends; none where it cannot be read."""
        if (filename, cell) not in self._lines:
            try:
                source = self.given.get(filename) or read(filename, _EVERY_FILE)
                lines = [line.rstrip("\r\n") for line in source.lines()]
            except Unreadable:
                source, lines = None, []
            for one in source.cells if source else ():
                if one.number == cell:
                    lines = lines[one.first - 1 : one.first - 1 + one.rows]
            self._lines[filename, cell] = lines
        return self._lines[filename, cell]


Render = Callable[[Sequence[Finding], Context], str]
FORMATS: Mapping[str, Render] = {
    "text": text.render,
    "full": full.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
    "gitlab": gitlab.render,
    "junit": junit.render,
}
