"""Another attempt inside `except`, in the arguments of a helper that both attempts go through."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

DECODER = """
import torch
from torch import nn

class Decoder:
    def __init__(self):
        self.net = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 3, 3))

    def clipped(self, image):
        return torch.clamp(image, 0.0, 1.0)

    def in_tiles(self, latent):
        model = self.net
        return torch.cat([model(part) for part in latent.chunk(4, dim=-1)], dim=-1)

    @torch.inference_mode()
    def decode(self, latent):
        try:
            return self.clipped(self.net(latent))
        except torch.OutOfMemoryError:
            print("no room for the whole image")
            {clause}
        {after}
"""


def test_the_helper_that_both_go_through_is_not_the_work() -> None:
    check(DECODER.format(clause="return self.clipped(self.in_tiles(latent))  # TML307", after=""))


@pytest.mark.parametrize(
    ("clause", "after"),
    [
        ("pass", "return self.clipped(self.in_tiles(latent))"),
        ("return self.clipped(torch.zeros(1, 3, 8, 8))", ""),
    ],
)
def test_after_the_clause_and_a_blank_image(clause: str, after: str) -> None:
    check_innocent(DECODER.format(clause=clause, after=after))
