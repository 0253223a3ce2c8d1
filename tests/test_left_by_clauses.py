"""Requests that an `except` clause leaves begun in the table of another object."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

RUNNER = """
class Cancelled(Exception):
    pass

class Stats:
    def __init__(self):
        self.outputs, self.starts = {}, {}

    def collect(self, request_id, name, output):
        self.outputs.setdefault(request_id, {})[name] = output

    def forget(self, request_id):
        self.outputs.pop(request_id, None)

class Runner:
    def __init__(self, layers):
        self.layers, self.stats, self.cancelled = layers, Stats(), set()

    def layer(self, request_id, name, x):
        if request_id in self.cancelled:
            raise Cancelled(request_id)
        with torch.inference_mode():
            return self.layers[name](x)

    def drop(self, request_id):
{drop}

    def run(self, request_id, x):
{run}

def serve(runner, requests):
    for request_id, x in requests:
        print(runner.run(request_id, x))
"""
RUN = """
try:
    for name in self.layers:
        x = self.layer(request_id, name, x)
        self.stats.collect(request_id, name, x){mark}
    print(self.check(x))
    self.stats.forget(request_id)
{clauses}
return x.mean().item()
"""


def runner(clauses: str, *, guilty: bool = False, drop: str = "print(request_id)") -> str:
    run = RUN.replace("{clauses}", clauses.strip("\n")).replace("{mark}", "  # TML303" if guilty else "")
    text = RUNNER.replace("{run}", textwrap.indent(run.strip("\n"), 8 * " "))
    return text.replace("{drop}", 8 * " " + drop)


GUILTY = {
    "what was cancelled": runner("except Cancelled:\n    return None", guilty=True),
    "what failed": runner("except Exception as error:\n    print(error)\n    return None", guilty=True),
}
INNOCENT = {
    "in a finally": runner("except Cancelled:\n    return None\nfinally:\n    self.stats.forget(request_id)"),
    "in the clause": runner("except Cancelled:\n    self.stats.forget(request_id)\n    return None"),
    "it is raised again": runner("except Cancelled:\n    print(request_id)\n    raise"),
    "somebody else does it": runner("except Cancelled:\n    return None", drop="self.stats.forget(request_id)"),
}


@pytest.mark.parametrize("name", GUILTY)
def test_request_that_is_left(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_request_that_is_ended(name: str) -> None:
    check(INNOCENT[name])
