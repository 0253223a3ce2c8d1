"""Innocent passes without gradients: modes of blocks, decorators, callers and the process, and frozen models."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "contexts of one's own that turn gradients off": """
        from contextlib import ExitStack

        class Evaluating:
            def __init__(self, model):
                self.model = model

            def __enter__(self):
                self.guard = torch.inference_mode()
                self.guard.__enter__()
                return self.model.eval()

            def __exit__(self, *error):
                self.guard.__exit__(*error)
                self.model.train()

        class Untracked:
            def __enter__(self):
                self.before = torch.is_grad_enabled()
                torch._C._set_grad_enabled(False)

            def __exit__(self, *error):
                torch._C._set_grad_enabled(self.before)

        class Guarded(Untracked):
            def __init__(self, model):
                self.model, self.guard, self.seen = model, torch.no_grad(), []

            def __enter__(self):
                super().__enter__()
                self.guard.__enter__()
                return self

            def see(self, x):
                self.seen.append(self.model(x))

        def main(loader):
            model, kept, stacked, total = nn.Linear(8, 2), [], [], 0.0
            with Evaluating(model) as evaluated:
                for x in loader:
                    kept.append(evaluated(x))
            with Untracked():
                for x in loader:
                    total += model(x).mean()
            with Guarded(model) as guarded:
                for x in loader:
                    guarded.see(x)
                print(len(guarded.seen))
            with ExitStack() as stack:
                stack.enter_context(Untracked())
                for x in loader:
                    stacked.append(model(x))
            return kept, stacked, total
        """,
    "a decorator of the project that enters no_grad around the call": """
        import functools

        def inference(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                with torch.no_grad():
                    return fn(*args, **kwargs)
            return wrapper

        class Scorer:
            def __init__(self, model):
                self.model = model.eval()
                self.scores = []

            @inference
            def accept(self, x):
                score = self.model(x)
                self.scores.append(score)
                return score.argmax(-1).tolist()

            def flush(self):
                self.scores.clear()
        """,
    "a model that its constructor freezes": """
        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 8), nn.GELU())
                for p in self.parameters():
                    p.requires_grad_(False)

            def forward(self, x):
                return self.body(x)

        class Distance:
            def __init__(self, model):
                self.model = model.eval()

            def __call__(self, x):
                return self.model(x).mean().item()

        def main(steps):
            distance = Distance(Features())
            for _ in range(steps):
                distance(torch.rand(2, 8))
        """,
    "queue of keys under no_grad": """
        class Moco(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder_q, self.encoder_k = Net(), Net()
                self.register_buffer("queue", torch.randn(2, 128))

            @torch.no_grad()
            def _update(self):
                for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    k.data = k.data * 0.9 + q.data * 0.1

            @torch.no_grad()
            def _enqueue(self, keys):
                self.queue[:, : len(keys)] = keys.t()

            def forward(self, a, b):
                q = self.encoder_q(a)
                with torch.no_grad():
                    self._update()
                    k = self.encoder_k(b)
                logits = torch.cat([q @ k.t(), q @ self.queue.clone().detach()], 1)
                self._enqueue(k)
                return logits
        """,
    "phases with set_grad_enabled": """
        def fit(model: Net, loaders, optimizer):
            for epoch in range(10):
                for phase in ("train", "val"):
                    model.train() if phase == "train" else model.eval()
                    running, preds = 0.0, []
                    for x, y in loaders[phase]:
                        optimizer.zero_grad()
                        with torch.set_grad_enabled(phase == "train"):
                            out = model(x)
                            loss = F.cross_entropy(out, y)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
                        running += loss.item() * x.size(0)
                        preds.append(out.argmax(1))
        """,
    "rollout recorded under no_grad": """
        class Agent:
            def __init__(self):
                self.actor, self.critic = Net(), Net()
                self.buffer = []
            @torch.no_grad()
            def act(self, state):
                dist = torch.distributions.Categorical(logits=self.actor(state))
                a = dist.sample()
                self.buffer.append((state, a, dist.log_prob(a), self.critic(state)))
                return a
            def learn(self, optimizer):
                for state, a, old, value in self.buffer:
                    dist = torch.distributions.Categorical(logits=self.actor(state))
                    ratio = (dist.log_prob(a) - old).exp()
                    loss = -(ratio * value).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                self.buffer = []
        """,
    "likelihoods of a pretrained model": """
        from transformers import GPT2LMHeadModel
        def perplexity(chunks):
            model = GPT2LMHeadModel.from_pretrained("gpt2")
            nlls = []
            for ids in chunks:
                with torch.no_grad():
                    outputs = model(ids, labels=ids)
                    nll = outputs.loss * 4
                nlls.append(nll)
            return torch.exp(torch.stack(nlls).mean())
        """,
    "grad mode that depends": """
        import contextlib
        def run(model: Net, loader, training):
            outs = []
            for x, y in loader:
                with contextlib.nullcontext() if training else torch.no_grad():
                    outs.append(model(x).argmax(1))
            return outs
        """,
    "caller turns gradients off for a method": """
        class Diffusion:
            def __init__(self):
                self.model = Net()
            def step(self, x, t):
                return x - self.model(x)
            def loop(self, x):
                xs = []
                for t in range(100):
                    x = self.step(x, t)
                    xs.append(x)
                return xs
            def sample(self, n):
                with torch.no_grad():
                    return self.loop(torch.randn(n, 8))
        """,
    "decorator that is made by a function": """
        def no_grad_if(flag):
            def deco(f):
                @functools.wraps(f)
                def inner(*a):
                    with torch.no_grad():
                        return f(*a)
                return inner
            return deco
        @no_grad_if(True)
        def evaluate(model: Net, loader):
            model.eval()
            return [model(x) for x, _ in loader]
        """,
    "a long no_grad block": """
        def evaluate(model: Net, loader, criterion):
            total = 0
            lines = []
            with torch.no_grad():
                metric = []
                for x, y in loader:
                    scores = model(x)
                    loss = criterion(scores, y)
                    total += loss
                    metric.append(scores)
                    for sentence, score in zip(x, scores):
                        lines.append(f"{sentence} {score}")
                total /= len(loader)
                return total, metric, lines
        """,
    "preallocated buffer": """
        @torch.no_grad()
        def embed(model: Net, loader, n):
            table = torch.zeros(n, 2)
            for i, (x, _) in enumerate(loader):
                table[i] = model(x)
            return table
        """,
    "computed in no_grad and used after it": """
        def evaluate(model: Net, loader):
            kept = []
            for x, _ in loader:
                with torch.no_grad():
                    out = model(x)
                kept.append(out)
            return kept
        """,
    "decorated method": """
        class Evaluator:
            def __init__(self):
                self.model, self.outputs = Net(), []

            @torch.no_grad()
            def step(self, x):
                self.model.eval()
                self.outputs.append(self.model(x))

            def reset(self):
                self.outputs.clear()
        """,
    "inference_mode on the caller": """
        def predict(model: Net, x):
            return model(x)

        @torch.inference_mode()
        def main(loader):
            model = Net().eval()
            return [predict(model, x) for x, _ in loader]
        """,
    "grad mode switched for the process": """
        torch.set_grad_enabled(False)

        def evaluate(model: Net, loader):
            model.eval()
            return [model(x) for x, _ in loader]
        """,
    "frozen parameters": """
        def extract(loader):
            model = Net().eval()
            model.requires_grad_(False)
            return [model(x) for x, _ in loader]
        """,
    "bare calls that act": """
        def prepare(model: Net, x):
            model.to("cuda")
            model.half()
            model.cpu()
            torch.set_grad_enabled(False)
            x.detach_()
            return model
        """,
    "generators under no_grad, asked under no_grad": """
        def outputs(model, batches):
            for x in batches:
                yield model(x)

        def main():
            model, batches, kept = Net(), [torch.randn(4, 8) for _ in range(100)], []
            with torch.no_grad():
                for out in outputs(model, batches):
                    kept.append(out)
                best = max(out.max().item() for out in outputs(model, batches))
                mean = sum(model(x).mean() for x in batches) / len(batches)
            print(best, mean, len(kept))
    """,
    "gradients off for all that is called later": """
        torch.set_grad_enabled(False)

        def evaluate(model: Net, loader):
            model.eval()
            return sum(model(x).argmax(-1).eq(y).sum().item() for x, y in loader)
        """,
    "an evaluation that is called under no_grad": """
        def evaluate(net, x):
            net.eval()
            return net(x)

        def main(loader):
            net = Net()
            with torch.no_grad():
                return [evaluate(net, x) for x, _ in loader]
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
