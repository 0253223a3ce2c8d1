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
