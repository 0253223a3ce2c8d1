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


BUS = """
class Bus:
    def __init__(self):
        self.listeners = []

    def on(self, listener):
        self.listeners.append(listener){told}

    def off(self, listener):
        self.listeners.remove(listener)

    def emit(self, value):
        for listener in list(self.listeners):
            listener(value)

bus = Bus()

def fold(x):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def slow_down(value):
        optimizer.param_groups[0]["lr"] *= 0.5

    def tell(value):
        print(value)

    bus.on(slow_down)
    bus.on(tell)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    bus.emit(loss.item())
    bus.off({off})

def main():
    for _ in range(5):
        fold(torch.rand(8, 64))
"""


@pytest.mark.parametrize(("off", "told"), [("tell", "  # TML303"), ("slow_down", "")])
def test_a_listener_that_is_not_the_one_taken_out(off: str, told: str) -> None:
    check(BUS.format(off=off, told=told))


SERVICE = """
import gc

class Service:
    PARTS = ("text", "image")

    def __init__(self):
        self.text, self.image, self.version = Net(), Net(), 0

    def unload(self):
        for name in self.PARTS:
            part = getattr(self, name)
            {gone}
        gc.collect()
        torch.cuda.empty_cache()
        self.version = None
"""


@pytest.mark.parametrize(
    "gone",
    [
        "del part  # TML602",
        "if part is not None: del part  # TML602",
        "del part; setattr(self, name, None)",
        "del part; delattr(self, name)",
        "del part; self.text = None",
        "print(part); del part",
        "print(name)",
    ],
)
def test_a_part_that_is_asked_for_by_name(gone: str) -> None:
    check(SERVICE.format(gone=gone))
