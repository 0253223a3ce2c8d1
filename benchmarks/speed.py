#!/usr/bin/env python3
"""How long torchmemlint takes beside its floor (the parse) and its neighbours, in one run over the same files.

    speed.py PATH... [--edit FILE]... [--torchfix COMMAND] [--preflight COMMAND] [--ruff COMMAND] [--repeats N]

The files are copied, so that they can be edited and have a cache of their own. Every contender is a fresh process;
seconds of the processor are those of it and its children, megabytes those of the largest single process. Rounds are
interleaved, so that a slow minute of the machine hits all alike, and ratios are medians over the rounds. The parse is
measured twice: over all files, and over those whose facts torchmemlint needs (a probe run records them), which is the
harder floor.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
from corpus import count_lines, python_files

PARSE = """
import sys
{imports}
for path in open(sys.argv[1], encoding="utf-8").read().splitlines():
    with open(path, "rb") as stream:
        source = stream.read()
    try:
        {parse}(source)
    except Exception:
        pass
"""

# Runs the linter with the reading of a file wrapped: writes a hash of every source that it is given.
PROBE = """
import hashlib, runpy, sys
import torchmemlint.facts.lower as reading
seen, lower = set(), reading.lower
def record(text, *args):
    seen.add(hashlib.sha256(text.encode()).hexdigest())
    return lower(text, *args)
reading.lower = record
out = sys.argv.pop(1)
try:
    runpy.run_module("torchmemlint", run_name="__main__", alter_sys=True)
except SystemExit:
    pass
open(out, "w").write("\\n".join(seen))
"""
COLD, ALL_CORES, WARM = "cold, 1 process", "cold, all cores", "warm"
FLOOR, RUFF = "libcst, files it parses", "ruff, cold"
SLOW = ("TorchFix", "torch-preflight")
# pip compiles what it installs: a checkout is to be measured as its users have it
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """What a command and everything it waited for took: seconds, and bytes of the largest process."""

    wall: float
    cpu: float
    peak: int


@dataclass(frozen=True)
class Contender:
    command: Sequence[str]
    prepare: Callable[[], object] = lambda: None


Contenders = dict[str, Contender]


def cost(command: Sequence[str], folder: pathlib.Path | None = None) -> Cost:
    """Runs a command. An exit status above 1 ends the benchmark."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet, env=COMPILED)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(list(command)[:6])} …: exit {child.returncode}")
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def copied(roots: Sequence[pathlib.Path], limit: int, folder: pathlib.Path) -> list[pathlib.Path]:
    """The files below the roots in a project of their own: all, or an even cross-section of about so many lines."""
    found = {path: root for root in roots for path in python_files(root.resolve())}
    files = []
    for path in trim(list(found), limit):
        target = folder / path.relative_to(found[path].resolve().parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        files.append(pathlib.Path(shutil.copy(path, target)))
    (folder / "pyproject.toml").touch()
    return files


def trim(files: list[pathlib.Path], limit: int) -> list[pathlib.Path]:
    """Every n-th file, so that about `limit` lines remain: a cross-section instead of the first folders."""
    total = count_lines(files)
    if not limit or total <= limit:
        return files
    share, kept, due = limit / total, [], 0.0
    for path in files:
        due += share
        if due >= 1:
            due -= 1
            kept.append(path)
    return kept


def parsed_by_linter(python: str, check: Sequence[str], files: Sequence[pathlib.Path], out: str) -> list[pathlib.Path]:
    """The files that a run of the linter makes facts of (all of them, if nothing could be recorded)."""
    command = [python, "-c", PROBE, out, *check, *map(str, files)]
    probe = subprocess.run(command, stdout=subprocess.DEVNULL, env=COMPILED)
    seen = set(pathlib.Path(out).read_text().split()) if probe.returncode == 0 else set()
    if not seen:
        click.echo("the probe saw no file: taking all files as parsed", err=True)
        return list(files)
    return [path for path in files if _hashes(path) & seen]


def _hashes(path: pathlib.Path) -> set[str]:
    """A source may reach the parser as bytes or decoded, with or without its byte order mark and carriage returns."""
    raw = path.read_bytes()
    text = raw.removeprefix(b"\xef\xbb\xbf")
    unix = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return {hashlib.sha256(form).hexdigest() for form in (raw, text, unix)}


def bare_parse(python: str, parser: str, files: Sequence[pathlib.Path], listing: pathlib.Path) -> list[str]:
    """A command that parses files and does nothing else."""
    listing.write_text("\n".join(map(str, files)), encoding="utf-8")
    return [python, "-c", PARSE.format(imports=f"import {parser.split('.')[0]}", parse=parser), str(listing)]


def adding_to(file: pathlib.Path) -> Callable[[], object]:
    """Adds a function to a file, a new one each time."""

    def add() -> None:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n\ndef added_at_{time.time_ns()}(value):\n    return [value]\n")

    return add


def ours(python: str, temporary: pathlib.Path, files: Sequence[pathlib.Path], edits: Sequence[str]) -> Contenders:
    """torchmemlint: cold with one process and with all cores, warm, and after a change in a file."""
    check = [python, "-m", "torchmemlint", "check", "--quiet", "--isolated", "project"]
    kept = [*check, "--cache-dir", str(temporary / "cache")]

    def forget() -> None:
        shutil.rmtree(temporary / "cache", ignore_errors=True)

    found: Contenders = {COLD: Contender([*check, "--jobs", "1", "--no-cache"])}
    found[ALL_CORES] = Contender(kept, forget)
    found[WARM] = Contender(kept)
    for edit in edits:
        file = next((path for path in files if path.as_posix().endswith(edit)), None)
        if file is None:
            raise click.UsageError(f"--edit: no file that is linted ends with {edit}")
        found[f"after a change in {file.name}"] = Contender(kept, adding_to(file))
    return found


def parsers(python: str, temporary: pathlib.Path, files: Sequence[pathlib.Path]) -> tuple[Contenders, int]:
    """Bare parses, and how many lines torchmemlint parses."""
    bare = ["check", "--jobs", "1", "--no-cache", "--quiet", "--isolated"]
    needed = parsed_by_linter(python, bare, files, str(temporary / "seen"))
    return {
        FLOOR: Contender(bare_parse(python, "libcst.parse_module", needed, temporary / "parsed")),
        "libcst, all files": Contender(bare_parse(python, "libcst.parse_module", files, temporary / "all")),
        "ast.parse": Contender(bare_parse(python, "ast.parse", files, temporary / "all")),
    }, count_lines(needed)


def neighbours(files: Sequence[pathlib.Path], ruff: str, torchfix: str | None, preflight: str | None) -> Contenders:
    """Other linters, over the same files."""
    names = list(map(str, files))
    found: Contenders = {}
    if ruff:
        found[RUFF] = Contender([ruff, "check", "--no-cache", "--isolated", "--select", "ALL", "-q", *names])
    if torchfix:
        found["TorchFix"] = Contender([torchfix, "--select", "ALL", "-j", "1", *names])
    if preflight:
        found["torch-preflight"] = Contender([preflight, "check", "--select", "TG001,TG002", "-j", "1", "-q", *names])
    return found


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=pathlib.Path))
@click.option("--edit", "edits", multiple=True, help="The end of a path: a file to change before a warm run.")
@click.option("--python", default=sys.executable, show_default="this one", help="Interpreter that has torchmemlint.")
@click.option("--torchfix", help="Command of TorchFix, in a virtual environment of its own; left out if not given.")
@click.option("--preflight", help="Command of torch-preflight, likewise.")
@click.option("--ruff", default="ruff", show_default=True, help="Command of ruff; an empty string leaves it out.")
@click.option("--repeats", default=3, show_default=True)
@click.option("--slow-repeats", default=1, show_default=True, help="So many rounds include TorchFix, torch-preflight.")
@click.option("--limit", default=0, help="Take an even cross-section of about so many lines.")
def main(
    paths: tuple[pathlib.Path, ...],
    edits: tuple[str, ...],
    python: str,
    torchfix: str | None,
    preflight: str | None,
    ruff: str,
    repeats: int,
    slow_repeats: int,
    limit: int,
) -> None:
    """Print what each run takes, and the ratios that matter."""
    with tempfile.TemporaryDirectory() as name:
        temporary = pathlib.Path(name)
        files = copied(paths, limit, temporary / "project")
        lines = count_lines(files)
        bare, parsed = parsers(python, temporary, files)
        contenders = ours(python, temporary, files, edits) | bare | neighbours(files, ruff, torchfix, preflight)
        taken: dict[str, list[Cost]] = {name: [] for name in contenders}
        for number in range(repeats):
            for name, contender in contenders.items():
                if name not in SLOW or number < slow_repeats:
                    contender.prepare()
                    taken[name].append(cost(contender.command, temporary))
    click.echo(f"{len(files)} files, {lines} lines, {parsed} of them parsed by the linter")
    click.echo(f"{'':34}{'wall s':>8}{'cpu s':>8}{'spread':>8}{'kloc / cpu s':>14}{'MB':>6}")
    for name, costs in taken.items():
        click.echo(row(name, costs, parsed if name == FLOOR else lines))
    ratios(taken)


