"""Caching decorators of `functools` before functions that treat a parameter as a tensor, without an annotation."""

from __future__ import annotations

import pytest
from snippets import check

CACHED = """
@functools.lru_cache(maxsize=128){mark}
def made(x, width):
    {body}

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x) * made({given}, 8)
"""
TENSORS = [
    "return torch.ones(x.shape[1], width, device=x.device)",
    "return torch.ones(width, dtype=x.dtype, device=x.device)",
    "return x.new_zeros(width)",
    "return x.unsqueeze(0)",
]
OTHERS = [
    "return torch.ones(*x, width)",
    "return torch.ones(x.numel(), width)",
    "return torch.ones(x.width, width, device=x.device)",
    "return torch.ones(x.shape)",
]


@pytest.mark.parametrize("body", TENSORS)
def test_what_only_tensors_have_makes_a_tensor_of_a_key(body: str) -> None:
    check(CACHED.format(body=body, given="x", mark="  # TML305"))


@pytest.mark.parametrize("body", OTHERS)
def test_shapes_settings_and_spaces_are_light_keys(body: str) -> None:
    check(CACHED.format(body=body, given="x.shape", mark=""))


def test_a_decorator_of_the_project_may_make_a_key_of_it() -> None:
    check("""
def by_shape(function):
    made = {}
    def inner(x):
        key = tuple(x.shape)
        if key not in made:
            made[key] = function(x)
        return made[key]
    return inner

@by_shape
def mask(x):
    return torch.ones(x.shape[1], device=x.device)
""")
