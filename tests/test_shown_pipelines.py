"""Objects with models in them, that a cell has shown, and pipelines of packages: `del` frees nothing of them."""

from __future__ import annotations

import pytest
from snippets import check

HEAD = """
# %%
import gc
from diffusers import DiffusionPipeline
from transformers import AutoTokenizer, pipeline


class Painter:
    def __init__(self, width):
        self.unet = nn.Linear(width, width)
        self.steps = 4

    def to(self, device):
        self.unet.to(device)
        return self

    def quick(self):
        self.steps = 1

    def describe(self):
        return [self.steps]


class Prompts:
    def __init__(self, texts):
        self.texts = texts


# %%
"""
KEPT = {
    "an object's own `to`": """
        pipe = Painter(64)
        pipe.to("cuda")
        # %%
        del pipe  # TML802
        torch.cuda.empty_cache()
        """,
    "the object": """
        pipe = Painter(64)
        # %%
        pipe
        # %%
        pipe = None  # TML802
        gc.collect();
        """,
    "a pipeline of diffusers": """
        pipe = DiffusionPipeline.from_pretrained("base")
        pipe.to("cuda")
        # %%
        del pipe  # TML802
        gc.collect();
        """,
    "a pipeline of transformers": """
        ask = pipeline("question-answering")
        ask
        # %%
        del ask  # TML802
        gc.collect();
        """,
}
INNOCENT = {
    "bound to what `to` gives": """
        pipe = Painter(64)
        pipe = pipe.to("cuda")
        # %%
        del pipe
        torch.cuda.empty_cache()
        """,
    "a method that gives None": """
        pipe = Painter(64)
        pipe.quick()
        # %%
        del pipe
        torch.cuda.empty_cache()
        """,
    "a method that gives something small": """
        pipe = Painter(64)
        pipe.describe()
        # %%
        del pipe
        torch.cuda.empty_cache()
        """,
    "an object without a model": """
        prompts = Prompts(["a cat"])
        prompts
        # %%
        del prompts
        gc.collect();
        """,
    "a semicolon": """
        pipe = DiffusionPipeline.from_pretrained("base")
        pipe.to("cuda");
        # %%
        del pipe
        torch.cuda.empty_cache()
        """,
    "a tokenizer": """
        tokenizer = AutoTokenizer.from_pretrained("base")
        tokenizer
        # %%
        del tokenizer
        gc.collect();
        """,
    "another one by that name": """
        pipe = DiffusionPipeline.from_pretrained("base")
        pipe = pipe.scheduler
        # %%
        pipe
        # %%
        del pipe
        gc.collect();
        """,
}


@pytest.mark.parametrize("cells", KEPT.values(), ids=KEPT.keys())
def test_what_out_keeps_of_an_object(cells: str) -> None:
    check(HEAD + _flat(cells))


@pytest.mark.parametrize("cells", INNOCENT.values(), ids=INNOCENT.keys())
def test_what_out_does_not_keep(cells: str) -> None:
    check(HEAD + _flat(cells))


def _flat(cells: str) -> str:
    return "\n".join(line.strip() for line in cells.splitlines())
