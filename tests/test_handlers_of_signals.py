"""Handlers of signals that know the model of a function which has returned."""

from __future__ import annotations

import pytest
from snippets import check

TRAIN = """
import signal
import sys

def train(steps):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    signal.signal(signal.SIGINT, {handler}){mark}
    for _ in range(steps):
        loss = model(torch.rand(4, 8)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "last.pt")
    return loss.item()

def save(model):
    torch.save(model.state_dict(), "stopped.pt")
    sys.exit(0)

def merge(path):
    return {{name: part.norm().item() for name, part in torch.load(path, map_location="cpu").items()}}

def main(steps):
    print(train(steps))
    {then}

main(10)
"""
HANDLERS = [
    "lambda number, frame: save(model)",
    "functools.partial(lambda number, frame, model: save(model), model=model)",
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_that_stays_when_its_function_has_returned(handler: str) -> None:
    check(TRAIN.format(handler=handler, mark="  # TML314", then='print(merge("last.pt"))'))
    check(TRAIN.format(handler=handler, mark="", then='print("done")'))  # that was all


@pytest.mark.parametrize(
    "handler",
    [
        "lambda number, frame: print(number) or sys.exit(0)",
        "functools.partial(lambda number, frame, model: save(model()), model=weakref.ref(model))",
        "signal.SIG_DFL",
    ],
)
def test_handlers_that_know_no_model(handler: str) -> None:
    text = TRAIN.format(handler=handler, mark="", then='print(merge("last.pt"))')
    check(text.replace("import sys", "import sys\nimport weakref"))


def test_a_handler_that_is_put_back() -> None:
    text = TRAIN.format(handler=HANDLERS[0], mark="", then='print(merge("last.pt"))')
    text = text.replace("    signal.signal(", "    former = signal.signal(")
    check(text.replace("    return loss", "    signal.signal(signal.SIGINT, former)\n    return loss"))


LOADED = """
import signal
from toolbox import load_model

def train(config{given}):
    {made}
    signal.signal(signal.SIGINT, lambda number, frame: model.save_pretrained(config.out)){mark}
    config.trainer.train()
    model.save_pretrained(config.out)
    return {back}
"""


@pytest.mark.parametrize(
    ("given", "made", "back", "mark"),
    [
        ("", "model, rest = load_model(config)", "model", "  # TML314"),
        ("", "model, rest = load_model(config)", "0", ""),
        (", model", "pass", "model", ""),
        ("", "model = config.model", "model", ""),
    ],
)
def test_models_that_others_load(given: str, made: str, back: str, mark: str) -> None:
    check(LOADED.format(given=given, made=made, back=back, mark=mark))


WRITER = """
import signal
from concurrent.futures import ThreadPoolExecutor

class Writer:
    def __init__(self, path):
        self.path, self.stopped, self.pool = path, False, None
        signal.signal(signal.SIGABRT, self.stop){mark}

    def stop(self, number, frame):
        self.stopped = True

    def begin(self):
        self.pool = ThreadPoolExecutor(max_workers=1)

    def write(self, step):
        self.pool.submit(print, step, self.path)

    def finish(self):
        self.pool.shutdown(wait=True)
        {drops}

def main(paths):
    for path in paths:
        writer = Writer(path)
        writer.begin()
        writer.write(1)
        writer.finish()
"""


@pytest.mark.parametrize(("drops", "mark"), [("self.pool = None", ""), ("print(self.path)", "  # TML314")])
def test_an_object_whose_pool_goes(drops: str, mark: str) -> None:
    check(WRITER.format(drops=drops, mark=mark))
