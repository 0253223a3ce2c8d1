"""Clauses that catch any `RuntimeError` and tell their user that memory ran out: work that they do again."""

from __future__ import annotations

import pytest
from snippets import check

from torchmemlint.facts.low_memory import too_little_memory

FALLBACK = """
class Tiles:
    def __init__(self, network, verbose):
        self.network = network
        self.verbose = verbose

    def stitch(self, volume, on_device):
        outputs = [self.network(part[None])[0] for part in volume.chunk(8)]
        return torch.cat([part if on_device else part.cpu() for part in outputs])

    @torch.no_grad()
    def segment(self, volume):
        result = None
        try:
            result = self.stitch(volume, True)
        except RuntimeError:
            {told}
            {again}
        if result is None:
            result = self.stitch(volume, False)
        return result.argmax(1)
"""
AGAIN = "result = self.stitch(volume, False)"
LONG = "Stitching on the device did not work, probably due to a lack of memory. Moving the results to the CPU"


@pytest.mark.parametrize(
    ("told", "again"),
    [
        (f'print("{LONG}")', f"{AGAIN}  # TML307"),
        ('logger.warning("OOM, results go to the CPU")', f"{AGAIN}  # TML307"),
        ('logger.warning(f"{volume.shape} ran out of GPU memory, results go to the CPU")', f"{AGAIN}  # TML307"),
        ('print("no such kernel, results go to the CPU")', AGAIN),
        ('print("the memory of this run is not affected, results go to the CPU")', AGAIN),
        (f'print("{LONG}")', "pass"),
        (f'print("{LONG}")', "raise"),
    ],
)
def test_a_message_says_what_the_clause_is_for(told: str, again: str) -> None:
    check(FALLBACK.format(told=told, again=again))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CUDA out of memory. Tried to allocate 2 GiB", "out of memory"),
        ("there is not enough device memory for this", "not enough device memory"),
        ("OOM at batch 7", "OOM"),
        ("the room has a zoom lens", ""),
        ("kept in memory", ""),
        ("shared memory of the workers", ""),
    ],
)
def test_which_messages_say_so(text: str, words: str) -> None:
    assert too_little_memory(text) == words
