"""The slice half way through a volume is a view of all of it; of a list it is one of its items."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SLICES = """
import os
import numpy as np

def read(path):
    {read}

class Slices(torch.utils.data.Dataset):
    def __init__(self, root):
        self.rows, self.whole = [], []
        for name in sorted(os.listdir(root)):
            scan = read(os.path.join(root, name))
            {first}
            self.rows.append({row}){mark}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return self.rows[number]

def main(root):
    for x in torch.utils.data.DataLoader(Slices(root)):
        print(x.shape)

main("scans")
"""
PLAIN = {"read": "return torch.from_numpy(np.load(path))", "first": "pass", "row": "scan[scan.shape[0] // 2]"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"row": "scan[len(scan) // 2]"},
        {"row": "scan[int(scan.shape[0] / 2)]"},
        {"row": "scan[:, :, scan.shape[2] // 2]"},
        {"first": "depth, _, _ = scan.shape", "row": "scan[depth // 2, :, :]"},
        {"first": "middle = scan.size(0) // 2", "row": "scan[middle]"},
        {"first": "middle = scan.size(0) // 2", "row": "scan[middle - 1 : middle + 2]"},
        {"first": "scan = scan.clamp_(0.0, 1.0).sub_(0.5)"},
        {"row": "scan[scan.shape[0] // 2].unsqueeze(0)"},
    ],
)
def test_keeps_the_volume(change: dict[str, str]) -> None:
    check(SLICES.format(**PLAIN | change, mark="  # TML309"))


@pytest.mark.parametrize(
    "change",
    [
        {"row": "scan[scan.shape[0] // 2].clone()"},
        {"row": "scan[scan.shape[0] // 2] / 255.0"},
        {"row": "scan[scan.shape[0] // 2].numpy().copy()"},
        {"row": "scan[: scan.shape[0] // 2]"},
        {"first": "self.whole.append(scan)"},
        {"read": "return [torch.load(os.path.join(path, name)) for name in os.listdir(path)]"},
        {"read": "return open(path).readlines()", "row": "scan[len(scan) // 2]"},
        {"first": "frames = decoded(scan)", "row": "frames[len(frames) // 2]"},
    ],
)
def test_keeps_no_more(change: dict[str, str]) -> None:
    check_innocent(SLICES.format(**PLAIN | change, mark=""))


def test_an_index_that_follows_from_itself() -> None:
    check_innocent("""
    class Codes:
        def __init__(self):
            self.kept = None

        def keep(self, tokens: torch.Tensor, i: int):
            i = i + 1
            self.kept = tokens[:, i]
    """)
