"""The flake8 plugin: the command's findings, with `noqa` and `--select` left to flake8."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import __version__
from ..config import ConfigError, common_parent, load
from ..source import BOM, Source, Unreadable, read, too_large
from . import baseline
from .baseline import Baseline
from .cache import open_cache
from .engine import Plan, lint_source, plan, refused, session
from .session import Session


class Plugin:
    """What flake8 makes for each file. Rows count from 1 and columns from 0, as flake8 wants them."""

    name = "torchmemlint"
    version = __version__

    def __init__(self, tree: object, lines: Sequence[str], filename: str) -> None:
        self._lines = lines
        self._filename = filename

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yields the findings of the file. Raises flake8's own error for settings that make no sense."""
        try:
            plan, used, known = _plan(common_parent([self._filename]))
        except ConfigError as error:
            from flake8.exceptions import ExecutionError  # which flake8 prints without a traceback

            raise ExecutionError(f"torchmemlint: {error}") from error
        try:
            findings = lint_source(self._source(plan.max_file_size), plan, used)
        except Unreadable as error:
            findings = refused(self._filename, error, plan)
        if known is not None:
            findings, _ = known.new(findings, lambda *_: [line.rstrip("\r\n") for line in self._lines])
        for finding in findings:
            yield finding.start.row, finding.start.column - 1, f"{finding.code} {finding.message}", type(self)

    def _source(self, max_size: int) -> Source:
        """The source that flake8 has read. Raises Unreadable for a file that the command would not lint either."""
        text = "".join(self._lines)
        raw = text.encode("utf-8", "surrogatepass")
        try:
            read(self._filename, max_size)
        except Unreadable:
            if self._took_for_latin_1(text):
                raise
        if len(raw) > max_size:
            raise Unreadable(too_large(max_size))
        return Source(self._filename, text, raw)

    def _took_for_latin_1(self, text: str) -> bool:
        """Whether flake8 read the file, and not standard input of that name, in the encoding that it falls back to."""
        try:
            with open(self._filename, encoding="latin-1") as file:
                return file.read().removeprefix(BOM.decode("latin-1")) == text
        except OSError:
            return False


@functools.cache
def _plan(folder: Path) -> tuple[Plan, Session, Baseline | None]:
    settings = load(folder, {})
    made = plan(settings, noqa=False)
    known = baseline.load(settings.baseline) if settings.baseline else None
    return made, session(made, open_cache(made.cache)), known
