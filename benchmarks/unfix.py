#!/usr/bin/env python3
"""Un-fix mutation: take the release out of correct code of real packages, and see whether the linter notices.

    unfix.py FOLDER... [--linter torchmemlint] [--cap N] [--seed N] [--kind WORD...] [--show] [--keep DIR]

FOLDER holds unpacked packages or repositories, each in `<name>-<version>/`. A pair is a file as it is and a mutant
of it with one release fewer (which ones: see `unfix_values.py`, `unfix_modes.py`). Both are linted in one run:
the mutant should be reported (TML1xx or TML2xx) on the line concerned, the original should be silent on it.
Functions that are copies of each other count once, and `--cap` bounds the pairs of one package and kind.
"""

from __future__ import annotations

import contextlib
import pathlib
import random
import re
import shlex
import shutil
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click
from corpus import Found, Package, digest, lint, packages, python_files
from unfix_modes import hook_mutants, mode_mutants
from unfix_tree import Mutant, Tree
from unfix_values import value_mutants

TESTS = re.compile(r"(^|/)(tests?/|test_\w*\.py|\w*_test\.py)")  # what a test keeps goes with it
FAMILIES = ("TML1", "TML2")
MARK = "torchmemlint.toml"  # what says that a folder is a project
FOLDER = click.Path(exists=True, file_okay=False, path_type=pathlib.Path)


@dataclass(frozen=True)
class Pair:
    """A mutant and where it comes from."""

    package: Package
    path: pathlib.Path
    mutant: Mutant
    before: bytes
    after: bytes

    @property
    def name(self) -> str:
        return f"{self.package.root.name}/{self.path.relative_to(self.package.root)}:{self.mutant.row}"


