"""Models that are taken out of a list which goes on having them."""

import pytest
from snippets import check

STAGES = """
import gc

@torch.no_grad()
def sample(x, models, stages):
    for i, steps in enumerate(stages):
        model = models[i]
        for t in steps:
            x = model(x)
        %s
        gc.collect()
        torch.cuda.empty_cache()
    return x
"""


@pytest.mark.parametrize(
    "gone",
    [
        "del model  # TML602",
        "model = None  # TML602",
        "models[i] = None; del model",
        "del model, models[i]",
        "models.pop(0); del model",
        "model = Net(); del model",
        "print(model)",
    ],
)
def test_a_model_that_the_list_still_has(gone: str) -> None:
    check(STAGES % gone)


def test_what_is_no_model() -> None:
    check((STAGES % "del table").replace("model = models[i]", "table = models[i]").replace("model(x)", "x * 2"))


OWNED = """
import gc
from memory import tidy

def forget(run):
    run.model = None

class Run:
    def __init__(self):
        self.model, self.steps = Net(), 0

def unload(run, state, key):
    model%s
    state["name"] = ""
    %s
    gc.collect()
    torch.cuda.empty_cache()
    return state
"""


@pytest.mark.parametrize(
    ("taken", "gone"),
    [
        (' = state.get("model")', "del model  # TML602"),
        (' = state["model"]', "model = None  # TML602"),
        (", steps = run.model, run.steps", "del model, steps  # TML602"),
        (' = state["model"]', 'del model; state["model"] = None'),
        (' = state["model"]', 'state.pop("model"); del model'),
        (' = state["model"]', "state.clear(); del model"),
        (" = state[key]", 'del state["model"]; del model'),
        (" = run.model", "del model, run"),
        (" = run.model", "del model; run.model = None"),
        (" = run.model", "forget(run); del model"),
        (" = run.build(state)", "del model"),
        (' = state["model"].cpu()', "del model"),
    ],
)
def test_a_model_that_something_else_has(taken: str, gone: str) -> None:
    check(OWNED % (taken, gone))


PARTS = """
import gc

class Pipeline:
    def __init__(self):
        self.encoder, self.unet = Net(), Net()

    @property
    def parts(self):
        return {"encoder": self.encoder, "unet": self.unet}

    @torch.no_grad()
    def __call__(self, x):
        return self.unet(self.encoder(x))

def generate(x):
    pipe = Pipeline()
    parts = pipe.parts
    print(len(parts))
    out = pipe(x).cpu()
    %s
    gc.collect()
    torch.cuda.empty_cache()
    refiner = Pipeline()
    return refiner(out)
"""


@pytest.mark.parametrize("gone", ["del pipe  # TML604", "del pipe, parts", "parts.clear(); del pipe"])
def test_parts_of_an_object_that_goes(gone: str) -> None:
    check(PARTS % gone)
