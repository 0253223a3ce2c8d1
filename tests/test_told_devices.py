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


WAVES = """
import argparse
from torch.utils.data import DataLoader, Dataset

tables = {{}}

def mel_of(wave, size=64, device=None):
    {where}
    if (size, device) not in tables:
        tables[size, device] = torch.hann_window(size).to({to}){mark}
    return wave[:size] * tables[size, device]

class Waves(Dataset):
    def __init__(self, rows, model):
        self.rows, self.model, self.device = rows, model, model.device

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        wave = torch.as_tensor(self.rows[index])
        return mel_of(wave, device={told})

def main(rows, model):
    for batch in DataLoader(Waves(rows, model), batch_size=4, num_workers=2):
        print(batch.shape)
"""


@pytest.mark.parametrize(
    ("where", "to", "told", "guilty"),
    [
        ("device = wave.device", "device", "None", False),
        ("pass", "device", "wave.device", False),
        ("device = wave.device", "device=device", "None", False),
        ("pass", "wave.device", "None", False),
        ("pass", "device", "self.device", True),
        ("device = device or wave.device", "device", "self.device", True),
        ("device = torch.device('cuda')", "device", "None", True),
        ("pass", "device", "self.model.device", True),
    ],
)
def test_where_the_item_is(where: str, to: str, told: str, guilty: bool) -> None:
    check(WAVES.format(where=where, to=to, told=told, mark="  # TML403" if guilty else ""))


FLAGS = """
import argparse
from torch.utils.data import DataLoader

def collate(rows):
    return torch.stack([row.to("cuda"){mark}
                        for row in rows])

def main(rows):
    parser = argparse.ArgumentParser()
    parser.add_argument({flag})
    args = parser.parse_args()
    for batch in DataLoader(rows, batch_size=4, collate_fn=collate, num_workers=args.{name}):
        print(batch.shape)
"""


@pytest.mark.parametrize(
    ("flag", "name", "guilty"),
    [
        ('"--num-workers", type=int, default=0', "num_workers", False),
        ('"-w", "--workers", default=0', "workers", False),
        ('"--num-workers", type=int, default=4', "num_workers", True),
        ('"--num-workers", type=int, required=True', "num_workers", True),
        ('"--other-workers", type=int, default=0', "num_workers", True),
    ],
)
def test_workers_that_somebody_has_to_ask_for(flag: str, name: str, guilty: bool) -> None:
    check(FLAGS.format(flag=flag, name=name, mark="  # TML403" if guilty else ""))


CLOUDS = """
from torch.utils.data import DataLoader, Dataset

class Clouds:
    def __init__(self, points{more}):
        self.device = {device}
        if isinstance(points, list):
            self.device = {theirs}
        self.points = points
        self.sizes = torch.tensor([len(p) for p in points], device=self.device){mark}

class Scans(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Clouds([torch.load(self.paths[index], map_location="cpu")])

def main(paths):
    for scan in DataLoader(Scans(paths), batch_size=None, num_workers=2):
        print(scan.sizes)
"""


@pytest.mark.parametrize(
    ("more", "device", "theirs", "guilty"),
    [
        ("", 'torch.device("cpu")', "points[0].device", False),
        ("", '"cpu"', "points[0].device", False),
        ("", 'torch.device("cuda")', "points[0].device", True),
        ("", 'torch.device("cpu")', "MODEL.device", True),
        ("", "pick_device()", "points[0].device", True),
    ],
)
def test_where_the_tensors_of_an_object_are(more: str, device: str, theirs: str, guilty: bool) -> None:
    check(CLOUDS.format(more=more, device=device, theirs=theirs, mark="  # TML403" * guilty))
