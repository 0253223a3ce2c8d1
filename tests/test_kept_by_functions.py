"""What functions in a container refer to stays with them: closures, lambdas, partials, methods of objects, also those
that are only counted there."""

from __future__ import annotations

import pytest
from snippets import check

CANVAS = """
class Canvas:
    def __init__(self):
        self.callbacks = {{}}

    def connect(self, step, show):
        self.callbacks[step] = show{mark}

def stretched(images, index):
    return images[index] * 2

class Stack:
    def __init__(self, images):
        self.images = images

    def show(self, index):
        return self.images[index]

def main():
    canvas, whole = Canvas(), torch.randn(64, 64)
    stack = Stack(whole)
    for step in range(1000):
        images = torch.randn(3, 64, 64)
{body}
    print(canvas)
"""
KEPT = {
    "a function": """
        def plot(images):
            def show(index):
                return images[index]
            canvas.connect(step, show)
        plot(images)
""",
    "a partial": """
        canvas.connect(step, functools.partial(stretched, images))
""",
    "a method": """
        canvas.connect(step, Stack(images).show)
""",
    "a partial of a method": """
        canvas.connect(step, functools.partial(Stack(images).show, 1))
""",
}
LIGHT = {
    "a partial of a method of the same one": """
        canvas.connect(step, functools.partial(stack.show, 1))
""",
    "the same one each time": """
        def plot(images):
            canvas.connect(step, lambda index: images[index])
        plot(whole)
""",
    "a step": """
        def plot(size):
            canvas.connect(step, lambda index: size * index)
        plot(len(images))
""",
    "an argument of its own": """
        def plot(images):
            canvas.connect(step, lambda images: images[0])
        plot(images)
""",
    "a canvas of its own": """
        def plot(images):
            canvas = Canvas()
            canvas.connect(step, lambda index: images[index])
        plot(images)
""",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_kept(body: str) -> None:
    check(CANVAS.format(body=body, mark="  # TML311"))


@pytest.mark.parametrize("body", LIGHT.values(), ids=LIGHT)
def test_light(body: str) -> None:
    check(CANVAS.format(body=body, mark=""))


COUNTED = """
class Emitter:
    def __init__(self):
        self.blocked = {table}

    def block(self, callback):
        self.blocked[{key}] += 1{mark}
        callback()
        self.blocked[{key}] -= 1
{more}

class Layer:
    def __init__(self, image):
        self.image, self.level = image, 0

    def changed(self):
        self.level += 1

def main():
    emitter = Emitter()
    for _ in range(1000):
        layer = Layer(torch.randn(64, 64))
        emitter.block(layer.changed)
    print(emitter)
"""


def test_counted_by_method() -> None:
    check(COUNTED.format(table="defaultdict(int)", key="callback", mark="  # TML311", more=""))


def test_counted_by_name_or_taken_out() -> None:
    check(COUNTED.format(table="defaultdict(int)", key="callback.__name__", mark="", more=""))
    check(COUNTED.format(table="defaultdict(int)", key="callback", mark="", more="        del self.blocked[callback]"))
