"""Models that one method makes, and whose counterpart empties the cache and lets go of nothing."""

from __future__ import annotations

import pytest
from snippets import check

STAGE = """
import gc

class Stage:
    def __init__(self, width):
        self.width = width
        self.rows = []

    def make(self):
        return nn.Linear(self.width, self.width)

    def {opens}(self):
        self.layer = {made}

    def process(self, x):
        with torch.no_grad():
            return self.layer(x)

    def {closes}(self):
        {body}

def run(stages, x):
    for stage in stages:
        stage.{opens}()
        x = stage.process(x)
        stage.{closes}()
    return x

def main():
    print(run([Stage(8) for _ in range(4)], torch.randn(2, 8)))
"""
EMPTIES = "gc.collect()\n        torch.cuda.empty_cache()"
MARKED = EMPTIES + "  # TML604"
PAIRS = [("setup", "teardown"), ("load", "unload"), ("open", "close"), ("__enter__", "__exit__")]


@pytest.mark.parametrize(("opens", "closes"), PAIRS)
def test_a_counterpart_that_only_empties_the_cache(opens: str, closes: str) -> None:
    text = STAGE.format(opens=opens, closes=closes, made="self.make()", body=MARKED)
    check(text)
    check(
        text.replace(
            "        self.layer = self", "        try: self.layer = self.make()\n        finally: self", 1
        ).replace("finally: self.make()", "finally: print(self.width)")
    )


INNOCENT = {
    "it goes": ("setup", "teardown", "self.make()", "del self.layer\n        " + EMPTIES),
    "by a helper": ("setup", "teardown", "self.make()", "self.drop()\n        " + EMPTIES),
    "it moves": ("setup", "teardown", "self.make()", "self.layer.cpu()\n        " + EMPTIES),
    "a base class may": ("setup", "teardown", "self.make()", "super().teardown()\n        " + EMPTIES),
    "given from outside": ("setup", "teardown", "LAYER", EMPTIES),
    "no model": ("setup", "teardown", "list(range(self.width))", EMPTIES),
    "no pair": ("setup", "clean", "self.make()", EMPTIES),
    "no cache": ("setup", "teardown", "self.make()", "print(self.width)"),
}


@pytest.mark.parametrize("name", INNOCENT)
def test_counterparts_that_let_go_or_have_nothing_to_free(name: str) -> None:
    opens, closes, made, body = INNOCENT[name]
    check("LAYER = nn.Linear(8, 8)\n" + STAGE.format(opens=opens, closes=closes, made=made, body=body))


def test_a_model_that_somebody_else_lets_go_of() -> None:
    text = STAGE.format(opens="setup", closes="teardown", made="self.make()", body=EMPTIES)
    check(text.replace("        stage.teardown()", "        stage.teardown()\n        stage.layer = None"))
