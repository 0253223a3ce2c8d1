"""The command `verify`: runs what was flagged and prints what it showed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .config import ConfigError

if TYPE_CHECKING:
    from .runtime.fixtures import Outcome

_CONFIRMED = 1


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
@click.option("--device", default="auto", metavar="auto|cpu|cuda[:N]", help="Where to run (default: auto).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, help="Seconds for one run.")
@click.option("--memory-limit", callback=_size, default="4GiB", metavar="SIZE", help="Memory for one run.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Runs at a time (default: one a core).")
@click.option("--allow-network", is_flag=True, help="Let what is run use the network.")
@click.option("--allow-write", multiple=True, type=click.Path(file_okay=False), help="A folder it may write to.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How to report.")
@click.pass_context
def verify(context: click.Context, /, paths: tuple[str, ...], **chosen: Any) -> None:
    """Run what was flagged, and report the bytes that stay.

    With --rules, the fixtures of the rules are run: every bad program should be confirmed to retain what its rule
    says, and every good one not to. Each program runs in a process of its own. This guards against accidents, not
    against malice: do not verify code that you would not run.

    Exit code 0: nothing confirmed (with --rules: all as expected), 1: something confirmed (or not), 2: misuse.
    """
    from .runtime.client import CannotVerify, Server
    from .runtime.isolation import Limits

    if not chosen["rules"]:
        raise click.UsageError("say what to run: --rules [CODE ...]")
    limits = Limits(
        timeout=chosen["timeout"],
        memory=chosen["memory_limit"],
        network=chosen["allow_network"],
        write=tuple(chosen["allow_write"]),
    )
    try:
        with Server(device=chosen["device"], limits=limits, jobs=chosen["jobs"]) as server:
            failed = _rules(paths, server, chosen["output_format"])
    except (CannotVerify, ConfigError) as error:
        raise click.ClickException(str(error)) from error
    if failed:
        context.exit(_CONFIRMED)


def _rules(codes: tuple[str, ...], server: Any, output_format: str) -> int:
    """Runs and prints the fixtures; how many were not as expected."""
    from .linter.selection import resolve
    from .rules import registry
    from .runtime import fixtures

    rules = registry()
    wanted = [code for selector in codes for code in resolve(selector, rules, "verify --rules")[0]]
    retains = {code: rule.retains.value if rule.retains else None for code, rule in rules.items()}
    pairs = fixtures.pairs(retains, wanted)
    if not pairs:
        raise ConfigError("no fixtures of these rules can be run here")
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
    mark = click.style("wrong", fg="red", bold=True) if outcome.problems else click.style("ok", fg="green")
    said = outcome.bad_line.partition(": ")[2]
    return f"{mark} {outcome.pair.name:<34} {outcome.status:<10} {said}".rstrip()


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    from .runtime import fixtures

    pair = outcome.pair
    data: dict[str, Any] = {"code": pair.code, "bad": str(pair.bad), "good": str(pair.good), "shows": pair.shows}
    data["as_expected"] = not outcome.problems
    data["problems"] = list(outcome.problems)
    data["receipt"] = None if outcome.problems else fixtures.receipt(outcome)
    return data
