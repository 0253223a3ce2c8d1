"""`model = None` in a function, of a global that the function does not say is one."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import gc

model = tokenizer = None


def load(width):
    global model, tokenizer
    model = nn.Linear(width, width)
    tokenizer = str


def answer(x):
    with torch.no_grad():
        return model(x).argmax().item()
"""

GUILTY = {
    "a function": """
        def unload():
            model = None  # TML602
            gc.collect()
            torch.cuda.empty_cache()
        """,
    "several names": """
        def unload():
            model = tokenizer = None  # TML602
            torch.cuda.empty_cache()
        """,
    "a method": """
        class Service:
            def stop(self):
                model = None  # TML602
                gc.collect()
        """,
    "what the module binds": """
        unet = nn.Linear(64, 64)

        def free():
            unet = None  # TML602
            torch.cuda.empty_cache()
        """,
}

INNOCENT = {
    "said to be global": """
        def unload():
            global model
            model = None
            gc.collect()
            torch.cuda.empty_cache()
        """,
    "one of the function's own": """
        def score(width):
            model = nn.Linear(width, width)
            found = model.weight.mean().item()
            model = None
            torch.cuda.empty_cache()
            return found
        """,
    "one to begin with": """
        def find(widths):
            model = None
            gc.collect()
            for width in widths:
                model = nn.Linear(width, width)
            return model is not None
        """,
    "of the outer function": """
        def serve():
            model = nn.Linear(64, 64)

            def stop():
                nonlocal model
                model = None
                torch.cuda.empty_cache()

            return stop
        """,
    "nothing is to be freed": """
        def describe():
            model = None
            return "nothing"
        """,
    "no global by that name": """
        def stop():
            vae = None
            torch.cuda.empty_cache()
        """,
    "no model": """
        limit = int("8")

        def reset():
            limit = None
            torch.cuda.empty_cache()
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY.keys())
def test_the_global_stays(snippet: str) -> None:
    check(HEAD + textwrap.dedent(snippet))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT.keys())
def test_it_goes_or_is_another_name(snippet: str) -> None:
    check_innocent(HEAD + textwrap.dedent(snippet))
