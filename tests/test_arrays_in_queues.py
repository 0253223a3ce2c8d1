"""Arrays that the main thread puts into a queue, for a thread or process that is slower."""

from __future__ import annotations

import pytest
from snippets import check

SPEAKER = """
import multiprocessing as mp
import numpy as np
import threading

def write(frames):
    total = 0.0
    while True:
        total += float(frames.get()["frame"].mean())

def main(camera):
    frames = {queue}
    {start}(target=write, args=(frames,), daemon=True).start()
    for index, picture in enumerate(camera):
        frames.put({{"index": index, "frame": {frame}}}){mark}
"""
ARRAY = "np.ascontiguousarray(picture)"


@pytest.mark.parametrize(
    ("queue", "start", "frame", "guilty"),
    [
        ("queue.Queue()", "threading.Thread", ARRAY, True),
        ("mp.Queue()", "mp.Process", ARRAY, True),
        ("mp.Queue(16)", "mp.Process", ARRAY, False),
        ("mp.Queue()", "mp.Process", "index + 1", False),
    ],
)
def test_frames_of_a_camera(queue: str, start: str, frame: str, guilty: bool) -> None:
    check(SPEAKER.format(queue=queue, start=start, frame=frame, mark="  # TML504" if guilty else ""))


def test_whoever_takes_all_that_waits_is_never_far_behind() -> None:
    check("""
        import multiprocessing as mp
        import numpy as np

        def follow(states):
            while True:
                newest = None
                while True:
                    try:
                        newest = states.get_nowait()
                    except queue.Empty:
                        break
                print(0.0 if newest is None else newest.sum())

        def main(rounds):
            states = mp.Queue()
            mp.Process(target=follow, args=(states,), daemon=True).start()
            for _ in range(rounds):
                states.put(np.zeros((256, 256)))
    """)
