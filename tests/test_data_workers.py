"""What data sets leave in the workers of their loaders: records that are copied, items that are kept."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

DATA = """\
from collections import defaultdict
from torch.utils.data import DataLoader, Dataset

class Box:
    def __init__(self, x, label):
        self.x, self.label = x, label

"""
RECORDS = {
    "in an object of the data set": """
        class Boxes:
            def __init__(self, lines):
                self.boxes = defaultdict(list)
                for line in lines:
                    self.parse(line)

            def parse(self, line):
                image, x, label = line.split()
                self.boxes[image].append(Box(float(x), label)){}

            def of(self, image):
                return self.boxes[image]

        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = Boxes(lines)

            def __getitem__(self, index):
                return torch.tensor([box.x for box in self.boxes.of(index)])
        """,
    "by key": """
        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = {{}}
                for line in lines:
                    image, x, label = line.split()
                    self.boxes[image] = Box(float(x), label){}

            def __getitem__(self, index):
                return torch.tensor(self.boxes[index].x)
        """,
    "from a function": """
        def read(lines):
            found = []
            for line in lines:
                image, x, label = line.split()
                found.append(Box(float(x), label))
            return found

        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = read(lines){}

            def __getitem__(self, index):
                return torch.tensor(self.boxes[index].x)
        """,
    "grouped": """
        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = {{}}
                for line in lines:
                    image, x, label = line.split()
                    self.boxes.setdefault(image, []).append({{"image": image, "x": float(x), "label": label}}){}

            def __getitem__(self, index):
                return torch.tensor([box["x"] for box in self.boxes[index]])
        """,
}
LOADER = "\n\ndef main(lines):\n    return DataLoader(Detection(lines), num_workers={})\n"


@pytest.mark.parametrize("name", RECORDS)
def test_records_that_workers_copy(name: str) -> None:
    check(DATA + textwrap.dedent(RECORDS[name].format("  # TML405")) + LOADER.format(2))
    check(DATA + textwrap.dedent(RECORDS[name].format("")) + LOADER.format(0))


PARSED = """
import json

class Rows(Dataset):
    def __init__(self, path):
        self.path = path
        with open(path) as file:
            self.meta = json.load(file){1}

    def __getitem__(self, index):
        {0}

def main(path):
    return DataLoader(Rows(path), num_workers=2)
"""


@pytest.mark.parametrize(
    ("read", "mark"),
    [
        ("return (torch.rand(8) - self.meta['mean']) / self.meta['std']", ""),
        ("return torch.full((8,), self.meta['mean'])", ""),
        ("return self.meta['rows'][index]", "  # TML405"),
        ("return torch.rand(8) - self.meta[str(index)]", "  # TML405"),
        ("return torch.rand(len(self.meta['rows'])) - self.meta['mean']", "  # TML405"),
    ],
)
def test_settings_and_tables_of_a_parsed_file(read: str, mark: str) -> None:
    check(DATA + PARSED.format(read, mark))


CACHES = """
class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths
        {0}

    def part(self, index){1}:
        {2}

    def __getitem__(self, index):
        return self.part(index)

def main(paths):
    return DataLoader(Files(paths), num_workers=2)
"""
ITEMS = [
    ("self.kept = {}", "", "self.kept[index] = read(self.paths[index])  # TML404\n        return self.kept[index]"),
    ("self.kept = {}", "", "item = read(index)\n        self.kept[index] = item  # TML404\n        return item, index"),
    ("self.kept = []", "", "item = read(index)\n        self.kept.append(item)  # TML404\n        return crop(item)"),
]
NOT_ITEMS = [
    ("self.kept: dict[str, int] = {}", "", "self.kept[index] = read(index)\n        return self.kept[index]"),
    ("self.kept = {}", " -> int", "self.kept[index] = read(index)\n        return self.kept[index]"),
    ("self.kept = {}", "", "self.kept[index] = self.paths[index].stat().st_size\n        return self.kept[index]"),
    ("self.words = []", "", "word = read(index)\n        self.words.append(word)\n        return len(self.words)"),
    (
        "self.words = []; self.ids = {}",
        "",
        "word = read(index)\n        self.words.append(word)\n        return self.ids[word]",
    ),
]


@pytest.mark.parametrize("parts", ITEMS)
def test_items_that_each_worker_keeps(parts: tuple[str, str, str]) -> None:
    check(DATA + CACHES.format(*parts))


@pytest.mark.parametrize("parts", NOT_ITEMS)
def test_what_is_no_item(parts: tuple[str, str, str]) -> None:
    check(DATA + CACHES.format(*parts))


COLLATES = """
def collating():
    kept = []

    def collate(items):
        batch = torch.stack(items)
        {}
        return batch

    return collate

def main(paths):
    return DataLoader(paths, num_workers=2, collate_fn=collating())
