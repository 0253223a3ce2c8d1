"""Models that are replaced before the cache is emptied, while a whole beside them was made with the one before."""

from __future__ import annotations

import pytest
from snippets import check

BACKEND = """
import gc

class StandIn(nn.Module):
    def __init__(self):
        super().__init__()
        self.dummy = nn.Parameter(torch.zeros(1))

class Pipeline:
    def __init__(self, encoder, steps=3):
        self.encoder, self.steps = encoder, steps

    @torch.no_grad()
    def __call__(self, x):
        return self.encoder(x)

class Backend:
    def __init__(self):
        self.encoder = self.pipe = None
        self.spare = {spare}

    def load(self):
        self.encoder = Net()
        self.pipe = {pipe}

    def forget(self):
        self.pipe = None

def flush():
    gc.collect()
    torch.cuda.empty_cache()

def unload(backend):
    {body}

def main(x):
    backend = Backend()
    backend.load()
    print(backend.pipe(x))
    unload(backend)
    {after}
    return backend
"""
REPLACES = "backend.encoder = StandIn()"
MARKED = REPLACES + "  # TML604"
FLUSH = "\n    flush()"


def backend(
    *, spare: str = "None", pipe: str = "Pipeline(self.encoder)", body: str = REPLACES + FLUSH, after: str = "pass"
) -> str:
    return BACKEND.format(spare=spare, pipe=pipe, body=body, after=after)


@pytest.mark.parametrize(
    "body",
    [
        MARKED + FLUSH,
        MARKED + "\n    gc.collect()\n    torch.cuda.empty_cache()",
        "stand_in = StandIn()\n    backend.encoder = stand_in  # TML604" + FLUSH,
        "if backend.encoder is not None:\n        " + MARKED + FLUSH,
    ],
)
def test_a_whole_that_has_the_one_before(body: str) -> None:
    check(backend(body=body))
    check(backend(body=body, pipe="Pipeline(steps=2, encoder=self.encoder)"))


INNOCENT = {
    "the whole gets it too": {"body": "backend.encoder = backend.pipe.encoder = StandIn()" + FLUSH},
    "the whole goes": {"body": REPLACES + "\n    backend.pipe = None" + FLUSH},
    "the whole is told": {"body": REPLACES + "\n    backend.pipe.__init__(backend.encoder)" + FLUSH},
    "the whole is made anew": {"after": "backend.pipe = Pipeline(backend.encoder)"},
    "of its own": {"pipe": "Pipeline(Net())"},
    "not for the memory": {"body": REPLACES},
    "it takes turns": {"spare": "Net()", "body": "backend.encoder = backend.spare" + FLUSH},
    "made of it": {"body": "backend.encoder = nn.Sequential(backend.encoder, nn.ReLU())" + FLUSH},
    "known by another name": {"pipe": "self.encoder"},
    "in a table": {"pipe": "[self.encoder][0]", "spare": "{}"},
}


@pytest.mark.parametrize("name", INNOCENT)
def test_models_that_may_stay(name: str) -> None:
    check(backend(**INNOCENT[name]))
