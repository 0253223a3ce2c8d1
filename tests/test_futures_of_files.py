"""Futures of what files held, all of which wait in a table while a loop uses one after another."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

READS = """
import json
from concurrent.futures import ProcessPoolExecutor, as_completed

def read(path):
    {body}

@torch.no_grad()
def embed(model, paths):
    sums = {{}}
    with ProcessPoolExecutor(4) as pool:
        futures = {{pool.submit(read, path): path for path in paths}}{mark}
        for future in as_completed(futures):
            sums[futures[future]] = {used}
            {drops}
    return sums
"""
USED = "model(future.result()).sum().item()"


@pytest.mark.parametrize(
    "body", ["return torch.load(path)", 'image = torch.load(path)["image"]\n    return image'], ids=["whole", "a part"]
)
def test_results_that_wait_together(body: str) -> None:
    check(READS.format(body=body, used=USED, drops="pass", mark="  # TML503"))


@pytest.mark.parametrize(
    ("body", "used", "drops"),
    [
        ("return torch.load(path)", "model(future.result()).sum().item()", "del futures[future]"),
        ("return json.load(open(path))", "len(future.result())", "pass"),
        ("return torch.load(path).mean().item()", "future.result()", "pass"),
    ],
    ids=["dropped", "settings", "numbers"],
)
def test_results_that_go_or_are_small(body: str, used: str, drops: str) -> None:
    check_innocent(READS.format(body=body, used=used, drops=drops, mark=""))
