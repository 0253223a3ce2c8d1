"""Hooks that add what they see to a list of which the newest entry is asked for: the others stay for nobody."""

from __future__ import annotations

import pytest
from snippets import check

TAPPED = """
class Tapped:
    def __init__(self, net):
        self.net = net.eval()
        self.seen = []
        net.layer.register_forward_hook(self.keep)

    def keep(self, module, args, output):
        self.seen.append(output.detach()){mark}

    def __call__(self, x):
        {before}
        with torch.no_grad():
            self.net(x)
        return {asked}

def main(steps):
    tapped = Tapped(Net())
    print(sum(tapped(torch.rand(4, 8)).mean().item() for _ in range(steps)))
"""
GLOBAL = """
SEEN = []

def keep(module, args, output):
    SEEN.append(output.detach()){mark}

def main(steps):
    net = Net().eval()
    net.layer.register_forward_hook(keep)
    for _ in range(steps):
        with torch.no_grad():
            net(torch.rand(4, 8))
        {then}
    {after}
"""
NEWEST = "print(SEEN[-1].mean().item(), len(SEEN))"


@pytest.mark.parametrize(
    ("before", "asked", "mark"),
    [
        ("pass", "self.seen[-1]", "  # TML303"),
        ("self.seen.clear()", "self.seen[-1]", ""),
        ("self.seen = []", "self.seen[-1]", ""),
        ("pass", "torch.cat(self.seen)", ""),
        ("pass", "self.seen.pop()", ""),
    ],
)
def test_a_list_of_an_object(before: str, asked: str, mark: str) -> None:
    check(TAPPED.format(before=before, asked=asked, mark=mark))


@pytest.mark.parametrize(
    ("then", "after", "mark"),
    [
        (NEWEST, "pass", "  # TML301"),
        (NEWEST, "print(torch.cat(SEEN).mean())", ""),
        ("pass", "print(torch.cat(SEEN).mean())", ""),
        (f"{NEWEST}; del SEEN[:]", "pass", ""),
    ],
)
def test_a_list_of_the_module(then: str, after: str, mark: str) -> None:
    check(GLOBAL.format(then=then, after=after, mark=mark))
