"""Parts of batches that workers have loaded, collected as they are; `# TML409` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, messages

LOADED = """
from torch.utils.data import DataLoader, Dataset

class Reads(Dataset):
    def __getitem__(self, index):
        return {"image": torch.rand(3, 8, 8), "id": torch.tensor(index), "name": str(index)}

def collect(count):
    loader = DataLoader(Reads(), batch_size=8, num_workers=%s)
    found, table = [], {}
    for number, batch in enumerate(loader):
        %s
    return found, table
"""
KEPT = [
    'found.append(batch["id"])',  # the data set says that it is a tensor
    'found.append(batch["image"].numpy())',
    'table[number] = batch["image"].numpy()',
]
COPIED = [
    'found.append(batch["name"])',
    'found.append(batch["image"].numpy().copy())',
    'found.append(batch["image"].clone().numpy())',
    'found.extend(batch["id"].numpy())',  # numbers
    'found = [batch["image"].numpy()]\n        found.append(batch["image"].numpy())',
    'found.append(batch["image"].numpy())\n        found.clear()',
]


@pytest.mark.parametrize("work", KEPT)
def test_what_shares_the_memory(work: str) -> None:
    check(LOADED % ("2", work + "  # TML409"))
    check_innocent(LOADED % ("0", work))


@pytest.mark.parametrize("work", COPIED)
def test_what_does_not_or_goes(work: str) -> None:
    check_innocent(LOADED % ("2", work))


COMPREHENSION = """
from torch.utils.data import DataLoader

def collect(data):
    loader = DataLoader(data, batch_size=8, num_workers=2)
    return {}
"""


def test_a_comprehension() -> None:
    check(COMPREHENSION.format("torch.cat([labels for _, labels in loader])  # TML409"))
    check(COMPREHENSION.format("[labels for _, labels in loader]  # TML409"))
    check_innocent(COMPREHENSION.format("[labels.clone() for _, labels in loader]"))
    check_innocent(COMPREHENSION.format("[labels.sum().item() for _, labels in loader]"))
    check_innocent(COMPREHENSION.format("sum(len(labels) for _, labels in loader)"))


def test_a_comprehension_that_no_name_gets() -> None:
    [said] = messages(COMPREHENSION.format("torch.cat([labels for _, labels in loader])"))
    assert said.startswith("the list of this comprehension keeps tensors")
