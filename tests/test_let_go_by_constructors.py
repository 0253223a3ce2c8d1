"""Constructors that let go of what they are given: whoever makes the object still binds it, unless it has left."""

from __future__ import annotations

import pytest
from snippets import check

WRAPPER = """
class Encoder(nn.Module):
    def __init__(self, encoder, dtype):
        super().__init__({base})
        self.config = encoder.config
        {keeps}
        del encoder{mark}
        torch.cuda.empty_cache()

    def forward(self, x):
        return x * self.scale

def main(batches):
    encoder = Net().cuda()
    wrapped = Encoder(encoder, torch.float32)
    for batch in batches:
        with torch.no_grad():
            print(wrapped(batch).sum(), encoder(batch).sum())
"""


@pytest.mark.parametrize("base", ["", "encoder.config"])
@pytest.mark.parametrize(
    ("keeps", "mark"),
    [
        ('self.encoder = encoder.to("cpu")', ""),
        ('self.encoder = encoder.to(torch.device("cpu"), non_blocking=True)', ""),
        ("self.scale = encoder.cpu().layer.weight.mean()", ""),
        ("self.scale = encoder.layer.weight.mean().item()", "  # TML602"),
        ("self.scale = encoder.to(dtype).layer.weight.mean().item()", "  # TML602"),
    ],
)
def test_what_a_constructor_is_given(base: str, keeps: str, mark: str) -> None:
    check(WRAPPER.format(base=base, keeps=keeps, mark=mark))
