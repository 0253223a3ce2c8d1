"""Work in native code that ran out of memory: it leaves no frame behind, unlike what a function or a model began."""

from __future__ import annotations

import pytest
from snippets import check

ATTEND = """
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention

def in_slices(q, k, v):
    out = torch.empty_like(q)
    for start in range(0, q.shape[1], 64):
        out[:, start : start + 64] = torch.softmax(q[:, start : start + 64] @ k.transpose(1, 2), -1) @ v
    return out

def scores_of(q, k):
    scale = q.shape[-1] ** -0.5
    return torch.bmm(q * scale, k.transpose(1, 2))

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)

    def forward(self, q, k, v):
        try:
            TRY
        except torch.cuda.OutOfMemoryError:
            print("too little memory for all of it at once")
            out = in_slices(q, k, v)CODE
        return out
"""
NATIVE = (
    "out = F.scaled_dot_product_attention(q, k, v)",
    "out = scaled_dot_product_attention(q, k, v, dropout_p=0.0).transpose(1, 2).reshape(q.shape)",
    "out = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)",
    "out = q.matmul(k.transpose(-2, -1)).softmax(-1).matmul(v).contiguous()",
    "with torch.autocast('cuda'):\n                out = torch.einsum('bij,bjd->bid', q.float(), v)",
    "out = torch.cat([torch.bmm(part, v) for part in q.chunk(2, dim=1)], dim=1)",
)
BEGUN = (
    "out = self.project(F.scaled_dot_product_attention(q, k, v))",
    "out = torch.bmm(torch.softmax(scores_of(q, k), dim=-1), v)",
    "out = torch.utils.checkpoint.checkpoint(scores_of, q, k, use_reentrant=False)",
    "out = F.multi_head_attention_forward(q, k, v, 8, 1, None, None, None, None, False, 0.0, None, None)[0]",
    "out = self.project.forward(q).transpose(1, 2)",
)


@pytest.mark.parametrize("tried", NATIVE)
def test_leaves_no_frame(tried: str) -> None:
    check(ATTEND.replace("TRY", tried).replace("CODE", ""))


@pytest.mark.parametrize("tried", BEGUN)
def test_leaves_the_frames_of_what_it_began(tried: str) -> None:
    check(ATTEND.replace("TRY", tried).replace("CODE", "  # TML307"))


ROUNDS = """
def largest(model, sizes, k):
    for size in sizes:
        try:
            with torch.no_grad():
                found = TRY
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            torch.cuda.empty_cache()CODE
            continue
        print(size, found.sum().item())
"""


@pytest.mark.parametrize(
    ("tried", "mark"),
    [
        ("torch.cdist(torch.rand(size, 8), k)", ""),
        ("torch.rand(size, 8).matmul(k)", ""),
        ("model(torch.rand(size, 8)).detach()", "  # TML604"),
    ],
)
def test_rounds_that_go_on(tried: str, mark: str) -> None:
    check(ROUNDS.replace("TRY", tried).replace("CODE", mark))