"""


def test_what_a_closure_keeps_in_each_worker() -> None:
    check(DATA + COLLATES.format("kept.append(batch)  # TML404"))
    check(DATA + COLLATES.format("kept.append(batch.shape)"))
    check(DATA + COLLATES.format("kept.append(batch); kept.pop()"))
    check(DATA + COLLATES.format("parts = []; parts.append(batch)"))


LOADERS = """
class Stages:
    def __init__(self, workers):
        self.loaders, self.workers = {{}}, workers

    def loader(self, stage):
        if stage not in self.loaders:
            {}
        return self.loaders[stage]

def train(count: int):
    made = Stages(2)
    for stage in range(count):
        for batch in made.loader(stage):
            print(batch)
"""


def test_loaders_that_pile_up() -> None:
    made = "DataLoader(range(9), num_workers=self.workers, persistent_workers={})"
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('self.workers > 0')}  # TML408"))
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('True')}  # TML408"))
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('False')}"))
    check(DATA + LOADERS.format(f"self.loaders.clear(); self.loaders[stage] = {made.format('True')}"))


PREPARED = """
class Prepared:
    def __init__(self, workers):
        self.all, self.one, self.workers = [], {{}}, workers

    def prepare(self, loader):
        self.all.append(loader)%s
        return loader

    def make(self):
        return self.prepare(DataLoader(range(9), num_workers=2, persistent_workers=True))

    def loader(self, name):
        {}

def train(count: int, names):
    made = Prepared(2)
    for _ in range(count):
        for name in names:
            for batch in made.loader(name):
                print(batch)
"""


def test_loaders_that_are_made_once() -> None:
    check(DATA + PREPARED.format("return self.make()") % "  # TML408")
    once = "if name not in self.one:\n            self.one[name] = self.make()\n        return self.one[name]"
    check(DATA + PREPARED.format(once) % "")
    check(DATA + PREPARED.format(once.replace("name not in self.one", "self.one.get(name) is None")) % "")


GROUPS = """
class Grouped(Dataset):
    def __init__(self, samples, size):
        self.samples, self.size, self.at = samples, size, 0
        self.waiting = [[], []]

    def group(self):
        while True:
            sample = self.samples[self.at]
            self.at += 1
            {}

    def __getitem__(self, index):
        group = self.group()
        return {{"image": torch.zeros(len(group), 3, 8, 8), "info": group}}

def main(samples):
    for batch in DataLoader(Grouped(samples, 4), num_workers=4):{}
        print(batch)
"""
WAITS = """self.waiting[sample.wide].append(sample){}
            if len(self.waiting[0]) == self.size:
                group = self.waiting[0]
                {}
                return group"""
BEGUN = """if self.at not in self.waiting:
                self.waiting[self.at] = []
            self.waiting[self.at].append(sample)  # TML404
            return self.waiting[self.at]"""


def test_groups_that_are_handed_out_when_they_are_complete() -> None:
    check(DATA + GROUPS.format(WAITS.format("", "self.waiting[0] = []"), ""))
    check(DATA + GROUPS.format(WAITS.format("  # TML404", "self.size += 1"), ""))
    check(DATA + GROUPS.format(BEGUN, "").replace("[[], []]", "{}"))


REMEMBERED = """
class Remembered:
    def __init__(self):
        self.loaders = []

    def add(self, data):
        loader = DataLoader(data, num_workers=2, persistent_workers=True)
        self.loaders.append(loader){mark}
        return loader

    def forget(self):
        self.loaders = []

def fit(model, optimizer, data, epochs):
    seen = Remembered()
    {first}
    for _ in range(epochs):
        for x in {loader}:
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        {after}

net = Net()
fit(net, torch.optim.SGD(net.parameters(), 0.1), range(9), 8)
"""


@pytest.mark.parametrize(
    ("mark", "first", "loader", "after"),
    [
        ("  # TML408", "pass", "seen.add(data)", "pass"),
        ("", "pass", "seen.add(data)", "seen.forget()"),
        ("", "loader = seen.add(data)", "loader", "pass"),
        ("", "[seen.add(data) for _ in range(2)]", "(x for loader in seen.loaders for x in loader)", "pass"),
    ],
)
def test_loaders_that_nobody_is_told_to_forget(mark: str, first: str, loader: str, after: str) -> None:
    check(DATA + REMEMBERED.format(mark=mark, first=first, loader=loader, after=after))


def test_loaders_that_each_epoch_goes_through() -> None:
    check(
        DATA
        + """
class Suite:
    def __init__(self):
        self.loaders = []

    def add(self, data):
        self.loaders.append(DataLoader(data, num_workers=2, persistent_workers=True))

def main(sets):
    suite = Suite()
    for data in sets:
        suite.add(data)
    for _ in range(3):
        for loader in suite.loaders:
            for x in loader:
                print(x)
"""
    )
