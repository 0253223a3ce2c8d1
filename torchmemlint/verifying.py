"""The command `verify`: runs what was flagged and prints what it showed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from .config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .finding import Finding
    from .runtime.client import Server
    from .runtime.entry import Entry
    from .runtime.fixtures import Outcome, Pair
    from .source import Source

_CONFIRMED, _MISUSE = 1, 2
_INDENT = " " * 13  # what continues a line stands below its text
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
@click.option("--run", "command", metavar="COMMAND", help="A program of yours to observe: 'python train.py', pytest.")
@click.option("--steps", type=click.IntRange(min=2), default=12, help="Steps of the first run (default: 12).")
@click.option("--device", default="auto", metavar="auto|cpu|cuda[:N]", help="Where to run (default: auto).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, help="Seconds for one run.")
@click.option("--memory-limit", callback=_size, default="4GiB", metavar="SIZE", help="Memory for one run.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Runs at a time (default: one a core).")
@click.option("--allow-network", is_flag=True, help="Let what is run use the network.")
@click.option("--allow-write", multiple=True, type=click.Path(file_okay=False), help="A folder it may write to.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How to report.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="With --run: write the report to a file.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a page to look at, with curves.")
@click.pass_context
def verify(context: click.Context, /, paths: tuple[str, ...], **chosen: Any) -> None:
    """Run what was flagged, and report the bytes that stay.

    With PATHS, they are linted, and of each finding the function around it is run, N and 2N times round, with
    stand-ins for what it needs: its own file and those of the project that it imports are executed, of other packages
    nothing is but PyTorch and NumPy. A verdict is `replayed` if only data were stand-ins, else `simulated`: then a call
    of something unknown was taken to give a tensor if tensors went in. Where there is a fix, it is made, and run, too.

    With --entry, a function of yours is run with N, 2N and, where it grows, 4N steps: it is called with the number of
    steps if it takes one required parameter, else that many times. What the linter flags in its file, and in files
    beside it that the run comes by, gets a verdict; growth that no rule reports is listed last, and confirms nothing.

    With --run, a program of yours does its work under observation: its streams and its exit code are its own (1 if that
    is 0 and something is confirmed), and the report goes to standard error.

    With --rules, the fixtures of the rules are run: every bad program should be confirmed to retain what its rule
    says, and every good one not to. Each program runs in a process of its own. This guards against accidents, not
    against malice: do not verify code that you would not run.

    Exit code 0: nothing confirmed (with --rules: all as expected), 1: something confirmed (or not), 2: misuse.
    """
    from .runtime.client import CannotVerify, Server
    from .runtime.isolation import Limits

    ways = [
        chosen["rules"],
        bool(chosen["entries"]),
        bool(paths) and not chosen["rules"],
        chosen["command"] is not None,
    ]
    if sum(map(bool, ways)) != 1:
        raise click.UsageError(
            "say what to run: PATHS, --entry FILE.py::FUNCTION, --run COMMAND, or --rules [CODE ...]"
        )
    if chosen["command"] is not None:
        context.exit(_observe(chosen))
    try:
        found = [_flagged(entry) for entry in chosen["entries"]]
        pairs = _pairs(paths) if chosen["rules"] else []
        flagged = _linted(paths) if ways[2] else []
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
            elif found:
                failed = _entries(found, server, chosen)
            else:
                said = f"Running {_counted(flagged)} with stand-ins, each apart, on {chosen['device']}."
                click.echo(said, err=True)
                failed = _report(verdicts(flagged, server, chosen["steps"]), chosen)
    except (CannotVerify, ConfigError) as error:
        raise _Misuse(str(error)) from error
    if failed:
        context.exit(_CONFIRMED)


def _observe(chosen: dict[str, Any]) -> int:
    """Runs the user's program, and says on standard error what was seen; the exit code."""
    import importlib.util

    from .runtime import command as observed

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("psutil") is None:
        raise _Misuse("torch and psutil are needed: pip install 'torchmemlint[verify]'")
    try:
        command = observed.Command.parse(chosen["command"])
        folder = command.folder
        findings = _beside(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
    except (ConfigError, ValueError) as error:
        raise _Misuse(str(error)) from error
    code, judged = observed.run(command, findings)
    with open(chosen["output_file"], "w", encoding="utf-8") if chosen["output_file"] else sys.stderr as stream:
        confirmed = _report(judged, chosen, stream)
    return code or (_CONFIRMED if confirmed else 0)


def _beside(folder: Path) -> list[Finding]:
    """What the linter flags in a folder. Raises ConfigError."""
    from .config import load
    from .linter import engine, files, pool

    settings = load(folder, {})
    return pool.lint_files(files.find([str(folder)], settings)[:_BESIDE], engine.plan(settings), settings.jobs)


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
    from .runtime import entry as runner

    judged: list[Finding] = []
    for entry, findings in found:
        click.echo(f"Running {entry.function}() of {entry.file}, apart, on {chosen['device']}.", err=True)
        judged += runner.verify(entry, findings, server, chosen["steps"])
    return _report(judged, chosen)


def _linted(paths: tuple[str, ...]) -> list[Finding]:
    """What the linter finds, with its fixes. Raises ConfigError."""
    from .config import common_parent, load
    from .linter import engine, files, pool

    settings = load(common_parent(list(paths)), {})
    return pool.lint_files(files.find(paths, settings), engine.plan(settings, fixes=True), settings.jobs)


def verdicts(findings: Sequence[Finding], server: Server, steps: int) -> list[Finding]:
    """The findings with verdicts: each one's snippet is run with stand-ins, several at a time."""
    from .runtime import flagged

    cases = [flagged.Case(finding, flagged.project(finding.filename), _fixed(finding)) for finding in findings]
    return list(server.map(lambda case: flagged.verify(case, server, steps), cases))


def verified(findings: list[Finding], given: Mapping[str, Source]) -> list[Finding]:
    """For `check --verify`: the findings with verdicts. Raises ConfigError where nothing can be run."""
    from .runtime.client import CannotVerify, Server
    from .runtime.flagged import STEPS
    from .runtime.isolation import Limits

    if given and findings:
        raise ConfigError("--verify: standard input cannot be run: name a file")
    if not findings:
        return findings
    click.echo(f"Running {_counted(findings)} with stand-ins, each apart.", err=True)
    try:
        with Server(limits=Limits()) as server:
            return verdicts(findings, server, STEPS)
    except CannotVerify as error:
        raise ConfigError(f"--verify: {error}") from error


def _counted(findings: Sequence[Finding]) -> str:
    return f"{len(findings)} flagged snippet{'s' * (len(findings) != 1)}"


def _fixed(finding: Finding) -> str | None:
    """The text of the file with the finding's fix made."""
    from .linter.fixes.text import apply_edits
    from .source import Unreadable, read

    if finding.fix is None or finding.cell is not None:
        return None
    try:
        return apply_edits(read(finding.filename, 1 << 24).text, finding.fix.edits)
    except Unreadable:
        return None


def _report(judged: list[Finding], chosen: dict[str, Any], stream: TextIO | None = None) -> int:
    """Prints findings with verdicts; how many were confirmed."""
    from .linter.reports import json as as_json

    if chosen["html"]:
        from .runtime import page

        Path(chosen["html"]).write_text(page.render(judged), encoding="utf-8")
    if chosen["output_format"] == "json":
        click.echo(json.dumps([as_json.as_dict(finding) for finding in judged], indent=2), file=stream)
    else:
        for finding in judged:
            click.echo(_fitted(_block(finding), stream or sys.stdout), file=stream)
    confirmed = sum(bool(one.code and one.verdict and one.verdict.confirmed) for one in judged)
    flagged = sum(bool(one.code) for one in judged)
    watched = bool(chosen["entries"] or chosen["command"]) and not judged
    said = "Nothing flagged was run, and nothing grew." if watched else "Nothing flagged was run."
    click.echo(f"{confirmed} of {flagged} findings confirmed." if flagged else said, err=True)
    left_open = sum(one.verdict is not None and one.verdict.status == "inconclusive" for one in judged)
    if left_open and not chosen["entries"] and not chosen["command"]:
        click.echo(
            f"{left_open} left open: a program of yours may tell, with --run 'python PROGRAM.py', or a function, with "
            "--entry FILE.py::FUNCTION.",
            err=True,
        )
    return confirmed


def _fitted(text: str, stream: TextIO) -> str:
    """Lines broken between words where a terminal is too narrow for them; in files and pipes they stay whole."""
    if not stream.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, 40)
    return "\n".join(broken for line in text.splitlines() for broken in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    lines, rest = [], line
    while len(click.unstyle(rest)) > width:
        end = width + len(rest) - len(click.unstyle(rest))  # codes of colours take no room
        at = rest.rfind(" ", len(_INDENT) + 1, end + 1)
        if at < 0:
            break
        lines.append(rest[:at].rstrip())
        rest = _INDENT + rest[at + 1 :]
    return [*lines, rest]


def _block(finding: Finding) -> str:
    """A finding and its verdict, for people."""
    verdict = finding.verdict
    assert verdict is not None
    colour = {"refuted": "green", "inconclusive": "yellow"}.get(verdict.status, "red")
    place = f"{finding.filename}:{finding.start.row}:{finding.start.column}: {finding.code or 'not flagged'}"
    lines = [f"{place} {click.style(verdict.status, fg=colour, bold=True)} ({verdict.tier}): {verdict.reason}"]
    if verdict.path:
        lines.append(f"    held by  {' -> '.join(verdict.path)}")
    if verdict.after_fix is not None:
        fix = finding.fix.message if finding.fix is not None else "no_grad at this line"
        lines.append(f"    fixed    {verdict.after_fix.status}: {verdict.after_fix.reason} ({fix})")
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

    outcomes = fixtures.measure_all(pairs, server)
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
