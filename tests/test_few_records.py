"""Records of a data set that serve many items each, and those of which every item has its own."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

ROWS = """
import bisect
from dataclasses import dataclass
from torch.utils.data import DataLoader, Dataset

@dataclass
class Shard:
    path: str
    fields: list

class Rows(Dataset):
    def __init__(self, paths, per_shard):
        self.per_shard = per_shard
        self.shards = [Shard(path, ["x", "y"]) for path in paths]{mark}
        self.starts = torch.arange(0, len(paths) * per_shard, per_shard)

    def __len__(self):
        return len(self.shards) * self.per_shard

    def _find(self, index):
        return bisect.bisect_right(self.starts, index), 0

    def __getitem__(self, index):
{read}

def main(paths):
    for batch in DataLoader(Rows(paths, 1000), num_workers=2):
        print(batch.shape)
"""
SHARED = [
    "return torch.load(self.shards[index // self.per_shard].path)[index % self.per_shard]",
    "which, row = divmod(index, self.per_shard)\nreturn torch.load(self.shards[which].path)[row]",
    "which, row = self._find(index)\nreturn torch.load(self.shards[which].path)[row]",
    "which = int(torch.searchsorted(self.starts, index))\nreturn self.load(which)\n\n"
    "def load(self, which):\n    return torch.load(self.shards[which].path)",
]
OWN = [
    "return torch.load(self.shards[index].path)",
    "return torch.load(self.shards[index // 5].path)[index % 5]",
    "first, second = self.pairs[index]\nreturn torch.load(self.shards[first].path), self.shards[second].fields",
    "return self.load(index)\n\ndef load(self, which):\n    return torch.load(self.shards[which].path)",
]


@pytest.mark.parametrize("read", [*SHARED, *OWN])
def test_whether_an_item_has_a_record_of_its_own(read: str) -> None:
    inside, _, beside = read.partition("\n\n")
    body = textwrap.indent(inside, 8 * " ") + "\n\n" + textwrap.indent(beside, 4 * " ")
    check(ROWS.format(mark="  # TML405" if read in OWN else "", read=body))
