#!/usr/bin/env python3
"""CPU time of torchmemlint against its floor (the parse) and its neighbours, in one run over the same files.

    speed.py PATH... [--torchfix PATH] [--ruff PATH] [--repeats N] [--limit LINES]

Every contender is a fresh process; user plus system time of it and its children counts. Rounds are interleaved, so
that a slow minute of the machine hits all alike, and ratios are medians over the rounds. The parse is measured twice:
over all files, and over those that torchmemlint really parses (a probe run records them), which is the harder floor.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

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

# Runs the linter with libcst's parser wrapped: writes a hash of every source that it is given.
PROBE = """
import hashlib, runpy, sys
import libcst, libcst.native
seen = set()
def wrapped(parse):
    def record(source, *args, **kwargs):
        seen.add(hashlib.sha256(source if isinstance(source, bytes) else source.encode()).hexdigest())
        return parse(source, *args, **kwargs)
    return record
libcst.parse_module = wrapped(libcst.parse_module)
libcst.native.parse_module = wrapped(libcst.native.parse_module)
out = sys.argv.pop(1)
try:
    runpy.run_module("torchmemlint", run_name="__main__", alter_sys=True)
except SystemExit:
    pass
open(out, "w").write("\\n".join(seen))
"""


def cpu(command: Sequence[str]) -> float:
    """User and system seconds of a command and everything it waited for."""
    with open(os.devnull, "w") as sink:
        child = subprocess.Popen(command, stdout=sink, stderr=sink)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(list(command)[:6])} …: exit {child.returncode}")
    return used.ru_utime + used.ru_stime


def listing(folder: pathlib.Path, name: str, files: Sequence[pathlib.Path]) -> str:
    target = folder / name
    target.write_text("\n".join(map(str, files)), encoding="utf-8")
    return str(target)


def parsed_by_linter(python: str, check: Sequence[str], files: Sequence[pathlib.Path], out: str) -> list[pathlib.Path]:
    """The files that a run of the linter hands to libcst (all of them, if nothing could be recorded)."""
    probe = subprocess.run([python, "-c", PROBE, out, *check, *map(str, files)], stdout=subprocess.DEVNULL)
    seen = set(pathlib.Path(out).read_text().split()) if probe.returncode == 0 else set()
    if not seen:
        click.echo("the probe saw no parse: taking all files as parsed", err=True)
        return list(files)
    return [path for path in files if _hashes(path) & seen]


def _hashes(path: pathlib.Path) -> set[str]:
    """A source may reach the parser as bytes or decoded, with or without its byte order mark and carriage returns."""
    raw = path.read_bytes()
    text = raw.removeprefix(b"\xef\xbb\xbf")
    unix = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return {hashlib.sha256(form).hexdigest() for form in (raw, text, unix)}


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


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=pathlib.Path))
@click.option("--packages", type=click.Path(exists=True, path_type=pathlib.Path), help="Used when no PATH is given.")
@click.option("--python", default=sys.executable, show_default="this one", help="Interpreter that has torchmemlint.")
@click.option("--torchfix", help="Command of TorchFix, in a virtual environment of its own; left out if not given.")
@click.option("--ruff", default="ruff", show_default=True, help="Command of ruff; an empty string leaves it out.")
@click.option("--repeats", default=3, show_default=True)
@click.option("--torchfix-repeats", default=1, show_default=True, help="It is slow: so many rounds include it.")
@click.option("--limit", default=0, help="Take an even cross-section of about so many lines.")
def main(
    paths: tuple[pathlib.Path, ...],
    packages: pathlib.Path | None,
    python: str,
    torchfix: str | None,
    ruff: str,
    repeats: int,
    torchfix_repeats: int,
    limit: int,
) -> None:
    """Print cpu seconds, thousand lines per cpu second and the ratios to the bare parse and to TorchFix."""
    roots = paths or ((packages,) if packages else ())
    if not roots:
        raise click.UsageError("name files or folders, or give --packages")
    files = trim([path.resolve() for root in roots for path in python_files(root)], limit)
    names = list(map(str, files))
    check = ["check", "--jobs", "1", "--no-cache", "--isolated"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        needed = parsed_by_linter(python, check, files, str(folder / "seen"))
        everything, part = listing(folder, "all", files), listing(folder, "parsed", needed)
        bare = PARSE.format(imports="import libcst", parse="libcst.parse_module")
        tree = PARSE.format(imports="import ast", parse="ast.parse")
        contenders = {
            "torchmemlint": [python, "-m", "torchmemlint", *check, *names],
            "libcst, files it parses": [python, "-c", bare, part],
            "libcst, all files": [python, "-c", bare, everything],
            "ast.parse": [python, "-c", tree, everything],
        }
        if ruff:
            contenders["ruff, cold"] = [ruff, "check", "--no-cache", "--isolated", "--select", "ALL", "-q", *names]
        if torchfix:
            contenders["TorchFix"] = [torchfix, "--select", "ALL", "-j", "1", *names]
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(repeats):
            for name, command in contenders.items():
                if name != "TorchFix" or number < torchfix_repeats:
                    taken[name].append(cpu(command))
    report(taken, count_lines(files), count_lines(needed), len(files), len(needed))


def report(taken: dict[str, list[float]], lines: int, parsed_lines: int, files: int, parsed: int) -> None:
    click.echo(f"{files} files, {lines} lines; the linter parses {parsed} of them, {parsed_lines} lines")
    click.echo(f"{'':26}{'cpu s':>9}{'spread':>9}{'kloc / s':>10}")
    middle = {name: statistics.median(values) for name, values in taken.items() if values}
    for name, value in middle.items():
        read = parsed_lines if "it parses" in name else lines
        spread = (max(taken[name]) - min(taken[name])) / value
        click.echo(f"{name:26}{value:9.2f}{spread:9.0%}{read / value / 1000:10.1f}")
    ours = taken["torchmemlint"]
    for name, goal in (("libcst, files it parses", "at most 1.5"), ("libcst, all files", "at most 1.5")):
        rounds = [a / b for a, b in zip(ours, taken[name], strict=True)]
        click.echo(f"torchmemlint / {name}: {statistics.median(rounds):.2f}x ({goal})")
    if "TorchFix" in middle:
        click.echo(f"TorchFix / torchmemlint: {middle['TorchFix'] / middle['torchmemlint']:.1f}x (at least 10)")
    if "ruff, cold" in middle:
        click.echo(f"torchmemlint / ruff, cold: {middle['torchmemlint'] / middle['ruff, cold']:.1f}x")


if __name__ == "__main__":
    main()
