"""States and averages that carry the graph of each step into the next."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
    "running level that another method wipes, read when it evaluates": """
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
                self.level = 0.9 * self.level + 0.1 * mean  # TML101
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
    "gradients that are reset before each pass, and those of another model later": """
        class Rates:
            def __init__(self, model):
                self.model, self.tied = model, []

            def open(self):
                for weight in self.tied:
                    weight.grad = None
                self.tied = list(self.model.parameters())

        def fit(batches):
            model = Net()
            rates = Rates(model)
            for x, y in batches:
                rates.open()
                F.cross_entropy(model(x), y).backward(create_graph=True)  # TML104

        def check_plain(batches):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in batches:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                fit(batches)
            check_plain(batches)
    """,
    "generator that a method under no_grad begins, and others ask": """
        class Sampler:
            def __init__(self):
                self.net = Net().eval()

            @torch.no_grad()
            def previews(self, x):
                return self._rounds(x)

            def _rounds(self, x):
                for _ in range(50):
                    x = x + self.net(x)  # TML101
                    yield x.detach()

        def main():
            sampler = Sampler()
            for image in sampler.previews(torch.zeros(4, 8)):
                print(image.mean().item())
    """,
    "generator that goes on from what it drew, with gradients on": """
        class Chain(nn.Module):
            def __init__(self):
                super().__init__()
                self.step_net = nn.Linear(4, 4)

            def forward(self, x):
                return (self.step_net(x) - x).pow(2).mean()

            def generate(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = state - 0.1 * self.step_net(state)  # TML105
                return state

        def main():
            chain = Chain()
            optimizer = torch.optim.SGD(chain.parameters(), lr=0.1)
            for _ in range(10):
                loss = chain(torch.rand(4, 4))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(chain.generate(8).shape)
    """,
    "weights of each step made of those of the last": """
        class Fast:
            def __init__(self, model):
                self.model = model
                self.weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}

            def move(self, loss):
                old = list(self.weights.items())
                gradients = torch.autograd.grad(loss, [weight for _, weight in old])
                moved = {}
                for (name, weight), gradient in zip(old, gradients):
                    moved[name] = weight - 0.1 * gradient
                self.weights = moved  # TML205

        def main():
            fast = Fast(Net())
            for _ in range(100):
                out = torch.func.functional_call(fast.model, fast.weights, (torch.rand(4, 8),))
                fast.move(F.cross_entropy(out, torch.zeros(4).long()))
    """,
    "state that a step is given and gives back": """
        class Search:
            def __init__(self, position):
                self.position = position
                self.path = torch.zeros(4)

        def step(search, model):
            search.position = (search.position + 0.1).detach().requires_grad_()
            search.path = search.path + search.position  # TML205
            print(model(search.position).item())
            return search

        def main():
            model = nn.Linear(4, 1)
            search = Search(torch.zeros(4, requires_grad=True))
            for _ in range(100):
                search = step(search, model)
            print(search.path)
    """,
    "an average of the weights in a dictionary that is made anew": """
        class Shadow:
            def __init__(self, model):
                self.weights = {k: p.detach().clone() for k, p in model.named_parameters()}

            def update(self, model):
                named = dict(model.named_parameters())
                self.weights = {k: 0.9 * w + 0.1 * named[k] for k, w in self.weights.items()}  # TML205

        def train(model, loader, optim):
            shadow = Shadow(model)
            for x, y in loader:
                optim.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optim.step()
                shadow.update(model)
            return shadow
        """,
    "a state that a helper cuts off only if it is one tensor": """
        def cut(state):
            if torch.is_tensor(state):
                return state.detach()
            return state

        def tune(head, loader, optim):
            rnn, state = nn.LSTM(8, 8), None
            for x in loader:
                out, state = rnn(x, state)  # TML105
                optim.zero_grad()
                head(out).sum().backward(inputs=list(head.parameters()))
                optim.step()
                state = cut(state)
        """,
    "hidden state of a recurrent net": """
        def train(chunks):
            net, head = nn.GRU(8, 8), nn.Linear(8, 1)
            hidden = None
            for chunk in chunks:
                out, hidden = net(chunk, hidden)  # TML105
                head(out).mean().backward(retain_graph=True)
        """,
    "hidden state of an agent": """
        class Agent:
            def __init__(self):
                self.cell = nn.GRUCell(8, 8)
                self.hidden = torch.zeros(1, 8)

            def run(self, observations):
                for x in observations:
                    self.hidden = self.cell(x, self.hidden)  # TML105
                    print(self.hidden.argmax().item())
        """,
    "state that only a helper advances": """
        def advance(model, state, x):
            state = model(state + x)
            return state, (state - x).norm().item()

        def track(model, stream):
            state, errors = torch.zeros(8), []
            for x in stream:
                state, error = advance(model, state, x)  # TML105
                errors.append(error)
            return errors

        def main():
            print(track(Net(), [torch.randn(8) for _ in range(100)]))
        """,
    "buffer registered again": """
        class Norms(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("norm", torch.ones(1))

            def forward(self, x):
                h = self.layer(x)
                self.register_buffer("norm", 0.9 * self.norm + 0.1 * h.norm())  # TML101
                return h / self.norm.detach()

        def main():
            model = Norms()
            for _ in range(100):
                model(torch.randn(4, 8)).sum().backward()
        """,
    "attribute averaged under its name": """
        class Stats(nn.Module):
            def __init__(self, names):
                super().__init__()
                for name in names:
                    self.register_buffer(name + "_mean", torch.zeros(8))

            def update(self, name, value):
                old = getattr(self, name + "_mean")
                setattr(self, name + "_mean", 0.9 * old + 0.1 * value.mean(0))  # TML105

        def main():
            model, stats = Net(), Stats(["hidden"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                out.sum().backward()
                stats.update("hidden", out)
        """,
    "hidden state reset by a method that nobody calls in time": """
        class Agent:
            def __init__(self):
                self.cell = nn.GRUCell(8, 8)
                self.hidden = torch.zeros(1, 8)

            def reset(self):
                self.hidden = torch.zeros(1, 8)

            def run(self, observations):
                self.reset()
                for x in observations:
                    self.hidden = self.cell(x, self.hidden)  # TML105
                    print(self.hidden.argmax().item())
        """,
    "code book averaged with its graph": """
        class VQ(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(8, 4))
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                z = self.layer(x)
                self.mean = 0.9 * self.mean + 0.1 * z.mean(0)  # TML101
                return z - self.mean
        """,
    "memory in a named tuple goes into the next segment": """
        from typing import NamedTuple

        class Memory(NamedTuple):
            keys: torch.Tensor
            norms: torch.Tensor

        def write(memory, keys):
            return Memory(memory.keys + keys.mean(0), memory.norms + keys.norm())

        def train(segments):
            model = Net()
            memory = Memory(torch.zeros(2), torch.zeros(()))
            for segment in segments:
                keys = model(segment) + memory.keys
                memory = write(memory, keys)  # TML105
                keys.sum().backward(retain_graph=True)
        """,
    "a policy that is known by what is detached of its result": """
        class Collector:
            def __init__(self, policy, env):
                self.policy, self.env, self.state = policy, env, None

            def collect(self, observation, steps):
                for _ in range(steps):
                    out = self.policy(observation, self.state)
                    self.state = out.state  # TML105
                    observation, done = self.env.step(out.action.detach().numpy())
                    if done:
                        self.state = None
        """,
    "state of an agent that is let go where an episode ends, and kept else": """
        class Agent:
            def __init__(self, size):
                self.rnn, self.head = nn.GRUCell(size, 32), nn.Linear(32, 4)
                self.hidden = torch.zeros(1, 32)

            def act(self, obs, done):
                hidden = self.rnn(obs, self.hidden)
                if done:
                    self.hidden = torch.zeros(1, 32)
                else:
                    self.hidden = hidden  # TML105
                return self.head(hidden).argmax(-1).item()

        def play(env, steps):
            agent, obs, done = Agent(8), env.reset(), False
            for _ in range(steps):
                obs, reward, done = env.step(agent.act(obs, done))
    """,
    "memories by agent, dropped with the agent's last step": """
        class Critic:
            def __init__(self, size):
                self.rnn, self.head = nn.GRUCell(size, 32), nn.Linear(32, 1)
                self.memories = {}

            def remember(self, agent, memory, done):
                if not done:
                    self.memories[agent] = memory  # TML105
                else:
                    self.memories.pop(agent, None)

            def estimate(self, agent, obs, done):
                memory = self.rnn(obs, self.memories.get(agent, torch.zeros(1, 32)))
                self.remember(agent, memory, done)
                return self.head(memory).item()

        def main():
            critic = Critic(8)
            for step in load():
                critic.estimate(step.agent, step.obs, step.done)
    """,
    "translated word by word, with `.data` of each": """
        class Translator:
            def __init__(self, model):
                self.model = model

            def translate(self, source, state):
                words = []
                for _ in range(20):
                    out, state = self.model.decoder(source, state)  # TML105
                    words.append(self.model.generator(out).data.argmax(-1).item())
                return words
        """,
}

GUILTY_BUGS: dict[str, str] = {
    "code book averaged with its graph": "what is read back in the same call counts as handed out",
}


@pytest.mark.parametrize("name", known(GUILTY_BUGS, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
