"""Results of all ranks that one of them reads: joined for each batch, or given back by that one only."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

EACH_BATCH = """
import torch.distributed as dist

@torch.no_grad()
def validate(model, loader):
    rows = []
    for batch in loader:
        out = model(batch)
        parts = [torch.empty_like(out) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, out){mark}
        {adds}
    {then}
"""
READ_BY_ONE = "rows = torch.cat(rows)\n    if dist.get_rank() == 0:\n        print(rows.std(0), rows.shape)"
MARK = "  # TML410"


@pytest.mark.parametrize(
    "adds",
    ["rows.append(torch.cat(parts).cpu())", "rows.append(torch.cat(parts))", "rows += [part.cpu() for part in parts]"],
)
def test_what_each_rank_joins_for_one(adds: str) -> None:
    check(EACH_BATCH.format(adds=adds, then=READ_BY_ONE, mark=MARK))


@pytest.mark.parametrize(
    ("adds", "then"),
    [
        ("rows.append(torch.cat(parts).cpu())", "return torch.cat(rows)"),
        ("rows.append(torch.cat(parts).mean().item())", READ_BY_ONE.replace("torch.cat(rows)", "sum(rows)")),
        ("rows.append(torch.cat(parts).cpu())", "rows = torch.cat(rows)\n    print(rows.std(0), rows.shape)"),
        (
            "if dist.get_rank() == 0:\n            rows.append(torch.cat(parts).cpu())\n        print(parts[0].shape)",
            "return rows",
        ),
    ],
    ids=["given back", "numbers", "read by all", "looked at by all"],
)
def test_what_others_read(adds: str, then: str) -> None:
    check_innocent(EACH_BATCH.format(adds=adds, then=then, mark=""))


GIVEN_BACK = """
import torch.distributed as dist

@torch.no_grad()
def evaluate(model, loader):
    masks = []
    for batch in loader:
        masks.append(model(batch).cpu())
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, masks){mark}
    {then}
"""


@pytest.mark.parametrize(
    "then",
    [
        "if dist.get_rank() != 0:\n        return None\n    return [mask for part in everyone for mask in part]",
        "if dist.get_rank() == 0:\n        return sum(everyone, [])",
    ],
    ids=["after the others have left", "under a test"],
)
def test_what_one_rank_gives_back(then: str) -> None:
    check(GIVEN_BACK.format(then=then, mark=MARK))


def test_what_all_ranks_give_back() -> None:
    check_innocent(GIVEN_BACK.format(then="return [mask for part in everyone for mask in part]", mark=""))
