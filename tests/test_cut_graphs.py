"""Where a backward pass does not come to, and what a gradient with a graph was made from."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEEN = {
    "a sum that a penalty gets by way of no_grad": """
        class PathIntegral:
            def __init__(self, model):
                self.total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
                self.last = {name: p.detach().clone() for name, p in model.named_parameters()}
                self.strength = {name: torch.zeros_like(p) for name, p in model.named_parameters()}

            def step(self, model):
                for name, p in model.named_parameters():
                    self.total[name] = self.total[name] - p.grad * (p - self.last[name])  # TML205
                    self.last[name] = p.detach().clone()

            @torch.no_grad()
            def close_task(self):
                for name, total in self.total.items():
                    self.strength[name] += total.clamp(min=0)

            def penalty(self, model):
                parts = [(self.strength[n] * (p - self.last[n]) ** 2).sum() for n, p in model.named_parameters()]
                return sum(parts)

        def train(loader, optimizer):
            model = Net()
            path = PathIntegral(model)
            for task in range(3):
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y) + path.penalty(model)
                    loss.backward()
                    optimizer.step()
                    path.step(model)
                path.close_task()
        """,
    "the vector of a power iteration": """
        class Curvature:
            def __init__(self):
                self.vector = None

            def measure(self, model, x, y):
                params = list(model.parameters())
                loss = F.cross_entropy(model(x), y)
                grads = torch.autograd.grad(loss, params, create_graph=True)
                vector = self.vector or [torch.randn_like(p) for p in params]
                products = torch.autograd.grad(grads, params, vector, create_graph=True)
                self.vector = [p / p.norm() for p in products]  # TML110

        def train(loader, optimizer):
            model, curvature = Net(), Curvature()
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
                curvature.measure(model, x, y)
        """,
    "an estimate whose next product goes through all earlier ones": """
        def product(loss, params, vector):
            grads = torch.autograd.grad(loss, params, create_graph=True)
            inner = sum((g * v).sum() for g, v in zip(grads, vector))
            return torch.autograd.grad(inner, params, create_graph=True)

        def influence(model: nn.Module, loader, wanted, scale):
            params = list(model.parameters())
            estimate = [w.clone() for w in wanted]
            for x, y in loader:
                products = product(F.cross_entropy(model(x), y), params, estimate)
                estimate = [w + e - p / scale for w, e, p in zip(wanted, estimate, products)]  # TML110
            return sum((w * e).sum().item() for w, e in zip(wanted, estimate))
        """,
}

QUIET = {
    "a sum that a penalty gets itself": """
        class Penalty:
            def __init__(self):
                self.total = torch.zeros(())

            def add(self, value):
                self.total = self.total + value

            def take(self):
                total, self.total = self.total, torch.zeros(())
                return total

        def train(loader, optimizer):
            model, penalty = Net(), Penalty()
            for x, y in loader:
                out = model(x)
                penalty.add(out.square().mean())
                loss = F.cross_entropy(out, y) + penalty.take()
                loss.backward()
                optimizer.step()
        """,
    "what was rolled out without gradients and is learned from": """
        class Rollout:
            def __init__(self):
                self.rows = []

            def collect(self, model, loader):
                with torch.no_grad():
                    for x in loader:
                        self.rows.append(model(x).softmax(-1))

            def loss(self, model, x):
                wanted = torch.stack(self.rows)
                self.rows.clear()
                return F.mse_loss(model(x), wanted.mean(0))

        def train(loaders, optimizer):
            model, rollout = Net(), Rollout()
            for loader, x in loaders:
                rollout.collect(model, loader)
                loss = rollout.loss(model, x)
                loss.backward()
                optimizer.step()
        """,
    "the vector of a power iteration that keeps the graph for the next product alone": """
        class Curvature:
            def __init__(self):
                self.vector = None

            def measure(self, model, x, y):
                params = list(model.parameters())
                loss = F.cross_entropy(model(x), y)
                grads = torch.autograd.grad(loss, params, create_graph=True)
                vector = self.vector or [torch.randn_like(p) for p in params]
                products = torch.autograd.grad(grads, params, vector)
                self.vector = [p / p.norm() for p in products]

        def train(loader, optimizer):
            model, curvature = Net(), Curvature()
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
                curvature.measure(model, x, y)
        """,
    "an estimate that is cut off after each product": """
        def influence(model: nn.Module, loader, wanted, scale):
            params = list(model.parameters())
            estimate = [w.clone() for w in wanted]
            for x, y in loader:
                grads = torch.autograd.grad(F.cross_entropy(model(x), y), params, create_graph=True)
                inner = sum((g * v).sum() for g, v in zip(grads, estimate))
                products = torch.autograd.grad(inner, params)
                estimate = [w + e - p.detach() / scale for w, e, p in zip(wanted, estimate, products)]
            return sum((w * e).sum().item() for w, e in zip(wanted, estimate))
        """,
    "a path that forces lead along, for whoever asks": """
        def trajectory(net: nn.Module, position, velocity):
            position.requires_grad_(True)
            for _ in range(9):
                force = torch.autograd.grad(net(position).sum(), position, create_graph=True)[0]
                velocity = velocity - 0.1 * force
                position = position + 0.1 * velocity
            return position
        """,
    "a state whose gradients are learned from with it": """
        def train(cell: nn.Module, series, optimizer):
            params = list(cell.parameters())
            for xs in series:
                state, loss = torch.zeros(4, 8), 0.0
                for x in xs:
                    state = cell(x, state)
                    grads = torch.autograd.grad(state.sum(), params, create_graph=True)
                    loss = loss + sum(g.square().sum() for g in grads)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "a vector that a double backward goes through": """
        def train(model, loader, optimizer):
            for x, y in loader:
                x.requires_grad_(True)
                out = model(x)
                weights = out.softmax(-1)
                given = torch.autograd.grad(out, x, grad_outputs=weights, create_graph=True)[0]
                loss = F.cross_entropy(out, y) + given.square().mean()
                loss.backward()
                optimizer.step()
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])


ADAPTED = """
from torch.func import functional_call

