"""Objects that own a device context or raw device memory: whoever makes them has to say when they are done."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

DETECTOR = """
import pycuda.driver as cuda

class Detector:
    def __init__(self, path):
        self.ctx = cuda.Device(0).make_context()
        self.buffer = cuda.mem_alloc(1 << 20)
        {begins}

    def infer(self, image):
        self.ctx.push()
        try:
            cuda.memcpy_htod(self.buffer, image)
            return image.max()
        finally:
            self.ctx.pop()

    def {end}(self):
        self.ctx.pop()

class Runner(threading.Thread):
    def __init__(self, detector, images):
        super().__init__()
        self.detector, self.images = detector, images

    def run(self):
        for image in self.images:
            print(self.detector.infer(image))

def detect(path, folder):
    detector = Detector(path){mark}
    {use}

def main(path, folders):
    {main}
"""
THREAD = "runner = Runner(detector, folder); runner.start(); runner.join()"
EACH = "for folder in folders: detect(path, folder)"


@pytest.mark.parametrize(
    ("begins", "end", "use", "main", "mark"),
    [
        ("pass", "destroy", THREAD, EACH, "  # TML701"),
        ("pass", "destroy", "print(detector.infer(folder))", EACH, "  # TML701"),
        ("pass", "destroy", f"{THREAD}; detector.destroy()", EACH, ""),
        ("pass", "destroy", f"{THREAD}; return detector", EACH, ""),
        ("pass", "destroy", THREAD, "detect(path, folders)", ""),  # once
        ("self.ctx.pop()", "destroy", THREAD, EACH, ""),  # not on the stack: it goes with its object
        ("pass", "__del__", THREAD, EACH, ""),
        ("pass", "destroy", "atexit.register(detector.destroy)", EACH, ""),
        ("pass", "destroy", "with closing(detector): print(detector.infer(folder))", EACH, ""),
        ("pass", "destroy", "serve(detector, folder)", EACH, ""),  # who knows
    ],
)
def test_a_context_of_an_object(begins: str, end: str, use: str, main: str, mark: str) -> None:
    check(DETECTOR.format(begins=begins, end=end, use=use, main=main, mark=mark))


COMMON = """
from cuda import cudart

def call(answer):
    return answer[1]

class Memory:
    def __init__(self, size):
        self.size = size
        self.device = call(cudart.cudaMalloc(size))

    def free(self):
        cudart.cudaFree(self.device)
    {rites}

def allocate(engine):
    inputs, outputs, bindings = [], [], []
    for name in engine:
        memory = Memory(engine.size(name))
        bindings.append(int(memory.device))
        if engine.is_input(name):
            inputs.append(memory)
        else:
            outputs.append(memory)
    return inputs, outputs, bindings

def release(inputs, outputs):
    for memory in inputs + outputs:
        memory.free()

def infer(context, inputs, outputs, bindings):
    for memory in inputs:
        cudart.cudaMemcpyAsync(memory.device, memory.size)
    context.execute(bindings)
    return [memory.size for memory in outputs]
"""
SERVICE = """
import common

class Service:
    def __init__(self, engine):
        self.engine, self.context = engine, engine.create()

    def predict(self, image):
        inputs, outputs, bindings = common.allocate(self.engine){mark}
        result = common.infer(self.context, inputs, outputs, bindings)
        {then}
        return result

def main(engine, images):
    service = Service(engine)
    for image in images:
        print(service.predict(image))
"""
RITES = "def __del__(self): self.free()"


@pytest.mark.parametrize(
    ("rites", "then", "mark"),
    [
        ("", "pass", "  # TML702"),
        ("", "print(len(inputs), len(outputs))", "  # TML702"),
        ("", "common.release(inputs, outputs)", ""),
        ("", "for memory in [*inputs, *outputs]: memory.free()", ""),
        ("", "self.kept = inputs", ""),
        (RITES, "pass", ""),
    ],
)
def test_buffers_that_a_helper_allocates(
    rites: str, then: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"common.py": COMMON.format(rites=rites), "service.py": SERVICE.format(then=then, mark=mark)}
    check_project(files, tmp_path, monkeypatch)
