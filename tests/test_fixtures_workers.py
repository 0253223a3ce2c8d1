"""The fixtures about processes, loaders and threads are run: the bad ones keep what their rule says."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for needed in ("torch", "psutil", "numpy"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("the figures are those of Linux, where workers are forked", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "benchmarks" / "measure_workers.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("measure_workers", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load()
PAIRS = script.pairs()
MEASURED = [pair for pair in PAIRS if pair.shows not in script.UNMEASURED]


def installed(pair: Any) -> bool:
    return "PySide6" not in pair.bad.read_text("utf-8") or importlib.util.find_spec("PySide6") is not None


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """One process that imports torch once and forks for each run."""
    one = script.Server()
    yield one
    one.close()


@pytest.mark.parametrize("pair", [pair for pair in MEASURED if installed(pair)], ids=lambda pair: pair.name)
def test_pair_shows_what_its_rule_says(pair: Any, server: Any) -> None:
    _, _, problems = script.judge(pair, server)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_header_says_what_was_measured(pair: Any) -> None:
    for path in (pair.bad, pair.good):
        header = script.Header.read(path)
        assert header.shows == pair.shows and header.probe == pair.probe
        assert (header.measured is None) == (pair.shows in script.UNMEASURED), path.name
