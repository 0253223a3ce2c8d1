"""What is called while a model is evaluated, and is no pass of a model; passes that nobody needs to guard."""

from __future__ import annotations

import pytest
from snippets import check

_EVALUATOR = """
class Evaluator:
    def __init__(self, make, search, model):
        self.make, self.search, self.model = make, search, model

    def evaluate(self, batches):
        self.model.eval()
        scores = []
        for batch in batches:
            %s
            scores.append(one.mean().item())
        return scores
"""


@pytest.mark.parametrize(
    "work",
    [
        "one = self.make()",
        "one = self.search(batch.cpu().numpy(), k=3)['scores']",
        "one = self.model(batch)  # TML201",
    ],
)
def test_what_is_given_no_tensor(work: str) -> None:
    check(_EVALUATOR % work)


@pytest.mark.parametrize(
    ("head", "mark"),
    [("def test():", ""), ("def test(net):", "  # TML201"), ("def test():\n    for _ in range(9):", "  # TML201")],
)
def test_trials(head: str, mark: str) -> None:
    """`test()` below a model shows once that it runs; nobody's memory depends on it."""
    indent = "        " if "for" in head else "    "
    made = "" if "(net)" in head else f"{indent}net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))\n"
    body = f"{made}{indent}net.eval()\n{indent}y = net(torch.randn(1, 4)){mark}\n{indent}print(y)\n"
    check(f"{head}\n{body}")
