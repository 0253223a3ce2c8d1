"""What a step has a method of the same object keep for it."""

from __future__ import annotations

import pytest
from snippets import check

TAGGER = """
class Tagger(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.found = nn.Linear(8, 2), []

    def training_step(self, batch):
        return F.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch):
        scores = self.net(batch[0])
        {put}

    def note(self, scores):
        self.found.append({kept}){mark}

    def on_validation_epoch_end(self):
        print(torch.cat(self.found).mean())
        {end}
"""


@pytest.mark.parametrize(
    ("put", "kept", "mark", "end"),
    [
        ("self.note(scores)", "scores", "  # TML107", "pass"),
        ("self.note(scores)", "scores", "", "self.found.clear()"),
        ("self.note(scores.mean().item())", "scores", "", "self.found.clear()"),
        ("print(scores.mean())", "scores", "", "pass"),
    ],
)
def test_the_outputs_of_steps(put: str, kept: str, mark: str, end: str) -> None:
    check(TAGGER.format(put=put, kept=kept, mark=mark, end=end))
