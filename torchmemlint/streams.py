"""The standard streams, which may be closed, full, or read by somebody who has had enough."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from .config import ConfigError


def settle() -> None:
    """Readies the streams: what goes to a closed one is lost, and any path can be printed.

    Standard input stays None where it is closed: to read it is a mistake that is worth a word.
    """
    for number in range(3):  # or the next file to be opened would take the number of a stream
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):  # a path may hold what the terminal's encoding does not
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def put(text: str, *, color: bool = False) -> None:
    """Prints to standard output. A reader that has had enough is no error; a full disk is. Raises ConfigError."""
    try:
        click.echo(text, nl=False, color=color)
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise ConfigError(f"cannot write to standard output: {error.strerror}") from error


def say(text: str) -> None:
    """Prints a line to standard error; where that fails, there is nowhere left to complain."""
    try:
        click.echo(text.removesuffix("\n"), err=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Lets what a stream still holds go nowhere, or the exit would fail, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
