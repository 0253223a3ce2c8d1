"""Buffers out of which a data set hands its items one by one: taken out, replaced, or kept."""

from __future__ import annotations

import pytest
from snippets import check

STREAM = """
import random
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, paths, size):
        self.paths, self.size, self.rng = paths, size, random.Random(0)

    def read(self, path):
        return torch.rand(3, len(path), 64)

    def trim(self, rows):
        del rows[: -self.size]

    def __iter__(self):
        rows = []
        for path in self.paths:
            item = self.read(path)
{body}

def main(paths):
    return DataLoader(Stream(paths, 64), batch_size=None, num_workers=2)
"""
KEPT = {
    "an element by its place": """
            rows.append(item)  # TML404
            if len(rows) >= self.size:
                yield rows[self.rng.randrange(len(rows))]
""",
    "a choice, by a name": """
            rows.append(item)  # TML404
            if len(rows) >= self.size:
                chosen = random.choice(rows)
                yield chosen
""",
}
LET_GO = {
    "taken out": """
            rows.append(item)
            if len(rows) >= self.size:
                yield rows.pop(self.rng.randrange(len(rows)))
""",
    "replaced": """
            if len(rows) < self.size:
                rows.append(item)
                continue
            place = self.rng.randrange(len(rows))
            yield rows[place]
            rows[place] = item
""",
    "no more than some": """
            if len(rows) < self.size:
                rows.append(item)
            yield random.choice(rows) + item
""",
    "trimmed by a method": """
            rows.append(item)
            self.trim(rows)
            yield rows[self.rng.randrange(len(rows))]
""",
    "by and by": """
            rows.append(item)
            if len(rows) >= self.size:
                yield rows[0]
                rows = rows[1:]
""",
    "the whole of it, at the end": """
            rows.append(item)
        for row in rows:
            yield row
""",
}


@pytest.mark.parametrize("case", KEPT)
def test_buffers_that_nothing_leaves(case: str) -> None:
    check(STREAM.format(body=KEPT[case].strip("\n")))


@pytest.mark.parametrize("case", LET_GO)
def test_buffers_that_items_leave(case: str) -> None:
    check(STREAM.format(body=LET_GO[case].strip("\n")))
