"""Memories that a loop has helpers fill and draw from."""

from __future__ import annotations

import pytest
from snippets import check

PLAY = """
import random, uuid

def remember(memory, x):
    {add}{mark}

def learn(net, memory, rng):
    {wait}
    {draw}
    net(x).sum().backward()

def count(memory):
    {other}

def play(net: nn.Module, env, steps, rng):
    memory = {made}
    for step in range(steps):
        x = torch.from_numpy(env.step())
        remember(memory, x)
        learn(net, memory, rng)
        count(memory)
    {last}
"""
LIST = {
    "add": "memory.append((x, 1.0))",
    "wait": "if len(memory) < 8: return",
    "draw": "x = torch.stack([one for one, _ in random.sample(memory, 8)])",
    "other": "print(len(memory))",
    "made": "[]",
    "last": "print(len(memory))",
}
TABLE = {
    **LIST,
    "add": "memory[uuid.uuid4().hex] = x",
    "draw": "keys = list(memory); x = torch.stack([memory[keys[rng.integers(len(keys))]] for _ in range(8)])",
    "made": "{}",
}
INNOCENT = [
    {**LIST, "last": "return memory"},
    {**LIST, "made": "deque(maxlen=100)"},
    {**LIST, "other": "if len(memory) > 100: memory.pop(0)"},
    {**LIST, "other": "del memory[:-100]"},
    {**LIST, "other": "torch.save(memory, 'memory.pt')"},
    {**LIST, "add": "if len(memory) < 100: memory.append((x, 1.0))"},
    {**LIST, "draw": "x = torch.stack([one for one, _ in memory])"},
    {**TABLE, "other": "for key in list(memory)[:-100]: del memory[key]"},
    {**TABLE, "other": "for x in memory.values(): print(x.sum())"},
    {**TABLE, "last": "return memory"},
    {**TABLE, "draw": "x = memory[rng]"},  # looked up, and not drawn
]


@pytest.mark.parametrize("words", [LIST, TABLE])
def test_nobody_takes_any_out(words: dict[str, str]) -> None:
    check(PLAY.format(**words, mark="  # TML311"))


@pytest.mark.parametrize("words", INNOCENT)
def test_limits_results_and_tables_that_are_looked_up(words: dict[str, str]) -> None:
    check(PLAY.format(**words, mark=""))
