"""Open files by the number of their shard, and by their path: as many as somebody has listed; `# TML406` is due."""

from __future__ import annotations

from snippets import check, check_innocent

SHARDS = """
import h5py
from torch.utils.data import DataLoader

class Shards(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths, self.files = paths, {{}}

    def __len__(self):
        return 100 * len(self.paths)

    def _file(self, shard):
        {}
        return file

    def __getitem__(self, i):
        shard, row = divmod(i, 100)
        return torch.from_numpy(self._file({})["x"][row])

def main(paths):
    for batch in DataLoader(Shards(paths), batch_size=8, shuffle=True, num_workers=4):
        print(batch.shape)
"""
OPENS = """file = self.files.get(shard)
        if file is None:
            file = h5py.File({}, "r")
            self.files[shard] = file{}"""


def test_a_handle_for_each_number() -> None:
    check(SHARDS.format(OPENS.format("self.paths[shard]", "  # TML406"), "shard"))


def test_a_handle_for_each_path() -> None:
    check_innocent(SHARDS.format(OPENS.format("shard", ""), "self.paths[shard]"))
