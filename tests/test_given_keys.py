"""Keys whose name says less than what the callers give for them."""

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
