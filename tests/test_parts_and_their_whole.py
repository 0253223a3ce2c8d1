"""Parts that know their whole: one circle, which is told once."""

from __future__ import annotations

import pytest
from snippets import check

FRAMES = """
class Instance:
    def __init__(self, crop, frame=None):
        self.crop = crop
        self.frame = {keep}

class Frame:
    def __init__(self, number):
        self.number = number
        self.instances = []

    def add(self, instance):
        self.instances.append(instance){mark}

    def find(self, crops):
        for crop in crops:
            {find}

def read(count):
    for number in range(count):
        frame = Frame(number)
        frame.find(torch.rand(3, 3, 48, 48))
        for _ in range(3):
            frame.add(Instance(torch.rand(3, 48, 48), frame))
        yield frame

def main(steps):
    for step in range(steps):
        print(sum(one.crop.mean().item() for frame in read(4) for one in frame.instances))
"""


def test_a_part_that_refers_to_its_whole() -> None:
    check(FRAMES.format(keep="frame", mark="  # TML315", find="print(crop.mean().item())"))
    # where the object gives itself away, and not once more for those that others put in
    check(FRAMES.format(keep="frame", mark="", find="self.add(Instance(crop, self))  # TML315"))


@pytest.mark.parametrize("keep", ["frame.number", "weakref.ref(frame)", "None"])
def test_a_part_that_does_not(keep: str) -> None:
    check("import weakref\n" + FRAMES.format(keep=keep, mark="", find="print(crop.mean().item())"))


REMOVES = [
    ("def remove(self, one):\n        self.instances.remove(one)\n        one.frame = None", ""),
    ("def drop(self, place):\n        del self.instances[place]", ""),
    ("def forget(self):\n        del self.instances", ""),
    ("def rename(self, one):\n        one.crop = None", "  # TML315"),
    ("def first(self):\n        return self.instances[0]", "  # TML315"),
]


@pytest.mark.parametrize(("method", "mark"), REMOVES)
def test_parts_that_are_taken_out(method: str, mark: str) -> None:
    text = FRAMES.replace("    def add(self, instance):", f"    {method}\n\n    def add(self, instance):")
    check(text.format(keep="frame", mark=mark, find="print(crop.mean().item())"))
