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
    "handles that are deleted, as if that took the hooks out": """
        class Ranges:
            def __init__(self, model):
                self.model = model
                self.low, self.handles = {}, []

            def attach(self):
                def record(module, args, out):
                    self.low[module] = out.detach().min()

                for layer in self.model.modules():
                    self.handles.append(layer.register_forward_hook(record))  # TML304

            def finalize(self):
                self.model.eval()
                del self.handles  # TML304
        """,
    "encodings of a pretrained model": """
        from transformers import AutoModel

        class Encoder:
            def __init__(self, name):
                self.model = AutoModel.from_pretrained(name)

            def vectors(self, rows):
                kept = []
                for row in rows:
                    out = self.model(**row)  # TML201
                    kept.append(out[0].mean(1).detach().cpu().numpy())
                return kept
        """,
    "what a module was given and runs in its pass": """
        class Atomic(nn.Module):
            def __init__(self, descriptor, fitting):
                super().__init__()
                self.descriptor, self.fitting = descriptor, fitting
                self.seen = []

            def forward(self, x):
                inner = self.descriptor(x)
                self.seen.append(inner)  # TML102
                return self.fitting(inner)
        """,
    "blocks that stay on the device": """
        def quantize(model, names, inputs, device):
            for name in names:
                torch.cuda.empty_cache()
                block = get_module(model, name)
                block = block.to(device)
                inputs = calibrate(block, inputs)
                del block  # TML602
        """,
    "a figure for each request": """
        import io
        import matplotlib.pyplot as plt
        from fastapi import FastAPI

        def serve(model):
            app = FastAPI()

            @app.post("/draw")
            async def draw(image):
                plt.figure(figsize=(4, 4))  # TML314
                plt.imshow(image)
                target = io.BytesIO()
                plt.savefig(target, format="png")
                return target.getvalue()

            return app
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
    "handles that somebody else takes, or that begin anew": """
        class Handed:
            def __init__(self, model, bin):
                self.model, self.bin, self.handles = model, bin, []

            def attach(self, hook):
                for layer in self.model.modules():
                    self.handles.append(layer.register_forward_hook(hook))

            def finalize(self):
                self.bin.take(self.handles)
                self.handles = []

        class Anew:
            def __init__(self, model):
                self.model, self.handles = model, []

            def start(self, hook):
                self.handles = []
                self.attach(hook)

            def attach(self, hook):
                for layer in self.model.modules():
                    self.handles.append(layer.register_forward_hook(hook))

        class Each:
            def __init__(self, model):
                self.model, self.handles = model, []

            def attach(self, hook):
                for layer in self.model.modules():
                    self.handles.append(layer.register_forward_hook(hook))

            def close(self):
                for handle in self.handles:
                    handle.remove()
                self.handles.clear()
        """,
    "functions that a module was given": """
        class Scaled(nn.Module):
            def __init__(self, activation_fn, transform):
                super().__init__()
                self.activation_fn, self.transform = activation_fn, transform
                self.seen = []

            def forward(self, x):
                self.seen.append(self.transform(x))
                return self.activation_fn(x)
        """,
    "blocks that go back, batches that are copies": """
        def quantize(model, layers, inputs, device, loader):
            for name in layers:
                block = get_module(model, name)
                block = block.to(device)
                inputs = calibrate(block, inputs)
                block.cpu()
                del block
                torch.cuda.empty_cache()
            for index in range(len(layers)):
                layer = layers[index].to(device)
                inputs = layer(inputs)
                layers[index] = layer.to("cpu")
                del layer
                torch.cuda.empty_cache()
            for batch in loader:
                batch = batch.to(device)
                calibrate(model, batch)
                del batch
                torch.cuda.empty_cache()
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
