"""Futures that somebody has used already, and that a list keeps until all of them are waited for."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PROGRAM = """
from concurrent.futures import ThreadPoolExecutor, as_completed, wait

class Scorer:
    def __init__(self, net):
        self.net, self.threads = net.eval(), ThreadPoolExecutor(2)
        self.started = {container}

    @torch.inference_mode()
    def _score(self, image):
        return {result}

    def begin(self, image):
        job = self.threads.submit(self._score, image)
        {put}
        return job

{finish}

    def stop(self):
        self.finish()
        self.threads.shutdown()

def run(scorer, images):
    best = 0.0
    for image in images:
        job = scorer.begin(image)
        {use}
        {after}
    return best

def main(images):
    scorer = Scorer(Net())
    try:
        print(run(scorer, images))
    finally:
        {end}
"""
WAITS = "wait(self.started)\nself.started.clear()"
FORM = {
    "container": "[]",
    "result": "self.net(image)",
    "put": "self.started.append(job)",
    "use": "best = max(best, job.result().max().item())",
    "finish": WAITS,
    "after": "pass",
    "end": "scorer.stop()",
}
GUILTY: dict[str, dict[str, str]] = {
    "waited for together": {},
    "waited for one by one": {"finish": "for job in self.started:\n    job.result()\nself.started = []"},
    "as they are done": {"finish": "for job in as_completed(self.started):\n    job.exception()\nself.started.clear()"},
    "a set": {"container": "set()", "put": "self.started.add(job)"},
    "a table": {
        "container": "{}",
        "put": "self.started[id(job)] = job",
        "finish": "for job in list(self.started.values()):\n    job.result()\nself.started.clear()",
    },
    "taken out one by one": {"finish": "while self.started:\n    self.started.pop().result()"},
    "beside its number": {
        "result": "image.shape, self.net(image)",
        "use": "best = max(best, job.result()[1].max().item())",
    },
    "finished by the program": {"end": "scorer.finish()"},
}
INNOCENT: dict[str, dict[str, str]] = {
    "numbers": {"result": "self.net(image).max().item()", "use": "best = max(best, job.result())"},
    "read in the end": {
        "use": "pass",
        "finish": "best = max(job.result().max().item() for job in self.started)\nself.started.clear()\nprint(best)",
    },
    "read in the end, too": {
        "finish": "rows = [job.result() for job in self.started]\nself.started.clear()\nprint(rows)"
    },
    "handed on in the end": {"finish": "print(report(self.started))\nself.started.clear()"},
    "in each round": {"after": "scorer.finish()"},
    "now and then": {"after": "if best > 3:\n            scorer.finish()"},
    "by a helper now and then": {
        "after": "flush(scorer)",
        "end": "scorer.stop()\n\ndef flush(scorer):\n    scorer.finish()",
    },
    "when it is done": {
        "container": "set()",
        "put": "self.started.add(job)\n        job.add_done_callback(self.started.discard)",
        "finish": "wait(list(self.started))",
    },
    "by a callback": {"put": "self.started.append(job)\n        job.add_done_callback(self._drop)"},
    "those that are done": {
        "put": "self.started = [one for one in self.started if not one.done()]\n        self.started.append(job)"
    },
    "when there are many": {
        "put": "self.started.append(job)\n        if len(self.started) > 8:\n            self.finish()"
    },
}


def program(change: dict[str, str]) -> str:
    form = {**FORM, **change}
    finish = "def finish(self):\n" + textwrap.indent(form["finish"], "    ")
    finish += "\n\ndef _drop(self, job):\n    self.started.remove(job)" if "_drop" in form["put"] else ""
    return PROGRAM.format(**{**form, "finish": textwrap.indent(finish, "    ")})


@pytest.mark.parametrize("name", GUILTY)
def test_futures_that_the_list_keeps_to_the_end(name: str) -> None:
    put = GUILTY[name].get("put", FORM["put"])
    check(program({**GUILTY[name], "put": f"{put}  # TML503"}))


@pytest.mark.parametrize("name", INNOCENT)
def test_futures_that_are_taken_out_or_light(name: str) -> None:
    check(program(INNOCENT[name]))