def pairs_of(package: Package, seen: set[tuple[str, str, int]]) -> Iterator[Pair]:
    """All pairs of one package, copies of a function left out (`seen` is for all packages)."""
    for path in python_files(package.root):
        source = path.read_bytes()
        if b"torch" not in source or source.startswith(b"\xef\xbb\xbf"):
            continue
        if TESTS.search(str(path.relative_to(package.root))):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = Tree(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        found: list[Mutant] = []
        if b"backward" in source:
            found += value_mutants(tree)
        if b"no_grad" in source or b"inference_mode" in source:
            found += mode_mutants(tree)
        if b"forward_hook" in source:
            found += hook_mutants(tree)
        lines = source.splitlines()
        for mutant in found:
            first, last = mutant.span
            body = b"\n".join(line.strip() for line in lines[first - 1 : last]).decode("utf-8", "replace")
            key = (mutant.kind, digest(body), mutant.row - first)
            after = tree.apply(mutant.edits)
            if key not in seen and _parses(after):
                seen.add(key)
                yield Pair(package, path, mutant, source, after)


def _parses(source: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def write(pairs: Sequence[Pair], folder: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """Each pair on either side, in a copy of its package: the linter is to see what a project's linter sees.

    One copy holds a mutant of each of its files; what a file has beyond one goes into a further copy.
    """
    written: dict[str, list[pathlib.Path]] = {"original": [], "mutant": []}
    turns: Counter[pathlib.Path] = Counter()
    for pair in pairs:
        name, inside = pair.package.root.name, pair.path.relative_to(pair.package.root)
        for side, turn, source in (("original", 0, pair.before), ("mutant", turns[pair.path], pair.after)):
            target = _copy(pair.package, folder / side / f"{turn}" / name) / inside
            target.write_bytes(source)
            written[side].append(target)
        turns[pair.path] += 1
    return written


def _copy(package: Package, root: pathlib.Path) -> pathlib.Path:
    """The package's Python files below `root`, marked as a project with no settings of its own."""
    if not root.exists():
        for path in python_files(package.root):
            target = root / path.relative_to(package.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        (root / MARK).touch()
    return root.resolve()


def lint_copies(linter: Sequence[str], paths: Iterable[pathlib.Path], *options: str) -> list[Found]:
    """The findings in these files, each copy of a package linted by itself."""
    copies: dict[pathlib.Path, list[pathlib.Path]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        copies[next(outer for outer in path.parents if (outer / MARK).exists())].append(path)
    return [found for files in copies.values() for found in lint(linter, files, *options, isolated=False)]


def by_file(found: Sequence[Found]) -> dict[pathlib.Path, list[Found]]:
    files: dict[pathlib.Path, list[Found]] = defaultdict(list)
    for finding in found:
        files[finding.path].append(finding)
    return files


@click.command()
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path)
)
@click.option("--linter", default="torchmemlint", show_default=True)
@click.option("--cap", default=12, show_default=True, help="At most so many pairs of one package and kind.")
@click.option("--seed", default=0, show_default=True)
@click.option("--kind", "kinds", multiple=True, help="accumulate, collect, rebound, with, decorator or hook.")
@click.option("--min-confidence", type=click.Choice(("low", "medium", "high")), help="Passed on to the linter.")
@click.option("--show", is_flag=True, help="List the mutants missed and the originals reported.")
@click.option("--keep", type=click.Path(path_type=pathlib.Path), help="Leave the pairs in this new folder.")
def main(
    folders: tuple[pathlib.Path, ...],
    linter: str,
    cap: int,
    seed: int,
    kinds: tuple[str, ...],
    min_confidence: str | None,
    show: bool,
    keep: pathlib.Path | None,
) -> None:
    """Print the share of mutants caught on their line and of originals silent on it, per kind and per folder."""
    chance = random.Random(seed)
    chosen: list[Pair] = []
    available: Counter[str] = Counter()
    seen: set[tuple[str, str, int]] = set()
    for folder in folders:
        for package in packages(folder):
            of_kind: dict[str, list[Pair]] = defaultdict(list)
            for pair in pairs_of(package, seen):
                if not kinds or pair.mutant.kind in kinds:
                    of_kind[pair.mutant.kind].append(pair)
            for kind, pairs in sorted(of_kind.items()):
                available[kind] += len(pairs)
                chosen += sorted(chance.sample(pairs, min(cap, len(pairs))), key=lambda pair: pair.name)
    if not chosen:
        raise SystemExit("no place to take a release away")
    with contextlib.ExitStack() as stack:
        work = keep or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        written = write(chosen, work)
        options = ("--min-confidence", min_confidence) if min_confidence else ()
        found = {side: by_file(lint_copies(shlex.split(linter), paths, *options)) for side, paths in written.items()}
    report(chosen, written, found, available, show)


def report(
    pairs: Sequence[Pair],
    written: dict[str, list[pathlib.Path]],
    found: dict[str, dict[pathlib.Path, list[Found]]],
    available: Counter[str],
    show: bool,
) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    notes: list[str] = []
    for number, pair in enumerate(pairs):
        mutant = pair.mutant
        spoken = [f for f in found["mutant"].get(written["mutant"][number], []) if f.code.startswith(FAMILIES)]
        caught = [f for f in spoken if f.covers(mutant.rows)]
        near = [f for f in spoken if mutant.span[0] <= f.row <= mutant.span[1]]
        loud = [f for f in found["original"].get(written["original"][number], []) if f.covers(mutant.rows)]
        for name in (mutant.kind, "all"):
            counts[name].update(pairs=1, caught=bool(caught), near=bool(near and not caught), silent=not loud)
        line = (pair.before.splitlines()[mutant.row - 1]).strip().decode("utf-8", "replace")[:90]
        if not caught:
            aside = f" (but {near[0].code} at {near[0].row})" if near else ""
            notes.append(f"MISSED {mutant.kind:10} #{number:04} {pair.name} in {mutant.scope}{aside}: {line}")
        if loud:
            notes.append(f"LOUD   {mutant.kind:10} #{number:04} {pair.name} {loud[0].code}: {line}")
    click.echo(f"{'kind':12}{'found':>7}{'pairs':>7}{'caught':>8}{'nearby':>8}{'silent':>8}")
    for kind in sorted(counts, key=lambda name: (name == "all", name)):
        row = counts[kind]
        total = sum(available.values()) if kind == "all" else available[kind]
        shares = "".join(f"{row[word] / row['pairs']:8.1%}" for word in ("caught", "near", "silent"))
        click.echo(f"{kind:12}{total:7}{row['pairs']:7}{shares}")
    click.echo("goals: caught on the line at least 85 %, originals silent at least 97 %")
    if show:
        click.echo("\n".join(notes))


if __name__ == "__main__":
    main()
