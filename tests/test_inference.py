"""Paths of inference, and what is computed on the way of training: when nobody wants a graph, and when somebody does.

A trailing `# TML102` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, messages

SNIPPETS = {
    "detached at once, again and again": """
        from transformers import AutoModel

        class Embedder:
            def __init__(self, name, tokenizer):
                self.tokenizer, self.model = tokenizer, AutoModel.from_pretrained(name)

            def vectors(self, texts):
                found = []
                for text in texts:
                    words = self.tokenizer(text, return_tensors="pt")
                    found.append(self.model(**words).last_hidden_state.mean(1).detach().cpu().numpy())  # TML201
                return found
    """,
    "a module's own windows over a file": """
        import numpy as np
        import torch
        from torch.nn import Module

        class Model(Module):
            def forward(self, x: torch.Tensor, **options) -> torch.Tensor:
                msg = "left to subclasses"
                raise NotImplementedError(msg)

            def slide(self, batches, device):
                rows = []
                for batch in batches:
                    out = self(torch.tensor(batch["X"], device=device), raw=True)  # TML201
                    rows.append(out.detach().to("cpu").numpy())
                return np.vstack(rows)
    """,
    "a module's own windows, as a list of numbers": """
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))

            def forward(self, x):
                return self.body(x)

            def tags(self, frames):
                found = []
                for frame in frames:
                    scores = self(frame)  # TML201
                    found.append(scores.detach().cpu().tolist())
                return found
    """,
    "a module's own windows, under no_grad or by a caller's leave": """
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))

            def forward(self, x):
                return self.body(x)

            def tags(self, frames):
                found = []
                for frame in frames:
                    with torch.no_grad():
                        scores = self(frame)
                    found.append(scores.detach().cpu().numpy())
                return found

            def rows(self, frames):
                return [self(frame).cpu().numpy() for frame in frames]

            def forward_in_parts(self, frames):
                parts, shown = [], []
                for frame in frames:
                    parts.append(self(frame))
                    shown.append(parts[-1].detach().cpu().numpy())
                self.shown = shown[-1]
                return torch.cat(parts)

            def score(self, frames):
                parts, shown = [], []
                for frame in frames:
                    scores = self(frame)
                    parts.append(scores.mean())
                    shown.append(scores.detach().cpu().numpy())
                return torch.stack(parts).sum(), shown
    """,
    "a learning target, by the function's name": """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Learner:
            def __init__(self):
                self.q_net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
                self.opt = torch.optim.Adam(self.q_net.parameters())

            def compute_target(self, r, s2, d):
                return r + 0.99 * (1 - d) * self.q_net(s2).max(1)[0]  # TML204

            def update(self, s, a, r, s2, d):
                target = self.compute_target(r, s2, d)
                loss = F.mse_loss(self.q_net(s).gather(1, a), target)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
    """,
    "learning targets, by what they are assigned to": """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Learner:
            def __init__(self):
                self.q_net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
                self.opt = torch.optim.Adam(self.q_net.parameters())

            def step(self, s, r, s2, d):
                td_target = r + 0.99 * self.q_net(s2) * (1 - d)  # TML204
                loss = F.smooth_l1_loss(self.q_net(s), td_target)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

            def learn(self, s, r, s2):
                next_q = self.q_net(s2).max(1)[0]  # TML204
                loss = (self.q_net(s) - r - 0.99 * next_q).pow(2).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
    """,
    "learning targets that are constants": """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Learner:
            def __init__(self):
                self.q_net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
                self.opt = torch.optim.Adam(self.q_net.parameters())

            def step(self, s, r, s2, d):
                td_target = r + 0.99 * self.q_net(s2).detach() * (1 - d)
                loss = F.smooth_l1_loss(self.q_net(s), td_target)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

            @torch.no_grad()
            def get_target_q(self, r, s2):
                return r + self.q_net(s2).max(1)[0]

            def learn(self, s, r, s2):
                with torch.no_grad():
                    next_q = self.q_net(s2).max(1)[0]
                loss = (self.q_net(s) - self.get_target_q(r, s2) - next_q).pow(2).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
    """,
    "a value that a model of the world is trained through": """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Dream:
            def __init__(self):
                self.q_net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
                self.opt = torch.optim.Adam(self.q_net.parameters())

                self.dynamics = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

            def improve(self, s):
                next_value = self.q_net(self.dynamics(s))
                loss = -next_value.mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
    """,
    "detached at once, in a step of training": """
        from torch import nn

        def distil(teacher: nn.Module, student: nn.Module, loader, optimizer):
            for images in loader:
                wanted = teacher(images).detach()
                loss = (student(images) - wanted).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "detached at once, in a loop of training around it": """
        from torch import nn

        def explore(policy: nn.Module, seen):
            return policy(seen).detach().cpu().numpy()

        def learn(policy: nn.Module, world, optimizer):
            for _ in range(100):
                action = explore(policy, world.seen)
                loss = policy(world.seen).sum() - world.step(action)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "a pass under a name of its own": """
        class Trainer:
            def __init__(self, model, evaluator):
                self.model, self.evaluator = model, evaluator

            def evaluate(self, batches):
                self.model.eval()
                found = []
                for batch in batches:
                    scores = self.model.full_sort_predict(batch)  # TML201
                    found.append(self.evaluator.judge(batch, scores))
                return self.evaluator.collect(found)
    """,
    "methods that see to the mode themselves": """
        class Trainer:
            def __init__(self, model, evaluator):
                self.model, self.evaluator = model, evaluator

            def evaluate(self, batches):
                self.model.eval()
                found = []
                for batch in batches:
                    words = self.model.generate(batch, max_length=20)
                    found.append(self.evaluator.judge(batch, words, self.model.encode(batch)))
                return self.evaluator.collect(found)

            def scores(self, table):
                return [self.model.full_sort_predict(row) for row in table]
    """,
    "a pass that training and validation share": """
        import torch

        class Net:
            def __init__(self, module, criterion, optimizer):
                self.module, self.criterion, self.optimizer = module, criterion, optimizer

            def infer(self, x):
                return self.module(x)

            def train_step(self, x, y):
                self.module.train()
                loss = self.criterion(self.infer(x), y)
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()

            def validation_step(self, x, y):
                self.module.eval()
                predicted = self.infer(x)  # TML201
                return self.criterion(predicted, y), predicted

            @torch.no_grad()
            def test_step(self, x, y):
                self.module.eval()
                return self.criterion(self.infer(x), y)
    """,
    "a plain class that has a forward": """
        class Net(object):
            def __init__(self, module):
                self.module = module

            def forward(self, x):
                return self.module(x)

            def validation_step(self, x):
                self.module.eval()
                return self.forward(x)  # TML201
    """,
    "a model that goes over a film": """
        from torch import nn

        class Matting(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Conv2d(3, 1, 3)

            def forward(self, x):
                return self.layers(x)

            def predict_film(self, frames):
                self.eval()
                return [self.forward(frame) > 0.5 for frame in frames]  # TML201

            def predict_frame(self, frame):
                return self.forward(frame)
    """,
    "text that is generated": """
        import torch
        from torch import nn

        class Writer(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.cell, self.score = nn.GRUCell(size, 64), nn.Linear(64, size)

            def forward(self, x, state):
                state = self.cell(x, state)
                return self.score(state), state

            def generate_text(self, x, length) -> str:
                state, letters = torch.zeros(1, 64), []
                for _ in range(length):
                    scores, state = self.forward(x, state)  # TML105
                    letters.append(chr(int(scores.argmax())))
                return "".join(letters)

            def generate_scores(self, x, length):
                state = torch.zeros(1, 64)
                for _ in range(length):
                    scores, state = self.forward(x, state)
                return scores

            @torch.no_grad()
            def sample_text(self, x, length) -> str:
                state, letters = torch.zeros(1, 64), []
                for _ in range(length):
                    scores, state = self.forward(x, state)
                    letters.append(chr(int(scores.argmax())))
                return "".join(letters)
    """,
    "a term of the loss of a model that is one by its name": """
        class Meter:
            def __init__(self):
                self.total, self.count = 0, 0

            def update(self, value, n=1):
                self.total += value * n  # TML101
                self.count += n

        def fit(model, loader, optimizer, history):
            penalties = Meter()
            for x, y in loader:
                out, extra = model(x)
                penalty = extra.norm()
                loss = (out - y).pow(2).mean() + 0.1 * penalty
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                penalties.update(penalty)
            return penalties.total / penalties.count
    """,
    "another part of what such a model gives": """
        def fit(model, loader, optimizer, history):
            for x, y in loader:
                out, picked = model(x)
                loss = (out - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                history.append(picked)
            return history
    """,
    "helpers that set the mode": """
        import torch
        from torch import nn

        def turns_on(x):
            torch.set_grad_enabled(False)
            y = x.exp()
            torch.set_grad_enabled(True)  # TML202
            return y

        def turns_back(x):
            before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            y = x.exp()
            torch.set_grad_enabled(before)
            return y

        def turns_on_at_the_end(x):
            torch.set_grad_enabled(False)
            y = x.exp()
            torch.set_grad_enabled(True)
            return y

        @torch.no_grad()
        def turns_on_inside(x):
            torch.set_grad_enabled(True)
            return x.exp()

        def evaluate(net, loader):
            kept = []
            with torch.no_grad():
                for x in loader:
                    kept.append(turns_on(net(x)))  # TML201
            return kept

        def evaluate_well(net, loader):
            kept = []
            with torch.no_grad():
                for x in loader:
                    kept.append(turns_back(net(x)))
                    kept.append(turns_on_inside(net(x)))
            return kept

        def evaluate_once(net, x):
            with torch.no_grad():
                return turns_on_at_the_end(net(x))

        def main(loader):
            net = nn.Linear(8, 8).eval()
            for x in loader:
                evaluate_once(net, x)
            return evaluate(net, loader), evaluate_well(net, loader)
    """,
    "a helper that turns the mode off for who calls it": """
        import torch
        from torch import nn

        def prepare(net):
            net.eval()
            torch.set_grad_enabled(False)

        def embed(loader):
            net, kept = nn.Linear(8, 8), []
            prepare(net)
            for x in loader:
                kept.append(net(x))
            return kept
    """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_inference(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize(("called", "name"), [("net", "net"), ("self.net", "self.net"), ("self.nets[0]", "self.nets")])
def test_an_unknown_model_has_its_written_name(called: str, name: str) -> None:
    (said,) = messages(f"""
        class Judge:
            def validate(self, net, loader):
                {called}.eval()
                return [{called}(x).argmax(1).tolist() for x, _ in loader]
        """)
    assert f"runs `{name}` with gradients recorded" in said


_WARMED = """
    def test(model, loader, size, device):
        model.eval()
        {warm}
        hits = 0
        for x, y in loader:
            with torch.no_grad():
                hits += (model(x.to(device)).argmax(1) == y).sum().item()
        return hits

    if __name__ == "__main__":
        for size in range(256, 1024, 128):
            net = torch.load("net.pt")["model"].float().eval()
            test(net, [], size, torch.device("cuda"))
    """


@pytest.mark.parametrize(
    "made", ["zeros(1, 3, size, size).to(device)", "rand((1, 3, size, size), device=device).half()"]
)
def test_a_pass_to_warm_up(made: str) -> None:
    check(_WARMED.format(warm=f"model(torch.{made})"))
    check(_WARMED.format(warm=f"blank = torch.{made}; model(blank)"))


def test_a_pass_over_data() -> None:
    check(_WARMED.format(warm="[model(x) for x in loader]  # TML201"))
    check(_WARMED.format(warm="for x in loader: model(x)  # TML201"))
