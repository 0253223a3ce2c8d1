"""Statements that make a copy of a tensor, or a list of such, and drop it: several methods on end, comprehensions."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, messages

PROGRAM = """
def features(loader):
    model = Net().train()
    found = []
    for x in loader:
        outs = [model(x), model(-x)]
        out = outs[0] * 2
        {statement}
        out.pow(2).mean().backward()
        found.append({kept})
    return found
"""
CASES = {
    "one on end of the other": ("out.detach().cpu()  # TML605", "out.sum().item()"),
    "the other way round": ("out.cpu().detach()  # TML605", "out.sum().item()"),
    "for each of a list": ("[one.detach() for one in outs]  # TML605", "len(outs)"),
    "in place": ("out.detach_().requires_grad_().cpu  # noqa: B018", "out.sum().item()"),
    "what is written into": ("out.detach().clamp_(0, 1)", "out.sum().item()"),
    "a list that is bound": ("outs = [one.detach() for one in outs]", "len(outs)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_copy_that_nothing_takes(case: str) -> None:
    statement, kept = CASES[case]
    check(PROGRAM.format(statement=statement, kept=kept))


ROUNDS = """
def rounds(devices, batches):
    grid = torch.zeros(64, 64)
    {}
    return grid.mean()
"""


@pytest.mark.parametrize(
    "rounds",
    [
        "for _ in range(100):\n        grid.clone()",
        "grid.clone()",
        "for _ in range(100):\n        grid.cpu()\n        torch.cuda.synchronize()",
        "for i in range(torch.cuda.device_count()):\n        grid.to(f'cuda:{i}')",
        "for device in devices:\n        grid.to(device)\n        print(device)",
        "for device in devices:\n        grid.float().to(device=device)",
    ],
)
def test_a_copy_for_its_own_sake(rounds: str) -> None:
    check_innocent(ROUNDS.format(rounds))


@pytest.mark.parametrize(
    "rounds",
    [
        "grid.detach().clone()  # TML605",
        "for batch in batches:\n        grid.cpu()  # TML605\n        print(batch.mean())",
        "for device in devices:\n        grid.to(device)  # TML605\n        print(grid.mean())",
        "for batch in batches:\n        grid = grid + batch\n        grid.to(batch.device)  # TML605",
    ],
)
def test_a_copy_that_was_to_be_taken(rounds: str) -> None:
    check(ROUNDS.format(rounds))


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        ("for p in net.parameters():\n        p.to(device)", "`p.data = p.data.to(...)`"),
        (
            "for name, p in net.named_parameters():\n        p.to(device)",
            "`p.data = p.data.to(...)`",
        ),
        ("for x in outs:\n        print(x.shape)\n        x.cpu()", "a new list, `[x.cpu(...) for x in ...]`"),
        ("for x in outs:\n        x.cpu()\n        print(x.device)", "`x = x.cpu(...)`"),
        ("while outs:\n        x = outs.pop()\n        x.cpu()", "`x = x.cpu(...)`"),
    ],
)
def test_what_to_write_instead(loop: str, said: str) -> None:
    """To bind the name of a loop anew changes nothing, unless the round goes on with it."""
    text = f"def moved(device):\n    net = Net()\n    outs = [net(torch.rand(4, 8)) for _ in range(3)]\n    {loop}\n"
    assert [one.partition("; write ")[2] for one in messages(text)] == [said]
