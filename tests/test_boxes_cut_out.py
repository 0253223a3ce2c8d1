"""What is cut out of pictures and kept: a view that keeps its whole picture, unless it is one of all tiles."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GALLERY = """
import torch
from torch import nn

def frames(count):
    {before}
    for _ in range(count):
        yield {given}

@torch.no_grad()
def gallery(find, count, size, pad):
    kept = []
    for i, frame in enumerate(frames(count)):
        for box in find(frame):
            x0, y0, x1, y1 = box.tolist()
            kept.append({part})
    return kept
"""
ANEW = "torch.rand(3, 480, 640)"


@pytest.mark.parametrize("part", ["frame[:, y0:y1, x0:x1]", "frame[..., int(y0):int(y1), int(x0):int(x1)]"])
def test_a_box_of_each_frame(part: str) -> None:
    check(GALLERY.format(before="pass", given=ANEW, part=part).replace(f"({part})", f"({part})  # TML309"))


@pytest.mark.parametrize(
    ("before", "given", "part"),
    [
        ("pass", ANEW, "frame[:, y0:y1, x0:x1].clone()"),
        ("pass", ANEW, "nn.functional.interpolate(frame[None, :, y0:y1, x0:x1], size=(32, 32))"),
        ("pass", ANEW, "frame[:, y0:y0 + size, x0:x0 + size]"),  # one of many tiles
        ("pass", ANEW, "frame[:, pad:-pad, pad:-pad]"),
        ("board = torch.rand(3, 480, 640)", "board", "frame[:, y0:y1, x0:x1]"),  # there is one, which all are of
    ],
)
def test_what_leaves_nothing_behind(before: str, given: str, part: str) -> None:
    check_innocent(GALLERY.format(before=before, given=given, part=part))


RECORDS = """
import torch

class Image:
    def __init__(self, pixels):
        self.pixels = pixels

    def crop(self, low, high):
        y0, x0 = low.tolist()
        y1, x1 = high.tolist()
        return Image(self.pixels[:, y0:y1, x0:x1])

def frames(count):
    for _ in range(count):
        yield torch.rand(3, 480, 640)

@torch.no_grad()
def faces(find, count):
    found = []
    for frame in frames(count):
        found.append(Image(frame).crop(*find(frame))){mark}
    return found
"""


def test_a_box_in_an_object_of_its_own() -> None:
    check(RECORDS.format(mark="  # TML309"))
    check_innocent(RECORDS.format(mark="").replace("x0:x1]", "x0:x1].clone()"))
