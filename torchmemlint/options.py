"""The options of `check`, in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from .config import OUTPUT_FORMATS
from .finding import Confidence

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LEVELS = [level.label for level in Confidence]


def _several(_: click.Context, __: click.Parameter, value: Sequence[str]) -> list[str] | None:
    """Values that may be repeated and separated by commas; None if there are none."""
    words = [word.strip() for item in value for word in item.split(",")]
    return [word for word in words if word] if value else None


def _selectors(context: click.Context, option: click.Parameter, value: Sequence[str]) -> list[str] | None:
    """Rules. No rule at all is a slip, such as a variable that is not set: everything would pass."""
    words = _several(context, option, value)
    if words == []:
        raise click.BadParameter("no rule is named")
    return words


def _ignores(_: click.Context, __: click.Parameter, value: Sequence[str]) -> dict[str, list[str]] | None:
    """`pattern:CODE` pairs as the settings file has them."""
    found: dict[str, list[str]] = {}
    for pair in (word.strip() for item in value for word in item.split(",")):
        pattern, colon, code = pair.rpartition(":")
        if not colon or not pattern:
            raise click.BadParameter(f"{pair!r} is not of the form PATTERN:RULE")
        found.setdefault(pattern, []).append(code)
    return found or None


def _list_option(name: str, what: str, metavar: str = "RULES") -> Callable[[_Function], _Function]:
    callback = _selectors if metavar == "RULES" else _several
    return click.option(name, multiple=True, callback=callback, metavar=metavar, help=what)


def _pairs_option(name: str, what: str) -> Callable[[_Function], _Function]:
    return click.option(name, multiple=True, callback=_ignores, metavar="PATTERN:RULE", help=what)


def _options(*options: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    def add(function: _Function) -> _Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


LINTING = _options(
    _list_option("--select", "Rules to turn on, instead of the default: codes, prefixes, names or ALL."),
    _list_option("--ignore", "Rules to turn off."),
    _list_option("--extend-select", "Rules to turn on besides."),
    _list_option("--extend-ignore", "Rules to turn off besides."),
    click.option("--preview/--no-preview", default=None, help="Also turn on the rules that are opt-in."),
    click.option("--min-confidence", type=click.Choice(_LEVELS), help="How sure a finding must be to be shown."),
    _pairs_option("--per-file-ignores", "Rules to turn off in some files."),
    _pairs_option("--extend-per-file-ignores", "The same, besides those of the settings."),
    _list_option("--exclude", "Files and folders to leave out, instead of the default.", "PATTERNS"),
    _list_option("--extend-exclude", "Files and folders to leave out besides.", "PATTERNS"),
    click.option("--force-exclude/--no-force-exclude", default=None, help="Leave them out also when they are named."),
    click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what git ignores."),
    click.option("--max-file-size", type=click.IntRange(min=1), metavar="BYTES", help="Largest file that is read."),
    click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes to use (default: one a core)."),
)
FIXING = _options(
    click.option("--fix/--no-fix", default=None, help="Make the fixes that are safe, and report what is left."),
    click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Also those that may change what code does."),
    click.option("--fix-only/--no-fix-only", default=None, help="Make fixes, and report nothing."),
    click.option("--diff", is_flag=True, help="Show what would be fixed; change nothing."),
)
ADOPTING = _options(
    click.option("--baseline", type=click.Path(), help="A file of findings that are accepted for now."),
    click.option("--write-baseline", is_flag=True, help="Accept everything that is found: write it to the baseline."),
    click.option("--add-noqa", is_flag=True, help="Silence everything that is found by a comment on its line."),
    click.option("--reason", metavar="TEXT", help="Why it is silenced, with --add-noqa."),
)
SOURCES = _options(
    click.option("--config", type=click.Path(), help="The settings file to use."),
    click.option("--isolated", is_flag=True, help="Use no settings file."),
    click.option("--stdin-filename", metavar="NAME", help="What to call standard input (path `-`)."),
    click.option("--no-cache", is_flag=True, help="Keep nothing between runs, and use nothing kept."),
    click.option("--cache-dir", type=click.Path(), help="Where to keep results (default: .torchmemlint_cache)."),
)
REPORTING = _options(
    click.option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="How to report (default: text)."),
    click.option("--output-file", "-o", type=click.Path(), help="Write the report to a file."),
    click.option("--statistics", is_flag=True, help="Count the findings of each rule instead."),
    click.option("--show-files", is_flag=True, help="List the files that would be linted, and stop."),
    click.option("--show-settings", is_flag=True, help="Print the settings in force, and stop."),
    click.option("--verify", is_flag=True, help="Also run what is found, with stand-ins, and report what stays."),
    click.option("--fail-on", type=click.Choice(["any", "confirmed"]), help="What makes exit code 1 (default: any)."),
    click.option("--exit-zero", "-e", is_flag=True, help="Exit 0 also with findings."),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but findings."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour."),
)
