"""Tables of records, filled by one call, of which only the light parts are ever read."""

from __future__ import annotations

import pytest
from snippets import check

HEAD = """
class Run:
    def __init__(self, name):
        self.name = name
        self.net = nn.Linear(64, 64)
        self.metrics = {{}}

    def fit(self, x):
        with torch.no_grad():
            self.metrics = {{"score": self.net(x).mean().item()}}

    def again(self, x):
        return self.net(x)

class Sweep:
    def __init__(self, names):
        self.names = list(names)
        self.runs = {{}}

    def fit(self, x):
        for name in self.names:
            run = Run(name)
            run.fit(x)
            {puts}

    def report(self, x):
        {reads}

def main(names):
    sweep = Sweep(names)
    sweep.fit(torch.randn(8, 64))
    print(sweep.report(torch.randn(8, 64)))
"""
PUTS = "self.runs[name] = run"
GUILTY = [
    "return {name: run.metrics for name, run in self.runs.items()}",
    "return max(run.metrics['score'] for run in self.runs.values())",
    "for name, run in self.runs.items():\n            print(name, run.name, run.metrics)",
    "for name in self.runs:\n            print(name, self.runs[name].metrics)",
    "return len(self.runs), [self.runs[name].metrics for name in self.names if name in self.runs]",
    "first = self.runs[self.names[0]]\n        return first.metrics, list(self.runs.keys())",
]
INNOCENT = [
    "return {name: run.net for name, run in self.runs.items()}",
    "return self.runs",
    "return list(self.runs.values())",
    "return sorted(self.runs.items(), key=lambda pair: pair[1].metrics['score'])[0]",
    "return {name: run.again(x) for name, run in self.runs.items()}",
    "for name, run in self.runs.items():\n            show(run)",
    "return self.runs.get(self.names[0])",
    "return self.runs.pop(self.names[0]).metrics",
    "return dict(self.runs)",
    "return [getattr(run, part) for run in self.runs.values() for part in PARTS]",
]


@pytest.mark.parametrize("reads", GUILTY)
def test_models_of_a_table_that_nobody_reads(reads: str) -> None:
    check(HEAD.format(puts=PUTS + "  # TML311", reads=reads))


@pytest.mark.parametrize("reads", INNOCENT)
def test_tables_whose_models_somebody_may_want(reads: str) -> None:
    check(HEAD.format(puts=PUTS, reads=reads))


def test_what_is_light_or_has_few_keys() -> None:
    reads = GUILTY[0]
    check(HEAD.format(puts="self.runs[name] = run.metrics", reads="return {name: m for name, m in self.runs.items()}"))
    check(HEAD.format(puts="self.runs['last'] = run", reads=reads))
    check(HEAD.format(puts=PUTS, reads=reads).replace("print(sweep.report", "print(sweep.runs, sweep.report"))


def test_a_method_of_a_record_may_read_what_weighs() -> None:
    text = HEAD.replace("self.runs = {{}}", "self.runs = []")
    check(text.format(puts="self.runs.append(run)", reads="return [run.again(x) for run in self.runs]"))
