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


_BATCHES = """
# %%
import torch
from torch.utils.data import DataLoader, TensorDataset
from datasets import load_dataset

# %%
loader = DataLoader(TensorDataset(torch.rand(64, 256), torch.rand(64)), batch_size=16)
texts = load_dataset("imdb")["train"]
batch = next(iter(loader))
images, labels = next(iter(loader))

# %%
{shown}
"""


@pytest.mark.parametrize("shown", ["next(iter(loader))", "batch", "batch[0]", "next(iter(loader))[0]", "images"])
def test_a_batch_of_a_loader(shown: str) -> None:
    check(_BATCHES.format(shown=f"{shown}  # TML801"), prelude="")


@pytest.mark.parametrize(
    "shown",
    [
        "labels",  # may be a few numbers
        "batch[1]",
        "batch['caption']",
        "next(iter(texts))",
        "len(batch), images.shape",
        "next(iter(loader));",
    ],
)
def test_what_is_no_batch_of_a_loader(shown: str) -> None:
    check(_BATCHES.format(shown=shown), prelude="")
