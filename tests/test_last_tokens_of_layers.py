"""The last token of each row, by numbers, out of the states of all layers."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

POOL = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(32, 64, num_layers=3, batch_first=True)

    def forward(self, x):
        steps, _ = self.body(x)
        return torch.stack([steps, steps * 2])

@torch.inference_mode()
def pooled(model, batches):
    found = []
    for x, lengths in batches:
        states = model(x)
        for row, length in enumerate(lengths):
            found.append({taken}){mark}
    return found

def main(steps):
    print(len(pooled(Encoder().eval(), batches(steps))))

def batches(count):
    for _ in range(count):
        yield torch.randn(4, 16, 32), [16] * 4
"""


@pytest.mark.parametrize("taken", ["states[-1, row, length - 1]", "states[0, row, length - 1]"])
def test_one_of_each_row(taken: str) -> None:
    check(POOL.format(taken=taken, mark="  # TML309"))


@pytest.mark.parametrize("taken", ["states[-1, row, length - 1].clone()", "states[-1, row, :length]"])
def test_a_copy_and_most_of_it(taken: str) -> None:
    check_innocent(POOL.format(taken=taken, mark=""))
