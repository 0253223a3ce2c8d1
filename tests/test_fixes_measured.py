"""Fixed fixtures are run: they keep as little as a good twin, and give the same results as before."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:  # imported by the child processes only
    pytest.skip("torch is not installed", allow_module_level=True)

from test_fixes import FIXTURES, fixed, name

from torchmemlint.rules import registry
from torchmemlint.runtime import fixtures
from torchmemlint.runtime.client import Server

BAD = [path for path in FIXTURES if path.stem.startswith("bad")]
FIXED = [path for path in BAD if fixed(path).mended and not fixed(path).left]
ASSERTING = {
    # programs that assert what is wrong about them
    "TML202/bad_bare_statement",
    "TML202/bad_class_not_called",
    "TML206/bad_scoring",
    "TML312/bad_device_not_passed_on",
    "TML605/bad_discarded_result",
    "TML704/bad_cache_by_another_name",
}
DIFFERENT = {
    **dict.fromkeys(ASSERTING, "their assertions fail"),
    "TML204/bad_td_target": "the network is no longer trained through its own target",
    "TML306/bad_default_memory": "what the default collected went into the score",
    "TML314/bad_engine_at_exit": "each engine says when it goes",
    "TML701/bad_push_without_finally": "needs PyCUDA and a device",
    "TML702/bad_raw_pointer": "needs a device",
    "TML801/bad_shown_batch": "it prints how much is shown",
    "TML801/bad_shown_logits": "it prints how much is shown",
}
ON_DEVICE = {
    "TML310/bad_features_to_file",
    "TML310/bad_logits_of_a_callback",
    "TML310/bad_logits_on_device",
    "TML310/bad_answers_on_device",
    "TML310/bad_predictions_handed_out",
}  # on the CPU `.cpu()` gives the tensor itself
RUN = """
import contextlib, importlib.util, io, json, random, sys, warnings
import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
for number, line in enumerate(sys.stdin):
    random.seed(0)
    torch.manual_seed(0)
    spec = importlib.util.spec_from_file_location(f"program{number}", line.rstrip("\\n"))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            spec.loader.exec_module(module)
            module.main(6)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=printed)
    print(json.dumps(printed.getvalue()), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bad fixtures, fixed."""
    root = tmp_path_factory.mktemp("fixed")
    for path in FIXED:
        (root / path.parent.name).mkdir(exist_ok=True)
        (root / path.parent.name / path.name).write_bytes(fixed(path).source.raw)
    return root


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(device="cpu") as one:
        yield one


RETAINS = {code: rule.retains.value if rule.retains else None for code, rule in registry().items()}
PAIRS = {pair.bad: pair for pair in fixtures.pairs(RETAINS)}


MEASURED = [path for path in FIXED if path in PAIRS and name(path) not in ASSERTING | ON_DEVICE]


@pytest.mark.parametrize("path", MEASURED, ids=name)
def test_fixed_fixture_keeps_as_little_as_a_good_one(path: Path, folder: Path, server: Server) -> None:
    pair = replace(PAIRS[path], good=folder / path.parent.name / path.name)
    outcome = fixtures.measure(pair, server)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert not outcome.problems, "\n".join(outcome.problems)


def test_fixed_fixtures_give_the_same_results(folder: Path) -> None:
    paths = [path for path in FIXED if name(path) not in DIFFERENT]
    programs = [str(where) for path in paths for where in (path, folder / path.parent.name / path.name)]
    done = subprocess.run(
        [sys.executable, "-c", RUN], input="\n".join(programs), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]
    assert len(printed) == len(programs) > 40
    results = {name(path): (printed[2 * number], printed[2 * number + 1]) for number, path in enumerate(paths)}
    assert {key: pair for key, pair in results.items() if pair[0] != pair[1]} == {}
