"""Innocent states that go from step to step: detached in time, or averages without a graph."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "state that is dropped where a sequence ends, after its losses were back-propagated": """
        class Learner:
            def __init__(self, size):
                self.rnn, self.head = nn.GRUCell(size, 32), nn.Linear(32, 4)
                self.optimizer = torch.optim.Adam([*self.rnn.parameters(), *self.head.parameters()])
                self.hidden, self.loss = torch.zeros(1, 32), 0.0

            def learn(self, obs, action, done):
                hidden = self.rnn(obs, self.hidden)
                self.loss = self.loss + F.cross_entropy(self.head(hidden), action)
                if done:
                    self.optimizer.zero_grad()
                    self.loss.backward()
                    self.optimizer.step()
                    self.hidden, self.loss = torch.zeros(1, 32), 0.0
                else:
                    self.hidden = hidden

        def main():
            learner = Learner(8)
            for obs, action, done in load():
                learner.learn(obs, action, done)
        """,
    "state by session, cut before it is kept": """
        class Sessions:
            def __init__(self, size):
                self.rnn, self.head = nn.GRUCell(size, 32), nn.Linear(32, 4)
                self.states = {}

            def answer(self, key, x, last):
                state = self.rnn(x, self.states.get(key, torch.zeros(1, 32)))
                if last:
                    del self.states[key]
                else:
                    self.states[key] = state.detach()
                return self.head(state).argmax(-1).item()

        def main():
            sessions = Sessions(8)
            for request in load():
                sessions.answer(request.key, request.x, request.last)
        """,
    "running level that another method wipes, without its graph": """
        class Level(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("level", torch.zeros(size))

            def wipe(self):
                self.level.zero_()

            def forward(self, x):
                if not self.training:
                    return x - self.level
                mean = x.mean(0)
                with torch.no_grad():
                    self.level = 0.9 * self.level + 0.1 * mean
                return x - mean

        def main():
            model = nn.Sequential(nn.Linear(8, 4), Level(4))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                loss = model(torch.rand(4, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "entries that are replaced where the dictionary is gone through": """
        class Weights:
            def __init__(self, model, rate):
                self.model, self.table = model, dict(model.named_parameters())
                self.rate = torch.tensor(rate, requires_grad=True)

            def step(self, loss):
                gradients = torch.autograd.grad(loss, list(self.table.values()))
                for key, gradient in zip(list(self.table), gradients):
                    self.table[key] = self.table[key].detach() - gradient * self.rate

        def main():
            weights = Weights(Net(), 0.1)
            for _ in range(100):
                out = torch.func.functional_call(weights.model, weights.table, (torch.rand(4, 8),))
                weights.step(F.cross_entropy(out, torch.zeros(4).long()))
    """,
    "generator that a method under no_grad begins, and that is asked under no_grad": """
        class Sampler:
            def __init__(self):
                self.net = Net().eval()

            @torch.no_grad()
            def previews(self, x):
                return self._rounds(x)

            def _rounds(self, x):
                for _ in range(50):
                    x = x + self.net(x)
                    yield x.detach()

        def main():
            sampler = Sampler()
            previews = sampler.previews(torch.zeros(4, 8))
            with torch.no_grad():
                for image in previews:
                    print(image.mean().item())
    """,
    "generator that goes on from what it drew, detached or without gradients": """
        class Chain(nn.Module):
            def __init__(self):
                super().__init__()
                self.step_net = nn.Linear(4, 4)

            def forward(self, x):
                return (self.step_net(x) - x).pow(2).mean()

            def sample(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = state - 0.1 * self.step_net(state)
                return state

            def generate(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = (state - 0.1 * self.step_net(state)).detach()
                return state

        def main():
            chain = Chain()
            optimizer = torch.optim.SGD(chain.parameters(), lr=0.1)
            for _ in range(10):
                loss = chain(torch.rand(4, 4)) + chain.generate(4).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                print(chain.sample(8).shape, chain.generate(8).shape)
    """,
    "coefficients of one recursion": """
        def combine(rows, weight):
            parts = []
            for i in range(len(rows)):
                parts.append(rows[i] * weight)
            return torch.stack(parts).sum(0)

        def main():
            weight = torch.ones(4, requires_grad=True)
            rows = torch.rand(3, 4)
            for _ in range(100):
                value = combine(rows, weight)
                print(value.shape)
    """,
    "a state that a helper cuts off, however it is made up": """
        def cut(state):
            if isinstance(state, torch.Tensor):
                return state.detach()
            if isinstance(state, (list, tuple)):
                return type(state)(cut(part) for part in state)
            if isinstance(state, dict):
                return {name: cut(part) for name, part in state.items()}
            return state

        def tune(head, loader, optim):
            rnn, state = nn.LSTM(8, 8), None
            for x in loader:
                out, state = rnn(x, state)
                optim.zero_grad()
                head(out).sum().backward(inputs=list(head.parameters()))
                optim.step()
                state = cut(state)
        """,
    "a sum of tensors on an attribute": """
        class Total:
            def __init__(self):
                self.total = torch.zeros(8)

            def add(self, x):
                self.total = self.total + x

        def main(steps):
            total = Total()
            for _ in range(steps):
                total.add(torch.randn(8))
        """,
    "code book averaged through data": """
        class VQ(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("size", torch.zeros(8))
                self.register_buffer("mean", torch.zeros(8, 4))
                self.embed = nn.Embedding(8, 4)
                self.decay = 0.9

            def forward(self, x):
                index = torch.cdist(x, self.embed.weight).argmin(1)
                onehot = F.one_hot(index, 8).float()
                if self.training:
                    self.size.data.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                    self.mean.data.mul_(self.decay).add_(onehot.t() @ x.detach(), alpha=1 - self.decay)
                    self.embed.weight.data.copy_(self.mean / self.size[:, None])
                return self.embed(index)
        """,
    "cache kept by a decorated method": """
        class LM(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.LSTM(8, 8)
                self.cache = None
            @torch.no_grad()
            def generate(self, x, n):
                out = []
                for _ in range(n):
                    x, self.cache = self.cell(x, self.cache)
                    out.append(x)
                return torch.cat(out)
            def forward(self, x):
                return self.cell(x)[0]
        """,
    "truncated back-propagation": """
        def train(chunks, k):
            net, head = nn.GRUCell(8, 8), nn.Linear(8, 1)
            h = torch.zeros(1, 8)
            loss = 0.0
            for i, x in enumerate(chunks):
                h = net(x, h)
                loss = loss + head(h).mean()
                if i % k == k - 1:
                    loss.backward()
                    loss = 0.0
                    h = h.detach()
        """,
    "hidden state made anew for each sequence": """
        def train(sequences, optimizer):
            cell, head = nn.GRUCell(8, 8), nn.Linear(8, 1)
            for sequence in sequences:
                hidden = torch.zeros(1, 8)
                loss = 0.0
                for x in sequence:
                    hidden = cell(x, hidden)
                    loss = loss + head(hidden).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "hidden state detached": """
        def train(chunks):
            net, head = nn.LSTM(8, 8), nn.Linear(8, 1)
            state = None
            for chunk in chunks:
                if state is not None:
                    state = tuple(part.detach() for part in state)
                out, state = net(chunk, state)
                head(out).mean().backward()
        """,
    "hidden state detached by a recursive helper": """
        def repackage(state):
            if isinstance(state, torch.Tensor):
                return state.detach()
            return tuple(repackage(part) for part in state)

        def train(chunks):
            net, head = nn.LSTM(8, 8), nn.Linear(8, 1)
            state = (torch.zeros(1, 8), torch.zeros(1, 8))
            for chunk in chunks:
                state = repackage(state)
                out, state = net(chunk, state)
                head(out).mean().backward()
        """,
    "weights averaged under no_grad": """
        class Average:
            def __init__(self, model: Net):
                self.shadow = {name: value.detach().clone() for name, value in model.named_parameters()}

            @torch.no_grad()
            def update(self, model: Net):
                for name, value in model.named_parameters():
                    self.shadow[name].mul_(0.99).add_(value, alpha=0.01)
                    self.shadow[name] = 0.99 * self.shadow[name] + 0.01 * value
        """,
    "target network detached": """
        def train(loader, optimizer):
            online, target = Net(), Net()
            for x, following in loader:
                with torch.no_grad():
                    goal = target(following).max(1).values
                best = target(following).detach()
                loss = F.mse_loss(online(x).max(1).values, goal) + F.mse_loss(online(x), best)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "samples drawn into a list and replaced": """
        @torch.no_grad()
        def sample(model: Net, x, steps):
            frames = []
            for _ in range(steps):
                x = x - 0.1 * model(x)
                frames.append(x)
            return frames
        """,
    "only the last round is detached": """
        def settle(net: nn.Module, x):
            for _ in range(3):
                y = net(x)
            return y.detach()
        """,
    "states-detached-for-every-layer-after-each-step": """
        class Leaky(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.beta, self.mem = nn.Parameter(torch.ones(size)), torch.zeros(1, size)

            def detach_state(self):
                self.mem = self.mem.detach()

            def forward(self, x):
                self.mem = self.beta * self.mem + x
                return self.mem

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.leaky = nn.Linear(8, 8), Leaky(8)

            def forward(self, frames):
                out = []
                for frame in frames:
                    out.append(self.leaky(self.first(frame)))
                return torch.stack(out)

        def main(loader):
            encoder, head = Encoder(), nn.Linear(8, 2)
            optimizer = torch.optim.SGD(head.parameters())
            for frames, y in loader:
                loss = F.cross_entropy(head(encoder(frames).mean(0).detach()), y)
                loss.backward()
                optimizer.step()
                for layer in encoder.modules():
                    if isinstance(layer, Leaky):
                        layer.detach_state()
    """,
    "released-where-a-setting-that-is-on-says-so": """
        class State:
            def __init__(self, x):
                self.x, self.force = x, torch.zeros_like(x)

            def detach_(self):
                self.x, self.force = self.x.detach(), self.force.detach()

        class Potential(nn.Module):
            def __init__(self, second_order=False):
                super().__init__()
                self.second_order, self.net = second_order, nn.Linear(3, 1)

            def forward(self, state):
                energy = self.net(state.x).sum()
                return -torch.autograd.grad(energy, state.x, create_graph=self.second_order)[0]

        def integrate(x, steps):
            potential, state = Potential(second_order=True), State(x.requires_grad_())
            for _ in range(steps):
                state.force = potential(state)
                state.x = state.x + state.force
                if potential.second_order:
                    state.detach_()
            return state.x
    """,
    "attributes under their names, without a graph": """
        class Stats(nn.Module):
            def __init__(self, names):
                super().__init__()
                for name in names:
                    self.register_buffer(name + "_mean", torch.zeros(8))

            def update(self, name, value):
                old = self._buffers[name + "_mean"]
                self._buffers[name + "_mean"] = 0.9 * old + 0.1 * value.detach().mean(0)
                setattr(self, name + "_last", value)

        def main():
            model, stats = Net(), Stats(["hidden"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                out.sum().backward()
                stats.update("hidden", out)
    """,
    "state object of one training step": """
        class State:
            def __init__(self, batch, width):
                self.h, self.c = torch.zeros(batch, width), torch.zeros(batch, width)

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.out = nn.LSTMCell(8, 8), nn.Linear(8, 4)

            def forward(self, x, state):
                state.h, state.c = self.cell(x, (state.h, state.c))
                return self.out(state.h)

        def main():
            model = Decoder()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                state, loss = State(4, 8), 0
                for x in torch.randn(5, 4, 8):
                    loss = loss + model(x, state).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "states of neurons that a loop over the modules resets": """
        import torch.nn.functional as F
        from torch import nn

        class MemoryModule(nn.Module):
            def __init__(self):
                super().__init__()
                self._memories = {}

            def register_memory(self, name, value):
                self._memories[name] = value
                setattr(self, name, value)

            def reset(self):
                for name, value in self._memories.items():
                    setattr(self, name, value)

        class LIFNode(MemoryModule):
            def __init__(self, tau=2.0):
                super().__init__()
                self.tau = tau
                self.register_memory("v", 0.0)

            def forward(self, x):
                charged = self.v + (x - self.v) / self.tau
                spike = torch.sigmoid(charged)
                self.v = charged * (1.0 - spike.detach())
                return spike

        class SNN(nn.Module):
            def __init__(self, tau, size=14):
                super().__init__()
                self.layer = nn.Sequential(nn.Flatten(), nn.Linear(size * size, 10, bias=False), LIFNode(tau=tau))

            def forward(self, x):
                return self.layer(x)

        def reset_net(net):
            for module in net.modules():
                if isinstance(module, MemoryModule):
                    module.reset()

        def train(net, loader, optimizer, T):
            net.train()
            for img, label in loader:
                optimizer.zero_grad()
                rate = 0.0
                for _ in range(T):
                    rate = rate + net(img)
                loss = F.mse_loss(rate, F.one_hot(label, 10).float())
                loss.backward()
                optimizer.step()
                reset_net(net)

        def main(loader):
            net = SNN(2.0)
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
            train(net, loader, optimizer, 4)
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
