"""Data sets of other files that move their items to a device in the workers of a loader."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

DATA = """
import torch
from torch.utils.data import Dataset

class Clips(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.load(self.paths[index]){moved}
"""
TRAIN = """
import torch
from torch.utils.data import DataLoader
from data import Clips

def main(paths, net):
    loader = DataLoader(Clips(paths), batch_size=8, num_workers={workers}){mark}
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for wave in loader:
        loss = net(wave.cuda()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
SCENES = """
from torch.utils.data import Dataset

class Scenes(Dataset):
    def __init__(self, files, device):
        self.files = files
        self.device = device

    def read(self, index, reader):
        return reader(self.files[index]).to(self.device)
"""
TILES = """
import torch
from torch.utils.data import DataLoader
from scenes import Scenes

class Tiles(Scenes):
    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = self.read(index, torch.load){mark}
        return image[:, :64, :64]

def loader(files):
    return DataLoader(Tiles(files, torch.device("cuda")), batch_size=8, num_workers={workers})
"""


@pytest.mark.parametrize(("moved", "workers"), [(".cuda()", 4), ("", 4), (".cuda()", 0)])
def test_a_data_set_of_another_file(moved: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = "  # TML403" if moved and workers else ""
    files = {"data.py": DATA.format(moved=moved), "train.py": TRAIN.format(workers=workers, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize("workers", [4, 0])
def test_a_method_of_a_base_of_another_file(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = TILES.format(workers=workers, mark="  # TML403" if workers else "")
    check_project({"scenes.py": SCENES, "tiles.py": tiles}, tmp_path, monkeypatch)


def test_who_asks_for_the_loader_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = TILES.format(workers=4, mark="  # TML403")
    main = "from tiles import loader\n\ndef main(files):\n    for tile in loader(files):\n        print(tile.mean())\n"
    check_project({"scenes.py": SCENES, "tiles.py": tiles, "main.py": main}, tmp_path, monkeypatch)
