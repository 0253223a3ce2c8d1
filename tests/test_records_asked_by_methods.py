"""Lists of objects that have a model, and of which methods tell what was measured."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SWEEP = """
class Run:
    def __init__(self, model, tag):
        self.model, self.tag, self.scores = model, tag, []

    def __call__(self, batches):
        with torch.no_grad():
            for x in batches:
                self.scores.append(self.model(x).sum().item())
        return self

    def mean(self):
        return sum(self.scores) / len(self.scores)

    def row(self):
        return self.tag, self.mean()

    def again(self, x):
        return self.model(x).sum().item()

    def free(self):
        self.model = None

    def saved(self):
        return save(self)

def sweep(paths, batches):
    finished = []
    for path in paths:
        model = nn.Linear(512, 512)
        model.load_state_dict(torch.load(path))
        run = Run(model, path)(batches)
        finished.append(run){mark}
        del model
{reads}
"""
GUILTY = {
    "a method": "return [run.row() for run in finished]",
    "put in order": "return sorted((run.row() for run in finished), key=lambda row: row[1])",
    "one by one": "for run in finished:\n    print(run.tag, run.mean())",
    "the best": "return max(finished, key=lambda run: run.mean()).tag",
}
INNOCENT = {
    "runs the model again": "return [run.again(batches[0]) for run in finished]",
    "lets go of it": "for run in finished:\n    print(run.row())\n    run.free()",
    "as a whole": "return [run.saved() for run in finished]",
    "by a function in it": "return list(map(lambda one: finished[one].model, range(4)))",
    "by its name": "return {run.tag: run.model for run in finished}",
}


@pytest.mark.parametrize("reads", GUILTY.values(), ids=GUILTY)
def test_nobody_needs_the_models(reads: str) -> None:
    check(SWEEP.format(reads=textwrap.indent(reads, "    "), mark="  # TML311"))


@pytest.mark.parametrize("reads", INNOCENT.values(), ids=INNOCENT)
def test_somebody_does(reads: str) -> None:
    check(SWEEP.format(reads=textwrap.indent(reads, "    "), mark=""))
