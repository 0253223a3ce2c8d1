"""What identifies a finding when the lines around it move.

A fingerprint is made from the rule, the file's path below the project and the flagged code itself,
without its spacing: lines added above, a renamed function around it or another indentation leave it as
it is. Where the same code is flagged more than once in a file, the order tells the findings apart.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ..finding import Finding

Lines = Callable[[str, int | None], Sequence[str]]


def fingerprints(findings: Sequence[Finding], lines: Lines, root: Path) -> list[str]:
    """One fingerprint for each finding, 32 hexadecimal digits; `lines` gives the lines of a file by its name."""
    seen: Counter[tuple[str, ...]] = Counter()
    made: dict[int, str] = {}
    for number, finding in sorted(enumerate(findings), key=lambda pair: pair[1].key):
        what = (finding.code, below(finding.filename, root), str(finding.cell or 0), code(finding, lines))
        words = "\0".join((*what, str(seen[what]))).encode(errors="backslashreplace")  # names may be no text
        made[number] = hashlib.sha256(words).hexdigest()[:32]
        seen[what] += 1
    return [made[number] for number in range(len(findings))]


def below(filename: str, root: Path) -> str:
    """The path of a file as seen from the project's root, with `/`; in full if it lies elsewhere."""
    full = os.path.abspath(filename)
    try:
        relative = os.path.relpath(full, root)
    except ValueError:  # another drive
        relative = os.pardir
    inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
    return (relative if inside else full).replace(os.sep, "/")


def code(finding: Finding, lines: Lines) -> str:
    """The flagged code with runs of white space made one space; empty where it cannot be read."""
    start, end = finding.start, finding.end
    rows = list(lines(finding.filename, finding.cell)[start.row - 1 : end.row])
    if not rows:
        return ""
    rows[-1] = rows[-1][: end.column - 1] if end.row - start.row == len(rows) - 1 else rows[-1]
    rows[0] = rows[0][start.column - 1 :]
    return " ".join(" ".join(rows).split())
