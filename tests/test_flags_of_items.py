"""A flag that an object was made with decides what is kept of it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TASK = """
class Shard:
    {known}

    def __init__(self, tokens, {asked}):
        self.rows = tokens.view(-1, 32)
        {own}


class Epoch:
    def __init__(self, shard):
        self.shard = shard


class Task:
    def __init__(self):
        self.shards = {{}}
        self.made = {{}}

    def load(self, split):
        self.shards[split] = Shard(torch.randint(0, 500, (32000,)), {given})
        return self.shards[split]

    def epoch(self, shard):
        if shard in self.made:
            return self.made[shard]
        epoch = Epoch(shard)
        {before}
        if {test}:
            self.made[shard] = epoch{mark}
        return epoch


def main():
    task = Task()
    valid = task.load("valid")
    for number in range(100):
        task.epoch(task.load("train"))
        task.epoch(valid)


if __name__ == "__main__":
    main()
"""
PLAIN = {"known": "pass", "asked": "reused", "own": "self.reused = reused", "given": "split == 'valid'",
         "before": "pass", "test": "shard.reused"}  # fmt: skip
SPLIT = {"asked": "split", "own": "self.split = split", "given": "split"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"asked": "reused=False", "given": "reused=split != 'train'"},
        {"given": "split == 'train'", "test": "not shard.reused"},
        {"given": "split == 'train'", "before": "if shard.reused: return epoch", "test": "True"},
        {"before": "keep = shard.reused", "test": "keep"},
        {"test": "shard.reused and len(self.made) < 1000"},
        {"known": "reused = False", "own": "pass"},
        SPLIT | {"test": "shard.split != 'train'"},
    ],
)
def test_not_kept(change: dict[str, str]) -> None:
    check_innocent(TASK.format(**PLAIN | change, mark=""))


@pytest.mark.parametrize(
    "change",
    [
        {"given": "True"},
        {"given": "split == 'train'"},
        {"own": "self.reused = len(self.rows) > 10"},
        {"before": "shard.reused = True"},
        {"before": "keep = shard.reused; keep = True", "test": "keep"},
        {"known": "reused = True", "own": "pass"},
        SPLIT | {"test": "shard.split == 'train'"},
    ],
)
def test_kept(change: dict[str, str]) -> None:
    check(TASK.format(**PLAIN | change, mark="  # TML311"))
