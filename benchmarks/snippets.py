#!/usr/bin/env python3
"""How far `verify PATHS` gets on functions of real packages that it cannot run for real.

    snippets.py PACKAGES [--count 200] [--seed 1] [--show]

Takes functions with a loop in which a value is a tensor by its use (`.backward()`, `.item()` or `.detach()` is called
on it), sampled by a seed, and runs each as it is and as un-fix mutants: what is computed in the loop is also put into
a list (planted), and an `.item()` that is stored is taken away. Prints for how many the runner reaches a verdict that
it trusts, how many of those mutants are confirmed, and every unchanged function that is.
"""

from __future__ import annotations

import ast
import collections
import pathlib
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

import click

from torchmemlint.finding import Finding, Location, Retains, Verdict
from torchmemlint.runtime import flagged
from torchmemlint.runtime.client import Server
from torchmemlint.runtime.isolation import Limits

Function = ast.FunctionDef | ast.AsyncFunctionDef
Mutant = tuple[str, str, int]
_WITH_GRAPH = ("backward", "item", "detach")


@dataclass
class Sample:
    """A function, the row at which its value is computed in the loop, and its mutants: kind, text, row."""

    path: pathlib.Path
    function: str
    row: int
    mutants: list[Mutant] = field(default_factory=list)


def samples(path: pathlib.Path) -> Iterator[Sample]:
    """The functions of a file that can be asked about."""
    text = path.read_text("utf-8", errors="replace")
    if not any(f".{name}(" in text for name in _WITH_GRAPH) or "import torch" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    scopes = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for function in (one for scope in scopes for one in scope.body):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            sample = _sample(path, text, function)
            if sample is not None:
                yield sample


def _sample(path: pathlib.Path, text: str, function: Function) -> Sample | None:
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    inside = [node for loop in loops for body in loop.body for node in ast.walk(body)]
    if not inside or "no_grad" in ast.unparse(function) or "inference_mode" in text:
        return None  # a number that is kept without a graph is no leak
    used = {
        node.func.value.id
        for node in inside
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _WITH_GRAPH
        and isinstance(node.func.value, ast.Name)
    }
    for node in inside:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in used and _is_plain(node.value):
            sample = Sample(path, function.name, node.lineno)
            sample.mutants = [*_planted(text, function, node, target.id), *_without(text, inside)]
            return sample
    return None


def _is_plain(call: ast.Call) -> bool:
    """Not a number already."""
    return not (isinstance(call.func, ast.Attribute) and call.func.attr in ("item", "detach", "tolist", "numpy"))


def _planted(
    text: str, function: ast.FunctionDef | ast.AsyncFunctionDef, at: ast.Assign, name: str
) -> Iterator[tuple[str, str, int]]:
    """Every value of the loop is kept in a list."""
    lines = text.splitlines()
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    end = at.end_lineno or at.lineno
    if first.lineno > at.lineno or ";" in lines[at.lineno - 1]:
        return
    lines.insert(end, " " * at.col_offset + f"kept_here.append({name})")
    start = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
    lines.insert(start - 1, " " * first.col_offset + "kept_here = []")
    yield "planted", "\n".join(lines) + "\n", end + 2


def _without(text: str, inside: list[ast.AST]) -> Iterator[Mutant]:
    """An `.item()` that is stored is taken away."""
    lines = text.splitlines()
    for node in inside:
        if not isinstance(node, (ast.AugAssign, ast.Expr)) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        stored = isinstance(node, ast.AugAssign) or re.match(r"\s*[\w.\[\]'\"]+\.append\(", line)
        if stored and re.search(r"\w\.item\(\)", line):
            changed = [*lines]
            changed[node.lineno - 1] = line.replace(".item()", "")
            yield "item", "\n".join(changed) + "\n", node.lineno
            return


def judge(sample: Sample, text: str, row: int, server: Server) -> Verdict:
    """The verdict on one place, as if the linter had reported growth there."""
    with tempfile.TemporaryDirectory() as folder:
        file = sample.path
        if text:
            file = pathlib.Path(folder) / sample.path.name
            file.write_text(text, "utf-8")
        place = Location(row, 1)
        finding = Finding("TML102", "sampled", "", str(file), place, place, retains=Retains.GROWING)
        verdict = flagged.verify(flagged.Case(finding, str(sample.path.parent)), server).verdict
        assert verdict is not None
        return verdict


@click.command()
@click.argument("packages", type=click.Path(exists=True, file_okay=False, path_type=pathlib.Path))
@click.option("--count", default=200)
@click.option("--seed", default=1)
@click.option("--show", is_flag=True, help="Print every verdict.")
def main(packages: pathlib.Path, count: int, seed: int, show: bool) -> None:
    files = sorted(packages.rglob("*.py"))
    random.Random(seed).shuffle(files)
    taken: list[Sample] = []
    for path in files:  # one function of a file: files differ more than functions of one do
        taken += list(samples(path))[:1]
        if len(taken) >= count:
            break
    trusted = planted = caught = 0
    reasons: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[tuple[str, str]] = collections.Counter()
    with Server(device="cpu", limits=Limits(timeout=30.0)) as server:

        def measure(sample: Sample) -> tuple[Verdict, list[tuple[str, Verdict]]]:
            own = judge(sample, "", sample.row, server)
            if own.status == "inconclusive":
                return own, []
            return own, [(kind, judge(sample, text, row, server)) for kind, text, row in sample.mutants]

        for sample, (own, mutants) in zip(taken, server.map(measure, taken), strict=True):
            place = f"{sample.path.relative_to(packages)}:{sample.row} {sample.function}"
            trusted += own.status != "inconclusive"
            if own.status == "inconclusive":
                reasons[re.sub(r"\d+", "N", own.reason)[:70]] += 1
            if show or own.confirmed:
                click.echo(f"{own.status:12} {place}: {own.reason} {' -> '.join(own.path)}")
            for kind, verdict in mutants:
                planted += 1
                caught += verdict.confirmed
                kinds[kind, verdict.status] += 1
                if show or not verdict.confirmed:
                    click.echo(f"  {kind:8} {verdict.status:12} {place}: {verdict.reason}")
    click.echo(f"{len(taken)} functions: trusted verdicts on {trusted} ({trusted / max(len(taken), 1):.0%})")
    click.echo(f"{planted} mutants of those: {caught} confirmed ({caught / max(planted, 1):.0%}); {dict(kinds)}")
    for reason, number in reasons.most_common(12):
        click.echo(f"  {number:4} {reason}")


if __name__ == "__main__":
    main()
