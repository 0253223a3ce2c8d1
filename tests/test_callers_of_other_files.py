"""What other files say of a method: those that call it have gradients off, make one object, or mean another method."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, lint, marked, write

DECODER = """
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(64, 8), nn.Linear(8, 64)

    def forward(self, ids):
        return self.head(self.embed(ids))

class Runner:
    def __init__(self, decoder: Decoder):
        self.decoder, self.last = decoder, torch.zeros(1, 64)

    def _step(self, ids):
        for _ in range(16):
            out = self.decoder(ids)
            self.last.copy_(out[:, -1]){mark}
            ids = out.argmax(-1)
        return ids

    def generate(self, request):
        return self._step(request)
"""
APP = """
import torch
from decoder import Decoder, Runner

runner = None

def answer(texts):
    global runner
    for text in texts:
        if runner is None:
            runner = Runner(Decoder())
        with torch.no_grad():
            print(runner.generate(text))
"""
OTHER = """
from transcribe import load

def transcribe(path, request):
    model = load(path)
    return model.generate({})
"""


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ("input=path", ""),
        ("path, request, 5", ""),
        ("request", "  # TML101"),
        ("*request", "  # TML101"),
    ],
)
def test_calls_of_another_method(given: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"decoder.py": DECODER.format(mark=mark), "app.py": APP, "asr.py": OTHER.format(given)}
    check_project(files, tmp_path, monkeypatch)


CAPTURE = """
import torch

class Runner:
    def __init__(self, net):
        self.net, self.graph, self.x = net, None, torch.zeros(1, 8)

    def capture(self):
        side = torch.cuda.Stream()STREAM
        with torch.cuda.stream(side):
            self.net(self.x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.net(self.x)
        return graph

    @torch.no_grad()
    def run(self, rows):
        for row in rows:
            if self.graph is None:
                self.graph = self.capture()
            self.graph.replay()
"""
APP_OF_RUNNERS = """
from runner import Runner

runner = None

def serve(net, asked):
    global runner
    for rows in asked:
        {}
        runner.run(rows)
"""
MAKERS = {
    "one": ("if runner is None:\n            runner = Runner(net)", ""),
    "one for each": ("runner = Runner(net)", "  # TML506"),
    "one that is dropped": ("if runner is None:\n            runner = Runner(net)", "  # TML506"),
}


@pytest.mark.parametrize("case", MAKERS)
def test_objects_that_others_make(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, mark = MAKERS[case]
    app = APP_OF_RUNNERS.format(made)
    if case == "one that is dropped":
        app += "        runner = None\n"
    files = {"app.py": app, "runner.py": CAPTURE.replace("STREAM", mark)}
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert lint(tmp_path, names) == marked(files)


_SCRIPT = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def inference(self, data):
        for layer in self.layers:
            loader = torch.utils.data.DataLoader(data, batch_size=8)
            found = torch.zeros(100, 8)
            for rows, x in loader:
                found[rows] = layer(x){mark}
        return found

def evaluate(model, loader):
    model.eval()
    {guard}
        return model.module.inference(loader)

def run(rank, made, loader):
    print(evaluate(made.take(rank), loader).argmax(1))

{end}
"""
_GUARDED, _OPEN = "with torch.no_grad():", "if True:"
_RUN = 'if __name__ == "__main__":\n    torch.multiprocessing.spawn(run, args=({}, []))'


@pytest.mark.parametrize(
    ("guard", "end", "mark"),
    [
        (_GUARDED, _RUN, ""),
        (_OPEN, _RUN, "  # TML201"),
        (_GUARDED, "", "  # TML201"),  # others may call the method as well
        (_GUARDED, _RUN + "\n    Stack().inference([])", "  # TML201"),
    ],
)
def test_calls_of_a_model_that_a_program_has_wrapped(
    guard: str, end: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"train.py": _SCRIPT.format(guard=guard, end=end, mark=mark)}, tmp_path, monkeypatch)
