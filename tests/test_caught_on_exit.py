"""Context managers that keep what their block has raised."""

from __future__ import annotations

import pytest
from snippets import check

RUNNER = """
class Catch:
    def __init__(self):
        self.errors = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.errors.append({kept}){mark}
        return True

class Runner:
    def __init__(self, model):
        self.model, self.other = model, None
        self.catch = {made}

    def step(self, x):
        with {entered}:
            return self.model(x).sum().item()

def main(batches):
    runner = Runner(Net())
    for x in batches:
        runner.step(x)
    return runner
"""


@pytest.mark.parametrize(
    ("kept", "made", "entered", "mark"),
    [
        ("error", "Catch()", "self.catch", "  # TML307"),
        ("trace", "Catch()", "self.catch", "  # TML307"),
        ("str(error)", "Catch()", "self.catch", ""),
        ("error", "None", "Catch()", ""),  # one for each block
        ("error", "None", "open('x')", ""),
    ],
)
def test_one_manager_for_all_blocks(kept: str, made: str, entered: str, mark: str) -> None:
    check(RUNNER.format(kept=kept, made=made, entered=entered, mark=mark))
