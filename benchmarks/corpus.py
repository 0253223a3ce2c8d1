"""What the benchmarks share: the files of unpacked packages, and one run of the linter as JSON."""

from __future__ import annotations

import hashlib
import json
import pathlib
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# Copies of a package that some wheels carry by mistake; linters leave these folders out as well.
SKIPPED = frozenset(("build", "dist", "node_modules", "site-packages", "venv", "__pycache__"))


@dataclass(frozen=True)
class Package:
    """One unpacked wheel: a folder called `<name>-<version>`."""

    name: str
    version: str
    root: pathlib.Path


@dataclass(frozen=True)
class Found:
    """The part of a reported finding that a benchmark looks at."""

    path: pathlib.Path
    code: str
    row: int
    end_row: int
    confidence: str
    message: str

    def covers(self, rows: Iterable[int]) -> bool:
        """It starts on one of these rows, or spans one of them within its first four lines."""
        return any(self.row <= row <= min(self.end_row, self.row + 3) for row in rows)


def packages(folder: pathlib.Path) -> list[Package]:
    """The unpacked packages below `folder`, by name."""
    found = []
    for root in sorted(folder.iterdir()):
        name, dash, version = root.name.rpartition("-")
        if root.is_dir() and not root.name.startswith("."):
            found.append(Package(name, version, root) if dash else Package(root.name, "", root))
    if not found:
        raise SystemExit(f"{folder}: no unpacked packages (see benchmarks/README.md)")
    return found


def python_files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    """The Python files below `root` (or `root` itself), in a fixed order, without the skipped folders."""
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).parts[:-1]
        if path.is_file() and not any(part in SKIPPED or part.startswith(".") for part in inside):
            yield path


def count_lines(paths: Iterable[pathlib.Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def lint(linter: Sequence[str], targets: Sequence[pathlib.Path], *options: str, isolated: bool = True) -> list[Found]:
    """One run of `check`; the findings, in the linter's order. An exit status above 1 ends the benchmark."""
    settings = ["--isolated"] if isolated else []
    command = [*linter, "check", "--no-cache", *settings, "--output-format", "json", *options, *map(str, targets)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command[:8])} …: exit {done.returncode}\n{done.stderr[-2000:]}")
    return [_found(row) for row in json.loads(done.stdout or "[]")]


def _found(row: dict[str, Any]) -> Found:
    start = row["location"]["row"]
    end = (row.get("end_location") or row["location"])["row"]
    path = pathlib.Path(row["filename"]).resolve()
    return Found(path, row["code"], start, end, str(row.get("confidence", "")), row.get("message", ""))


def digest(text: str) -> str:
    """A short fingerprint of a piece of source, whatever its indentation."""
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:10]
