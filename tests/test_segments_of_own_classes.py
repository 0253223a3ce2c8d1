"""Segments of shared memory made by a class of the file that adds to Python's own."""

from __future__ import annotations

import pytest
from snippets import check

BLOCK = """
from multiprocessing import resource_tracker, shared_memory

class Block(shared_memory.SharedMemory):
    def __init__(self, name=None, create=False, size=0):
        super().__init__(name=name, create=create, size=size)
        resource_tracker.unregister(self._name, "shared_memory")

    def unlink(self):
        resource_tracker.register(self._name, "shared_memory")
        super().unlink()
{own}

class Saver:
    def __init__(self):
        self.block, self.number = None, 0

    def room(self, size):
        if self.block is not None and self.block.size >= size:
            return
        if self.block is not None:
            self.block.close()
            {more}
        self.number += 1
        self.block = Block(f"weights_{{self.number}}", create=True, size=size){mark}

    def save(self, weights):
        self.room(weights.nbytes)
        self.block.buf[: weights.nbytes] = weights.tobytes()

    def close(self):
        self.block.close()
        self.block.unlink()

def main(grown):
    saver = Saver()
    for weights in grown:
        saver.save(weights)
    saver.close()
"""
BY_ITSELF = {
    "when it is closed": "    def close(self):\n        super().close()\n        self.unlink()",
    "when it goes": "    def __del__(self):\n        self.unlink()",
}


def test_segments_that_are_replaced() -> None:
    check(BLOCK.format(own="", more="pass", mark="  # TML407"))
    check(BLOCK.format(own="", more="self.block.unlink()", mark=""))


@pytest.mark.parametrize("when", BY_ITSELF)
def test_segments_that_unlink_by_themselves(when: str) -> None:
    check(BLOCK.format(own=BY_ITSELF[when], more="pass", mark=""))


STAGED = """
from multiprocessing.shared_memory import SharedMemory

class Frame(SharedMemory):
    @property
    def pixels(self):
        return torch.frombuffer(self.buf, dtype=torch.uint8)

def show(picture, send):
    frame = Frame(create=True, size=picture.nbytes){mark}
    frame.pixels.copy_(picture)
    send(frame.name)
    frame.close()
    {more}
"""


def test_segments_of_a_function() -> None:
    check(STAGED.format(more="pass", mark="  # TML407"))
    check(STAGED.format(more="frame.unlink()", mark=""))
