#!/usr/bin/env python3
"""Whether the work grows with the lines: lines per second of the processor for ever larger parts of packages.

    growth.py PATH... [--plot FILE] [--to LINES]

The files are put in an order that says nothing of them, and the first 1,000 lines, 3,000 lines and so on are linted,
each part as a project of its own, cold and with one process. What a run over a file of one line takes is taken off.
"""

from __future__ import annotations

import hashlib
import math
import pathlib
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import click
from corpus import count_lines, python_files
from speed import bare_parse, cost

STEPS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_200_000)
SMALL, ROUNDS = 30_000, 3  # parts up to this size are measured so often
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 320, 60, 40


@dataclass(frozen=True)
class Point:
    """One part: its lines, seconds of the processor for the linter and for the bare parse, bytes at the peak."""

    lines: int
    cpu: float
    parse: float
    peak: int


def shuffled(roots: Sequence[pathlib.Path]) -> list[tuple[pathlib.Path, pathlib.Path]]:
    """All files with their place in a common folder."""
    found = [(path, path.relative_to(root.resolve().parent)) for root in roots for path in python_files(root.resolve())]
    return sorted(found, key=lambda pair: hashlib.sha256(str(pair[1]).encode()).digest())


def measure(python: str, files: Sequence[tuple[pathlib.Path, pathlib.Path]], rounds: int) -> Point:
    """The cost of linting these files alone."""
    with tempfile.TemporaryDirectory() as temporary:
        project = pathlib.Path(temporary, "project")
        for path, place in files:
            (project / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, project / place)
        (project / "pyproject.toml").touch()
        parse = bare_parse(python, "libcst.parse_module", list(python_files(project)), pathlib.Path(temporary, "all"))
        lint = [python, "-m", "torchmemlint", "check", "--quiet", "--isolated", "--no-cache", "--jobs", "1", "."]
        taken = [(cost(lint, project), cost(parse, project)) for _ in range(rounds)]
        cpu, bare = (min(each.cpu for each in costs) for costs in zip(*taken, strict=True))  # noise only adds
        return Point(count_lines(python_files(project)), cpu, bare, max(own.peak for own, _ in taken))


def parts(files: Sequence[tuple[pathlib.Path, pathlib.Path]], most: int) -> list[int]:
    """How many files make up each part."""
    counts, lines = [], 0
    steps = [step for step in STEPS if step <= most]
    for number, (path, _) in enumerate(files, 1):
        lines += count_lines([path])
        while steps and lines >= steps[0]:
            steps.pop(0)
            counts.append(number)
    return list(dict.fromkeys([*counts, *([len(files)] if steps else [])]))


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=pathlib.Path))
@click.option("--python", default=sys.executable, show_default="this one", help="Interpreter that has torchmemlint.")
@click.option("--plot", type=click.Path(path_type=pathlib.Path), help="An SVG to write.")
@click.option("--to", "most", default=STEPS[-1], show_default=True, help="Lines of the largest part.")
def main(paths: tuple[pathlib.Path, ...], python: str, plot: pathlib.Path | None, most: int) -> None:
    """Print a table, how the time grows, and draw it."""
    files = shuffled(paths)
    with tempfile.TemporaryDirectory() as folder:
        short = pathlib.Path(folder, "short.py")
        short.write_text("import torch\n", encoding="utf-8")
        start = measure(python, [(short, pathlib.Path(short.name))], ROUNDS)
    points = []
    click.echo(f"{'lines':>10}{'cpu s':>9}{'kloc / cpu s':>14}{'the parse':>11}{'MB':>6}")
    for count in parts(files, most):
        lines = count_lines(path for path, _ in files[:count])
        whole = measure(python, files[:count], ROUNDS if lines <= SMALL else 1)
        point = Point(lines, whole.cpu - start.cpu, whole.parse - start.parse, whole.peak)
        points.append(point)
        own, bare = (lines / 1000 / seconds for seconds in (point.cpu, point.parse))
        click.echo(f"{lines:10}{point.cpu:9.2f}{own:14.1f}{bare:11.1f}{point.peak / 1e6:6.0f}")
    click.echo(f"the time grows with the lines to the power of {exponent(points):.2f}")
    if plot is not None:
        plot.write_text(drawn(points), encoding="utf-8")


def exponent(points: Sequence[Point]) -> float:
    """The slope of time over lines, both as logarithms: 1 is linear."""
    lines = [math.log(point.lines) for point in points]
    return statistics.linear_regression(lines, [math.log(point.cpu) for point in points]).slope


def drawn(points: Sequence[Point]) -> str:
    """Lines per second over lines, the latter as logarithms; in colours that dark and light pages can show."""
    curves = {
        "torchmemlint": ("#3f6fd8", [point.lines / point.cpu / 1000 for point in points]),
        "bare parse": ("#c07a20", [point.lines / point.parse / 1000 for point in points]),
    }
    top = 5 * math.ceil(max(max(values) for _, values in curves.values()) / 5)
    low, high = math.log10(points[0].lines), math.log10(points[-1].lines)

    def x(lines: int) -> float:
        return LEFT + (math.log10(lines) - low) / max(high - low, 0.1) * (WIDTH - LEFT - 110)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - 20)

    shapes = []
    for value in range(0, top + 1, 5):
        shapes.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - 110}" stroke="#888" stroke-opacity=".4"/>')
        shapes.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for point in points:
        label = f"{point.lines / 1000:,.0f}"
        shapes.append(f'<text x="{x(point.lines):.1f}" y="{HEIGHT - 20}" text-anchor="middle">{label}</text>')
    for number, (name, (colour, values)) in enumerate(curves.items()):
        shapes.append(f'<text x="{WIDTH - 100}" y="{30 + 18 * number}" style="fill:{colour}">{name}</text>')
        places = [(x(point.lines), y(value)) for point, value in zip(points, values, strict=True)]
        line = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        shapes += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for across, down in places]
    shapes.append(f'<text x="{LEFT}" y="12">thousand lines a second of the processor, over thousand lines</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
    return f'{head} font-size="12" fill="#888">\n' + "\n".join(shapes) + "\n</svg>\n"


if __name__ == "__main__":
    main()
