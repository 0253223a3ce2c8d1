"""Graphs of a table whose length is only told, and streams on which a model is run before it is captured."""

from __future__ import annotations

import pytest
from snippets import check

RUNNER = """
import logging

log = logging.getLogger(__name__)

class Runner:
    def __init__(self, model):
        self.model, self.runs = model, {{}}

    def __len__(self):
        return len(self.runs)

    def _settle(self, x):
        side = torch.cuda.Stream(){stream}
        with torch.cuda.stream(side):
            for _ in range(3):
                self.model(x)

    def _capture(self, x):
        self._settle(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.model(x)
        return graph, out

{plain}
    @torch.no_grad()
    def run(self, x):
        key = tuple(x.shape)
        if key not in self.runs:
            self.runs[key] = self._capture(x){table}
            {then}
        self.runs[key][0].replay()
        return {also}

def serve(runner, requests):
    for request in requests:
        runner.run(request)
"""
PLAIN = """
    def _plain(self, x):
        self._settle(x)
        return self.model(x)
"""
TABLE, STREAM = "  # TML703", "  # TML506"
CASES = {
    "the length is told": ("", TABLE, 'log.info("%d graphs", len(self.runs))', "self.runs[key][1]"),
    "the length is a limit": ("", "", "assert len(self.runs) < 32", "self.runs[key][1]"),
    "the limit is asked for": ("", "", "self.full = len(self.runs) >= 32", "self.runs[key][1]"),
    "also run on a stream of its own each time": (STREAM, TABLE, "pass", "self._plain(x)"),
}


@pytest.mark.parametrize("case", CASES)
def test_captured_aside(case: str) -> None:
    stream, table, then, also = CASES[case]
    plain = PLAIN if "_plain(x)" in also else ""  # else nothing but the capture runs it aside
    check(RUNNER.format(stream=stream, table=table, then=then, also=also, plain=plain))


BY_SIZE = """
def capture(model, size, pool):
    ids = torch.zeros((size, 1), device="cuda")
    side = torch.cuda.Stream(){stream}
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(2):
            model(ids)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool), torch.no_grad():
        out = model(ids)
    return graph, ids, out

def decode(model, graphs, sizes, pool):
    for size in sizes:
        {taken}
        graph.replay()
    return ids, out
"""
ANEW = "graph, ids, out = capture(model, size, pool)"


@pytest.mark.parametrize(
    ("taken", "stream"),
    [
        ("if size not in graphs:\n            graphs[size] = capture(model, size, pool)\n"
         "        graph, ids, out = graphs[size]", ""),
        ("if (size, 1) not in graphs.all:\n            graphs.all[size, 1] = capture(model, size, pool)\n"
         "        graph, ids, out = graphs.all[size, 1]", ""),
        (ANEW, STREAM),
        ("if size not in graphs: print(size)\n        " + ANEW, STREAM),
    ],
)  # fmt: skip
def test_captured_for_each_size(taken: str, stream: str) -> None:
    check(BY_SIZE.format(taken=taken, stream=stream))


_BY_PART = """
    class Split(nn.Module):
        def __init__(self, left, right):
            super().__init__()
            self.left, self.right = left, right
            self.captured = {{}}

        def forward(self, x, y):
            return self._replay(self.left, x) + self._replay(self.right, y)

        def _replay(self, part, *inputs):
            if {key} not in self.captured:
                torch.cuda.synchronize()
                self.captured[{key}] = torch.cuda.make_graphed_callables(part, inputs){mark}
            return self.captured[{key}](*inputs)
    """


@pytest.mark.parametrize(
    ("key", "mark"),
    [("part", ""), ("id(part)", ""), ("inputs[0].shape", "  # TML703"), ("(part, inputs[0].shape)", "  # TML703")],
)
def test_a_graph_for_each_part_of_a_model(key: str, mark: str) -> None:
    check(_BY_PART.format(key=key, mark=mark))
