"""The same program in other words: what is found in it must not change."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from conftest import ROOT
from snippets import check, check_innocent

FOLDER = ROOT / "benchmarks"
# Rules of which every refactoring keeps every finding, in a guilty and an innocent fixture of each.
HELD = "TML101 TML103 TML105 TML203 TML305 TML306 TML315 TML316".split()
# Refactorings of which all of these rules get some, by turns, and those that all get.
TURNS = len(HELD)
ALWAYS = ("extract-function", "bind-value", "keywords")
# Rules about the text, which plain words are for, and the refactorings that these see through in all their fixtures,
OF_THE_TEXT = ("TML302", "TML317", "TML402", "TML505", "TML606", "TML702")
SEEN_THROUGH = ("bind-value", "tuple-assign", "extract-value", "extract-function")
# ... but here: a helper that only gives an attribute or an entry stays a call, and so does one in the way of another;
# a list that a function outside the class makes for it is none of the class's; and a second name for what a worker has
# taken from its queue holds it while it waits, which TML502 says.
NOT_SEEN_THROUGH = {
    "TML302": {("bad_attrs_default", "extract-function")},
    "TML317": {
        ("bad_group_per_head", "extract-function"),
        ("bad_pruned_units", "extract-function"),
        ("bad_pruned_units", "extract-value"),
    },
    "TML505": {
        ("bad_packing_process", "extract-function"),
        ("bad_part_without_an_end", "extract-value"),
        ("bad_stream_read_in_part", "extract-value"),
        ("bad_validation_prefetch", "extract-function"),
        ("bad_writer_of_each_validation", "extract-value"),
        ("bad_writer_only_flushed", "extract-value"),
    },
    "TML702": {("bad_buffer_per_call", "extract-function"), ("bad_signals_on_device", "extract-function")},
}


@pytest.fixture(scope="module")
def refactor() -> Any:
    if not FOLDER.is_dir():
        pytest.skip("the benchmarks are not part of what is installed")
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("refactor")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("code", HELD)
def test_refactoring_changes_no_finding(code: str, refactor: Any) -> None:
    names = [*refactor.REFACTORINGS][HELD.index(code) :: TURNS]
    check_law(refactor, code, [*names, *(name for name in ALWAYS if name not in names)])


@pytest.mark.parametrize("code", OF_THE_TEXT)
def test_plain_words_keep_what_the_text_says(code: str, refactor: Any) -> None:
    every = refactor.chosen_fixtures([code], None, 0)
    results = [result for path in every for result in refactor.judged((path, [*SEEN_THROUGH]))]
    assert sum(result.kept for result in results) >= 3
    wrong = {(r.variant.path.stem, r.variant.name) for r in results if r.lost or r.moved or r.loud}
    assert wrong == NOT_SEEN_THROUGH.get(code, set())


def check_law(refactor: Any, code: str, chosen: list[str]) -> None:
    results = [result for path in refactor.chosen_fixtures([code], 1, 0) for result in refactor.judged((path, chosen))]
    assert sum(result.kept for result in results) >= 3
    assert [(r.variant.title, r.beside) for r in results if r.lost or r.moved or r.loud] == []


READER = """
import threading


class Reader:
    def __init__(self, rows):
        self.rows = rows
        self.queue = queue.Queue(2)
        self.thread = threading.Thread(target=self.fill, daemon=True)
        self.thread.start()

    def fill(self):
        for row in self.rows:
            self.queue.put(torch.ones(row))
        self.queue.put(None)

    def stop(self):
        while self.queue.get() is not None:
            pass

    def __iter__(self):
        return iter(self.queue.get, None)


def finish(reader):
    reader.stop()


def evaluate(model):
    {}


def train(model, epochs):
    for _ in range(epochs):
        evaluate(model)
"""
LEFT = {
    "as it is": "reader = Reader(range(9))  # TML505",
    "with a name on its way": "made = Reader(range(9))\n    reader = made  # TML505",
    "with something else": "reader, seen = Reader(range(9)), 0  # TML505",
    "by another name of its class": "make = Reader\n    reader = make(range(9))  # TML505",
}
ROUND = "\n    for batch in reader:\n        if batch.sum() > 3:\n            break\n"
ENDED = {
    "as it is": "reader.stop()",
    "by a helper of one line": "finish(reader)",
}


@pytest.mark.parametrize("made", LEFT.values(), ids=LEFT)
def test_reader_that_is_left(made: str) -> None:
    check(READER.replace("{}", made + ROUND))


@pytest.mark.parametrize("ended", ENDED.values(), ids=ENDED)
@pytest.mark.parametrize("made", LEFT.values(), ids=LEFT)
def test_reader_that_is_ended(made: str, ended: str) -> None:
    made = made.replace("  # TML505", "")
    check_innocent(READER.replace("{}", f"{made}{ROUND}    {ended}"))


SEEN = {
    "running statistics that a helper brings up to date": """
        class Norm(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(width, width)
                self.mean = torch.zeros(width)

            def update(self, mean):
                self.mean = 0.9 * self.mean + 0.1 * mean  # TML101

            def forward(self, x):
                x = self.layer(x)
                if self.training:
                    mean = x.mean(dim=0)
                    self.update(mean)
                else:
                    mean = self.mean
                return x - mean

        def fit(loader):
            model = Norm(8)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                loss = model(x).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "the cache emptied by a short name before the collector": """
        import gc

        class Slot:
            def __init__(self):
                self.part = Net().cuda().eval()
                self.part.owner = self

            def swap(self):
                self.part = None
                clear = torch.cuda.empty_cache
                clear()  # TML601
                gc.collect()
        """,
    "an entry that an update brings, under a key that never comes again": """
        PACKED = {}

        def packed(module):
            if id(module) not in PACKED:
                PACKED.update({id(module): module.weight.detach().clone()})  # TML301
            return PACKED[id(module)]
        """,
}

INNOCENT = {
    "an entry that an update brings, of a few kinds": """
        PACKED = {}

        def packed(module):
            if module.kind not in PACKED:
                PACKED.update({module.kind: torch.zeros(64, 64)})
            return PACKED[module.kind]
        """,
    "a segment that a method by a short name unlinks": """
        from multiprocessing.shared_memory import SharedMemory

        def exchange(sizes):
            for size in sizes:
                segment = SharedMemory(create=True, size=size)
                print(segment.buf[0])
                segment.close()
                remove = segment.unlink
                remove()
        """,
    "a statistic that the caller of a helper hands on": """
        class Norm(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(width, width)
                self.last = None

            def note(self, x):
                self.last = x

            def forward(self, x):
                self.note(self.layer(x))
                return self.last

            def penalty(self):
                loss = self.last.abs().mean()
                self.last = None
                return loss

        def fit(loader):
            model = Norm(8)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                loss = model(x).square().mean() + model.penalty()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
}


@pytest.mark.parametrize("snippet", SEEN.values(), ids=SEEN)
def test_seen(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT)
def test_innocent(snippet: str) -> None:
    check_innocent(snippet)
