#!/usr/bin/env python3
"""How much work a cold run is: calls of Python functions, which no slow minute of a machine changes.

    calls.py PACKAGES_FOLDER [NAME]... [--write]

Seconds of the same run differ by a tenth from one hour to the next, so a change that makes a run two hundredths dearer
is not seen in them, and twenty such changes are. Calls are the same each time. What was counted last is in `calls.csv`;
`--write` puts there what is counted now. Only counts of the same version of Python can be compared.
"""

from __future__ import annotations

import cProfile
import csv
import pathlib
import platform
import pstats

import click
from click.testing import CliRunner
from corpus import count_lines, packages, python_files

from torchmemlint.cli import cli

TABLE = pathlib.Path(__file__).with_name("calls.csv")
FIELDS = ("package", "version", "python", "lines", "calls", "per line")


def calls(root: pathlib.Path) -> int:
    """The calls of functions written in Python that a cold run over a folder makes, in one process."""
    profile = cProfile.Profile(builtins=False)
    profile.runcall(CliRunner().invoke, cli, ["check", "--quiet", "--isolated", "--no-cache", "--jobs", "1", str(root)])
    return sum(entry[1] for entry in pstats.Stats(profile).stats.values())  # type: ignore[attr-defined]


def known() -> dict[str, dict[str, str]]:
    """What was counted last, by package."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as stream:
        return {row["package"]: row for row in csv.DictReader(stream)}


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.argument("names", nargs=-1)
@click.option("--write", is_flag=True, help="Keep what is counted.")
def main(folder: pathlib.Path, names: tuple[str, ...], write: bool) -> None:
    rows = known()
    calls(pathlib.Path(__file__))  # what the first run of a process does once
    for package in packages(folder):
        if names and package.name not in names:
            continue
        lines = count_lines(python_files(package.root))
        made, before = calls(package.root), int(rows.get(package.name, {}).get("calls", 0))
        change = f"{made / before - 1:+.1%}" if before else "new"
        click.echo(f"{package.name:24}{lines:10,} lines{made:14,} calls{made / lines:8.1f} a line  {change}")
        fields = (package.name, package.version, platform.python_version(), lines, made, f"{made / lines:.1f}")
        rows[package.name] = dict(zip(FIELDS, map(str, fields), strict=True))
    if write:
        with TABLE.open("w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, FIELDS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows[name] for name in sorted(rows))


if __name__ == "__main__":
    main()
