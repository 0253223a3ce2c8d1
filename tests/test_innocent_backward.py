"""Innocent graphs: losses that are kept until they are back-propagated, and derivatives that are differentiated."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "one pass for each target of a list, all through one trunk": """
        def gradients(net, x, targets):
            shared = net(x)
            found = []
            for target in targets:
                net.zero_grad()
                F.mse_loss(shared, target).backward(retain_graph=True)
                found.append(net.layer.weight.grad.clone())
            return torch.stack(found)

        def main(steps):
            net = Net()
            for _ in range(steps):
                gradients(net, torch.rand(4, 8), [torch.rand(4, 2) for _ in range(3)])
        """,
    "one pass for each head of a list of modules": """
        class Tasks(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = nn.Linear(8, 8)
                self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
                self.optimizer = torch.optim.SGD(self.parameters(), 0.1)

            def learn(self, x):
                shared = self.trunk(x)
                self.optimizer.zero_grad()
                for head in self.heads:
                    head(shared).mean().backward(retain_graph=True)
                self.optimizer.step()

        def main(steps):
            tasks = Tasks()
            for _ in range(steps):
                tasks.learn(torch.rand(4, 8))
        """,
    "fast weights that one caller differentiates and another only evaluates": """
        class Learner(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.log = Net(), []
                self.optimizer = torch.optim.SGD(self.parameters(), 0.1)

            def adapt(self, x, y):
                fast = dict(self.net.named_parameters())
                for _ in range(3):
                    loss = F.mse_loss(torch.func.functional_call(self.net, fast, (x,)), y)
                    grads = torch.autograd.grad(loss, fast.values(), create_graph=True)
                    for i, name in enumerate(fast.keys()):
                        fast[name] = fast[name] - 0.1 * grads[i]
                return fast

            def task(self, x, y):
                found = []
                for _ in range(2):
                    found.append(torch.func.functional_call(self.net, self.adapt(x, y), (x,)))
                out = torch.stack(found).mean(0)
                return F.mse_loss(out, y), (out.data - y).abs().mean().item()

            def learn(self, xs, ys):
                losses = [self.task(x, y)[0] for x, y in zip(xs, ys)]
                self.optimizer.zero_grad()
                torch.stack(losses).mean().backward()
                self.optimizer.step()

            def judge(self, x, y):
                _, error = self.task(x, y)
                return error

        def main(steps):
            learner = Learner()
            for _ in range(steps):
                xs = [torch.rand(4, 8) for _ in range(3)]
                ys = [torch.rand(4, 2) for _ in range(3)]
                learner.learn(xs, ys)
                print(learner.judge(xs[0], ys[0]))
        """,
    "the gradient of each of a few named losses": """
        def gradients(x):
            net = nn.Linear(8, 2)
            for _ in range(10):
                shared = net(x)
                losses = {"mean": shared.mean(), "norm": shared.norm()}
                for name in ("mean", "norm"):
                    print(torch.autograd.grad(losses[name], net.weight, retain_graph=True)[0].norm().item())
        """,
    "weights whose sum is one term of what is back-propagated": """
        def train(agent, loader, optimizer):
            seen = []
            for batch in loader:
                weights = agent.weights(batch)
                loss = sum(weights) * agent.compute(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.append(weights)
            return seen
        """,
    "gradients that are reset by a method after the last pass": """
        class Rates:
            def __init__(self, model):
                self.tied = list(model.parameters())

            def close(self):
                for weight in self.tied:
                    weight.grad = None

        def fit(batches):
            model = Net()
            rates = Rates(model)
            for x, y in batches:
                F.cross_entropy(model(x), y).backward(create_graph=True)
            rates.close()

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                fit(batches)
    """,
    "gradients that the caller resets after the last pass": """
        def fit(model, batches):
            for x, y in batches:
                F.cross_entropy(model(x), y).backward(create_graph=True)

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                model = Net()
                fit(model, batches)
                model.zero_grad()
    """,
    "sampler that its caller differentiates": """
        class Planner(nn.Module):
            def __init__(self):
                super().__init__()
                self.move = nn.Linear(4, 4)

            def sample(self, state):
                for _ in range(10):
                    state = state + 0.1 * self.move(state)
                return state

        def main():
            planner = Planner()
            optimizer = torch.optim.SGD(planner.parameters(), lr=0.1)
            for _ in range(100):
                loss = planner.sample(torch.rand(4, 4)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "weights that the step after is taken through": """
        class Fast:
            def __init__(self, model):
                self.model = model
                self.weights = dict(model.named_parameters())

            def move(self, loss):
                gradients = torch.autograd.grad(loss, list(self.weights.values()), create_graph=True)
                moved = {}
                for (name, weight), gradient in zip(self.weights.items(), gradients):
                    moved[name] = weight - 0.1 * gradient
                self.weights = moved

            def loss(self):
                out = torch.func.functional_call(self.model, self.weights, (torch.rand(4, 8),))
                return F.cross_entropy(out, torch.zeros(4).long())

        def main():
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                fast = Fast(model)
                for _ in range(3):
                    fast.move(fast.loss())
                optimizer.zero_grad()
                fast.loss().backward()
                optimizer.step()
    """,
    "rows of a jacobian": """
        def jacobian(y, x):
            rows = []
            for i in range(y.numel()):
                (row,) = torch.autograd.grad(y[i], x, retain_graph=True)
                rows.append(row)
            return torch.stack(rows)
        """,
    "inner steps of a meta-learner": """
        def maml(tasks, optimizer):
            model = Net()
            for batch in tasks:
                outer = []
                for sx, sy, qx, qy in batch:
                    fast = list(model.parameters())
                    for _ in range(3):
                        loss = F.mse_loss(F.linear(sx, fast[0], fast[1]), sy)
                        grads = torch.autograd.grad(loss, fast, create_graph=True)
                        fast = [p - 0.1 * g for p, g in zip(fast, grads)]
                    outer.append(F.mse_loss(F.linear(qx, fast[0], fast[1]), qy))
                optimizer.zero_grad()
                torch.stack(outer).mean().backward()
                optimizer.step()
        """,
    "autograd.grad without create_graph": """
        def saliency(model: Net, loader):
            maps = []
            for x, y in loader:
                x.requires_grad_(True)
                loss = F.cross_entropy(model(x), y)
                (gradient,) = torch.autograd.grad(loss, x)
                maps.append(gradient)
            return maps
        """,
    "preallocated rows that go backward": """
        def loss_of(model: Net, parts):
            rows = torch.zeros(len(parts), 2)
            for i, part in enumerate(parts):
                rows[i] = model(part)
            return rows.logsumexp(0).sum()
        """,
    "two backwards share a graph": """
        def train(loader, opt_g, opt_d):
            generator, discriminator = Net(), Net()
            for x, noise in loader:
                fake = generator(noise)
                loss_d = discriminator(fake.detach()).mean() - discriminator(x).mean()
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()
                loss_g = -discriminator(fake).mean()
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
        """,
    "graph retained for the second backward": """
        def train(loader, opt_g, opt_d):
            generator, discriminator = Net(), Net()
            for noise in loader:
                fake = generator(noise)
                score = discriminator(fake)
                opt_d.zero_grad()
                score.mean().backward(retain_graph=True)
                opt_g.zero_grad()
                (-score).logsumexp(0).sum().backward()
                opt_d.step()
                opt_g.step()
        """,
    "sum that goes backward after the loop": """
        def train(batches, optimizer):
            for batch in batches:
                model = Net()
                total = 0.0
                for x, y in batch:
                    total += F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        """,
    "list that goes backward after the loop": """
        def update(model: Net, batch, optimizer):
            losses = []
            for x, y in batch:
                losses.append(F.cross_entropy(model(x), y))
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            optimizer.step()
        """,
    "losses of an episode": """
        class Agent:
            def __init__(self, optimizer):
                self.policy, self.optimizer = Net(), optimizer
                self.log_probs, self.rewards = [], []

            def act(self, x):
                distribution = torch.distributions.Categorical(logits=self.policy(x))
                action = distribution.sample()
                self.log_probs.append(distribution.log_prob(action))
                return action.item()

            def finish(self):
                loss = sum(-p * r for p, r in zip(self.log_probs, self.rewards))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.log_probs.clear()
                self.rewards.clear()
        """,
    "loss returned by a function that sums": """
        def total_loss(model: Net, batch):
            total = 0.0
            for x, y in batch:
                total = total + F.cross_entropy(model(x), y)
            return total / len(batch)
        """,
    "gradients kept for a second derivative": """
        def penalty(model: Net, x):
            x.requires_grad_(True)
            (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            return (gradient.norm(2, dim=1) - 1).pow(2).mean()

        def train(loader, optimizer):
            model = Net()
            for x, _ in loader:
                loss = model(x).mean() + penalty(model, x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "one iteration only": """
        def once(model: Net, x, y):
            losses = []
            loss = F.cross_entropy(model(x), y)
            losses.append(loss)
            losses.append(loss * 2)
            sum(losses).backward()
        """,
    "losses by name, made anew in each step": """
        def train(loader, optimizer):
            model = Net()
            for x, y in loader:
                losses, total = {}, 0.0
                for name in ("a", "b"):
                    losses[name] = F.cross_entropy(model(x), y)
                    total = total + losses[name]
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
                print({name: loss.item() for name, loss in losses.items()})
        """,
    "gradient accumulation": """
        def train(loader, optimizer):
            model, pending = Net(), 0.0
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y) / 4
                loss.backward()
                pending += loss.item()
                if step % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
                    pending = 0.0
        """,
    "losses of the parts of one update": """
        def train(loader, optimizer, meter):
            model = Net()
            for x, y in loader:
                losses, total = [], 0.0
                for _ in range(4):
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    losses.append(loss)
                    total += loss
                optimizer.step()
                optimizer.zero_grad()
                meter.update(sum(losses).item(), total.item())
        """,
    "optimiser closure": """
        def train(loader):
            model = Net()
            optimizer = torch.optim.LBFGS(model.parameters())
            for x, y in loader:
                def closure():
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    return loss

                print(optimizer.step(closure).item())
        """,
    "deferred backward of a schedule": """
        class Schedule:
            def __init__(self):
                self.stage, self.pending = Net(), deque()

            def forward_one(self, x):
                out = self.stage(x)
                self.pending.append(out)
                return out

            def backward_one(self, grad):
                self.pending.popleft().backward(grad)
        """,
    "tests are programs too": """
        def test_train(loader=((torch.ones(1, 8), torch.zeros(1).long()),)):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                assert loss.item() > 0
        """,
    "collected, differentiated, and detached for the log": """
        def train(net: nn.Module, loader, optimizer):
            losses = []
            for x in loader:
                losses.append(net(x).mean())
            total = torch.stack(losses).sum()
            total.backward()
            optimizer.step()
            return total.detach()
        """,
    "graph-kept-for-a-second-derivative-in-training": """
        class Forces(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 1)

            def forward(self, x):
                energy = self.net(x).sum()
                create = self.training
                force = torch.autograd.grad(energy, x, create_graph=create, retain_graph=True)[0]
                return {"energy": energy, "force": -force}

        def validate(model, loader):
            model.eval()
            total = 0.0
            for x in loader:
                total += model(x.requires_grad_())["force"].abs().sum().item()
            return total

        def main(loader):
            model = Forces()
            model.eval()
            for batch in loader:
                print(model(batch["x"])["force"].abs().sum().item())
    """,
    "newest losses by name": """
        class Console:
            def __init__(self, names):
                self.names, self.latest, self.before = names, {}, {}

            def update(self, losses):
                for name, value in losses.items():
                    self.latest[name] = value
                for each in self.names:
                    self.before[each] = losses[each]

        def main():
            model, console = Net(), Console(["a", "b"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                losses = {"a": out.mean(), "b": out.std()}
                sum(losses.values()).backward()
                console.update(losses)
    """,
    "two models that are trained by the loss that is handed out": """
        def compute_loss(left: nn.Module, right: nn.Module, x):
            return F.mse_loss(left(x), right(x))
        """,
    "an environment that is differentiated": """
        def unroll(policy, env, observation, optimizer):
            for _ in range(100):
                state, total = None, 0.0
                for _ in range(20):
                    action, state = policy(observation, state)
                    observation, cost = env.step(action)
                    total = total + cost
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
