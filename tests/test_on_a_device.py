"""The verifier where there is a GPU: what it measures there, beside the word of the caching allocator."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from conftest import Run, Write

from torchmemlint.runtime.client import Server


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    """Asked for here: whoever only collects tests need not import torch."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")


TRAIN = """\
import torch
from torch import nn

def main(steps):
    model = nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.rand(64, 256, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        history.append(loss{item})
    return len(history)
"""
OUTPUTS = """\
import torch
from torch import nn

def main(steps):
    model = nn.Linear(256, 256).cuda()
    outputs = []
    for _ in range(steps):
        outputs.append(model(torch.rand(64, 256, device="cuda")))
    return len(outputs)
"""
EVALUATE = """\
import torch
from torch import nn

def main(steps):
    model = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]).cuda()
    model.eval()
    correct = 0
    for _ in range(steps):
        correct += model(torch.rand(2048, 256, device="cuda")).argmax(1).sum().item()
    return correct
"""
ROUND = 512  # bytes: what the caching allocator hands out is a multiple of it


def verdict(run: Run, *arguments: str, device: str = "cuda") -> tuple[int, dict[str, Any]]:
    done = run("verify", "--device", device, "--output-format", "json", *arguments)
    findings = json.loads(done.stdout)
    assert findings, done.stderr
    return done.returncode, findings[0]["verdict"]


@pytest.mark.parametrize("device", ["cuda", "auto", "cuda:0"])
def test_entry_that_keeps_graphs(device: str, write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item=""))
    code, found = verdict(run, "--entry", "train.py::main", device=device)
    assert (code, found["status"], found["tier"]) == (1, "growing", "observed")
    assert found["device"].startswith("cuda")
    assert found["nodes_per_step"] >= 4
    assert found["path"] == ["frame of main()", "local 'history'[*]"]


def test_entry_that_releases(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item=".item()"))
    done = run("verify", "--device", "cuda", "--entry", "train.py::main")
    assert (done.returncode, done.stdout) == (0, "")


def test_entry_that_keeps_outputs(write: Write, run: Run) -> None:
    write("outputs.py", OUTPUTS)
    _, found = verdict(run, "--entry", "outputs.py::main")
    assert found["status"] == "growing"
    assert found["bytes_per_step"] >= 64 * 256 * 4


def test_peak_without_no_grad(write: Write, run: Run) -> None:
    write("evaluate.py", EVALUATE)
    _, found = verdict(run, "--entry", "evaluate.py::main")
    assert found["status"] == "peak"
    assert found["peak_bytes"] > 1.5 * found["after_fix"]["peak_bytes"]


def test_snippet_with_stand_ins(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item=""))
    _, found = verdict(run, "train.py")
    assert found["status"] == "growing"
    assert found["device"].startswith("cuda")


def test_program_that_is_observed(write: Write, run: Run) -> None:
    write("train.py", TRAIN.format(item="") + "\nif __name__ == '__main__':\n    main(60)\n")
    done = run("verify", "--run", "python train.py", "--output-format", "json", "-o", "report.json")
    found = json.loads(Path("report.json").read_text("utf-8"))[0]["verdict"]
    assert (done.returncode, found["status"], found["device"]) == (1, "growing", "cuda")


@pytest.mark.parametrize("program", [OUTPUTS, TRAIN.format(item="")])
def test_allocator_says_the_same(program: str, write: Write) -> None:
    folder = write("program.py", program)
    with Server(device="cuda", jobs=1) as server:
        answer = server.run("fixture", {"file": str(folder / "program.py"), "steps": 8, "everywhere": False})
    assert answer.result is not None, answer.reason
    short, long = (run["after"] for run in answer.result)
    grown, allocated = long["bytes"] - short["bytes"], long["allocated"] - short["allocated"]
    storages = long["storages"] - short["storages"]
    assert grown <= allocated < grown + storages * ROUND
    assert grown > 0


@pytest.mark.parametrize("code", ["TML101", "TML201", "TML601"])
def test_fixtures_on_the_device(code: str, run: Run) -> None:
    done = run("verify", "--rules", code, "--device", "cuda")
    assert done.returncode == 0, done.stdout
