"""Many files in many processes: chunks, and workers that die."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchmemlint.config import load
from torchmemlint.finding import Finding
from torchmemlint.linter import engine, pool

forked = pytest.mark.skipif(sys.platform != "linux", reason="a patched function reaches forked workers only")


def patched(path: str, plan: engine.Plan, session: object) -> list[Finding]:
    if "crash" in path:
        os._exit(1)
    return [engine.internal_error(path, "fine")]


@forked
@pytest.mark.parametrize("crashing", [0, 1, 7])
def test_a_dying_worker_costs_its_file_only(folder: Path, monkeypatch: pytest.MonkeyPatch, crashing: int) -> None:
    monkeypatch.setattr(pool, "lint_file", patched)
    monkeypatch.setattr(pool, "_CHUNK_FILES", 5)
    paths = [f"fine_{n:02}.py" for n in range(40)] + [f"crash_{n}.py" for n in range(crashing)]
    done = 0

    def count(steps: int) -> None:
        nonlocal done
        done += steps

    findings = pool.lint_files(paths, engine.plan(load(folder, {"no-cache": True})), 2, count)
    assert [finding.filename for finding in findings] == sorted(paths)
    assert {finding.filename for finding in findings if "fine" not in finding.message} == set(paths[40:])
    assert done == 2 * len(paths)


def test_chunks_begin_with_the_biggest_and_hold_everything_once() -> None:
    sizes = {"big": 1_000_000, **{f"small_{n:03}": 10 for n in range(120)}, "middle": 200_000, "empty": 0}
    chunks = pool._chunks(sizes)
    assert chunks[0] == ["big"]
    assert chunks[1][0] == "middle"
    assert sorted(path for chunk in chunks for path in chunk) == sorted(sizes)
    assert max(map(len, chunks)) <= pool._CHUNK_FILES
    assert pool._chunks({}) == []


def test_no_files(folder: Path) -> None:
    assert pool.lint_files([], engine.plan(load(folder, {"no-cache": True})), None) == []
