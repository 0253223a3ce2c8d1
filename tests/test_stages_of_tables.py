"""Stages whose models a table keeps, where only the name of one goes; helpers that are told whose cache to empty."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

HEAD = """
import gc

HIGH, LOW = 0, 1
FIRST = "first"


def load(which):
    return nn.Linear(512, 512)


def clean_memory_on_device(device):
    gc.collect()
    torch.cuda.empty_cache()


def sample(model):
    with torch.no_grad():
        return model(torch.randn(1, 512)).mean().item()
"""

GUILTY = {
    "bound and put there at once": """
        def run(models):
            model = models[HIGH] = load(HIGH)
            first = sample(model)
            del model  # TML602
            gc.collect()
            torch.cuda.empty_cache()
            model = models[LOW] = load(LOW)
            return first + sample(model)
        """,
    "made where it is missing": """
        def run(models, device):
            model = models[HIGH]
            if model is None:
                model = models[HIGH] = load(HIGH)
            first = sample(model)
            del model  # TML602
            clean_memory_on_device(device)
            model = models[LOW]
            return first + sample(model)
        """,
    "by a helper that is told the device": """
        def run(models, device):
            model = models["first"]
            first = sample(model)
            del model  # TML602
            clean_memory_on_device(device)
            return first + sample(models["second"])
        """,
    "of an object": """
        class Sampler:
            def __init__(self):
                self.models = {}

            def run(self, device):
                model = self.models[FIRST] = load(0)
                first = sample(model)
                del model  # TML602
                clean_memory_on_device(device)
                return first + sample(load(1))
        """,
}

INNOCENT = {
    "the table lets go as well": """
        def run(models, device):
            model = models[HIGH] = load(HIGH)
            first = sample(model)
            del model
            models[HIGH] = None
            clean_memory_on_device(device)
            model = models[LOW] = load(LOW)
            return first + sample(model)
        """,
    "by another word for the key": """
        def run(models, device):
            model = models[FIRST] = load(0)
            first = sample(model)
            del model
            models.pop("first")
            clean_memory_on_device(device)
            return first + sample(load(1))
        """,
    "a table that is to have them all": """
        def build(names):
            models = {}
            for name in names:
                model = models[name] = load(name)
                sample(model)
                del model
                torch.cuda.empty_cache()
            return models
        """,
    "a table that is given back": """
        def build():
            models = {}
            model = models["first"] = load(0)
            sample(model)
            del model
            torch.cuda.empty_cache()
            return models
        """,
    "numbers beside it": """
        def run(rows, device):
            model = load(0)
            score = rows["first"] = sample(model)
            del model, score
            clean_memory_on_device(device)
            return sample(load(1))
        """,
    "a helper that is told the device, last": """
        def run(device):
            model = load(0)
            first = sample(model)
            del model
            clean_memory_on_device(device)
            return first + sample(load(1))
        """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=GUILTY.keys())
def test_only_the_name_goes(snippet: str) -> None:
    check(HEAD + textwrap.dedent(snippet))


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT.keys())
def test_the_model_goes_or_is_to_stay(snippet: str) -> None:
    check_innocent(HEAD + textwrap.dedent(snippet))
