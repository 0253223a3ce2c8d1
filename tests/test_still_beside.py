"""Models that an attribute lets go of, for the memory, while another attribute of the object holds them."""

import pytest
from snippets import check

BACKEND = """
import gc

class Pipeline:
    def __init__(self, unet, steps=3):
        self.unet, self.steps = unet, steps

    @torch.no_grad()
    def __call__(self, x):
        for _ in range(self.steps):
            x = self.unet(x)
        return x

class Backend:
    def __init__(self):
        self.model = self.pipe = None

    def load(self, name):
        self.unload()
        self.model = Net()
        self.pipe = Pipeline(%s)
        self.name = name

    def generate(self, x):
        return self.pipe(x)

    def unload(self):
        %s
        self.name = None
        %s

backend = Backend()
backend.load("small")
backend.generate(torch.rand(8, 8))
backend.unload()
"""
FREES = "gc.collect()\n        torch.cuda.empty_cache()"


@pytest.mark.parametrize(
    ("given", "gone", "frees"),
    [
        ("self.model", "self.model = None  # TML604", FREES),
        ("unet=self.model", "del self.model  # TML604", FREES),
        ("self.model", "self.model = None  # TML604", "gc.collect()"),
        ("self.model", "self.model = self.pipe = None", FREES),
        ("self.model", "self.pipe = None", FREES),  # the model is wanted further on
        ("Net()", "self.model = None", FREES),  # they do not share it
        ("self.model", "self.model = None", "print(self.name)"),  # not for the memory
        ("self.model.layer", "self.model = None", FREES),
    ],
)
def test_beside_a_pipeline(given: str, gone: str, frees: str) -> None:
    check(BACKEND % (given, gone, frees))


def test_what_a_helper_lets_go_of() -> None:
    text = BACKEND % ("self.model", "self.model = None\n        self.forget()", FREES)
    check(text.replace("    def generate", "    def forget(self):\n        self.pipe = None\n\n    def generate"))


STATE = """
import gc
from dataclasses import dataclass

@dataclass
class State:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    steps: int = 0

def prepare():
    model = Net()
    return State(model, torch.optim.Adam(model.parameters()))

def free(state):
    %s
    gc.collect()
    torch.cuda.empty_cache()

def main(x):
    for _ in range(2):
        state = prepare()
        state.model(x).sum().backward()
        state.optimizer.step()
        free(state)
"""


@pytest.mark.parametrize(
    "gone",
    [
        "state.model = None  # TML604",
        "state.model = state.optimizer = None",
        "state.optimizer = None; state.model = None",
        "del state.optimizer, state.model",
        "state.steps = 0",
    ],
)
def test_the_optimizer_of_a_record(gone: str) -> None:
    check(STATE % gone)


SWAP = """
import gc

class Server:
    def __init__(self):
        self.model = Net()

    def build(self):
        self.model = Net()

    def swap(self):
        model = self.model
        print(sum(p.numel() for p in model.parameters()))
        %s
        gc.collect()
        torch.cuda.empty_cache()
        %s

server = Server()
server.swap()
"""


@pytest.mark.parametrize(
    ("gone", "then"),
    [
        ("self.model = None  # TML604", "self.build()"),
        ("self.model = None; del model", "self.build()"),
        ("self.model = None", "self.model = model.half()"),
        ("self.model = None", "return"),
    ],
)
def test_a_variable_beside_an_attribute(gone: str, then: str) -> None:
    check(SWAP % (gone, then))


ONE_ARM = """
import gc

def prepare(prompts, tune, hurry):
    words, pixels = nn.Linear(8, 8), nn.Linear(8, 8)
    encoders = [words, pixels]
    rows = [sum(encoder(prompt).sum().item() for encoder in encoders) for prompt in prompts]
    if not tune:
        %s
        gc.collect()
        torch.cuda.empty_cache()
        report(rows)
    if tune:
        rows.append(words.weight.sum().item())
    return rows

def report(rows):
    print(len(rows))
"""


@pytest.mark.parametrize(
    "drops",
    [
        "del encoders, words, pixels",
        "del encoders; del words, pixels",
        "encoders = None; del words, pixels",
        "encoders.clear(); del words, pixels",
        "del words, pixels  # TML604",
        """if hurry:
            del encoders
        del words, pixels  # TML604""",
        "del encoders; encoders = [words, pixels]; del words, pixels  # TML604",
    ],
)
def test_what_has_gone_on_the_way_through_one_arm(drops: str) -> None:
    check(ONE_ARM % drops)


TABLE = """
import gc

class Server:
    def __init__(self):
        self.models, self.model = {}, None

    def load(self, name):
        self.model = nn.Linear(512, 512)
        self.models[name] = self.model

    def unload(self, name):
        %s

def main(names):
    server = Server()
    for name in names:
        server.load(name)
        server.unload(name)
"""
FREES = "gc.collect(); torch.cuda.empty_cache()"


@pytest.mark.parametrize(
    "gone",
    [
        f"self.models.pop(name, None); self.model = None; {FREES}",
        f"del self.models[name]; self.model = None; {FREES}",
        f"self.model = None; self.models.clear(); {FREES}",
        f"self.model = None; {FREES}  # TML604",
    ],
)
def test_a_table_that_an_entry_is_taken_out_of(gone: str) -> None:
    check(TABLE % gone)
