"""Engines that keep handlers with their arguments, and get them by a decorator."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

ENGINE = """
from collections import defaultdict

class Engine:
    def __init__(self, step):
        self.step = step
        self._handlers = defaultdict(list)

    def add_handler(self, event, handler, *args):
        self._handlers[event].append((handler, args))

    def remove_handler(self, event, handler):
        self._handlers[event] = [one for one in self._handlers[event] if one[0] is not handler]

    def on(self, event):
        def decorator(handler):
            self.add_handler(event, handler)
            return handler
        return decorator

    def fire(self, event):
        for handler, args in self._handlers[event]:
            handler(self, *args)

    def run(self, data, epochs=1):
        for _ in range(epochs):
            for batch in data:
                self.output = self.step(batch)
                self.fire("step")
            self.fire("epoch")
"""
METRICS = """
import torch

class Confusion:
    def __init__(self, classes):
        self.counts = torch.zeros(classes, classes)

    def attach(self, engine, name):
        engine.add_handler("step", self.update)
        engine.add_handler("epoch", self.show, name)

    def update(self, engine):
        self.counts += 1

    def show(self, engine, name):
        print(name, self.counts.sum().item())
"""
MAIN = """
from flow.engine import Engine
from flow.metrics import Confusion

def main(epochs):
    trainer = Engine(len)
    evaluator = Engine(len)
    {before}

    {on}
    def validate(engine):
        {each}
        evaluator.run(["ab", "c"])

    {after}
    trainer.run(["ab", "c"], epochs)

if __name__ == "__main__":
    main(20)
"""
BY_DECORATOR = {"on": '@trainer.on("epoch")', "after": "pass"}
BY_CALL = {"on": "", "after": 'trainer.add_handler("epoch", validate)'}


def project(main: str) -> dict[str, str]:
    return {"flow/engine.py": ENGINE, "flow/metrics.py": METRICS, "main.py": main}


@pytest.mark.parametrize("way", [BY_DECORATOR, BY_CALL])
def test_a_metric_for_each_epoch(way: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attached = 'Confusion(100).attach(evaluator, "confusion")  # TML314'
    check_project(project(MAIN.format(before="pass", each=attached, **way)), tmp_path, monkeypatch)


@pytest.mark.parametrize("way", [BY_DECORATOR, BY_CALL])
@pytest.mark.parametrize(
    ("before", "each"),
    [
        ('Confusion(100).attach(evaluator, "confusion")', "pass"),
        ("pass", 'evaluator = Engine(len)\n        Confusion(100).attach(evaluator, "confusion")'),
        ("pass", 'evaluator.add_handler("epoch", print, "done")'),
    ],
)
def test_handlers_that_do_not_pile_up(
    before: str, each: str, way: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project(project(MAIN.format(before=before, each=each, **way)), tmp_path, monkeypatch)


def test_handlers_that_are_taken_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = """show = Confusion(100).show
        evaluator.add_handler("epoch", show, "confusion")"""
    after = 'trainer.add_handler("epoch", validate)'
    main = MAIN.format(before="pass", each=each, on="", after=after)
    main = main.replace('"c"])\n', '"c"])\n        evaluator.remove_handler("epoch", show)\n', 1)
    check_project(project(main), tmp_path, monkeypatch)


BUS = """
        class Bus:
            def __init__(self):
                self.handlers = {"epoch": []}

            def add(self, event, handler):
                self.handlers[event].append(handler)%s

            def remove(self, event, handler):
                self.handlers[event] = [one for one in self.handlers[event]%s]

            def fire(self, event):
                for handler in self.handlers[event]:
                    handler()

        class Counts:
            def __init__(self, size):
                self.table = torch.zeros(size, size)

            def update(self):
                self.table += 1

        def run(n):
            bus = Bus()
            for _ in range(n):
                update = Counts(100).update
                bus.add("epoch", update)
                bus.fire("epoch")
                bus.remove("epoch", update)
        """


def test_an_entry_that_is_thinned() -> None:
    check_innocent(BUS % ("", " if one is not handler"))
    check(BUS % ("  # TML314", ""))
