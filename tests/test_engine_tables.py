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
