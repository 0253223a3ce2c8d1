#!/usr/bin/env python3
"""Every finding in real packages, with a verdict by a reader: the table `real_findings.csv` and its precision.

    real_findings.py FOLDER                      lint all, bring the table up to date, print precision
    real_findings.py FOLDER --sample 150         ... and print a random sample with its source, to read
    real_findings.py FOLDER --verdicts FILE      ... and enter verdicts: lines `ID true|false why it is so`

FOLDER holds the unpacked packages (`<name>-<version>/`). A row is known by package, path, code and a short hash of
its source line, so verdicts survive shifted lines and new versions. New findings enter as `unread`; rows whose
finding is gone are printed and dropped. The source of the packages is never written down, only a hash of a line.
"""

from __future__ import annotations

import csv
import pathlib
import random
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace

import click
from corpus import Package, count_lines, digest, lint, packages, python_files

TABLE = pathlib.Path(__file__).with_name("real_findings.csv")
FILE = click.Path(dir_okay=False, path_type=pathlib.Path)
VERDICTS = ("true", "false", "unread")


@dataclass(frozen=True)
class Row:
    """One finding in one package, as the table keeps it."""

    package: str
    version: str
    path: str
    line: int
    code: str
    confidence: str
    verdict: str
    why: str
    hash: str

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.package, self.path, self.code, self.hash

    @property
    def ident(self) -> str:
        """What a reader types to name this row."""
        return digest(f"{self.package}:{self.path}:{self.line}:{self.code}")[:7]


def read_table(table: pathlib.Path) -> list[Row]:
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as stream:
        return [_row(entry) for entry in csv.DictReader(stream)]


def _row(entry: dict[str, str]) -> Row:
    rest = {name: value for name, value in entry.items() if name != "line"}
    row = Row(line=int(entry["line"]), **rest)
    if row.verdict not in VERDICTS:
        raise SystemExit(
            f"{TABLE.name}: {row.path}:{row.line}: verdict {row.verdict!r} is none of {', '.join(VERDICTS)}"
        )
    return row


def write_table(table: pathlib.Path, rows: Iterable[Row]) -> None:
    with table.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def source_lines(path: pathlib.Path) -> list[str]:
    return path.read_bytes().decode("utf-8", "replace").splitlines()


def findings_of(package: Package, linter: Sequence[str]) -> tuple[list[Row], dict[str, str]]:
    """The unread rows of one package, and each finding's message by its identifier."""
    rows: list[Row] = []
    messages: dict[str, str] = {}
    counted = {path.resolve() for path in python_files(package.root)}
    for found in lint(linter, [package.root.resolve()]):
        if found.path not in counted:
            continue  # a second copy of the package, left behind by its build
        lines = source_lines(found.path)
        line = lines[found.row - 1] if 0 < found.row <= len(lines) else ""
        path = found.path.relative_to(package.root.resolve()).as_posix()
        where = (package.name, package.version, path, found.row, found.code, found.confidence)
        rows.append(Row(*where, verdict="unread", why="", hash=digest(line)))
        ident = rows[-1].ident
        messages[ident] = f"{messages[ident]}\n    {found.message}" if ident in messages else found.message
    return rows, messages


