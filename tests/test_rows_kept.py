"""One row of a batch that was looked for, and that something keeps."""

import pytest
from snippets import check

BEST = """
class Board:
    def __init__(self):
        self.hits = []

    def add(self, score, feature):
        self.hits.append((score, feature)){told}

@torch.inference_mode()
def search(query, steps, floor):
    net, board = Net().eval(), Board()
    for _ in range(steps):
        features = net(torch.rand(64, 8))
        scores = features @ query
        best = {best}
        if scores[best] > floor:
            board.add(scores[best].item(), features[best]{copied})
    return board
"""


@pytest.mark.parametrize(
    ("best", "copied", "told"),
    [
        ("int(scores.argmax())", "", "  # TML309"),
        ("scores.argmax().item()", "", "  # TML309"),
        ("int(scores.argmax())", ".clone()", ""),
        ("scores.topk(3).indices", "", ""),  # an index by a tensor copies
    ],
)
def test_the_best_row_that_was_looked_for(best: str, copied: str, told: str) -> None:
    check(BEST.format(best=best, copied=copied, told=told))
