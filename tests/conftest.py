"""Shared by all tests: a folder to lint in, and the command run in this process or in its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from torchmemlint.cli import cli
from torchmemlint.finding import Finding, Fix, Location, Related, Retains, Verdict

NO_EFFECT = "import torch\n\ntorch.no_grad()\n"  # TML202 at 3:1: the simplest finding there is
CLEAN = "import torch\n\nx = torch.ones(3)\n"

Write = Callable[..., Path]
Lint = Callable[..., Result]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Judge = Callable[..., Verdict]


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


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """What runs programs, on the CPU. Its tests need torch."""
    from torchmemlint.runtime.client import Server

    with Server(device="cpu", jobs=2) as one:
        yield one


@pytest.fixture
def judged(server: Any, tmp_path: Path) -> Judge:
    """What a run with stand-ins says of the line that a comment marks, or that has some text in it."""
    from torchmemlint.runtime import flagged

    def judged(
        text: str,
        code: str = "TML102",
        retains: Retains = Retains.GROWING,
        *,
        marker: str = "# here",
        said: str = "called from here",
        fix: Fix | None = None,
        fixed: str | None = None,
    ) -> Verdict:
        """`said` of lines that end in `# called`, the nearest first; `fixed` is the text with the `fix` made."""
        file = tmp_path / "snippet.py"
        file.write_text(text)
        numbered = list(enumerate(text.splitlines(), 1))
        row, line = next((row, line) for row, line in numbered if marker in line)
        column = line.index(marker) if not marker.startswith("#") else len(line) - len(line.lstrip())
        place = Location(row, column + 1)
        calls = [Location(row, 1) for row, line in numbered if line.endswith("# called")]
        related = tuple(Related(str(file), call, call, said) for call in calls)
        finding = Finding(code, "sampled", "", str(file), place, place, retains=retains, related=related, fix=fix)
        verdict = flagged.verify(flagged.Case(finding, str(tmp_path), fixed), server).verdict
        assert verdict is not None
        return verdict

    return judged


def lines(result: Result | subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard output."""
    return result.stdout.splitlines()


def codes(result: Result | subprocess.CompletedProcess[str]) -> list[str]:
    """`path:row:col CODE` of every finding in a text report."""
    return [" ".join(line.split(": ", 1)[0:1] + line.split(": ", 1)[1].split()[:1]) for line in lines(result)]


ROOT = Path(__file__).resolve().parent.parent
NOWHERE = ROOT / "no folder of this name"  # as a root: no other file is read for the sake of one that is linted
