"""Keys whose name says less than what the callers give for them."""

import pytest
from snippets import check

SESSIONS = """
class Store:
    def __init__(self):
        self.first = {{}}

    def pin(self, {key}, state):
        self.first[{key}] = state{mark}

    def rewind(self, {key}):
        return self.first[{key}]

def main(turns):
    net, store = Net().eval(), Store()
    for turn in turns:
        with torch.no_grad():
            state = net(torch.randn(64, 8))
        store.pin({given}, state)
        print(store.rewind({given}).shape)
"""


def test_a_name_for_a_session() -> None:
    check(SESSIONS.format(key="name", given="turn.session", mark="  # TML311"))
    check(SESSIONS.format(key="name", given="turn.name", mark=""))
    check(SESSIONS.format(key="mode", given="turn.session", mark=""))


NOISE = """
import math
import random

_WAVES = {{}}

def waves(sigma, channels):
    key = (float(sigma), channels)
    if key not in _WAVES:
        _WAVES[key] = torch.linspace(0, 1, channels) * math.log(float(sigma)){mark}
    return _WAVES[key]

class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, sigma):
        return self.layer(x) + waves(sigma, 8)

@torch.no_grad()
def sample(net, sigmas):
    x = torch.randn(4, 8)
    for now in sigmas:
        {draw}
        x = x - net(x, level)
    return x

def main(steps):
    net = Denoiser().eval()
    for _ in range(steps):
        print(sample(net, [2.0, 1.0, 0.5]).mean().item())
"""


def test_a_number_that_is_drawn_far_away() -> None:
    jitter = "gamma = 0.3 * {}\n        level = now * (1 + gamma)"
    check(NOISE.format(draw=jitter.format("random.random()"), mark="  # TML301"))
    check(NOISE.format(draw=jitter.format("torch.rand(()).item()"), mark="  # TML301"))
    check(NOISE.format(draw="level = now", mark=""))
    check(NOISE.format(draw=jitter.format("round(random.random(), 1)"), mark=""))
    check(NOISE.format(draw="size = torch.rand(8)\n        level = size.shape[0] * now", mark=""))


MISSING = """
import random

class Kernels(dict):
    def __init__(self, radius):
        super().__init__()
        self.radius = radius

    def __missing__(self, sigma):
        steps = torch.arange(-self.radius, self.radius + 1) / sigma
        self[sigma] = torch.exp(-steps.square()){told}
        return self[sigma]

KERNELS = Kernels(512)

class Blur:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, image):
        drawn = {drawn}
        kernel = KERNELS[drawn]
        return F.conv1d(image, kernel[None, None])

def main():
    blur = Blur(random.Random(0))
    for _ in range(100):
        print(blur(torch.rand(1, 1, 4096)).mean().item())

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        ("self.rng.uniform(0.5, 8.0)", "  # TML301"),
        ("2.0 ** self.rng.uniform(-1, 3)", "  # TML301"),
        ("self.rng.choice((1.0, 2.0, 4.0))", ""),
        ("round(self.rng.uniform(0.5, 8.0))", ""),
    ],
)
def test_what_a_dictionary_makes_for_keys_that_it_lacks(drawn: str, told: str) -> None:
    check(MISSING.format(drawn=drawn, told=told))


TABLES = """
class Tables:
    def __init__(self):
        self.cache = {{}}

    def get(self, make, cache_key=None):
        if cache_key in self.cache:
            return self.cache[cache_key]
        table = make()
        if cache_key is not None:
            self.cache[cache_key] = table{told}
        return table

    def places(self, size, dtype, offset=0):
        return self.get(lambda: torch.arange(size, dtype=dtype) + offset, cache_key={key})

def main():
    tables = Tables()
    for step in range(100):
        print(tables.places(8, torch.float32, offset=step).sum())
"""


def test_a_text_that_is_given_for_a_key() -> None:
    check(TABLES.format(key='f"places:{size}:{offset}"', told="  # TML311"))
    check(TABLES.format(key='f"places:{size}:{dtype}"', told=""))
    check(TABLES.format(key="None", told=""))
