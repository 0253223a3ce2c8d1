"""The command line: options in, one call, print."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__, changes, ending, options, streams
from .config import KEYS, ConfigError, Settings, common_parent, load, nearest_name

if TYPE_CHECKING:  # imported where needed, so that `--version` and a wrong option answer at once
    from .finding import Finding
    from .linter.pool import Progress

_FINDINGS, _MISUSE, _INTERRUPTED = 1, 2, 130
_LONG_RUN = 200  # files: below, a progress line would only flicker


class _Misuse(click.ClickException):
    """What the user has to correct: printed without a traceback."""

    exit_code = _MISUSE


class _WithDefault(click.Group):
    """A group whose command `check` need not be named, and whose command `verify` is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, "verify"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "verify":
            from .verifying import verify

            return verify
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.list_commands(ctx) and args[0] not in ("--help", "-h", "--version")):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="torchmemlint")
def cli() -> None:
    """Find code that keeps memory alive in PyTorch programs.

    `check` is the default command: `torchmemlint src/` lints a folder.
    """


@cli.command()
@options.LINTING
@options.FIXING
@options.ADOPTING
@options.SOURCES
@options.REPORTING
@click.argument("paths", nargs=-1, type=click.Path(readable=False))  # one that is not is a finding
@click.pass_context
def check(context: click.Context, /, paths: tuple[str, ...], **chosen: Any) -> None:
    """Lint files and folders (default: the current one); `-` reads standard input.

    Exit code 0: nothing found, 1: findings, 2: misuse or an internal error.
    """
    with _misuse():
        paths = _sources(paths, chosen)
        settings = _settings(paths, chosen)
        if chosen["show_settings"]:
            from . import shown

            streams.put(shown.settings(settings, _start(paths, chosen), chosen))
            return
        if chosen["output_file"] and not os.path.isdir(Path(chosen["output_file"]).absolute().parent):
            raise ConfigError(f"--output-file: no such folder: {Path(chosen['output_file']).parent}")
        changes.check_options(settings, chosen)
        result, report = _run(paths, settings, chosen)
        if report is not None:
            _write(report, chosen["output_file"], color=_color(chosen))
        if report is not None and not chosen["show_files"]:
            _summarise(result, quiet=chosen["quiet"], always=settings.output_format == "full")
    if result.failures:
        context.exit(_MISUSE)
    if _fails(result.findings, chosen["fail_on"]) and not chosen["exit_zero"] and not result.clean:
        context.exit(_FINDINGS)


def _fails(findings: Sequence[Finding], on: str | None) -> bool:
    """Whether findings make the exit code 1."""
    if on == "confirmed":
        return any(finding.verdict is not None and finding.verdict.confirmed for finding in findings)
    return bool(findings)


def _sources(paths: tuple[str, ...], chosen: dict[str, Any]) -> tuple[str, ...]:
    """What to lint: the paths, standard input where it is named, or the current folder. Raises ConfigError."""
    given = "-" in paths or chosen["stdin_filename"] is not None
    if given and set(paths) - {"-"}:
        raise ConfigError("`-` and `--stdin-filename` (standard input) cannot be combined with other paths")
    return ("-",) if given else paths or (".",)


def _settings(paths: Sequence[str], chosen: dict[str, Any]) -> Settings:
    """The settings file's values with the options on top. Raises ConfigError."""
    if chosen["config"] and chosen["isolated"]:
        raise ConfigError("--config cannot be combined with --isolated")
    overrides = {key: chosen.get(key.replace("-", "_")) for key in (*KEYS, "no-cache")}
    config = Path(chosen["config"]) if chosen["config"] else None
    return load(_start(paths, chosen), overrides, config=config, isolated=chosen["isolated"])


def _start(paths: Sequence[str], chosen: dict[str, Any]) -> Path:
    """The folder that holds all that is linted: the settings file is looked for from there upwards."""
    named = chosen["stdin_filename"] or "stdin.py"
    return common_parent([named if path == "-" else path for path in paths])


def _run(paths: Sequence[str], settings: Settings, chosen: dict[str, Any]) -> tuple[changes.Result, str | None]:
    """Lints, and renders what was found or asked for. Raises ConfigError."""
    from .linter import engine, files, pool, reports

    plan = engine.plan(settings, fixes=changes.needs_fixes(settings, chosen))
    given_name = (chosen["stdin_filename"] or "-") if "-" in paths else None
    if given_name is None:
        found = _found(paths, settings, chosen)
    elif files.is_excluded(given_name, settings):
        return changes.Result([]), None
    else:
        found = [given_name]
    if chosen["show_files"]:
        names = [file if file == "-" else os.path.abspath(file) for file in found]
        return changes.Result([]), "".join(f"{name}\n" for name in names)
    if given_name is not None:
        findings, given = engine.lint_stdin(given_name, plan)
    else:
        warn = None if chosen["quiet"] else _warn
        with _progress(len(found), quiet=chosen["quiet"]) as tell:
            findings = pool.lint_files(found, plan, settings.jobs, tell, warn)
        given = {}
    result = changes.make(findings, found, plan, settings, chosen, given)
    if chosen["verify"] and result.instead is None:
        from .verifying import verified

        result.findings = verified(result.findings, given)
    if chosen["statistics"]:
        from .linter.reports import statistics

        return result, statistics.render(result.findings, settings.output_format)
    context = reports.Context(color=_color(chosen), given=given)
    if result.instead is None:
        return result, reports.FORMATS[settings.output_format](result.findings, context)
    if given and result.findings and not chosen["diff"] and not result.clean:  # standard output has the source
        streams.say(reports.FORMATS[settings.output_format](result.findings, context))
    return result, result.instead


