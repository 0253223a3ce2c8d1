"""Tensors of all ranks that go with their batch, results that a helper gives back beside others, and what only asks how
much there is."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
import torch.distributed as dist

@torch.no_grad()
def extract(model, loader):
    rows, seen = [], 0
    for x in loader:
        out = model(x)
        parts = [torch.empty_like(out) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, out){mark}
        {adds}
        seen += len(x)
    return torch.cat(rows) if rows else None, seen / len(loader)

def tell(rows):
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, rows.numel() / 2**20 if rows is not None else 0.0)
    if dist.get_rank() == 0:
        print(sizes)

def look(rows):
    tell(rows)
    print(rows[:4])

def main(model, loader):
    bank, mean = extract(model, loader)
    {then}
    if dist.get_rank() == 0:
        print(bank.std(0), mean)
"""
ALL, ONE = "rows.append(torch.cat(parts))", "if dist.get_rank() == 0:\n            rows.append(torch.cat(parts))"
MARK = "  # TML410"
CASES = {
    "every rank keeps them": (MARK, ALL, "pass"),
    "every rank has the mean": (MARK, ALL, "print(mean)"),
    "every rank says how much it has": (MARK, ALL, "tell(bank)"),
    "every rank has a look": ("", ALL, "look(bank)"),
    "one rank takes them from its batch": ("", ONE, "pass"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_batch_of_all_ranks(case: str) -> None:
    mark, adds, then = CASES[case]
    source = SCRIPT.format(mark=mark, adds=adds, then=then)
    check(
        source
        if adds == ONE
        else source.replace("return torch.cat(rows) if rows else None,", "return torch.cat(rows),")
    )


STATES = """
import torch.distributed as dist

def collect(state, rank, epochs):
    found = {}
    for name, moment in state.items():
        parts = [torch.empty_like(moment) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, moment)  # TML410
        if rank == 0:
            found[name] = [part.cpu() for part in parts]
    for epoch in range(epochs):
        rows = found["rows"][epoch]
        everyone = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(everyone, rows)  # TML410
        if rank == 0:
            print(torch.cat(everyone).std(0))
    return found
"""


def test_what_is_gathered_in_other_rounds() -> None:
    check(STATES)


STATE = """
import torch.distributed as dist

def save(model, path):
    state = {state}
    full = [None] * dist.get_world_size()
    dist.all_gather_object(full, state){mark}
    if dist.get_rank() == 0:
        torch.save(full, path)
"""


@pytest.mark.parametrize(("state", "mark"), [("model.state_dict()", MARK), ("model.training", "")])
def test_the_state_of_a_model(state: str, mark: str) -> None:
    check(STATE.format(state=state, mark=mark))
