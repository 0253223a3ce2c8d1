"""Engines and execution contexts that are kept for each size that comes along."""

import pytest
from snippets import check

ENGINES = """
import tensorrt as trt

class Segmenter:
    def __init__(self, runtime):
        self.runtime, self.contexts = runtime, {}

    def build(self, shape):
        engine = self.runtime.deserialize_cuda_engine(make_plan(shape))
        return engine.create_execution_context()

    def context_for(self, image):
        shape = tuple(image.shape)
        name = image.name
        %s
"""


@pytest.mark.parametrize(
    "kept",
    [
        "self.contexts[shape] = self.build(shape)  # TML703",
        "context = self.build(shape)\n        self.contexts[image.shape] = context  # TML703",
        "self.contexts[name] = self.build(shape)",  # there are a few of them
        "shape = round_up(shape)\n        self.contexts[shape] = self.build(shape)",
        "self.contexts.clear()\n        self.contexts[shape] = self.build(shape)",
        "self.contexts[shape] = make_plan(shape)",
    ],
)
def test_engines_by_size(kept: str) -> None:
    check(ENGINES % kept)


GRAPHS = """
class Decoder:
    def __init__(self, model):
        self.model, self.graphs = model, {}

    def capture(self, position, width):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.model(position, width)
        return graph

    def run(self, position, width):
        key = (position, width)
        if key not in self.graphs:
            self.graphs[key] = self.capture(position, width)%s
        self.graphs[key].replay()

def main(model, steps, loader):
    decoder = Decoder(model)
    %s
"""


@pytest.mark.parametrize(
    ("mark", "use"),
    [
        ("  # TML703", "for position in range(steps):\n        decoder.run(position, position % 4)"),
        ("  # TML703", "for batch in loader:\n        decoder.run(len(batch), 8)"),
        ("", "for position in range(64):\n        decoder.run(position, position % 4)"),
        ("", "for position in decoder.positions:\n        decoder.run(position, 8)"),
    ],
)
def test_graphs_by_what_a_loop_counts(mark: str, use: str) -> None:
    check(GRAPHS % (mark, use))


SESSIONS = """
import onnxruntime

class Upscaler:
    def __init__(self, path):
        self.path, self.sessions = path, {}

    def session(self, height, width, kind):
        key = %s
        if key not in self.sessions:
            self.sessions[key] = onnxruntime.InferenceSession(self.path)%s
        return self.sessions[key]
"""


@pytest.mark.parametrize(("key", "mark"), [("(height, width)", "  # TML703"), ("kind", "")])
def test_sessions_by_size(key: str, mark: str) -> None:
    check(SESSIONS % (key, mark), prelude="")


AROUND = """
import functools

class Captured:
    def __init__(self, fn, x):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = fn(x)

def graphed(fn):
    captured = {}

    @functools.wraps(fn)
    def call(x):
        key = tuple(x.shape)
        if %s:
            return fn(x)
        if key not in captured:
            captured[key] = Captured(fn, x)%s
        return captured[key].out

    %s
"""


@pytest.mark.parametrize(
    ("test", "mark", "end"),
    [
        ("x.is_cpu", "  # TML703", "return call"),
        ("len(captured) > 8", "", "return call"),
        ("x.is_cpu", "", "return [call(x) for x in (torch.zeros(8), torch.zeros(16))]"),
    ],
)
def test_graphs_in_a_table_around_the_function(test: str, mark: str, end: str) -> None:
    check(AROUND % (test, mark, end))
