"""Modules whose pass turns gradients off itself and gives something that is no tensor: whoever runs them need not."""

from __future__ import annotations

import pytest
from snippets import check

CUTOUT = """
from torchvision import transforms

class Cutout(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Conv2d(3, width, 3)
        self.head = nn.Conv2d(width, 1, 1)

    {decorated}
    def forward(self, picture):
        x = transforms.ToTensor()(picture)
        {body}
        found = transforms.ToPILImage()(mask[0])
        return found.resize(picture.size).convert("RGB")

def cut_all(paths, load):
    cutout = Cutout(8)
    cutout.eval()
    for path in paths:
        cutout(load(path)).save(path){mark}
"""
PLAIN = {"decorated": "@torch.no_grad()", "body": "mask = self.head(self.encoder(x))", "mark": ""}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"decorated": "@torch.inference_mode()"},
        {"decorated": "", "body": "with torch.no_grad():\n            mask = self.head(self.encoder(x))"},
        {"decorated": "", "body": "with torch.inference_mode():\n"
                                  "            x = self.encoder(x)\n            mask = self.head(x)"},
    ],
)  # fmt: skip
def test_gradients_are_off_in_the_pass(change: dict[str, str]) -> None:
    check(CUTOUT.format(**PLAIN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"decorated": ""},
        {"decorated": "@torch.enable_grad()"},
        {
            "decorated": "",
            "body": "x = self.encoder(x)\n        with torch.no_grad():\n            mask = self.head(x)",
        },
    ],
)
def test_gradients_are_on_in_the_pass(change: dict[str, str]) -> None:
    check(CUTOUT.format(**PLAIN | {"mark": "  # TML201"} | change))