def merge(known: Iterable[Row], current: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Current findings with the verdicts of the known rows that they stand for, and the known rows that are gone."""
    waiting: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in sorted(known, key=lambda row: row.line):
        waiting[row.identity].append(row)
    merged = []
    for row in sorted(current, key=lambda row: (row.package.lower(), row.path, row.line, row.code)):
        same = waiting[row.identity]
        if same:
            old = same.pop(0)
            row = replace(row, verdict=old.verdict, why=old.why)
        merged.append(row)
    return merged, [row for rows in waiting.values() for row in rows]


def enter(rows: Sequence[Row], notes: pathlib.Path) -> list[Row]:
    """The rows with a reader's verdicts: lines `ID true|false why`; blank lines and `#` are skipped."""
    given: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(notes.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        ident, verdict, why = [*line.split(None, 2), "", ""][:3]
        if verdict not in VERDICTS:
            raise SystemExit(f"{notes}:{number}: expected `ID true|false why`")
        given[ident] = (verdict, why.strip())
    unknown = set(given) - {row.ident for row in rows}
    if unknown:
        click.echo(f"no such finding (any more): {' '.join(sorted(unknown))}", err=True)
    return [
        replace(row, verdict=given[row.ident][0], why=given[row.ident][1]) if row.ident in given else row
        for row in rows
    ]


def show(rows: Iterable[Row], folder: pathlib.Path, messages: dict[str, str], context: int) -> None:
    """Each finding with the source around it, for reading."""
    for row in rows:
        name = f"{row.package}-{row.version}" if row.version else row.package
        lines = source_lines(folder / name / row.path)
        click.echo(
            f"\n=== {row.ident} {name}/{row.path}:{row.line} {row.code} {row.confidence} [{row.verdict}] {row.why}"
        )
        click.echo(f"    {messages.get(row.ident, '')}")
        for number in range(max(1, row.line - context), min(len(lines), row.line + context) + 1):
            click.echo(f"{'>' if number == row.line else ' '}{number:6} {lines[number - 1][:160]}")


def report(rows: Sequence[Row], lines: int) -> None:
    click.echo(f"{len(rows)} findings in {lines} lines: {len(rows) / max(lines, 1) * 100_000:.1f} per 100,000 lines")
    click.echo(f"{'':10}{'findings':>9}{'true':>7}{'false':>7}{'unread':>8}{'precision':>11}")
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name in (f"{row.code[:4]}xx", row.code, f"~{row.confidence}", "~~all"):
            groups[name][row.verdict] += 1
    for name in sorted(groups):
        count = groups[name]
        read = count["true"] + count["false"]
        share = f"{count['true'] / read:11.1%}" if read else f"{'-':>11}"
        total = sum(count.values())
        click.echo(f"{name.strip('~'):10}{total:9}{count['true']:7}{count['false']:7}{count['unread']:8}{share}")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.option("--linter", default="torchmemlint", show_default=True)
@click.option(
    "--table", default=TABLE, show_default=TABLE.name, type=click.Path(dir_okay=False, path_type=pathlib.Path)
)
@click.option("--verdicts", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option("--sample", default=0, help="Print so many random findings with their source.")
@click.option("--seed", default=0, show_default=True)
@click.option("--unread", is_flag=True, help="Sample only from what has no verdict yet.")
@click.option("--context", default=12, show_default=True, help="Lines of source on either side in a sample.")
@click.option("--only", multiple=True, help="Packages to lint (others keep their rows).")
def main(
    folder: pathlib.Path,
    linter: str,
    table: pathlib.Path,
    verdicts: pathlib.Path | None,
    sample: int,
    seed: int,
    unread: bool,
    context: int,
    only: tuple[str, ...],
) -> None:
    """Lint the packages, keep verdicts of findings that still stand, print what is true."""
    chosen = [package for package in packages(folder) if not only or package.name in only]
    names = {package.name for package in chosen}
    current: list[Row] = []
    messages: dict[str, str] = {}
    lines = 0
    for package in chosen:
        found, said = findings_of(package, shlex.split(linter))
        current += found
        messages |= said
        lines += count_lines(python_files(package.root))
    known = read_table(table)
    rows, gone = merge((row for row in known if row.package in names), current)
    if verdicts:
        rows = enter(rows, verdicts)
    kept = [row for row in known if row.package not in names] if only else []
    write_table(table, sorted([*rows, *kept], key=lambda row: (row.package.lower(), row.path, row.line, row.code)))
    for row in gone:
        click.echo(f"gone: {row.package} {row.path}:{row.line} {row.code} was {row.verdict} {row.why}".rstrip())
    report(rows, lines)
    pool = [row for row in rows if row.verdict == "unread"] if unread else rows
    if sample:
        picked = random.Random(seed).sample(pool, min(sample, len(pool)))
        show(sorted(picked, key=lambda row: (row.package, row.path, row.line)), folder, messages, context)


if __name__ == "__main__":
    main()
