"""The flake8 plugin: the command's findings, with `noqa` and `--select` left to flake8."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import __version__
from ..config import common_parent, load
from ..source import Source
from . import baseline
from .baseline import Baseline
from .cache import open_cache
from .engine import Plan, lint_source, plan, session
from .session import Session


class Plugin:
    """What flake8 makes for each file. Rows count from 1 and columns from 0, as flake8 wants them."""

    name = "torchmemlint"
    version = __version__

    def __init__(self, tree: object, lines: Sequence[str], filename: str) -> None:
        self._lines = lines
        self._filename = filename

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yields the findings of the file. Raises ConfigError for settings that make no sense."""
        text = "".join(self._lines)
        source = Source(self._filename, text, text.encode("utf-8", "surrogatepass"))
        plan, used, known = _plan(common_parent([self._filename]))
        findings = lint_source(source, plan, used)
        if known is not None:
            findings, _ = known.new(findings, lambda *_: [line.rstrip("\r\n") for line in self._lines])
        for finding in findings:
            yield finding.start.row, finding.start.column - 1, f"{finding.code} {finding.message}", type(self)


@functools.cache
def _plan(folder: Path) -> tuple[Plan, Session, Baseline | None]:
    settings = load(folder, {})
    made = plan(settings, noqa=False)
    known = baseline.load(settings.baseline) if settings.baseline else None
    return made, session(made, open_cache(made.cache)), known
