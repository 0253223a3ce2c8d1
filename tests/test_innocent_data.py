"""Innocent collections of data: batches, texts, rows of numpy, checkpoints and errors, none with a graph."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "a cache of a data set that is made without it": """
        from torch.utils.data import DataLoader, Dataset

        class Rows(Dataset):
            def __init__(self, root, caches=False):
                self.root, self.caches, self.kept = root, caches, {}

            def __len__(self):
                return 1000

            def __getitem__(self, index):
                if self.caches and index in self.kept:
                    return self.kept[index]
                row = {"x": torch.rand(1000)}
                if self.caches:
                    self.kept[index] = row
                return row

        def main(steps):
            for batch in DataLoader(Rows("."), batch_size=4, num_workers=4):
                print(batch["x"].sum().item())
        """,
    "lists that one generator makes for another, of what a worker hands out": """
        from torch.utils.data import DataLoader, IterableDataset

        class Rows(IterableDataset):
            def __init__(self, store, index=0, count=1):
                self.store, self.index, self.count = store, index, count

            def __iter__(self):
                yield from self.sharded(self.batches())

            def sharded(self, batches):
                for number, batch in enumerate(batches):
                    if number % self.count == self.index:
                        yield batch

            def rows(self):
                for item in self.store.rows():
                    row = self.row(item)
                    if row is not None:
                        yield row

            def row(self, item):
                return None if item.empty else (item.name, self.text(item.words), item.duration)

            def text(self, words) -> torch.LongTensor:
                return torch.tensor([ord(letter) for word in words for letter in word])

            def batches(self):
                rows = list(self.rows())
                for indices in self.store.sampler():
                    yield [rows[index] for index in indices]

        def main(store):
            for batch in DataLoader(Rows(store), batch_size=None, num_workers=4):
                print(batch)
        """,
    "parts of a checkpoint that are dropped or wanted": """
        def resume(path, steps):
            model, anchor = Net(), None
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            checkpoint = torch.load(path, map_location="cpu")
            weights = checkpoint["model"]
            model.load_state_dict(weights)
            del checkpoint
            for _ in range(steps):
                loss = sum((p - weights[name]).square().sum() for name, p in model.named_parameters())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "texts of the batches that workers send": """
        from torch.utils.data import DataLoader

        def scan(data, model):
            loader = DataLoader(data, batch_size=8, num_workers=4)
            paths, names = [], []
            for batch in loader:
                paths.append(batch["path"])
                names.append(batch["file_name"])
            for x, path in loader:
                paths.append(path)
            return paths, names
        """,
    "outcomes with exceptions of what runs no model": """
        def parse(line):
            try:
                return int(line), None
            except ValueError as error:
                return 0, error

        def parse_all(lines):
            rows = []
            for line in lines:
                rows.append(parse(line))
            return rows
        """,
    "loader of a graph library beside its modules": """
        from graphs.nn.models import NeighborLoader

        neighbors = NeighborLoader(100, size=10)

        def test(batches):
            neighbors.reset_state()
            return [len(neighbors(batch)[0]) for batch in batches]
        """,
    "an exception kept for the next attempt without its frames": """
        def attempt(model, x):
            last = None
            for _ in range(3):
                try:
                    return model(x)
                except RuntimeError as error:
                    last = error.with_traceback(None)
            raise last
        """,
    "the state of a scheduler, loaded where it was saved": """
        def resume(scheduler, rank):
            torch.distributed.init_process_group("nccl", rank=rank)
            scheduler.load_state_dict(torch.load("scheduler.pt"))
        """,
    "tokenizer": """
        from transformers import AutoTokenizer

        def encode(texts):
            tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
            encoded = []
            for text in texts:
                encoded.append(tokenizer(text, return_tensors="pt"))
            return encoded
        """,
    "tokenizer of a class": """
        class Data:
            def __init__(self, tokenizer):
                self.tokenizer = tokenizer
                self.items = []

            def load(self, lines):
                for line in lines:
                    self.items.append(self.tokenizer(line)["input_ids"])
        """,
    "state_dict copies": """
        import copy

        def train(model: Net, loader, optimizer):
            best, snapshots = None, []
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
                best = copy.deepcopy(model.state_dict())
                snapshots.append({k: v.cpu().clone() for k, v in model.state_dict().items()})
            return best, snapshots
        """,
    "checkpoint dictionary": """
        def convert(state_dict):
            converted = {}
            for key, value in state_dict.items():
                converted[f"model.{key}"] = value
                converted[key.replace("a", "b")] = value.view(-1)
            return converted
        """,
    "numpy sums": """
        import numpy as np

        def average(rows):
            total, kept = np.zeros(3), []
            for row in rows:
                total += np.asarray(row)
                kept.append(np.exp(row))
            return total, kept
        """,
    "batches of data": """
        def collect(dataset):
            images, labels = [], []
            for image, label in dataset:
                images.append(torch.as_tensor(image))
                labels.append(torch.tensor(label))
            return torch.stack(images), torch.cat(labels)
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
