"""Values of weak mappings that are found there again, or else are conversions of their keys."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

MOVED = """
from torch.utils.weak import WeakTensorKeyDictionary

class Mover:
    def __init__(self, device):
        self.device, self.moved = torch.device(device), WeakTensorKeyDictionary()

    def move(self, tensor):
        {found}
        else:
            {made}
        return other

@torch.no_grad()
def main(device):
    mover, model = Mover(device), Net()
    for step in range(1000):
        mover.move(model(torch.randn(64, 8)))
"""
HIT = "if tensor in self.moved:\n            other = self.moved[tensor]"
STORE = "\n            self.moved[tensor] = other"


def test_what_may_be_its_own_key() -> None:
    check(MOVED.format(found=HIT, made=f"other = tensor.to(self.device){STORE}  # TML316"))


@pytest.mark.parametrize(
    "made",
    [
        f"other = tensor.to(self.device)\n            if other is not tensor:\n        {STORE.strip(chr(10))}",
        f"other = tensor.to(self.device, copy=True){STORE}",
        f"other = tensor.to(self.device)\n            other = other.clone(){STORE}",
    ],
)
def test_what_is_another(made: str) -> None:
    check_innocent(MOVED.format(found=HIT, made=made))


def test_what_is_bound_to_it_afterwards() -> None:
    after = f"other = tensor.clone(){STORE}\n            other = tensor.to(self.device)"
    check_innocent(MOVED.format(found=HIT, made=after))
