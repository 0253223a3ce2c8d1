"""Devices that a data set is told, and that are the CPU only if it is told none."""

from __future__ import annotations

import pytest
from snippets import check

PAIRS = """
import argparse
from torch.utils.data import DataLoader, Dataset

class Pairs(Dataset):
    def __init__(self, rows, device=None):
        self.rows = rows
        self.device = torch.device("cpu") if device is None else device

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.as_tensor(self.rows[index], device=self.device){mark}

def main(rows):
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    args = parser.parse_args()
    for batch in DataLoader(Pairs(rows{told}), batch_size=4, num_workers={workers}):
        print(batch.shape)
"""


@pytest.mark.parametrize(
    ("told", "workers", "guilty"),
    [
        (", torch.device(args.device)", 2, True),
        (", torch.device(args.device)", 0, False),
        ("", 2, False),
        (', torch.device("cpu")', 2, False),
    ],
)
def test_a_device_from_the_command_line(told: str, workers: int, guilty: bool) -> None:
    check(PAIRS.format(told=told, workers=workers, mark="  # TML403" if guilty else ""))
