"""The flake8 plugin: the same findings as the command, flake8's own options honoured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Lint, Write

pytest.importorskip("flake8")

Flake8 = Callable[..., list[str]]


@pytest.fixture
def flake8(write: Write) -> Flake8:
    def flake8(*args: str, input: str | None = None) -> list[str]:
        command = [sys.executable, "-m", "flake8", "--isolated", "-j1", *args]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", input=input, timeout=120)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return flake8


MIXED = """\
import torch

torch.no_grad()
torch.no_grad()  # noqa
torch.no_grad()  # noqa: TML202
torch.no_grad()  # torchmemlint: ignore[TML202] -- not here
'损失'; torch.no_grad()
x = 1  # noqa: TML202
torch.no_grad()  # noqa: TML101
"""


def test_same_findings_as_the_command(write: Write, lint: Lint, flake8: Flake8) -> None:
    write({"a.py": MIXED, "b.py": b"\xef\xbb\xbf" + MIXED.encode()})
    expected = lint("--ignore", "TML901", "a.py", "b.py").stdout.splitlines()
    assert [line.split(" ")[0] for line in expected] == [
        f"{name}.py:{at}:" for name in "ab" for at in ("3:1", "7:7", "9:1")
    ]
    assert flake8("--select", "TML", "a.py", "b.py") == expected


def test_same_findings_in_the_fixtures(lint: Lint, flake8: Flake8) -> None:
    folder = str(ROOT / "fixtures" / "TML101")
    expected = lint("--isolated", "--ignore", "TML901", folder).stdout.splitlines()
    assert expected
    assert flake8("--select", "TML", folder) == expected


def test_noqa_is_left_to_flake8(write: Write, flake8: Flake8) -> None:
    write("a.py", MIXED)
    found = flake8("--select", "TML", "--disable-noqa", "a.py")
    assert [line.split(":")[1] for line in found] == ["3", "4", "5", "7", "9"]


def test_select_and_ignore(write: Write, flake8: Flake8) -> None:
    write("a.py", "import torch\ntorch.no_grad()\n")
    assert flake8("--select", "TML1", "a.py") == []
    assert flake8("--extend-ignore", "TML202", "a.py") == []
    assert len(flake8("a.py")) == 1


def test_standard_input(write: Write, flake8: Flake8) -> None:
    source = "import torch\ntorch.no_grad()\n"
    (line,) = flake8("--select", "TML", "--stdin-display-name", "x.py", "-", input=source)
    assert line.startswith("x.py:2:1: TML202 ")


def test_settings_of_the_project(write: Write, flake8: Flake8) -> None:
    source = "import torch\ntorch.no_grad()\n"
    write({"a.py": source, "sub/b.py": source})
    write("pyproject.toml", '[tool.torchmemlint.per-file-ignores]\n"sub/*" = ["TML202"]\n')
    assert [line.split(":")[0] for line in flake8("--select", "TML", ".")] == ["./a.py"]


def test_baseline_of_the_project(write: Write, lint: Lint, flake8: Flake8) -> None:
    source = "import torch\ntorch.no_grad()\n"
    write({"a.py": source, "b.py": source, "torchmemlint.toml": 'baseline = "known.json"\n'})
    lint("--write-baseline", "b.py")
    assert [line.split(":")[0] for line in flake8("--select", "TML", "a.py", "b.py")] == ["a.py"]


def test_syntax_error_is_flake8s_to_report(write: Write, flake8: Flake8) -> None:
    write({"a.py": "import torch\ndef f(:\n"})
    assert [line.split(" ")[1] for line in flake8("--select", "TML,E9", "a.py")] == ["E999"]


def test_wrong_settings_are_named(write: Write) -> None:
    write({"a.py": "import torch\n", "torchmemlint.toml": "selct = []\n"})
    done = subprocess.run([sys.executable, "-m", "flake8", "-j1", "a.py"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert "unknown setting `selct`; did you mean `select`?" in done.stdout and "Traceback" not in done.stdout


def test_what_the_command_would_not_read(write: Write, lint: Lint, flake8: Flake8) -> None:
    write(
        {"latin1.py": b"import torch\nx = '\xe9'\ntorch.no_grad()\n", "declared.py": b"# coding: latin-1\nx = '\xe9'\n"}
    )
    write({"both.py": b"\xef\xbb\xbf# coding: latin-1\n", "large.py": "import torch\n" * 10})
    write("torchmemlint.toml", "max-file-size = 100\n")
    expected = lint("both.py", "declared.py", "large.py", "latin1.py").stdout.splitlines()
    assert [line.split(": ")[0] for line in expected] == ["both.py:1:1", "large.py:1:1", "latin1.py:2:6"]
    assert flake8("--select", "TML", "both.py", "declared.py", "large.py", "latin1.py") == expected
    (line,) = flake8(
        "--select", "TML", "--stdin-display-name", "latin1.py", "-", input="import torch\ntorch.no_grad()\n"
    )
    assert line.startswith("latin1.py:2:1: TML202 ")


def test_a_cache_that_goes_with_the_run_leaves_nothing(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    write({f"{name}.py": MIXED for name in "abcdef"} | {"torchmemlint.toml": f'cache-dir = "{os.devnull}/none"\n'})
    command = [sys.executable, "-m", "flake8", "--select", "TML", "-j2", "."]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)})
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (1, "", 18)
    assert list(folder.iterdir()) == []
