"""Objects whose threads never end: one for each of a list that is gone through once, or one more for each request."""

from __future__ import annotations

import pytest
from snippets import check

CAMERAS = """
import threading

class Camera:
    def __init__(self, url):
        self.url, self.frame = url, None
        threading.Thread(target=self.update, daemon=True).start(){mark}

    def update(self):
        while True:
            self.frame = torch.rand(3, 48, 64)

    def read(self):
        return self.frame

def look(model, url):
    camera = Camera(url)
    return int(model(camera.read()[None]).argmax())

@torch.no_grad()
def detect(model, urls):
    {made}
"""
WATCH = """
    while True:
        for camera in {over}:
            print(model(camera.read()[None]).argmax())
"""
MARK = "  # TML505"
CASES = {
    "a list": ("cameras = [Camera(url) for url in urls]" + WATCH.format(over="cameras"), ""),
    "a table": ("cameras = {url: Camera(url) for url in urls}" + WATCH.format(over="cameras.values()"), ""),
    "appended": (
        "cameras = []\n    for url in urls:\n        cameras.append(Camera(url))" + WATCH.format(over="cameras"),
        "",
    ),
    "one more each time": ("for url in urls:\n        print(model(Camera(url).read()[None]).argmax())", MARK),
    "a list of what each has seen": ("return [look(model, url) for url in urls]", MARK),
    "a list for each": ("for url in urls:\n        print([Camera(one).read() for one in url])", MARK),
}


@pytest.mark.parametrize("case", CASES)
def test_listed_cameras(case: str) -> None:
    made, mark = CASES[case]
    check(CAMERAS.format(made=made, mark=mark))
