"""Tables that begin as a copy of the module's own: they have the same lists, unless these are copied as well."""

from __future__ import annotations

import pytest
from snippets import check

RUNNERS = """
import copy
from collections import OrderedDict, defaultdict

DEFAULTS = {{"begin": [print], "end": [print]}}

class Average:
    def __init__(self, model):
        self.shadow = copy.deepcopy(model)

    def __call__(self, runner):
        print(runner)

class Runner:
    def __init__(self):
        self.model = Net()
        self.callbacks = {made}

    def on(self, event, callback):
        self.callbacks[event].append(callback){mark}

def main(steps):
    for _ in range(steps):
        runner = Runner()
        runner.on("end", Average(runner.model))
"""


@pytest.mark.parametrize("made", ["defaultdict(list, DEFAULTS)", "OrderedDict(DEFAULTS)"])
def test_the_lists_of_the_module(made: str) -> None:
    check(RUNNERS.format(made=made, mark="  # TML301"))


@pytest.mark.parametrize(
    "made",
    [
        "defaultdict(list, copy.deepcopy(DEFAULTS))",
        "defaultdict(list, {name: list(each) for name, each in DEFAULTS.items()})",
        "defaultdict(list, begin=[print], end=[print])",
    ],
)
def test_lists_of_its_own(made: str) -> None:
    check(RUNNERS.format(made=made, mark=""))
