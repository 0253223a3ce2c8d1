"""Every fixture is run: the bad ones retain what their rule says, the good ones do not."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:  # imported by the child process only
    pytest.skip("torch is not installed", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "benchmarks" / "measure_fixtures.py"
EXPECTATION = re.compile(r"# (TML\d{3})(?::\d+)?(?=$|[ ,])", re.MULTILINE)


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_fixtures", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load()
PAIRS = script.pairs()
MEASURED_RULES = (
    [f"TML1{n:02}" for n in range(1, 12)]
    + [f"TML2{n:02}" for n in range(1, 7)]
    + [f"TML3{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 17)]
    + ["TML605"]
)


@pytest.fixture(scope="module")
def child() -> Iterator[object]:
    """One process for all; it imports torch once."""
    with contextlib.closing(script.Child()) as one:
        yield one


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_pair_shows_what_its_rule_says(pair: Any, child: object) -> None:
    outcome = script.measure(pair, child, {})
    assert not outcome.problems, "\n".join(outcome.problems)


@pytest.mark.parametrize("code", MEASURED_RULES)
def test_rule_has_a_pair(code: str) -> None:
    assert any(pair.code == code for pair in PAIRS)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_expectations(pair: Any) -> None:
    assert pair.good.exists()
    assert pair.code in EXPECTATION.findall(pair.bad.read_text("utf-8"))
    assert not EXPECTATION.findall(pair.good.read_text("utf-8"))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_header_states_figures(pair: Any) -> None:
    for path in pair.paths():
        assert script.Header.read(path).measured, f"{path.name}: run benchmarks/measure_fixtures.py --write"


def test_good_fixtures_belong_to_a_pair() -> None:
    paired = {path for pair in PAIRS for path in pair.paths()}
    here = [
        p
        for p in (ROOT / "fixtures").glob("TML[1236]*/good*.py")
        if script.Header.read(p).shows not in script.ELSEWHERE
    ]
    assert not [path.name for path in here if path not in paired]
