"""Shared by all tests: a folder to lint in, and the command run in this process or in its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from torchmemlint.cli import cli

NO_EFFECT = "import torch\n\ntorch.no_grad()\n"  # TML202 at 3:1: the simplest finding there is
CLEAN = "import torch\n\nx = torch.ones(3)\n"

Write = Callable[..., Path]
Lint = Callable[..., Result]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colour only where a test asks for it."""
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is the working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Write:
    """Writes files below the folder: `write({"a.py": "text"})`, or `write("a.py", "text")`."""

    def write(files: dict[str, str | bytes] | str, text: str | bytes = "") -> Path:
        for name, content in ({files: text} if isinstance(files, str) else files).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).encode())
        return folder

    return write


@pytest.fixture
def lint(folder: Path) -> Lint:
    """Runs the command in this process."""

    def lint(*args: str, input: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, args, input=input, prog_name="torchmemlint")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return lint


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs the command in a process of its own; its output must never hold a traceback."""

    def run(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = subprocess.run(  # type: ignore[call-overload]
            [sys.executable, "-m", "torchmemlint", *args], capture_output=True, encoding="utf-8", timeout=120, **more
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done

    return run


def lines(result: Result | subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard output."""
    return result.stdout.splitlines()


def codes(result: Result | subprocess.CompletedProcess[str]) -> list[str]:
    """`path:row:col CODE` of every finding in a text report."""
    return [" ".join(line.split(": ", 1)[0:1] + line.split(": ", 1)[1].split()[:1]) for line in lines(result)]


ROOT = Path(__file__).resolve().parent.parent
NOWHERE = ROOT / "no folder of this name"  # as a root: no other file is read for the sake of one that is linted
