"""Shared memory segments that a comprehension makes, `[SharedMemory(create=True, ...) for _ in range(n)]`."""

from __future__ import annotations

import pytest
from snippets import check

RING = """
from multiprocessing import shared_memory

class Ring:
    def __init__(self, slots):
        self.blocks = {}{}

    def row(self, slot):
        return torch.frombuffer(self.blocks[slot].buf, dtype=torch.float32)

    def close(self):
        for block in self.blocks{}:
            block.close()
            {}
"""
MADE = "shared_memory.SharedMemory(create=True, size=4096)"


@pytest.mark.parametrize(
    ("made", "over"),
    [(f"[{MADE} for _ in range(slots)]", ""), (f"{{slot: {MADE} for slot in range(slots)}}", ".values()")],
)
def test_segments_of_a_comprehension(made: str, over: str) -> None:
    check(RING.format(made, "", over, "block.unlink()"))
    check(RING.format(made, "  # TML407", over, "pass"))
