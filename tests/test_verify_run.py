"""`torchmemlint verify --run`: the user's own program, observed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
from conftest import Run, Write

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.runtime.command import Command

TRAIN = """
import sys
import torch
import helpers

def main(steps):
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, numbers = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.rand(4, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
        helpers.note(numbers, loss)
    print("steps", len(losses), sys.argv[1:], __name__, __file__)
    open("made.txt", "w").write("kept")

if __name__ == "__main__":
    main(int(sys.argv[1]))
    sys.exit(int(sys.argv[2]))
"""
HELPERS = """
def note(numbers, loss):
    numbers.append(loss.item())
"""


def test_program_is_observed(write: Write, run: Run) -> None:
    folder = write({"train.py": TRAIN, "helpers.py": HELPERS})
    done = run("verify", "--output-format", "json", "-o", "report.json", "--run", "python train.py 30 0")
    assert done.returncode == 1
    assert done.stdout == "steps 30 ['30', '0'] __main__ train.py\n"
    assert (folder / "made.txt").read_text() == "kept"
    (finding,) = json.loads((folder / "report.json").read_text())
    verdict = finding["verdict"]
    assert (finding["code"], verdict["status"], verdict["tier"]) == ("TML102", "growing", "observed")
    assert verdict["nodes_per_step"] > 2 and verdict["path"] == ["frame of main()", "local 'losses'[*]"]


def test_exit_code_is_the_programs(write: Write, run: Run) -> None:
    write({"train.py": TRAIN.replace("losses.append(loss)", "losses.append(loss.item())"), "helpers.py": HELPERS})
    assert run("verify", "--run", "python train.py 8 7").returncode == 7
    assert run("verify", "--run", "python -m train 8 0").returncode == 0


def test_error_of_the_program(write: Write) -> None:
    """The traceback is the program's own."""
    folder = write("train.py", "import torch\n\ndef main():\n    raise ValueError('mine')\n\nmain()\n")
    command = [sys.executable, "-m", "torchmemlint", "verify", "--run", "python train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr and 'train.py", line 4' in done.stderr
    assert "torchmemlint" not in done.stderr.partition("ValueError")[0]


@pytest.mark.parametrize(
    ("text", "python", "program"),
    [
        ("python -u train.py --steps 3", ("-u",), ("train.py", "--steps", "3")),
        ("python -W ignore -m package.train x", ("-W", "ignore"), ("-m", "package.train", "x")),
        ("pytest tests -k 'a b'", (), ("-m", "pytest", "tests", "-k", "a b")),
        ("train.py 1", (), ("train.py", "1")),
    ],
)
def test_command(
    write: Write, text: str, python: tuple[str, ...], program: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write("train.py", ""))
    command = Command.parse(text)
    assert (command.python[1:], command.program) == (python, program)


@pytest.mark.parametrize("text", ["", "python", "python -c 'print()'", "bash train.sh", "python missing.py"])
def test_misuse(write: Write, run: Run, text: str) -> None:
    write("train.py", "")
    done = run("verify", "--run", text)
    assert done.returncode == 2 and "--run" in done.stderr and "Traceback" not in done.stderr
