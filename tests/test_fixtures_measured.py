"""Every fixture is run: the bad ones retain what their rule says, the good ones do not."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:  # imported by the child process only
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.rules import registry
from torchmemlint.runtime import fixtures
from torchmemlint.runtime.client import Server

EXPECTATION = re.compile(r"# (TML\d{3})(?::\d+)?(?=$|[ ,])", re.MULTILINE)
THREADS = re.compile(r"\b(Thread|Process|Timer|concurrent|multiprocessing|QThread|num_workers)\b")
WAITING = "Not yet measured on a device."  # what a fixture says that is new since a GPU was at hand
PAIRS = fixtures.pairs({code: rule.retains.value if rule.retains else None for code, rule in registry().items()})
MEASURED_RULES = (
    [f"TML1{n:02}" for n in range(1, 12)]
    + [f"TML2{n:02}" for n in range(1, 7)]
    + [f"TML3{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 17)]
    + ["TML605"]
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One for all; it imports torch once."""
    with Server(device="cpu") as one:
        yield one


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_pair_shows_what_its_rule_says(pair: fixtures.Pair, server: Server) -> None:
    """The bad one confirmed, the good one refuted, and the committed receipt says the same."""
    outcome = fixtures.measure(pair, server)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    text = pair.bad.read_text("utf-8")
    kept = json.loads(pair.bad.with_name(fixtures.RECEIPTS).read_text("utf-8"))["cpu"].get(pair.bad.stem)
    if THREADS.search(text) and (outcome.problems or not _is_said(kept, outcome)):
        outcome = fixtures.measure(pair, server)  # a busy machine may have starved one of its threads or workers
    assert not outcome.problems, "\n".join(outcome.problems)
    if "PySide6" in text and kept is None:
        return  # measured where that library is, which is not everywhere
    assert kept["bad"]["verdict"] == outcome.status
    assert kept["good"]["verdict"] == "refuted"
    assert _is_said(kept, outcome), (kept["said"], fixtures.receipt(outcome)["said"])


def _is_said(kept: dict[str, Any] | None, outcome: fixtures.Outcome) -> bool:
    """Whether the committed receipt has the figures of a run, if it comes from the same torch."""
    if kept is None or outcome.problems or kept["torch"] != outcome.bad.long["torch"].split("+")[0]:
        return True
    return fixtures.exact(kept["said"]) == fixtures.exact(fixtures.receipt(outcome)["said"])


@pytest.mark.parametrize("code", MEASURED_RULES)
def test_rule_has_a_pair(code: str) -> None:
    assert any(pair.code == code for pair in PAIRS)


def test_expectations() -> None:
    for pair in PAIRS:
        assert pair.good.exists(), pair.name
        assert pair.code in EXPECTATION.findall(pair.bad.read_text("utf-8")), pair.name
        assert not EXPECTATION.findall(pair.good.read_text("utf-8")), pair.name


def test_headers_state_figures() -> None:
    for shows, path in [(pair.shows, path) for pair in PAIRS for path in pair.paths()]:
        header = fixtures.Header.read(path)
        open_ = shows in fixtures.ON_A_DEVICE and WAITING in header.doc
        assert header.measured or open_, f"{path.name}: run benchmarks/measure_fixtures.py --write"


def test_what_only_a_device_shows_has_receipts_from_one() -> None:
    shown = [pair for pair in PAIRS if pair.shows in fixtures.ON_A_DEVICE]
    assert {pair.code for pair in shown} >= {"TML312", "TML403", "TML506", "TML701", "TML702", "TML703", "TML705"}
    for pair in (pair for pair in shown if WAITING not in fixtures.Header.read(pair.bad).doc):
        kept = json.loads(pair.bad.with_name(fixtures.RECEIPTS).read_text("utf-8"))["cuda"][pair.bad.stem]
        assert kept["card"] and kept["shows"] == pair.shows
        assert kept["said"] in (fixtures.Header.read(pair.bad).measured or "")


def test_devices_agree() -> None:
    """The same verdict on the CPU and on a GPU; where tensors grow, so does what the device gave out."""
    by_the_host = {"TML310", "TML311", "TML101/bad_record_of_slots"}  # that keep there what they keep
    for pair in PAIRS:
        file = pair.bad.with_name(fixtures.RECEIPTS)
        kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
        cpu, cuda = (kept.get(device, {}).get(pair.bad.stem) for device in ("cpu", "cuda"))
        if cpu is None or cuda is None:
            continue
        assert cpu["bad"]["verdict"] == cuda["bad"]["verdict"], pair.name
        if pair.shows == "growing" and not by_the_host & {pair.code, pair.name}:
            grown, given = (cuda["bad"][what]["2N"] - cuda["bad"][what]["N"] for what in ("bytes", "allocated"))
            assert given >= grown, pair.name


@pytest.mark.parametrize(
    ("error", "device", "shows", "why"),
    [
        ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "cuda", "workers", "is about the CPU"),
        ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "cpu", "workers", None),
        ("TypeError: can't convert cuda:0 device type tensor to numpy.", "cuda", "growing", "is about the CPU"),
        ("KeyError: 'name'", "cuda", "growing", None),
        ("AssertionError: Torch not compiled with CUDA enabled", "cpu", "reserved", "needs a GPU"),
        ("ModuleNotFoundError: No module named 'pycuda'", "cuda", "taken", "ModuleNotFoundError"),
    ],
)
def test_programs_that_cannot_be_run_here(error: str, device: str, shows: str, why: str | None) -> None:
    path = next(pair.bad for pair in PAIRS)
    pair = fixtures.Pair("TML000", path, path, shows)
    ran = fixtures.Figures(path, {"device": device}, {"device": device}, error)
    outcome = fixtures.judge(pair, ran, ran)
    assert bool(outcome.problems) == (why is None)
    assert (outcome.skipped or "").startswith(why or "")


def test_good_fixtures_belong_to_a_pair() -> None:
    paired = {path for pair in PAIRS for path in pair.paths()}
    assert not [path for path in fixtures.FOLDER.glob("TML*/good*.py") if path not in paired]
