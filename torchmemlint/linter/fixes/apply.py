"""Fixes made: in memory first, then on disk, whole or not at all."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shutil
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...finding import Edit, Finding, Location
from ...source import BOM, Source, Unreadable, decode
from .notebooks import NotPossible, rewritten
from .text import apply_edits

Lint = Callable[[Source], Sequence[Finding]]
"""The findings of a source, with their fixes."""
_ROUNDS = 25  # a fix may make room for the next; more rounds than this would be a circle


class NotWritten(Exception):
    """A file that could not be replaced; it is as it was before."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of one file: its new source, what was mended, and what is left to report."""

    source: Source
    mended: tuple[Finding, ...]
    left: tuple[Finding, ...]


def fix(source: Source, lint: Lint, *, unsafe: bool) -> Fixed:
    """Makes all fixes that may be made. A fix that would not make the findings fewer is left out."""
    mended: list[Finding] = []
    spoiled: set[tuple[str, str]] = set()
    left = list(lint(source))
    for _ in range(_ROUNDS):
        allowed = (f for f in left if is_allowed(f, unsafe=unsafe) and _identity(f) not in spoiled)
        chosen = _compatible(source, allowed)
        if not chosen:
            break
        better = _better(source, chosen, left, lint)
        if better is None and len(chosen) > 1:  # together they do harm: one at a time
            chosen = chosen[:1]
            better = _better(source, chosen, left, lint)
        if better is None:
            spoiled.add(_identity(chosen[0]))
            continue
        mended += _gone(left, better[1])
        source, left = better
    return Fixed(source, tuple(mended), tuple(left))


def is_allowed(finding: Finding, *, unsafe: bool) -> bool:
    """Whether a finding has a fix of the kind that was asked for."""
    if finding.fix is None:
        return False
    return finding.fix.applicability == "safe" or (unsafe and finding.fix.applicability == "unsafe")


def edits_of(finding: Finding, source: Source) -> list[Edit]:
    """The edits of a finding's fix, as places in the source's text: in a report rows count within a cell."""
    edits = finding.fix.edits if finding.fix else ()
    down = next((cell.first - 1 for cell in source.cells if cell.number == finding.cell), 0)

    def moved(place: Location) -> Location:
        return Location(place.row + down, place.column)

    return [Edit(moved(edit.start), moved(edit.end), edit.content) for edit in edits]


def edited(source: Source, edits: Sequence[Edit]) -> Source:
    """The source after edits of its text. Raises NotPossible, Unreadable, UnicodeEncodeError."""
    raw = rewritten(source, edits) if source.cells else encode(source, apply_edits(source.text, edits))
    return decode(source.path, raw)


def _identity(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


def _gone(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """The findings of which there are fewer than before: one fix may mend several."""
    there = Counter(_identity(finding) for finding in after)
    gone = []
    for finding in before:
        if there[_identity(finding)] > 0:
            there[_identity(finding)] -= 1
        else:
            gone.append(finding)
    return gone


def _better(
    source: Source, chosen: Sequence[Finding], before: Sequence[Finding], lint: Lint
) -> tuple[Source, list[Finding]] | None:
    """The source with some fixes made and what is found there; None where it is not better than before."""
    try:
        changed = edited(source, [edit for finding in chosen for edit in edits_of(finding, source)])
    except (NotPossible, Unreadable, UnicodeEncodeError):
        return None
    after = list(lint(changed))
    broken = {finding.code for finding in after} - {finding.code for finding in before}
    return None if "TML900" in broken or len(after) >= len(before) else (changed, after)


def _compatible(source: Source, findings: Iterable[Finding]) -> list[Finding]:
    """Findings from the top whose edits do not touch each other."""
    chosen: list[Finding] = []
    taken: list[Edit] = []
    for finding in findings:
        edits = edits_of(finding, source)
        if not any(edit.start <= other.end and other.start <= edit.end for edit in edits for other in taken):
            chosen.append(finding)
            taken += edits
    return chosen


def encode(source: Source, text: str) -> bytes:
    """The bytes for a changed text, in the encoding of the source, with its byte order mark."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source.raw).readline)
    except SyntaxError:
        encoding = "utf-8"  # as `decode` took it
    mark = BOM if source.raw.startswith(BOM) else b""
    return mark + text.encode("utf-8" if encoding == "utf-8-sig" else encoding)


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Puts new content in a file's place in one step, with its mode. Raises NotWritten.

    A link stays a link: the file that it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    new: str | None = None
    try:
        if not os.access(target, os.W_OK):
            raise NotWritten("it is read-only")
        handle, new = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(target, new)
        if target.read_bytes() != before:
            raise NotWritten("it has changed in the meantime")
        os.replace(new, target)
        new = None
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from error
    finally:
        if new is not None:
            with contextlib.suppress(OSError):
                os.unlink(new)


def diff(path: str, before: str, after: str) -> str:
    """The change as a unified diff, for eyes and for `patch -p0`."""
    rows = difflib.unified_diff(_rows(before), _rows(after), fromfile=path, tofile=path)
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _rows(text: str) -> list[str]:
    """Lines as `patch` counts them: at line feeds only."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]
