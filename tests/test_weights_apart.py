"""Names that have a model's weights when the model goes for the memory."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
import gc

def fit(x):
    student = nn.Linear(64, 8)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        student(x).square().mean().backward()
        opt.step()
    return student

def main(x, path):
    model = nn.Linear(64, 64)
    {apart}
    torch.save(model.state_dict(), path)
    {goes}
    gc.collect()
    torch.cuda.empty_cache()
    student = fit(x)
    {later}
    return student
"""
GOES, MARK = "del model", "  # TML604"
CASES = {
    "its state": ("state = model.state_dict()", GOES + MARK, "pass"),
    "a list": ("weights = list(model.parameters())", GOES + MARK, "pass"),
    "those that train": ("weights = [p for p in model.parameters() if p.requires_grad]", GOES + MARK, "pass"),
    "by name": ("weights = {n: p for n, p in model.named_parameters()}", GOES + MARK, "pass"),
    "copies": ("weights = {n: p.cpu() for n, p in model.state_dict().items()}", GOES, "pass"),
    "numbers": ("weights = [p.numel() for p in model.parameters()]", GOES, "pass"),
    "names": ("names = [n for n in model.state_dict()]", GOES, "pass"),
    "gone before": ("state = model.state_dict()\n    del state", GOES, "pass"),
    "gone with it": ("state = model.state_dict()", "del model, state", "pass"),
    "in use": ("state = model.state_dict()", GOES, 'student.bias.data.copy_(state["bias"][:8])'),
}


@pytest.mark.parametrize("case", CASES)
def test_weights_apart(case: str) -> None:
    apart, goes, later = CASES[case]
    check(SCRIPT.format(apart=apart, goes=goes, later=later))
