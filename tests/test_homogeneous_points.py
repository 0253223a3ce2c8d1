"""Coordinates with a one for each point, of which a product is cut to the coordinates again; `# TML309` is due for
columns of something wider."""

from __future__ import annotations

import pytest
from snippets import check

MAPPED = """
def moved(positions, pose):
    one = torch.ones(*positions.shape[:-1], 1)
    LINES

def sample(shapes, poses, weight, bias):
    places = []
    for shape, pose in zip(shapes, poses):
        places.append(moved(torch.rand(shape, 3), pose))CODE
    return torch.stack(places)
"""
MOST = (
    "extended = torch.cat([positions, one], dim=-1)|mapped = extended @ pose.T|return mapped[..., :3]",
    "mapped = torch.cat([positions, torch.ones_like(positions[:, :1])], 1) @ pose|return mapped[:, :3]",
    "mapped = torch.matmul(torch.cat((positions, one), -1), pose)|return mapped[..., :3]",
    "extended = torch.nn.functional.pad(positions, (0, 1), value=1.0)|mapped = extended.matmul(pose)|"
    "return mapped[:, :3]",
    "extended = torch.cat([positions, one], dim=-1)|return extended[:, :3]",
)
FEW = (
    "mapped = positions @ pose.T|return mapped[..., :3]",
    "extended = torch.cat([positions, positions], dim=-1)|mapped = extended @ pose.T|return mapped[..., :3]",
    "extended = torch.nn.functional.pad(positions, (0, 1))|mapped = extended @ pose.T|return mapped[..., :3]",
)


def _program(lines: str, mark: str) -> str:
    return MAPPED.replace("LINES", lines.replace("|", "\n    ")).replace("CODE", mark)


@pytest.mark.parametrize("lines", MOST)
def test_most_of_it(lines: str) -> None:
    check(_program(lines, ""))


@pytest.mark.parametrize("lines", FEW)
def test_a_few_columns(lines: str) -> None:
    check(_program(lines, "  # TML309"))