def row(name: str, costs: Sequence[Cost], lines: int) -> str:
    wall, cpu = (statistics.median(values) for values in zip(*((each.wall, each.cpu) for each in costs), strict=True))
    spread = (max(each.cpu for each in costs) - min(each.cpu for each in costs)) / cpu
    peak = max(each.peak for each in costs) / 1e6
    return f"{name:34}{wall:8.2f}{cpu:8.2f}{spread:8.0%}{lines / cpu / 1000:14.1f}{peak:6.0f}"


def ratios(taken: dict[str, list[Cost]]) -> None:
    """The ratios of this run and what they are to be; parallel and warm runs are compared by the clock."""
    for one, other, by, goal in (
        (COLD, FLOOR, "cpu", "at most 1.3"),
        (COLD, "libcst, all files", "cpu", ""),
        (COLD, "ast.parse", "cpu", ""),
        ("TorchFix", COLD, "cpu", "at least 12"),
        ("torch-preflight", COLD, "cpu", "at least 12"),
        (COLD, RUFF, "cpu", ""),
        (COLD, ALL_CORES, "wall", "at least 1.8 with two cores"),
        (WARM, RUFF, "wall", "at most 2"),
    ):
        rounds = list(zip(taken.get(one, ()), taken.get(other, ()), strict=False))
        if rounds:
            ratio = statistics.median(getattr(a, by) / getattr(b, by) for a, b in rounds)
            click.echo(f"{one} / {other}, {by}: {ratio:.2f}{f' ({goal})' if goal else ''}")


if __name__ == "__main__":
    main()
