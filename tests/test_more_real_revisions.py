"""What a later look at real revisions had not seen, and the innocent form of each; every shape written anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

_PUT_ON = """
        from concurrent.futures import Future, ThreadPoolExecutor

        class Info:
            def __init__(self, path):
                self.path, self.image = path, None

        class Images:
            def __init__(self):
                self.infos = {{}}

            def add(self, info: Info):
                self.infos[info.path] = info

            def encode(self, model):
                executor = ThreadPoolExecutor(4)
                for info in list(self.infos.values()):
                    info.image = executor.submit(load, info.path){mark}
                for info in list(self.infos.values()):
                    if isinstance(info.image, Future):
                        info.image = info.image.result()
                    model.encode(info.image)
                    {then}
                executor.shutdown()
"""

SEEN = {
    "a second loss by another name of a loss": """
        from losses import Dice, Focal

        def train(model, loader, optimizer):
            loss_fct, focal_loss_fct = Dice(), Focal(gamma=2)
            focal = 0.0
            for x, y in loader:
                out = model(x.cuda())
                loss = loss_fct(out, y)
                focal += focal_loss_fct(out, y)  # TML101
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(focal / len(loader))
        """,
    "a test that takes the best index of each output": """
        def main(structures, labels):
            model = Net()
            optimizer = torch.optim.Adam(model.parameters())
            for structure, label in zip(structures, labels):
                loss = F.cross_entropy(model(structure), label)
                loss.backward()
                optimizer.step()

            def test(rows, wanted):
                print([model(row).argmax().item() for row in rows], wanted)  # TML201

            test(structures, labels)

        main(torch.rand(9, 4, 8), torch.zeros(9, 4).long())
        """,
    "hooks that count, put on by `apply`": """
        def measure(model, size):
            def add(part):
                part.register_buffer("ops", torch.zeros(1))
                part.register_forward_hook(count)  # TML304

            model.eval()
            model.apply(add)
            with torch.no_grad():
                model(torch.zeros(size))
            return sum(part.ops.item() for part in model.modules())

        def count(part, args, output):
            part.ops += output.numel()
        """,
    "hooks that count, on each part": """
        def measure(model, x):
            for name, part in model.named_modules():
                part.register_forward_hook(count)  # TML304
            with torch.no_grad():
                model(x)
            return {name: part.ops for name, part in model.named_modules()}

        def count(part, args, output):
            part.ops = output.numel()
        """,
    "sums of a tracker that is a `defaultdict`": """
        class Tracker(defaultdict):
            def __init__(self):
                super(Tracker, self).__init__(int)

            def __add__(self, other):
                total = Tracker()
                for key, value in self.items():
                    total[key] = value
                for key, value in other.items():
                    total[key] = total[key] + value
                return total

            def __mul__(self, factor):
                total = Tracker()
                for key, value in self.items():
                    total[key] = value * factor
                return total

        def train(model, optimizer, loader):
            total = Tracker()
            for x, y in loader:
                main, side = model(x, y)
                loss = main + side
                info = Tracker()
                info["main"] = main.item()
                info["side"] = side
                total = total * 0.9 + info  # TML101
                loss.backward()
                optimizer.step()
            print(total["main"], total["side"])
        """,
    "entries that a `defaultdict` of one's own starts": """
        class History(defaultdict):
            def __init__(self):
                super().__init__(list)

        def train(loader):
            model, history = Net(), History()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                history["loss"].append(loss)  # TML102
        """,
    "a model whose description the constructor is given": """
        class Learner:
            def __init__(self, factory, model: dict = None):
                self.factory, self.model, self.rows = factory, model, None

            def setup(self, rows):
                self.model = self.factory(self.model).to("cuda")
                self.rows = rows
                self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

            def step(self, index, y):
                self.model.train()
                loss = F.mse_loss(self.model.forward(self.rows.take(index)), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

            def score(self, index, y):
                self.model.eval()
                out = self.model.forward(self.rows.take(index))  # TML201
                return F.mse_loss(out, y).item()
        """,
    "a future on an object that is in a table already": _PUT_ON.format(mark="  # TML503", then="pass"),
    "a number where it is no tensor": """
        def validate(model, loader):
            total = 0
            model.eval()
            for x in loader:
                out = model(x)  # TML201
                if torch.is_tensor(out):
                    total += out.cpu().data.item()
                else:
                    total += out
            return total / len(loader)
        """,
    "a sum where it is a tensor": """
        def train(model, loader, optimizer):
            total = 0
            for x in loader:
                loss = model(x)
                if not isinstance(loss, torch.Tensor):
                    loss = loss[0]
                else:
                    total += loss  # TML101
                loss.backward()
                optimizer.step()
            print(total / len(loader))
        """,
    "torch by way of a module that is not seen": """
        from .backend import torch as library

        def run(model, loader, optimizer):
            total = library.zeros(1)
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                total = library.add(total, loss)  # TML101
            print(total)
        """,
    "parts of a cached entry that are moved in the entry": """
        class Images:
            def __init__(self, dataset, device):
                self.cached, self.device = [dict(item) for item in dataset], device
                self.order = list(range(len(dataset)))

            def next_train(self):
                item = self.cached[self.order.pop(0)]
                item["image"] = item["image"].to(self.device)  # TML310
                return len(self.order), item
        """,
    "a thread for ever that a restart starts again": """
        import multiprocessing as mp
        import queue as queues
        import threading

        def pin(sources, target):
            number = 0
            while True:
                target.put(sources[number % len(sources)].get().pin_memory())
                number += 1

        def produce(target, loader):
            for item in loader:
                target.put(item)

        class Augmenter:
            def __init__(self, loader, pinned):
                self.loader, self.pinned = loader, pinned
                self.workers, self.queues, self.pinning = [], [], None

            def start(self):
                if not self.workers:
                    for _ in range(4):
                        self.queues.append(mp.Queue(2))
                        args = (self.queues[-1], self.loader)
                        self.workers.append(mp.Process(target=produce, args=args, daemon=True))
                        self.workers[-1].start()
                    if self.pinned:
                        self.ready = queues.Queue(2)
                        args = (self.queues, self.ready)
                        self.pinning = threading.Thread(target=pin, args=args, daemon=True)  # TML505
                        self.pinning.start()

            def finish(self):
                for worker in self.workers:
                    worker.terminate()
                self.workers, self.queues = [], []

            def restart(self):
                self.finish()
                self.start()
        """,
}

INNOCENT = {
    "numbers of a second loss": """
        from losses import Dice, Focal

        def train(model, loader, optimizer):
            loss_fct, focal_loss_fct = Dice(), Focal(gamma=2)
            focal = 0.0
            for x, y in loader:
                out = model(x.cuda())
                loss = loss_fct(out, y)
                focal += focal_loss_fct(out, y).item()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(focal / len(loader))
        """,
    "the best index of each output, without gradients": """
        def main(structures, labels):
            model = Net()

            @torch.no_grad()
            def test(rows, wanted):
                print([model(row).argmax().item() for row in rows], wanted)

            test(structures, labels)

        main(torch.rand(9, 4, 8), torch.zeros(9, 4).long())
        """,
    "a policy that chooses": """
        class Agent:
            def __init__(self, policy):
                self.policy = policy

            def act(self, state):
                return self.policy(state).argmax().item()
        """,
    "hooks that count and are taken out": """
        def measure(model, size):
            handles = []

            def add(part):
                handles.append(part.register_forward_hook(count))

            model.eval()
            model.apply(add)
            with torch.no_grad():
                model(torch.zeros(size))
            for handle in handles:
                handle.remove()
            return sum(part.ops for part in model.modules())

        def count(part, args, output):
            part.ops = output.numel()
        """,
    "hooks of a setup that tries the model once": """
        def prepare(model, x):
            for part in model.modules():
                part.register_forward_hook(check)
            with torch.no_grad():
                model(x)
            return model

        def check(part, args, output):
            assert output.isfinite().all()
        """,
    "hooks that are there already": """
        def measure(model, x):
            for part in model.modules():
                if not hasattr(part, "ops"):
                    part.register_forward_hook(count)
            with torch.no_grad():
                model(x)
            return [part.ops for part in model.modules()]

        def count(part, args, output):
            part.ops = output.numel()
        """,
    "a tracker of numbers": """
        class Tracker(defaultdict):
            def __init__(self):
                super(Tracker, self).__init__(int)

            def __add__(self, other):
                total = Tracker()
                for key, value in (*self.items(), *other.items()):
                    total[key] = total[key] + value
                return total

        def train(model, optimizer, loader):
            total = Tracker()
            for x, y in loader:
                main, side = model(x, y)
                loss = main + side
                info = Tracker()
                info["main"], info["side"] = main.item(), side.detach().cpu().item()
                total = total + info
                loss.backward()
                optimizer.step()
            print(total["main"], total["side"])
        """,
    "a description that stays one": """
        class Learner:
            def __init__(self, factory, model: dict = None):
                self.factory, self.model = factory, model

            def name(self, index):
                return self.model.get("name", index)
        """,
    "a future that gives way": _PUT_ON.format(mark="", then="info.image = None"),
    "derivatives that are handed out, by which": """
        from .backend import torch

        class Jacobian:
            def __init__(self, ys, xs):
                self.ys, self.xs, self.rows = ys, xs, {}

            def __call__(self, i):
                if i not in self.rows:
                    y = self.ys[:, i : i + 1]
                    self.rows[i] = torch.autograd.grad(y, self.xs, torch.ones_like(y), create_graph=True)[0]
                return self.rows[i]
        """,
    "parts of a copy of a cached entry": """
        class Images:
            def __init__(self, dataset, device):
                self.cached, self.device = [dict(item) for item in dataset], device
                self.order = list(range(len(dataset)))

            def next_train(self):
                item = self.cached[self.order.pop(0)].copy()
                item["image"] = item["image"].to(self.device)
                return len(self.order), item

            def next_test(self):
                item = self.cached[self.order.pop(0)]
                item = dict(item)
                item["image"] = item["image"].to(self.device)
                return item
        """,
    "parts of an entry that goes, or comes back": """
        class Images:
            def __init__(self, dataset, device):
                self.waiting, self.device = dict(enumerate(dataset)), device
                self.cached = [dict(item) for item in dataset]

            def take(self, key):
                item = self.waiting[key]
                item["image"] = item["image"].to(self.device)
                del self.waiting[key]
                return item

            def lend(self, key):
                item = self.cached[key]
                item["image"] = item["image"].to(self.device)
                return item

            def give_back(self, key):
                self.cached[key]["image"] = self.cached[key]["image"].cpu()
        """,
    "a thread that the end ends, and one that is started once": """
        import queue as queues
        import threading

        def pin(source, target, over):
            while not over.is_set():
                target.put(source.get(timeout=1).pin_memory())

        def watch(source):
            while True:
                print(source.get())

        class Augmenter:
            def __init__(self, source):
                self.source, self.watching = source, None

            def start(self):
                self.ready, self.over = queues.Queue(2), threading.Event()
                args = (self.source, self.ready, self.over)
                self.pinning = threading.Thread(target=pin, args=args, daemon=True)
                self.pinning.start()
                if self.watching is None:
                    self.watching = threading.Thread(target=watch, args=(self.source,), daemon=True)
                    self.watching.start()

            def finish(self):
                self.over.set()
                self.ready = None

            def restart(self):
                self.finish()
                self.start()
        """,
    "what another framework compiles": """
        import tensorflow as tf

        class Predictor:
            def __init__(self, net):
                self.net = net

            def predict(self, rows):
                @tf.function
                def op(inputs):
                    return self.net(inputs)

                self.net.eval()
                return [op(row).numpy() for row in rows]
        """,
}


@pytest.mark.parametrize("snippet", SEEN.values(), ids=SEEN)
def test_seen(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", INNOCENT.values(), ids=INNOCENT)
def test_innocent(snippet: str) -> None:
    check_innocent(snippet)


_MODEL = """
import torch
from parts import build
from torch import nn

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inputs = nn.ModuleDict(build(config))
        self.head = nn.Linear(8, 2)

    def forward(self, rows):
        encoded = {}
        for name, part in self.inputs.items():
            encoded[name] = part(rows[name])
        logits = {}
        fill(logits, self.head, encoded)
        return logits

    def predictions(self, rows):
        logits = self(rows)
        return {name: part.decode(logits) for name, part in self.inputs.items()}

    def evaluation_step(self, rows, wanted):
        found = self.predictions(rows)
        self.update_metrics(wanted, found)
        return found
"""
_PREDICTOR = """
import torch
from model import Model

class Predictor:
    def __init__(self, model: Model):
        self.model = model.to("cuda")

    def evaluate(self, batcher):
        self.model.eval()
        with batcher.opened() as batches:
            while not batches.last():
                rows, wanted = batches.next()
                found = self.model.evaluation_step(rows, wanted)  # TML201
                print(len(found))
"""


@pytest.mark.parametrize("where", ["mode", "decorator", ""])
def test_a_step_of_the_model_s_own_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    text = _PREDICTOR
    if where == "mode":
        text = text.replace("with batcher", "with torch.no_grad(), batcher").replace("  # TML201", "")
    elif where == "decorator":
        text = text.replace("    def evaluate", "    @torch.inference_mode()\n    def evaluate").replace(
            "  # TML201", ""
        )
    check_project({"model.py": _MODEL, "predictor.py": text}, tmp_path, monkeypatch)
