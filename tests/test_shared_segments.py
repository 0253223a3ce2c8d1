"""Segments of shared memory that nobody unlinks, and handles of them that pile up."""

from __future__ import annotations

from snippets import check

SEGMENTS = """
import contextlib
from multiprocessing.shared_memory import SharedMemory

class Area:
    def __init__(self):
        self.segment = SharedMemory(create=True, size=4096){}

    def close(self):
        self.segment.close()

    def destroy(self):
        self.segment.close()
        self.segment.unlink()

def stage(work):
    with contextlib.closing(Area()) as area:
        try:
            work(area)
        except OSError:
            area.destroy()
            raise
        {}
"""


def test_segments_that_only_an_error_unlinks() -> None:
    check(SEGMENTS.format("  # TML407", "pass"))
    check(SEGMENTS.format("", "finally:\n            area.destroy()"))
    check(SEGMENTS.format("", "else:\n            area.destroy()"))
    check(SEGMENTS.format("", "work.on_end(area.destroy)"))


LEAVING = """
from multiprocessing import shared_memory

def stage(x, send):
    segment = shared_memory.SharedMemory(create=True, size=x.nbytes){}
    {}
"""


def test_segments_that_an_early_return_leaves() -> None:
    early = "if not send(segment.name):\n        segment.close()\n        return False\n    segment.unlink()"
    check(LEAVING.format("  # TML407", early))
    check(LEAVING.format("", early.replace("return False", "segment.unlink()\n        return False")))
    check(LEAVING.format("", "try:\n        return send(segment)\n    finally:\n        segment.unlink()"))


LISTED = """
from multiprocessing.shared_memory import SharedMemory

SEEN = []

class Reader:
    def __init__(self, names):
        self.names, self.blocks = names, []

    def read(self, name):
        block = SharedMemory(name=name)
        {}
        total = sum(block.buf)
        {}
        return total

    def all(self):
        return [self.read(name) for name in self.names]

    def close(self):
        {}
"""


def test_handles_of_segments_that_pile_up() -> None:
    check(LISTED.format("self.blocks.append(block)  # TML409", "block.unlink()", "pass"))
    check(LISTED.format("SEEN.append(block)  # TML409", "pass", "pass"))
    check(LISTED.format("self.blocks.append(block)", "block.close()", "pass"))
    check(LISTED.format("self.blocks.append(block)", "block.unlink()", "self.blocks.clear()"))
    check(LISTED.format("self.blocks.append(block)", "pass", "for one in self.blocks:\n            one.close()"))
    check(LISTED.format("self.blocks.append(block.name)", "block.unlink()", "pass"))


NUMBERED = """
from multiprocessing.shared_memory import SharedMemory

def launch(start, ranks):
    jobs = []
    for rank in range(ranks):
        block = SharedMemory(create=True, size=1 << 20){}
        jobs.append((start(block.name), block))
    return jobs, ranks

def run(start):
    jobs, ranks = launch(start, 2)
    for rank, (process, block) in enumerate(jobs):
        process.join()
        block.{}()
"""


def test_segments_in_pairs_that_are_gone_over_by_number() -> None:
    check(NUMBERED.format("  # TML407", "close"))
    check(NUMBERED.format("", "unlink"))


BOARD = """
import numpy as np
from multiprocessing.shared_memory import SharedMemory

class Board:
    def __init__(self):
        self.current = None

    def publish(self, flat):
        segment = SharedMemory(create=True, size=flat.nbytes)  # TML407
        np.frombuffer(segment.buf, dtype=flat.dtype, count=flat.size)[:] = flat
        if self.current is not None:
            self.current.close()
        self.current = segment
        return segment.name

    def close(self):
        if self.current is not None:
            self.current.close()
            self.current.unlink()

def run(send, flats):
    board = Board()
    for flat in flats:
        send(board.publish(flat))
    board.close()
"""


def test_segments_that_are_closed_when_the_next_one_comes() -> None:
    check(BOARD)
    quiet = BOARD.replace("  # TML407", "")
    check(
        quiet.replace(
            "close()\n        self.current = segment", "close(); self.current.unlink()\n        self.current = segment"
        )
    )
    check(
        quiet.replace(
            "            self.current.close()\n        self.current = segment",
            "            self.close()\n        self.current = segment",
        )
    )
    check(quiet.replace("    for flat in flats:\n        send(board.publish(flat))", "    send(board.publish(flats))"))
    check(
        quiet.replace(
            "            self.current.close()\n        self.current",
            "            send_back(self.current)\n        self.current",
        )
    )


VERSIONS = """
from multiprocessing.shared_memory import SharedMemory

class Versions:
    def __init__(self, size, spares=()):
        self.size, self.version, self.blocks = size, 0, {{}}
        for spare in spares:
            self.blocks[spare] = SharedMemory(create=True, size=size)

    def write(self, flat):
        block = SharedMemory(create=True, size=self.size)
        block.buf[:] = flat.numpy().tobytes()
        {key}
        {more}
        return block.name

    def {end}(self):
        for block in self.blocks.values():
            block.close()
            block.unlink()
        self.blocks.clear()

def main(send, flats):
    versions = Versions(4096)
    for flat in flats:
        send(versions.write(flat)){each}
    versions.close()
"""


def test_segments_of_all_versions() -> None:
    new = "self.version += 1; self.blocks[self.version] = block"
    drop = "old = self.blocks.pop(self.version - 1, None)"
    asked = "\n        versions.close()"
    check(VERSIONS.format(key=new + "  # TML407", more="pass", end="close", each=""))
    check(VERSIONS.format(key="self.blocks[self.size] = block", more="pass", end="close", each=""))
    check(VERSIONS.format(key=new, more=drop, end="close", each=""))
    check(VERSIONS.format(key=new, more="pass", end="close", each=asked))
    check(VERSIONS.format(key=new, more="self.forget()", end="forget", each=""))