class Learner:
    def __init__(self, net: nn.Module):
        self.net = net

    def adapt(self, x, y):
        weights = dict(self.net.named_parameters())
        for _ in range(3):
            loss = F.mse_loss(functional_call(self.net, weights, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(weights.values()))
            weights = {k: w - 0.1 * g for (k, w), g in zip(weights.items(), grads)}
        return weights
"""
MEASURED = """
def main(batches):
    learner = Learner(nn.Linear(8, 2))
    for x, y in batches:
        print(F.mse_loss(functional_call(learner.net, learner.adapt(x, y), (x,)), y).item())
"""


def test_weights_adapted_for_whoever_calls() -> None:
    check(ADAPTED)  # a first-order meta-learner may differentiate through them
    check(ADAPTED.replace("grads)}", "grads)}  # TML205") + MEASURED)
    check(ADAPTED + MEASURED.replace(".item()", ".backward()").replace("print(", "("))


QUEUE = """
from losses import contrast

class Swapped(lightning.LightningModule):
    def __init__(self, size):
        super().__init__()
        self.net = Net()
        self.prototypes = nn.Linear(2, 16)
        self.register_buffer("queue", torch.zeros(size, 2))

    def assign(self, scores):
        {read}

    def training_step(self, batch, index):
        codes = self.net(batch)
        scores = self.prototypes(codes)
        loss = contrast(scores, self.assign(scores))
        self.queue[: len(codes)] = {put}
        return loss
"""
READ = "known = self.prototypes(self.queue)\n        return torch.cat((scores, known))"
UNRECORDED = "with torch.no_grad():\n            " + READ.replace("\n", "\n    ")


def test_what_is_read_without_gradients_asks_for_no_graph() -> None:
    check(QUEUE.format(read=UNRECORDED, put="codes  # TML101"))


@pytest.mark.parametrize(("read", "put"), [(READ, "codes"), (UNRECORDED, "codes.detach()")])
def test_what_is_read_with_gradients(read: str, put: str) -> None:
    check_innocent(QUEUE.format(read=read, put=put))
