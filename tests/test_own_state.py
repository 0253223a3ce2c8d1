"""State that objects of a file's own classes carry between steps: which class is meant, what an optimizer keeps, and
what is made in a known number of rounds and handed back."""

from __future__ import annotations

import pytest
from snippets import check

GUILTY = {
    "an optimizer blends gradients with a graph into its state": """
        from torch.nn.utils import parameters_to_vector
        from torch.optim import Optimizer

        class Natural(Optimizer):
            def step(self, closure):
                loss = closure()
                slopes = torch.autograd.grad(loss, self.param_groups[0]["params"], create_graph=True)
                self.state["mean"] = 0.9 * self.state["mean"] + 0.1 * parameters_to_vector(slopes)  # TML110
                return loss.item()
    """,
    "a neuron of the file keeps its potential": """
        class Leaky(nn.Module):
            def __init__(self):
                super().__init__()
                self.mem = torch.zeros(1)

            def forward(self, current):
                self.mem = 0.9 * self.mem + current  # TML101
                return self.mem

        def train(loader, optimizer):
            net, leaky = Net(), Leaky()
            for x, y in loader:
                loss = F.mse_loss(leaky(net(x)), y)
                loss.backward(retain_graph=True)
                optimizer.step()
    """,
}

INNOCENT = {
    "an optimizer detaches what it blends into its state": """
        from torch.nn.utils import parameters_to_vector
        from torch.optim import Optimizer

        class Natural(Optimizer):
            def step(self, closure):
                loss = closure()
                slopes = torch.autograd.grad(loss, self.param_groups[0]["params"], create_graph=True)
                self.state["mean"] = 0.9 * self.state["mean"] + 0.1 * parameters_to_vector(slopes).detach()
                return loss.item()
    """,
    "a few squared slopes are summed up for whoever calls": """
        def curvature(outputs, params):
            total = 0.0
            for row in outputs[:4]:
                slopes = torch.autograd.grad(row.sum(), params, create_graph=True)
                total = total + slopes[0].pow(2)
            return total / 4
    """,
    "a state is put aside and back for the parts of one class": """
        class Leaky(nn.Module):
            def __init__(self):
                super().__init__()
                self.mem = None

            def forget(self):
                self.mem = None

            def forward(self, current):
                if self.mem is None:
                    self.mem = torch.zeros_like(current)
                self.mem = 0.9 * self.mem + current
                return self.mem

        class Spiking(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 2)
                self.leaky = Leaky()

            def forward(self, x):
                for part in self.modules():
                    if isinstance(part, Leaky):
                        part.forget()
                return torch.stack([self.leaky(self.layer(x)) for _ in range(4)])

        @torch.no_grad()
        def accuracy(net, x):
            kept = [(part, part.mem) for part in net.modules() if isinstance(part, Leaky)]
            net(x)
            for part, state in kept:
                part.mem = state

        def main(loader, optimizer):
            net = Spiking()
            for x, y in loader:
                F.mse_loss(net(x).mean(0), y).backward()
                optimizer.step()
                accuracy(net, x)
    """,
    "a rollout of known length carries its state": """
        class Trainer:
            def __init__(self, horizon):
                self.cell = nn.LSTMCell(8, 8)
                self.horizon = horizon
                self.seen = torch.zeros(8)

            def roll_out(self, world):
                state = (torch.zeros(1, 8), torch.zeros(1, 8))
                x = world.reset()
                for _ in range(self.horizon):
                    state = self.cell(x, state)
                    x = world.step(state[0].detach())
                self.seen.copy_(state[0].detach()[0])

        def main(world):
            trainer = Trainer(8)
            for _ in range(100):
                trainer.roll_out(world)
    """,
}


@pytest.mark.parametrize("snippet", GUILTY.values(), ids=list(GUILTY))
def test_guilty(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=list(INNOCENT))
def test_innocent(snippet: str) -> None:
    check(snippet)


ATTENTION = """
class Attention(nn.Module):
    def __init__(self, forward_only):
        super().__init__()
        self.query, self.forward_only = nn.Linear(8, 8), forward_only
        self.alpha = torch.zeros(4, 8)

    def start(self, inputs):
        %s
            self.alpha = torch.zeros(len(inputs), 8)

    def forward(self, query, inputs):
        weights = torch.softmax(self.query(query), dim=-1) * (self.alpha + 1e-8)
        if self.forward_only:
            self.alpha = weights
        return torch.bmm(weights.unsqueeze(1), inputs).squeeze(1)

class Decoder(nn.Module):
    def __init__(self, forward_only):
        super().__init__()
        self.attention, self.cell = Attention(forward_only), nn.GRUCell(8, 8)

    def forward(self, inputs, frames):
        self.attention.start(inputs)
        return torch.stack([self.attention(self.cell(x), inputs) for x in frames])
"""


@pytest.mark.parametrize("test", ["if True:", "if self.forward_only:"], ids=["always", "in a mode"])
def test_a_state_that_each_pass_begins_anew(test: str) -> None:
    """The rounds of one pass go through time, as those of one training step do."""
    check(ATTENTION % test)


VOICES = """
class Voice(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(64, 64), nn.Linear(64, 64)
        self.voice = None

    def prepare(self, clip):
        self.voice = self.encoder({made})
        return self.voice

    def speak(self, text):
        with torch.no_grad():
            return self.decoder(text + self.voice).mean().item()

class Server:
    def __init__(self, model):
        self.model, self.voices = model, {{}}

    def use(self, name):
        if name in self.voices:
            self.model.voice = self.voices[name]
            return
        voice = self.model.prepare(torch.rand(64))
        self.voices[name] = voice

    def answer(self, text, name):
        {use}
        return self.model.speak(text)

def main(steps):
    server = Server(Voice())
    for step in range(steps):
        print(server.answer(torch.rand(64), f"voice {{step % 9}}"))
"""


def test_a_state_that_is_put_back_from_a_cache() -> None:
    """It is what the module has made, and no later one is made of it."""
    use = "with torch.no_grad(): self.use(name)"
    check(VOICES.format(made="clip", use=use))
    kept = VOICES.format(made="clip", use="self.use(name)")
    check(kept.replace("self.voices[name] = voice\n", "self.voices[name] = voice  # TML102\n"))
