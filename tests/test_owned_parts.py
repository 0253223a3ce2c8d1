"""Objects that have no end of their own, and a part with a thread that somebody must end."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, check

IMPORTS = """\
import atexit
import contextlib
import threading
import weakref


class Cache:
    def __init__(self, size=64):
        self.size, self.rows = size, {}
        self.over = threading.Event()
        self.worker = threading.Thread(target=self.age, daemon=True)
        self.worker.start()

    def age(self):
        while not self.over.wait(0.5):
            for key in list(self.rows)[self.size :]:
                del self.rows[key]

    def find(self, key):
        return self.rows.get(key)

    def close(self):
        self.over.set()
        self.worker.join()


"""

PROGRAM = """
class Tracker{base}:
    def __init__(self, model):
        self.model = model
        {keeps}

    def follow(self, frame):
        return self.cache.find(frame)

    {more}

def run(model, clip):
    {makes}

def main(model):
    for clip in range(100):
        run(model, clip)
"""
MAKES = "tracker = Tracker(model)  # TML505\n    return sum(tracker.follow(frame) is None for frame in range(clip))"
KEEPS = "self.cache = Cache()"
USES = MAKES.replace("  # TML505", "")


def _program(base: str = "", keeps: str = KEEPS, more: str = "pass", makes: str = MAKES) -> str:
    return PROGRAM.format(base=base, keeps=keeps, more=more, makes=makes)


LEFT = {
    "dropped": _program(),
    "a module": _program("(nn.Module)", "super().__init__()\n        self.cache = Cache(size=8)"),
    "in a loop": _program(
        makes="for start in range(clip):\n        tracker = Tracker(model)  # TML505\n        tracker.follow(start)"
    ),
    "a part of a part": _program(
        more="def count(self):\n        return self.cache.size\n\nclass Session:\n    def __init__(self, model):\n"
        "        self.tracker = Tracker(model)\n\n    def follow(self, frame):\n"
        "        return self.tracker.follow(frame)\n",
        makes="session = Session(model)  # TML505\n    return session.follow(clip)",
    ),
    "an attribute that gets the next one": _program(
        more="def count(self):\n        return self.cache.size\n\nclass Player:\n    def __init__(self, model):\n"
        "        self.model, self.tracker = model, None\n\n    def play(self, clip):\n"
        "        self.tracker = Tracker(self.model)  # TML505\n        return self.tracker.follow(clip)\n",
        makes="return PLAYER.play(clip)\n\nPLAYER = Player(None)",
    ),
    "made and used at once": _program(makes="tracker = Tracker(model)  # TML505\n    print(tracker.follow(0))"),
}
ENDED = {
    "ended by who makes it": _program(
        makes="tracker = Tracker(model)\n    try:\n        return tracker.follow(clip)\n"
        "    finally:\n        tracker.cache.close()"
    ),
    "ended elsewhere": _program(
        more="def finish(self):\n        self.cache.close()",
        makes="tracker = Tracker(model)\n    tracker.follow(clip)\n    tracker.finish()",
    ),
    "by a context": _program(
        makes="tracker = Tracker(model)\n    with contextlib.closing(tracker.cache):\n"
        "        return tracker.follow(clip)"
    ),
    "with the object": _program(keeps=KEEPS + "\n        weakref.finalize(self, Cache.close, self.cache)", makes=USES),
    "at exit, by hand": _program(keeps=KEEPS + "\n        atexit.register(self.cache.close)", makes=USES),
    "by who gets it": _program(more="def lend(self):\n        return self.cache", makes=USES),
    "when it goes": _program(more="def __del__(self):\n        self.cache.close()", makes=USES),
    "one for all": _program(keeps="self.cache = CACHE", makes=USES + "\n\nCACHE = Cache()"),
    "one that is given": _program(
        keeps="self.cache = model.cache", makes=USES + "\n\ndef prepare(model):\n    model.cache = Cache()"
    ),
    "of a base that is not seen": _program("(lightning.Tracker)", makes=USES),
    "of a base with an end": "class Closing:\n    def close(self):\n        for part in vars(self).values():\n"
    "            getattr(part, 'close', print)()\n" + _program("(Closing)", makes=USES + "\n\nopen_ones = []"),
    "one for the program": _program(makes="return TRACKER.follow(clip)\n\nTRACKER = Tracker(None)"),
    "handed on": _program(makes="return hand_over(Tracker(model), clip)"),
}


@pytest.mark.parametrize("case", LEFT)
def test_parts_that_go_on(case: str) -> None:
    check(LEFT[case], PRELUDE + IMPORTS)


@pytest.mark.parametrize("case", ENDED)
def test_parts_that_somebody_ends(case: str) -> None:
    check(ENDED[case], PRELUDE + IMPORTS)
