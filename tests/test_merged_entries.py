"""Entries of a table that are merged with others of the same table: nothing of what they hold goes."""

from __future__ import annotations

import pytest
from snippets import check

SPEAKERS = """
class Speakers:
    def __init__(self, net):
        self.net = net
        self.vectors = {{}}
        self.old = []

    def hear(self, frames: torch.Tensor, who):
        with torch.no_grad():
            vector = self.net(frames)
        self.vectors.setdefault(who, []).append(vector){mark}
        if len(frames) > 3:
            self.merge(who, who + 1)

    def merge(self, kept, gone):
        {merge}

def main():
    speakers = Speakers(Net())
    for step in range(1000):
        speakers.hear(torch.randn(64, 8), step % 2 + 1)
    print(len(speakers.vectors))
"""
MERGES = {
    "at once": "self.vectors[kept].extend(self.vectors.pop(gone, []))",
    "without a default": "self.vectors[kept].extend(self.vectors.pop(gone))",
    "by a name": "moved = self.vectors.pop(gone, [])\n        self.vectors[kept].extend(moved)",
    "with an operator": "self.vectors[kept] += self.vectors.pop(gone, [])",
    "into a new entry": "self.vectors.setdefault(kept, []).extend(self.vectors.pop(gone, []))",
}
LETS_GO = {
    "to another place": "self.old = self.vectors.pop(gone, [])",
    "a part": "self.vectors[kept] = (self.vectors[kept] + self.vectors.pop(gone, []))[-20:]",
    "the number only": "self.vectors[kept].append(len(self.vectors.pop(gone, [])))",
}


@pytest.mark.parametrize("name", MERGES)
def test_a_table_that_merges_its_entries(name: str) -> None:
    check(SPEAKERS.format(merge=MERGES[name], mark="  # TML303"))


@pytest.mark.parametrize("name", LETS_GO)
def test_a_table_that_lets_entries_go(name: str) -> None:
    check(SPEAKERS.format(merge=LETS_GO[name], mark=""))
