"""Captured graphs under lengths that requests bring, and helpers that keep their tables short."""

from __future__ import annotations

import pytest
from snippets import check

DECODER = """
LIMIT, LENGTHS = 64, (16, 32, 64)

def trim(table, limit):
    while len(table) > limit:
        table.popitem(last=False)

def look(table, limit):
    print(len(table), limit)

class Decoder:
    def __init__(self, model):
        self.model, self.graphs = model, {{}}

    def _capture(self, length):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.model(length)
        return graph

    def decode(self, length):
        if length not in self.graphs:
            self.graphs[length] = self._capture(length){mark}
            {then}
        self.graphs[length].replay()

def serve(decoder, prompt_lengths, tokens):
    for length in {over}:
        for step in range(tokens):
            decoder.decode({given})
"""
MARK = "  # TML703"
CASES = {
    "lengths of prompts": (MARK, "pass", "prompt_lengths", "length + step"),
    "looked at by a helper": (MARK, "look(self.graphs, LIMIT)", "prompt_lengths", "length"),
    "lengths that are listed": ("", "pass", "LENGTHS", "length"),
    "trimmed by a helper": ("", "trim(self.graphs, LIMIT)", "prompt_lengths", "length + step"),
    "trimmed by a helper, by name": ("", "trim(limit=LIMIT, table=self.graphs)", "prompt_lengths", "length"),
}


@pytest.mark.parametrize("case", CASES)
def test_graphs_by_length(case: str) -> None:
    mark, then, over, given = CASES[case]
    check(DECODER.format(mark=mark, then=then, over=over, given=given))


PADDED = """
import bisect

class Graphs:
    def __init__(self, model, largest):
        self.model, self.graphs = model, {{}}
        self.sizes = [size for size in range(1, largest)]

    def _nearest(self, size):
        return self.sizes[bisect.bisect_left(self.sizes, size)]

    def is_there(self, size):
        {asked}
        return asked in self.graphs

    def capture(self, tokens):
        graph, size = torch.cuda.CUDAGraph(), tokens.shape[0]
        with torch.cuda.graph(graph):
            out = self.model(tokens)
        self.graphs[size] = (graph, tokens, out){mark}
        return out

    def replay(self, tokens):
        graph, given, out = self.graphs[tokens.shape[0]]
        given.copy_(tokens)
        graph.replay()
        return out
"""


@pytest.mark.parametrize(
    ("asked", "mark"),
    [("asked = self._nearest(size)", ""), ("asked = (size + 7) // 8 * 8", ""), ("asked = size", MARK)],
)
def test_graphs_that_are_asked_for_by_a_few_sizes(asked: str, mark: str) -> None:
    check(PADDED.format(asked=asked, mark=mark))
