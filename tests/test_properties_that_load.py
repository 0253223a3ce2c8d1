"""Properties that keep what a file held on the records of a data set: one for each item that was loaded."""

from __future__ import annotations

import pytest
from snippets import check

SLIDES = """
import json
from functools import cached_property

import numpy as np
from torch.utils.data import DataLoader, Dataset

class Slide:
    def __init__(self, path):
        self.path = path

    {decorator}
    def {name}(self):{mark}
        {value}

    def tile(self, at):
        return self.{name}[at]

class Tiles(Dataset):
    def __init__(self, paths):
        self.slides = [Slide(path) for path in paths]{listed}

    def __len__(self):
        return len(self.slides)

    def __getitem__(self, index):
        slide = {slide}
        return {item}

def main(paths):
    return DataLoader(Tiles(paths), num_workers=2)
"""
LISTED = "  # TML405"
MARK = "  # TML404"


def _slides(
    value: str = "return torch.load(self.path)",
    mark: str = "",
    decorator: str = "@cached_property",
    name: str = "image",
    slide: str = "self.slides[index]",
    item: str = "slide.tile(0)",
) -> str:
    return SLIDES.format(value=value, mark=mark, decorator=decorator, name=name, slide=slide, item=item, listed=LISTED)


@pytest.mark.parametrize("item", ["slide.tile(0)", "slide.image[0]"])
@pytest.mark.parametrize(
    "value",
    [
        "return torch.load(self.path)",
        'return torch.load(self.path)["image"]',
        "rows = np.load(self.path, allow_pickle=True)\n        return torch.from_numpy(rows)",
    ],
    ids=["as it is", "a part of it", "made of it"],
)
def test_records_that_keep_what_they_load(value: str, item: str) -> None:
    check(_slides(value, MARK, item=item))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"decorator": "@property"},
        {"value": "return json.load(open(self.path))"},
        {"value": "return len(self.path)"},
        {"slide": "Slide(self.slides[index].path)"},
        {"name": "config"},
    ],
    ids=["each time", "settings", "a number", "a record of its own", "by its name"],
)
def test_records_that_keep_little(kwargs: dict[str, str]) -> None:
    check(_slides(**kwargs))
