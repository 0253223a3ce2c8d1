"""The pytest plugin, in a test suite of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

SUITE = """
import pytest, torch

KEPT = []
model = torch.nn.Linear(4, 1)

def step():
    model.zero_grad()
    loss = model(torch.rand(2, 4)).sum()
    loss.backward()
    return loss

def leaking_step():
    KEPT.append(step())

def test_block_that_releases(assert_releases):
    step()
    with assert_releases():
        step().item()

def test_block_that_keeps(assert_releases):
    with assert_releases():
        KEPT.append(torch.zeros(1000))

def test_block_that_may_keep(assert_releases):
    with assert_releases(max_bytes=4000):
        KEPT.append(torch.zeros(1000))

def test_function_that_releases(assert_releases):
    assert_releases(step)

def test_function_that_keeps(assert_releases):
    assert_releases(leaking_step)

@pytest.mark.retains(max_bytes=100)
def test_marked_that_keeps():
    KEPT.append(torch.zeros(1000))

@pytest.mark.retains(max_bytes=5000)
def test_marked_that_may():
    KEPT.append(torch.zeros(1000))

@pytest.mark.retains(max_bytes=0)
def test_that_fails_by_itself():
    big = torch.zeros(1000)
    raise ValueError("mine")
"""


def test_suite(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-rfp", "-p", "no:cacheprovider", "--strict-markers", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    failed = {line.split()[1].partition("::")[2] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {
        "test_block_that_keeps",
        "test_function_that_keeps",
        "test_marked_that_keeps",
        "test_that_fails_by_itself",
    }, done.stdout
    assert "module test_suite -> global 'KEPT'[*]: 4000 B" in done.stdout
    assert "ValueError: mine" in done.stdout
