"""What a first look at code that nobody had linted before was wrong about, and what it had not seen."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEEN = {
    "a device by its name, after the loop": """
        @torch.no_grad()
        def collect(model, data_loader, device):
            cpu = torch.device("cpu")
            model.eval()
            rows = []
            for batch in data_loader:
                batch = batch.to(device)
                rows.append(torch.softmax(model(batch), 1))  # TML310
            return torch.cat(rows).to(cpu)
        """,
    "inference mode that ends with its object": """
        def session(model, images):
            torch.inference_mode().__enter__()  # TML202
            model.eval()
            kept = []
            for image in images:
                kept.append(model(image))  # TML102
            return kept
        """,
    "errors of kernels in a table of the module": """
        _ERRORS = {}

        class Packed(nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.codes = weight.round()

            def kernel(self, name):
                try:
                    module = __import__(name)
                    module.self_test(self.codes)
                except ImportError as error:
                    _ERRORS[name] = error  # TML307
        """,
    "a total that is scaled is reported where it grows": """
        def train(model, loader, optimizer, every):
            total = 0.0
            for step, x in enumerate(loader):
                loss = model(x).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss  # TML101
                if step % every == 0:
                    total /= every
                    print(total)
        """,
    "a model whose constructor makes parts of another library": """
        from dgl.nn import EdgeConv

        class Cloud(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.conv = EdgeConv(3, 9)

            def forward(self, x):
                return self.conv(x)

        def evaluate(model, loader):
            model.eval()
            right = 0
            for x, y in loader:
                right += (model(x).argmax(1) == y).sum().item()  # TML201
            return right

        def main(loader):
            print(evaluate(Cloud([3, 9]), loader))
        """,
    "a helper speaks for its callers": """
        def sample(model, prompt):
            model.eval()
            for _ in range(20):
                logits = model(prompt)  # TML201
                prompt = torch.cat([prompt, logits.argmax(-1)])
            return prompt.tolist()

        def evaluate(model, prompts):
            return [sample(model, prompt) for prompt in prompts]
        """,
}

QUIET = {
    "a device by its name, in the loop": """
        @torch.no_grad()
        def collect(model, data_loader, device):
            cpu = torch.device("cpu")
            model.eval()
            rows = []
            for batch in data_loader:
                batch = batch.to(device)
                rows.append(torch.softmax(model(batch), 1).to(device=cpu))
            return torch.cat(rows).to(device="cpu")
        """,
    "no grad by hand": """
        def session(model, images):
            torch.no_grad().__enter__()
            model.eval()
            return [model(image) for image in images]
        """,
    "what is left in a queue of a thread": """
        import threading

        class Feeder:
            def __init__(self, loader):
                self.queue = queue.Queue(4)
                self.ended = False
                threading.Thread(target=self.feed, args=(loader,), daemon=True).start()

            def feed(self, loader):
                for batch in loader:
                    if self.ended:
                        break
                    self.queue.put(torch.relu(batch))
                while not self.queue.empty():
                    left = self.queue.get()
        """,
    "a thread that follows a weak reference": """
        import threading

        class Refresher(threading.Thread):
            def __init__(self, owner_ref):
                super().__init__(daemon=True)
                self.owner_ref = owner_ref
                self.ended = False

            def run(self):
                while not self.ended:
                    owner = self.owner_ref()
                    if owner is None:
                        break
                    owner.refresh()

            def __del__(self):
                self.ended = True
        """,
    "filled while a flag is on that nobody turns on again": """
        class Tracer:
            def __init__(self):
                self.warmup = True
                self.seen = []

            def forward_step(self, x):
                if self.warmup and x.ndim:
                    self.seen.append(torch.relu(x))

            def post_iter(self):
                self.warmup = False

        def main(loader):
            tracer = Tracer()
            for x in loader:
                tracer.forward_step(x)
                tracer.post_iter()
        """,
    "results that a loop goes over share a graph": """
        def trace(model, x):
            for result in tuple(model(x)):
                torch.autograd.backward(result, torch.ones_like(result), retain_graph=True)
        """,
    "a loss in an evaluation": """
        def evaluate(model, loader, loss_fn):
            model.eval()
            losses = []
            for x, y in loader:
                with torch.no_grad():
                    logits = model(x)
                losses.append(loss_fn(logits, y).item())
            return losses
        """,
    "a new exception for each raise": """
        DETAIL = "not ready"

        class Rejected(Exception):
            pass

        class Gate(nn.Module):
            def forward(self, x):
                if x.mean() < 0:
                    raise Rejected(DETAIL)
                return x
        """,
    "an exception of the module without its traceback": """
        NOT_READY = RuntimeError("not ready")

        class Gate(nn.Module):
            def forward(self, x):
                if x.mean() < 0:
                    raise NOT_READY.with_traceback(None)
                return x
        """,
    "a formula that is asked again and again": """
        class Bowl(nn.Module):
            def __init__(self, low, high):
                super().__init__()
                self.low, self.high = float(low), float(high)
                self.register_buffer("middle", torch.zeros(2))

            def forward(self, x):
                return ((x - self.middle) ** 2).sum(-1) * (self.high - self.low)

        def trials(points):
            bowl = Bowl(0, 1)
            bowl.eval()
            worst = 0.0
            for x in points:
                worst = max(worst, bowl(x).item())
            return worst
        """,
    "names of agents": """
        from pettingzoo import AECEnv

        class Game(AECEnv):
            def __init__(self, players):
                self.possible_agents = list(players)

            def reset(self):
                self.agents = self.possible_agents[:]

            @functools.lru_cache(maxsize=None)
            def action_space(self, agent):
                return len(agent)
        """,
    "checkpoints of a program that names no device": """
        def save(path, model, optimizer):
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

        def resume(path, model, optimizer):
            states = torch.load(path)
            model.load_state_dict(states["model"])
            optimizer.load_state_dict(states["optimizer"])
        """,
}


@pytest.mark.parametrize("name", list(SEEN))
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", list(QUIET))
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])
