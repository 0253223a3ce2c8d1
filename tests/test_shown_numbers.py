"""Tensors of one number, by the list or the length that they are made of."""

from __future__ import annotations

import pytest
from snippets import check

_CELLS = """
    # %%
    import torch
    words = "a few words of text".split()
    tokens = torch.LongTensor([len(word) for word in words]).cuda()[None]
    # %%
    {made}
    {shown}
    # %%
    print(len(words))
    """


@pytest.mark.parametrize(
    "made",
    [
        "length = torch.LongTensor([tokens.shape[-1]]).cuda()",
        "length = torch.tensor([len(words)])",
        "length = torch.as_tensor([3]).to('cuda')",
    ],
)
def test_a_tensor_of_one_number(made: str) -> None:
    check(_CELLS.format(made=made, shown="tokens.shape, length"), prelude="")


@pytest.mark.parametrize(
    "made",
    [
        "length = torch.LongTensor([tokens.shape[-1]]).expand(4096).clone()",
        "length = torch.tensor([row for row in tokens])",
        "length = torch.tensor([[len(word) for word in words]])",
        "length = torch.randn(tokens.shape[-1], 4096)",
    ],
)
def test_a_tensor_of_many(made: str) -> None:
    check(_CELLS.format(made=made, shown="tokens.shape, length  # TML801"), prelude="")
