"""Streams that threads of a class of their own make, one thread after the other; `# TML506` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

JOBS = """
import threading

class Job(threading.Thread):
    def __init__(self, model, image):
        super().__init__()
        self.model, self.image = model, image
        {}

    def run(self):
        {}
        with torch.cuda.stream(stream), torch.no_grad():
            print(self.model(self.image).sum().item())

def serve(model, images):
    {}
"""
EACH = "for image in images:\n        job = Job(model, image)\n        job.start()\n        job.join()"


def test_one_after_the_other() -> None:
    made = "stream = torch.cuda.Stream()  # TML506"
    check(JOBS.format("pass", made, EACH))
    check(JOBS.format(f"self.{made}", "stream = self.stream", EACH))


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("stream = self.model.stream", EACH),
        ("stream = torch.cuda.current_stream()", EACH),
        ("stream = torch.cuda.Stream()", "job = Job(model, images)\n    job.start()\n    job.join()"),
    ],
)
def test_one_for_all(before: str, use: str) -> None:
    check_innocent(JOBS.format("pass", before, use))
