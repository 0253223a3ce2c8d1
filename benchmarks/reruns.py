#!/usr/bin/env python3
"""What a second run costs: cold, warm, after one edit, with one process and with several.

    reruns.py PACKAGE [--edit FILE]... [--jobs N] [--ruff PATH] [--repeats N]

The package is copied, so that it can be edited and keep its cache. Times are medians over the rounds; peak memory is
that of the largest single process.
"""

from __future__ import annotations

import os
import pathlib
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


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: int  # bytes


def cost(command: Sequence[str], folder: pathlib.Path) -> Cost:
    """Seconds and bytes of a command and its children. An exit status above 1 ends the benchmark."""
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {child.returncode}")
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


@click.command()
@click.argument("package", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.option("--edit", "edits", multiple=True, help="A file of the package to change before a warm run.")
@click.option("--python", default=sys.executable, show_default="this one", help="Interpreter that has torchmemlint.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default="one a core", help="Processes of the parallel runs.")
@click.option("--ruff", default="ruff", show_default=True, help="Command of ruff; an empty string leaves it out.")
@click.option("--repeats", default=3, show_default=True)
def main(package: pathlib.Path, edits: tuple[str, ...], python: str, jobs: int, ruff: str, repeats: int) -> None:
    """Print wall and cpu seconds of each kind of run, and the ratios that matter."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "package"
        shutil.copytree(package, folder, ignore=shutil.ignore_patterns("build", "__pycache__", ".*"))
        (folder / "pyproject.toml").touch()
        cache = folder / ".torchmemlint_cache"
        files = list(python_files(folder))
        check = [python, "-m", "torchmemlint", "check", "--quiet", "."]
        forget = lambda: shutil.rmtree(cache, ignore_errors=True)  # noqa: E731
        kinds: dict[str, tuple[Callable[[], object], list[str]]] = {
            "cold, 1 process": (forget, [*check, "--jobs", "1"]),
            f"cold, {jobs} processes": (forget, [*check, "--jobs", str(jobs)]),
            "warm": (lambda: None, check),
        }
        for edit in edits:
            kinds[f"after an edit of {edit}"] = (_editor(folder / edit), check)
        if ruff:
            kinds["ruff, cold"] = (
                lambda: None,
                [ruff, "check", "--no-cache", "--isolated", "--select", "ALL", "-q", "."],
            )
        taken: dict[str, list[Cost]] = {kind: [] for kind in kinds}
        for _ in range(repeats):
            for kind, (prepare, command) in kinds.items():
                prepare()
                taken[kind].append(cost(command, folder))
        report(taken, len(files), count_lines(files), jobs)


def _editor(file: pathlib.Path) -> Callable[[], object]:
    def edit() -> None:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"# {time.time()}\n")

    return edit


def report(taken: dict[str, list[Cost]], files: int, lines: int, jobs: int) -> None:
    click.echo(f"{files} files, {lines} lines")
    click.echo(f"{'':44}{'wall s':>8}{'cpu s':>8}{'MB':>8}")
    middle = {}
    for kind, costs in taken.items():
        wall, cpu = statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs)
        middle[kind] = wall
        click.echo(f"{kind:44}{wall:8.2f}{cpu:8.2f}{max(c.peak for c in costs) / 1e6:8.0f}")
    click.echo(
        f"{jobs} processes / 1: {middle['cold, 1 process'] / middle[f'cold, {jobs} processes']:.2f} times as fast"
    )
    if "ruff, cold" in middle:
        click.echo(f"warm / ruff, cold: {middle['warm'] / middle['ruff, cold']:.1f}x the wall time")


if __name__ == "__main__":
    main()
