"""What a pass, or a step, has a method of the same object keep for it."""

from __future__ import annotations

import pytest
from snippets import check

ATTENTION = """
class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.last_map = nn.Linear(width, width), nn.Linear(width, width), None

    def keep(self, weights):
        self.last_map = {kept}

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).transpose(-1, -2)).softmax(-1)
        {put}
        return weights @ x

def fit(loader):
    model = nn.Sequential(Attention(8), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "put"),
    [
        ("weights  # TML108", "self.keep(weights)"),
        ("weights.detach()", "self.keep(weights)"),
        ("weights", "self.keep(weights.detach())"),
        ("weights", "print(weights.shape)"),
    ],
)
def test_an_activation(kept: str, put: str) -> None:
    check(ATTENTION.format(kept=kept, put=put))


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
