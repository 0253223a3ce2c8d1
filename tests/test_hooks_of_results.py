"""Hooks on what a module has given: the backward pass calls them with a gradient."""

from __future__ import annotations

import pytest
from snippets import check

CAM = """
class Maps:
    def __init__(self):
        self.model = Net()
        self.gradients = []

    def keep(self, gradient):
        self.gradients.append(gradient){mark}

    def run(self, x):
        {before}
        out = self.model(x)
        {hook}
        out.sum().backward()
        {after}

def main(images):
    maps = Maps()
    for image in images:
        maps.run(image)
    print(len(maps.gradients))

main([torch.rand(4, 8)] * 9)
"""
HOOK = "out.register_hook(self.keep)"


def test_a_gradient_of_each_pass() -> None:
    check(CAM.format(mark="  # TML303", before="pass", hook=HOOK, after="pass"))
    text = CAM.format(mark="", before="pass", hook="out.register_hook(self.gradients.append)  # TML303", after="pass")
    check(text)
    text = CAM.format(mark="", before="pass", hook="out.register_hook(lambda g: self.keep(g))", after="pass")
    check(text.replace("append(gradient)", "append(gradient)  # TML303"))


@pytest.mark.parametrize(
    ("before", "hook", "after"),
    [
        ("self.gradients = []", HOOK, "pass"),
        ("pass", HOOK, "print(self.gradients.pop().mean())"),
        ("pass", "out.register_hook(lambda gradient: print(gradient.norm()))", "pass"),
        ("pass", "out.register_hook(lambda gradient: gradient * 2)", "pass"),
        ("pass", "out.register_hook(lambda gradient: self.gradients.append(gradient.norm().item()))", "pass"),
        ("pass", "handle = out.register_hook(lambda gradient: None)", "handle.remove()"),
    ],
)
def test_gradients_that_go_again(before: str, hook: str, after: str) -> None:
    check(CAM.format(mark="", before=before, hook=hook, after=after))