def _found(paths: Sequence[str], settings: Settings, chosen: dict[str, Any]) -> list[str]:
    """The files to lint. Raises ConfigError, for a mistyped command with a hint."""
    from .linter import files

    try:
        found = files.find(paths, settings)
    except ConfigError as error:
        hint = nearest_name(paths[0], cli.commands) if not os.path.lexists(paths[0]) else ""
        raise ConfigError(f"{error}{hint}") from error
    if not found and not chosen["quiet"]:
        streams.say("warning: no Python files found under the given paths")
    return found


def _summarise(result: changes.Result, *, quiet: bool, always: bool) -> None:
    """Last lines for people. Standard output is for findings alone."""
    for failure in result.failures:
        streams.say(f"error: {failure}")
    if quiet:
        return
    for note in result.notes:
        streams.say(note)
    if result.instead is None and (always or result.mended or sys.stderr.isatty()):
        streams.say(changes.summary(result))


@contextmanager
def _progress(files: int, *, quiet: bool) -> Iterator[Progress | None]:
    """A progress line on a terminal, for runs that take a while."""
    if quiet or files < _LONG_RUN or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=2 * files, label=f"linting {files} files", file=sys.stderr) as bar:
        yield bar.update


def _warn(message: str) -> None:
    streams.say(f"warning: {message}")


@cli.command()
@click.argument("rule")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def explain(rule: str, color: str) -> None:
    """Print a rule's page, by code or name, with an example that was run and measured."""
    from .linter.reports import pages
    from .linter.selection import resolve
    from .rules import registry

    with _misuse():
        codes, _ = resolve(rule, registry(), "explain")
        for number, code in enumerate(codes):
            paint = _color({"color": color, "output_file": None})
            streams.put(("\n" if number else "") + pages.page(registry()[code], color=paint), color=paint)


@cli.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="A table, or JSON.")
def rules(output_format: str) -> None:
    """List all rules."""
    from .linter.reports import pages
    from .rules import registry

    with _misuse():
        streams.put(pages.listing(registry().values(), output_format))


@cli.command()
def server() -> None:
    """Talk to an editor: a language server on standard input and output."""
    try:
        from .server.server import make
    except ImportError as error:
        raise _Misuse("the server needs pygls: install `torchmemlint[server]`") from error
    if sys.stdin is None:
        raise _Misuse("standard input is closed")
    make().start_io()


@cli.command()
@click.option("--cache-dir", type=click.Path(), help="The folder to delete (default: the project's).")
def clean(cache_dir: str | None) -> None:
    """Delete what was kept between runs."""
    from .linter import cache

    with _misuse():
        folder = load(Path.cwd(), {"cache-dir": cache_dir}).cache
        assert folder is not None
        try:
            removed = cache.remove(folder)
        except OSError as error:
            raise ConfigError(f"cannot delete {folder}: {error.strerror or error}") from error
        streams.say(f"deleted {removed}" if removed else f"nothing to delete at {folder}")


@contextmanager
def _misuse() -> Iterator[None]:
    """Turns what the user has to correct into a message, and Ctrl-C or a signal that ends the run into a quiet end."""
    try:
        with ending.heeded():
            yield
    except ConfigError as error:
        raise _Misuse(str(error)) from error
    except KeyboardInterrupt as error:
        os._exit(ending.exit_code(error))  # at once, with nothing said: workers have been told to stop


def _color(chosen: dict[str, Any]) -> bool:
    """Whether to use colour: as told, else on a terminal unless the environment says otherwise."""
    if chosen["color"] != "auto":
        return bool(chosen["color"] == "always")
    if chosen["output_file"] or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _write(report: str, file: str | None, *, color: bool) -> None:
    if file is None:
        streams.put(report, color=color)
        return
    try:
        Path(file).write_text(report, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"--output-file: cannot write {file}: {error.strerror}") from error


def main() -> None:
    """Runs the command line and exits."""
    streams.settle()
    try:
        code = cli.main(prog_name="torchmemlint", standalone_mode=False)
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        streams.say(said.getvalue())
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        streams.say(_lacking(error) or traceback.format_exc())
        sys.exit(_MISUSE)  # 1 would mean findings
    sys.exit(code or 0)


def _lacking(error: Exception) -> str | None:
    """What the surroundings lack, if the error is theirs: a working directory, room for what click prints."""
    if not isinstance(error, OSError) or error.filename is not None:
        return None
    try:
        os.getcwd()
    except OSError:
        return "Error: the working directory is gone"
    return f"Error: cannot write to standard output: {error.strerror}"
