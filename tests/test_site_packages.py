"""The linter on other people's code, and on its own: an answer for every file, and none about itself."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sysconfig
from pathlib import Path

import pytest
from conftest import ROOT, Lint

from torchmemlint.config import load
from torchmemlint.linter import engine, pool

SAMPLE = 150
LARGEST = 60_000  # bytes: a file of ten thousand lines takes seconds, and holds no more kinds of syntax
PLAN = engine.plan(load(ROOT, {"preview": True, "min-confidence": "low", "no-cache": True}, isolated=True))


def sample(folder: Path, most: int) -> list[str]:
    """Some files of a folder: always the same ones, whatever else is there."""
    paths = [path for path in folder.rglob("*.py") if path.is_file() and 200 < path.stat().st_size < LARGEST]
    paths.sort(key=lambda path: hashlib.sha256(path.relative_to(folder).as_posix().encode()).digest())
    return [str(path) for path in paths[:most]]


def installed(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@pytest.mark.parametrize("package", ["", "torch", "torch/nn", "torch/optim", "libcst"])
def test_every_file_gets_an_answer(package: str) -> None:
    name, _, part = package.partition("/")
    folder = installed(name) if name else Path(sysconfig.get_path("purelib"))
    if folder is None:
        pytest.skip(f"{name} is not installed")
    paths = sample(folder / part, SAMPLE if not package else SAMPLE // 4)
    assert paths
    ours = ("internal error", "nested too deeply", "worker")
    found = pool.lint_files(paths, PLAN, min(2, os.cpu_count() or 1))
    assert [
        f"{f.filename}: {f.message}" for f in found if f.code == "TML900" and any(w in f.message for w in ours)
    ] == []
    assert all(finding.start.row >= 1 and finding.message for finding in found)


def test_standard_library_holds_no_graphs() -> None:
    paths = sample(Path(os.__file__).parent / "asyncio", SAMPLE) + sample(Path(os.__file__).parent / "json", SAMPLE)
    assert paths
    assert [f for f in pool.lint_files(paths, PLAN, 1) if f.code not in ("TML900", "TML901")] == []


def test_own_code_is_clean(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    folders = [name for name in ("torchmemlint", "tests", "benchmarks") if (ROOT / name).is_dir()]
    result = lint("--preview", "--min-confidence", "low", *folders)
    assert (result.exit_code, result.stdout) == (0, "")
