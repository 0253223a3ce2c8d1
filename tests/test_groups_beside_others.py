"""A process group that is made for each call, in a file that destroys others."""

from __future__ import annotations

import pytest
from snippets import check

MESH = """
import torch.distributed as dist

def end(group):
    dist.destroy_process_group(group)

class Mesh:
    def __init__(self, ranks):
        self.ranks, self.main = ranks, dist.new_group(ranks)
        self.others = []

    def mean(self, x):
        group = dist.new_group(self.ranks){mark}
        dist.all_reduce(x, group=group)
        {then}
        return x / len(self.ranks)

    def close(self):
        dist.destroy_process_group(self.main)
        for other in self.others:
            dist.destroy_process_group(other)

@torch.no_grad()
def train(model, loader, ranks):
    mesh = Mesh(ranks)
    for x in loader:
        print(mesh.mean(model(x).mean()))
    mesh.close()
"""


@pytest.mark.parametrize(
    ("then", "mark"),
    [
        ("dist.barrier(group=group)", "  # TML408"),
        ("dist.destroy_process_group(group)", ""),
        ("end(group)", ""),
        ("self.others.append(group)", ""),
    ],
)
def test_groups_beside_others(then: str, mark: str) -> None:
    check(MESH.format(then=then, mark=mark))
