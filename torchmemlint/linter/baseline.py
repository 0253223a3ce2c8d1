"""A list of findings that are known and accepted for now, so that only new ones are reported.

An entry names the rule, the file and the flagged code, and how often it stands there. Line numbers and the
names of functions around it are not in it: code can move within its file. A file that was renamed keeps its
entries as long as its old path is gone and the flagged code is the same.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..config import ConfigError
from ..finding import Finding
from .fingerprints import Lines, below, code

_VERSION = 1
_KEYS = ("code", "path", "source", "count")


class Entry(NamedTuple):
    """One kind of finding in one file. `path` is relative to the baseline's folder, with `/`."""

    code: str
    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted findings, each with how often it may occur."""

    file: Path
    entries: Counter[Entry]

    def new(self, findings: Sequence[Finding], lines: Lines) -> tuple[list[Finding], Counter[Entry]]:
        """The findings that are not accepted, in order, and the entries that none of them used up."""
        left = Counter(self.entries)
        unknown: list[tuple[Finding, Entry]] = []
        for finding in findings:
            entry = _entry(finding, lines, self.file.parent)
            if left[entry] > 0:
                left[entry] -= 1
            else:
                unknown.append((finding, entry))
        left = +left
        reported = [finding for finding, entry in unknown if not self._was_moved(entry, left)]
        return reported, +left

    def _was_moved(self, entry: Entry, left: Counter[Entry]) -> bool:
        """Whether the same code was accepted in a file that is not there any more; uses that entry up."""
        for other in left:
            same = (other.code, other.source) == (entry.code, entry.source)
            if same and left[other] > 0 and not os.path.exists(self.file.parent / other.path):
                left[other] -= 1
                return True
        return False

    def gone(self, left: Counter[Entry], linted: Iterable[str]) -> Counter[Entry]:
        """Of the entries that were not used: those of files that were linted, or are not there any more."""
        root = self.file.parent
        seen = {below(path, root) for path in linted}
        return Counter({e: n for e, n in left.items() if e.path in seen or not os.path.exists(root / e.path)})


def load(file: str | Path) -> Baseline:
    """The baseline in a file. Raises ConfigError where it cannot be read or is none."""
    path = Path(os.path.abspath(file))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"baseline {file}: there is no such file; `--write-baseline` makes it") from error
    except OSError as error:
        raise ConfigError(f"baseline {file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"baseline {file}: not valid JSON: {error}") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("findings"), list):
        raise ConfigError(f"baseline {file}: not a baseline of torchmemlint, version {_VERSION}")
    entries: Counter[Entry] = Counter()
    for number, item in enumerate(data["findings"], 1):
        if not _is_entry(item):
            raise ConfigError(f"baseline {file}: entry {number} needs {', '.join(_KEYS)}")
        entries[Entry(item["code"], item["path"], item["source"])] += item["count"]
    return Baseline(path, entries)


def _is_entry(item: object) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("count"), int):
        return False
    return all(isinstance(item.get(key), str) for key in _KEYS[:3])


def write(file: str | Path, findings: Sequence[Finding], lines: Lines, linted: Iterable[str]) -> int:
    """Accepts all findings: writes the baseline and returns how many it holds.

    Entries of files that were not linted this time stay. Raises ConfigError where the file cannot be written.
    """
    path = Path(os.path.abspath(file))
    seen = {below(name, path.parent) for name in linted}
    entries = Counter(_entry(finding, lines, path.parent) for finding in findings)
    if os.path.exists(path):
        known = load(path).entries
        entries += Counter(
            {e: n for e, n in known.items() if e.path not in seen and os.path.exists(path.parent / e.path)}
        )
    rows = [
        json.dumps(dict(zip(_KEYS, (*entry, count), strict=True)), ensure_ascii=False)
        for entry, count in sorted(entries.items(), key=lambda pair: (pair[0].path, pair[0]))
    ]
    body = "".join(f"\n    {row}," for row in rows).rstrip(",")
    text = f'{{\n  "version": {_VERSION},\n  "findings": [{body}\n  ]\n}}\n'
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")  # what is no text as JSON escapes it
    except OSError as error:
        raise ConfigError(f"baseline {file}: cannot be written: {error.strerror}") from error
    return sum(entries.values())


def _entry(finding: Finding, lines: Lines, root: Path) -> Entry:
    cell = f"#cell {finding.cell}" if finding.cell is not None else ""
    return Entry(finding.code, below(finding.filename, root) + cell, code(finding, lines))
