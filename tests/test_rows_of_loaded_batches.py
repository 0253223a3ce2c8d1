"""Rows of what workers of a loader have loaded: views of shared memory, but for what an index copies."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

HARD = """
from torch.utils.data import DataLoader

class Faces(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return torch.rand(3, 32, 32), i % 100

class Hard:
    def __init__(self):
        self.faces = []

    def look(self, images, labels, losses):
        {}

def main():
    model, hard = nn.Sequential(nn.Flatten(), nn.Linear(3072, 1)).eval(), Hard()
    with torch.no_grad():
        for images, labels in DataLoader(Faces(), batch_size=32, num_workers=2):
            hard.look(images, labels, model(images).squeeze(1))
"""
VIEWS = [
    "worst = int(losses.argmax())\n        self.faces.append((images[worst], int(labels[worst])))  # TML409",
    "self.faces.append(images[losses.argmax().item()])  # TML409",
    "for i, loss in enumerate(losses):\n            if loss > 1:\n"
    "                self.faces.append(images[i])  # TML409",
]
COPIES = [
    "worst = int(losses.argmax())\n        self.faces.append((images[worst].clone(), int(labels[worst])))",
    "self.faces.append(images[losses > 1])",
    "worst = losses.topk(3).indices\n        self.faces.append(images[worst])",
]


@pytest.mark.parametrize("keeps", VIEWS)
def test_row_that_shares_the_batch(keeps: str) -> None:
    check(HARD.format(keeps))


@pytest.mark.parametrize("keeps", COPIES)
def test_row_that_is_a_copy(keeps: str) -> None:
    check_innocent(HARD.format(keeps))


IN_TURN = """
from torch.utils.data import DataLoader
from tqdm import tqdm

class Clips(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return {{"sound": torch.rand(16000), "id": i}}

def main(speak, epochs):
    clips = DataLoader(Clips(), batch_size=32, num_workers=2)
    {}
"""
OF_A_BATCH = [
    """
    for batch in clips:
        kept = []
        for i in range(len(batch["id"])):
            kept.append({"sound": batch["sound"][i], "id": batch["id"][i]})
        for start in range(0, len(kept), 4):
            speak(kept[start : start + 4])
    """,
    """
    for epoch in range(epochs):
        for batch in tqdm(clips):
            with torch.no_grad():
                kept = {}
                for i, sound in enumerate(batch["sound"]):
                    kept[i] = sound
                speak(kept)
    """,
]
OF_ALL = [
    """
    kept = []
    for batch in clips:
        for i in range(len(batch["id"])):
            kept.append({"sound": batch["sound"][i], "id": batch["id"][i]})  # TML409
    speak(kept)
    """,
    """
    for epoch in range(epochs):
        kept = []
        for batch in clips:
            for i, sound in enumerate(batch["sound"]):
                kept.append(sound)  # TML409
        speak(kept)
    """,
]


@pytest.mark.parametrize("loops", OF_A_BATCH)
def test_a_list_for_each_batch(loops: str) -> None:
    check_innocent(IN_TURN.format(loops.strip()))


@pytest.mark.parametrize("loops", OF_ALL)
def test_a_list_of_all_batches(loops: str) -> None:
    check(IN_TURN.format(loops.strip()))


BY_WORKERS = """
import itertools
from torch.utils.data import DataLoader
from tqdm import tqdm

class Faces(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return torch.rand(3, 32, 32), torch.tensor(i % 100)

def batches_of(faces, workers):
    return DataLoader(faces, batch_size=32, num_workers=workers)

class Source:
    def __init__(self, workers):
        self.workers = workers

    def read(self, num_workers=None):
        return DataLoader(Faces(), batch_size=32, num_workers=num_workers or self.workers)

@torch.inference_mode()
def main(model, workers=2):
    kept, source = [], Source(workers)
    for {} in {}:
        kept.append({})
        print(model(images).mean().item())
    return torch.cat(kept)
"""
LOADERS = [
    ("images, labels", "batches_of(Faces(), workers)"),
    ("i, (images, labels)", "enumerate(batches_of(Faces(), workers))"),
    ("images, labels", "tqdm(batches_of(Faces(), workers=workers), desc='faces')"),
    ("images, labels", "source.read(num_workers=workers)"),
    ("images, labels", "DataLoader(Faces(), 32, num_workers=workers)"),
    ("(images, labels), _", "zip(batches_of(Faces(), workers), itertools.count())"),
]


@pytest.mark.parametrize(("names", "loader"), LOADERS)
def test_loaders_that_are_told_how_many_workers(names: str, loader: str) -> None:
    check(BY_WORKERS.format(names, loader, "labels)  # TML409").replace("TML409)", "TML409"))
    check_innocent(BY_WORKERS.format(names, loader, "labels.clone()"))
    check_innocent(BY_WORKERS.format(names, loader, "labels.sum()"))


def test_a_round_for_each_worker() -> None:
    check_innocent(
        """
        import torch.multiprocessing as mp

        def main(step, num_workers):
            queue, kept = mp.Queue(8), []
            for rank in range(num_workers):
                mp.Process(target=step, args=(queue, rank)).start()
            for part in (queue.get() for _ in range(num_workers)):
                kept.append(part)
            return torch.stack(kept)
        """
    )
