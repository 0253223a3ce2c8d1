"""Work that goes on after a cache was emptied, in methods whose names say little."""

from __future__ import annotations

import pytest
from snippets import check

BENCH = """
class Bench:
    def __init__(self, model: nn.Module, inputs):
        self.model, self.inputs = model, inputs

    @torch.no_grad()
    def run(self, rounds):
        expected = self.model(self.inputs)
        print(expected.mean())
        torch.cuda.empty_cache(){mark}
        self.{name}(rounds)

    @torch.no_grad()
    def {name}(self, rounds):
        for _ in range(rounds):
            {work}

for batch in batches:
    Bench(Net(), batch).run(3)
"""


@pytest.mark.parametrize("name", ["time", "step", "measure"])
@pytest.mark.parametrize(("work", "mark"), [("self.model(self.inputs)", "  # TML604"), ("print(rounds)", "")])
def test_what_runs_a_model_is_work(name: str, work: str, mark: str) -> None:
    check(BENCH.format(name=name, work=work, mark=mark if name != "measure" else "  # TML604"))
