"""The command `verify`: runs what was flagged and prints what it showed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .config import ConfigError

if TYPE_CHECKING:
    from .finding import Finding
    from .runtime.client import Server
    from .runtime.entry import Entry
    from .runtime.fixtures import Outcome, Pair

_CONFIRMED, _MISUSE = 1, 2
_BESIDE = 400  # files beside the entry's that are linted, too
_SCOPES = {"loop": "it is let go when the loop's function returns", "call": "it is still there when the call returns"}


def _size(_: click.Context, __: click.Parameter, value: str) -> int:
    """Bytes, from a number with a unit or without."""
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    text = value.strip().lower().removesuffix("b").removesuffix("i")
    factor = 1 << units[text[-1]] if text and text[-1] in units else 1
    try:
        return int(float(text.rstrip("kmgt")) * factor)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a size such as 512M or 4GiB") from None


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--rules", is_flag=True, help="Run the rules' own fixtures; arguments are codes (default: all).")
@click.option("--entry", "entries", multiple=True, metavar="FILE.py::FUNCTION", help="A function of yours to run.")
@click.option("--steps", type=click.IntRange(min=2), default=12, help="Steps of the first run (default: 12).")
@click.option("--device", default="auto", metavar="auto|cpu|cuda[:N]", help="Where to run (default: auto).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, help="Seconds for one run.")
@click.option("--memory-limit", callback=_size, default="4GiB", metavar="SIZE", help="Memory for one run.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Runs at a time (default: one a core).")
@click.option("--allow-network", is_flag=True, help="Let what is run use the network.")
@click.option("--allow-write", multiple=True, type=click.Path(file_okay=False), help="A folder it may write to.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How to report.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a page to look at, with curves.")
@click.pass_context
def verify(context: click.Context, /, paths: tuple[str, ...], **chosen: Any) -> None:
    """Run what was flagged, and report the bytes that stay.

    With --entry, a function of yours is run with N, 2N and, where it grows, 4N steps: it is called with the number of
    steps if it takes one required parameter, else that many times. What the linter flags in its file, and in files
    beside it that the run comes by, gets a verdict; growth that no rule reports is listed last, and confirms nothing.

    With --rules, the fixtures of the rules are run: every bad program should be confirmed to retain what its rule
    says, and every good one not to. Each program runs in a process of its own. This guards against accidents, not
    against malice: do not verify code that you would not run.

    Exit code 0: nothing confirmed (with --rules: all as expected), 1: something confirmed (or not), 2: misuse.
    """
    from .runtime.client import CannotVerify, Server
    from .runtime.isolation import Limits

    if chosen["rules"] == bool(chosen["entries"]) or (paths and not chosen["rules"]):
        raise click.UsageError("say what to run: --entry FILE.py::FUNCTION, or --rules [CODE ...]")
    try:
        found = [_flagged(entry) for entry in chosen["entries"]]
        pairs = _pairs(paths) if chosen["rules"] else []
    except (ConfigError, ValueError) as error:
        raise _Misuse(str(error)) from error
    limits = Limits(
        timeout=chosen["timeout"],
        memory=chosen["memory_limit"],
        network=chosen["allow_network"],
        write=tuple(chosen["allow_write"]),
    )
    try:
        with Server(device=chosen["device"], limits=limits, jobs=chosen["jobs"]) as server:
            if chosen["rules"]:
                failed = _rules(pairs, server, chosen["output_format"])
            else:
                failed = _entries(found, server, chosen)
    except (CannotVerify, ConfigError) as error:
        raise _Misuse(str(error)) from error
    if failed:
        context.exit(_CONFIRMED)


class _Misuse(click.ClickException):
    """What the user has to correct."""

    exit_code = _MISUSE


def _flagged(text: str) -> tuple[Entry, list[Finding]]:
    """An entry, and what the linter flags in its file and beside it. Raises ConfigError or ValueError."""
    from .config import load
    from .linter import engine, files, pool
    from .runtime.entry import Entry

    entry = Entry.parse(text)
    settings = load(Path(entry.file).absolute().parent, {})
    named = files.find([entry.file], settings)
    beside = files.find([str(Path(entry.file).parent)], settings)[:_BESIDE]
    plan = engine.plan(settings)
    return entry, pool.lint_files(list(dict.fromkeys([entry.file, *named, *beside])), plan, settings.jobs)


def _entries(found: list[tuple[Entry, list[Finding]]], server: Server, chosen: dict[str, Any]) -> int:
    """Runs and prints the entries; how many findings were confirmed."""
    from .linter.reports import json as as_json
    from .runtime import entry as runner

    judged: list[Finding] = []
    for entry, findings in found:
        click.echo(f"Running {entry.function}() of {entry.file}, apart, on {chosen['device']}.", err=True)
        judged += runner.verify(entry, findings, server, chosen["steps"])
    if chosen["html"]:
        from .runtime import page

        Path(chosen["html"]).write_text(page.render(judged), encoding="utf-8")
    if chosen["output_format"] == "json":
        click.echo(json.dumps([as_json.as_dict(finding) for finding in judged], indent=2))
    else:
        for finding in judged:
            click.echo(_block(finding))
    confirmed = sum(bool(one.code and one.verdict and one.verdict.confirmed) for one in judged)
    flagged = sum(bool(one.code) for one in judged)
    click.echo(f"{confirmed} of {flagged} findings confirmed." if flagged else "Nothing flagged was run.", err=True)
    return confirmed


def _block(finding: Finding) -> str:
    """A finding and its verdict, for people."""
    verdict = finding.verdict
    assert verdict is not None
    colour = {"refuted": "green", "inconclusive": "yellow"}.get(verdict.status, "red")
    place = f"{finding.filename}:{finding.start.row}:{finding.start.column}: {finding.code or 'not flagged'}"
    lines = [f"{place} {click.style(verdict.status, fg=colour, bold=True)} ({verdict.tier}): {verdict.reason}"]
    if verdict.path:
        lines.append(f"    held by  {' -> '.join(verdict.path)}")
    if verdict.confirmed and verdict.steps:
        scope = f"; {_SCOPES[verdict.scope]}" if verdict.scope in _SCOPES else ""
        lines.append(f"    seen in  {verdict.steps} steps on {verdict.device}, torch {verdict.torch}{scope}")
    return "\n".join(lines)


def _pairs(codes: tuple[str, ...]) -> list[Pair]:
    """The fixtures of the rules that are meant. Raises ConfigError."""
    from .linter.selection import resolve
    from .rules import registry
    from .runtime import fixtures

    rules = registry()
    wanted = [code for selector in codes for code in resolve(selector, rules, "verify --rules")[0]]
    retains = {code: rule.retains.value if rule.retains else None for code, rule in rules.items()}
    pairs = fixtures.pairs(retains, wanted)
    if not pairs:
        raise ConfigError("no fixtures of these rules can be run here")
    return pairs


def _rules(pairs: list[Pair], server: Server, output_format: str) -> int:
    """Runs and prints the fixtures; how many were not as expected."""
    from .runtime import fixtures

    outcomes = server.map(lambda pair: fixtures.measure(pair, server), pairs)
    if output_format == "json":
        measured = list(outcomes)
        click.echo(json.dumps([_as_dict(outcome) for outcome in measured], indent=2))
        return sum(bool(outcome.problems) for outcome in measured)
    failed = 0
    for outcome in outcomes:
        failed += bool(outcome.problems)
        click.echo(_line(outcome))
        for problem in outcome.problems:
            click.echo(f"    {problem}")
    said = f"{len(pairs)} pairs of fixtures run: "
    click.echo(said + (f"{failed} not as expected" if failed else "bad ones confirmed, good ones refuted."), err=True)
    return failed


def _line(outcome: Outcome) -> str:
    if outcome.skipped:
        return f"-- {outcome.pair.name:<34} not run    {outcome.skipped}"
    mark = click.style("wrong", fg="red", bold=True) if outcome.problems else click.style("ok", fg="green")
    said = outcome.bad_line.partition(": ")[2]
    return f"{mark} {outcome.pair.name:<34} {outcome.status:<10} {said}".rstrip()


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    from .runtime import fixtures

    pair = outcome.pair
    data: dict[str, Any] = {"code": pair.code, "bad": str(pair.bad), "good": str(pair.good), "shows": pair.shows}
    data["as_expected"] = not outcome.problems
    data["problems"] = list(outcome.problems)
    data["skipped"] = outcome.skipped
    data["receipt"] = None if outcome.problems or outcome.skipped else fixtures.receipt(outcome)
    return data
