"""What holds itself while the cyclic collector is off: what loops make until it is on again, or somebody collects."""

from __future__ import annotations

import pytest
from snippets import check

HEAD = """\
import contextlib
import gc
import time

import torch


class Step:
    def __init__(self, x):
        self.x = x
        self.on_done = self.finish{mark}

    def finish(self):
        return self.x.mean().item()

    @classmethod
    def drawn(cls, seed):
        return Step(torch.full((8, 64), float(seed)))


def steps(count):
    for seed in range(count):
        yield Step(torch.full((8, 64), float(seed)))


def tables(model):
    gc.disable()
    try:
        return {name: value.tolist() for name, value in model.named_parameters()}
    finally:
        gc.enable()


def main(count):
    print(tables(torch.nn.Linear(4, 4)), run(count))


"""

GUILTY = {
    "collected once before": """
        def run(count):
            gc.collect()
            gc.disable()
            return sum(step.on_done() for step in map(passed, steps(count)))

        def passed(step):
            gone = 0
            for other in steps(4):
                gone += other.on_done()
            return step
        """,
    "until the end of the loop": """
        def run(count):
            gc.disable()
            total = 0
            for step in steps(count):
                total += step.on_done()
            gc.enable()
            gc.collect()
            return total
        """,
    "turned off by a helper for good": """
        def quiet():
            gc.collect()
            gc.freeze()
            gc.disable()

        def run(count):
            quiet()
            total = 0
            for seed in range(count):
                total += Step.drawn(seed).on_done()
            return total
        """,
    "for a block": """
        @contextlib.contextmanager
        def quiet():
            gc.disable()
            try:
                yield
            finally:
                gc.enable()

        def run(count):
            gc.collect()
            with quiet():
                return work(count)

        def work(count):
            total = 0
            for seed in range(count):
                total += Step.drawn(seed).on_done()
            return total
        """,
    "in what a method calls": """
        class Trainer:
            def fit(self, count):
                gc.collect()
                gc.disable()
                for epoch in range(3):
                    self.epoch(count)
                gc.enable()

            def epoch(self, count):
                for step in steps(count):
                    step.on_done()

        def run(count):
            Trainer().fit(count)
        """,
}

INNOCENT = {
    "off elsewhere, and for a moment": """
        def run(count):
            total = 0
            for number, step in enumerate(steps(count)):
                total += step.on_done()
                if number % 50 == 0:
                    gc.collect()
            return total
        """,
    "collected now and then": """
        def run(count):
            gc.collect()
            gc.disable()
            total = 0
            for number, step in enumerate(steps(count)):
                total += step.on_done()
                if number % 50 == 0:
                    gc.collect(1)
            return total
        """,
    "collected by a helper": """
        class Sweeper:
            def __init__(self, every):
                self.every = every
                gc.disable()
                self.sweep()

            def step(self, number):
                if number % self.every == 0:
                    self.sweep()

            def sweep(self):
                gc.collect()

        def run(count):
            sweeper, total = Sweeper(50), 0
            for number, step in enumerate(steps(count)):
                total += step.on_done()
                sweeper.step(number)
            return total
        """,
    "off for each step alone": """
        def run(count):
            total = 0
            for seed in range(count):
                gc.disable()
                total += Step.drawn(seed).on_done()
                gc.enable()
            gc.collect()
            return total
        """,
    "off in a block without them": """
        @contextlib.contextmanager
        def quiet():
            gc.disable()
            try:
                yield
            finally:
                gc.enable()

        def run(count):
            with quiet():
                sizes = [number * 2 for number in range(count)]
            gc.collect()
            return work(sizes)

        def work(sizes):
            total = 0
            for size in sizes:
                total += Step.drawn(size).on_done()
            return total
        """,
    "off and on by helpers, around something else": """
        def pause():
            gc.disable()

        def resume():
            gc.enable()
            gc.collect()

        def measure(count):
            pause()
            times = [time.perf_counter() for _ in range(count)]
            resume()
            return times

        def run(count):
            measure(count)
            total = 0
            for seed in range(count):
                total += Step.drawn(seed).on_done()
            return total
        """,
    "collected before each short round": """
        def round_of(seed):
            gc.collect()
            gc.disable()
            return Step.drawn(seed).on_done()

        def run(count):
            total = 0
            for seed in range(count):
                total += round_of(seed)
            return total
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY)
def test_what_piles_up(snippet: str) -> None:
    check(snippet, prelude=HEAD.replace("{mark}", "  # TML315"))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT)
def test_what_is_collected(snippet: str) -> None:
    check(snippet, prelude=HEAD.replace("{mark}", ""))
