"""Snippets whose tensors are put together, moved to the host, or let go after a few turns, run with stand-ins."""

from __future__ import annotations

import importlib.util

import pytest
from conftest import Judge

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.runtime import judge

EVALUATE = """
import torch

def longer(old, new):
    return new if old is None else torch.cat([old, new], dim=0)

class Runner:
    def __init__(self, model):
        self.model, self.queue = model, torch.zeros(0, 8)

    @torch.no_grad()
    def run(self, loader):
        seen, ids = None, None
        for batch in loader:
            out = self.model(batch)
            {body}
        return seen
"""
JOINED = {
    "put together": ("seen = out if seen is None else torch.cat((seen, out))", "growing"),
    "by a helper": ("seen = longer(seen, out.reshape(-1))", "growing"),
    "kept in an attribute": ("self.queue = torch.vstack([self.queue, out.detach()])", "growing"),
    "only the last of them": ("self.queue = torch.cat([self.queue, out])[-16:]", "refuted"),
    "only some of them": ("self.queue = torch.cat([self.queue, out])[self.order]", "refuted"),
    "two at a time": ("self.pair = torch.cat([batch, out])", "refuted"),
    "indices that are drawn": ("ids = longer(ids, out.argmax(-1).unsqueeze(0))", "refuted"),
    "until it is long": ("self.queue = out if len(self.queue) >= 32 else longer(self.queue, out)", "refuted"),
}


@pytest.mark.parametrize("name", JOINED)
def test_what_is_put_together_is_longer(judged: Judge, name: str) -> None:
    body, status = JOINED[name]
    verdict = judged(EVALUATE.replace("{body}", f"{body}  # here"), "TML310")
    assert verdict.status == status, verdict.reason


@pytest.mark.parametrize("body", ["seen = longer(seen, out)", "self.rows.append(out)"])
def test_the_host_is_no_device(judged: Judge, body: str) -> None:
    """What is said of a device's memory is mended by moving it to the host; what is said of graphs is not."""
    text = EVALUATE.replace("self.queue = model,", "self.rows = model, []\n        self.queue =")
    fix = ".cpu()" if "seen" in body else ""
    moved = body if fix else "self.rows.append(out.cpu())"
    fixed = text.replace("{body}", f"{body}{fix}  # here") if fix else None
    verdict = judged(text.replace("{body}", f"{body}  # here"), "TML310", fixed=fixed)
    assert verdict.status == "growing", verdict.reason
    assert not fix or (verdict.after_fix is not None and verdict.after_fix.status == "refuted"), verdict.after_fix
    assert judged(text.replace("{body}", f"{moved}{fix}  # here"), "TML310").status == "refuted"
    assert judged(text.replace("{body}", f"{moved}{fix}  # here"), "TML303").status == "growing"


EPOCHS = """
class Trainer:
    def __init__(self, model):
        self.model, self.rows = model, []

    def step(self, batch):
        self.rows.append(self.model(batch))  # here
        if len(self.rows) == {turns}:
            self.rows.clear()
"""


@pytest.mark.parametrize(("turns", "status"), [(4, "inconclusive"), (1, "refuted"), (9, "growing")])
def test_epochs_of_few_turns(judged: Judge, turns: int, status: str) -> None:
    """A table that is emptied after every four is not seen to be let go, nor to grow."""
    verdict = judged(EPOCHS.replace("{turns}", str(turns)), "TML102")
    assert verdict.status == status, verdict.reason


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        ([0, 8, 16, 24] * 6, True),
        ([0, 8, 16, 24, 8, 8, 16, 24, 24, 24, 24], True),  # the later ones are rarer looks
        ([8] * 24, False),
        ([8, 0] * 12, False),
        ([0, 8, 16, 24, 32, 40, 48], False),
    ],
)
def test_what_is_cut_short(values: list[int], cut: bool) -> None:
    hits = [*range(1, 9), *range(16, 16 + 8 * len(values), 8)]
    assert judge.is_cut_short(list(zip(hits, values, strict=False))) is cut


def test_it_takes_too_long(judged: Judge) -> None:
    steps = "    x = torch.rand(1000, 1000) @ torch.rand(1000, 1000)\n" * 40
    verdict = judged(f"import torch\n\ndef run(model):\n{steps}    model.loss = x.sum()  # here\n", "TML102")
    assert verdict.status == "inconclusive" and "longer than" in verdict.reason, verdict.reason
