"""What real code bases keep that looks like a leak and is none, each beside what it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest
from snippets import check

from torchmemlint.config import load
from torchmemlint.linter import engine
from torchmemlint.source import decode

LOOKALIKES = {
    "a copied transform that other code is given the results of": """
        from copy import deepcopy

        def imagined(model, xs, ys, build):
            other = build(model)
            transform = getattr(model, "outcome_transform", None)
            if transform is not None:
                transform = deepcopy(transform).eval()
                ys, _ = transform(ys.unsqueeze(-1), X=xs)
            other.set_train_data(inputs=xs, targets=ys, strict=False)
            return other
        """,
    "an accumulator for the parts of one thing": """
        class Annotations:
            def __init__(self):
                self.ids = []
                self.index = 0

            def accumulate(self, boxes):
                for box in boxes:
                    self._add(box)
                    self.index += 1

            def _add(self, box):
                self.ids.append(torch.full_like(box.ids, self.index))

            def pack(self):
                return torch.cat(self.ids) if len(self.ids) else None
        """,
    "a loader that is gone through once": """
        class Cached:
            def __init__(self, loader):
                self.loader = loader
                self.batches = []

            def __iter__(self):
                if len(self.batches):
                    for batch in self.batches:
                        yield batch
                    return
                for batch in self.loader:
                    batch = batch.to("cuda")
                    self.batches.append(batch)
                    yield batch
        """,
    "a batch of a shape that has fields": """
        from typing import Protocol

        class Batch(Protocol):
            returns: torch.Tensor
            weight: torch.Tensor

        class Learner:
            def __init__(self):
                self.net = Net()
                self.optimizer = torch.optim.Adam(self.net.parameters())

            def learn(self, batch: Batch):
                weight = batch.pop("weight", 1.0)
                error = batch.returns - self.net(batch)
                loss = (error.pow(2) * weight).mean()
                batch.weight = error
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                return loss.item()
        """,
    "lengths that a data set remembers": """
        class Sounds(torch.utils.data.Dataset):
            def __init__(self, files, layers):
                self.files, self.layers = files, layers
                self.frames_of = {}
                self.known_sizes = {}

            def __getitem__(self, index):
                return self.files[index], self.frames(index), self.known(index)

            def frames(self, size):
                if size not in self.frames_of:
                    length = size
                    for kernel, stride in self.layers:
                        length = 1 + (length - kernel) // stride
                    self.frames_of[size] = length
                return self.frames_of[size]

            def known(self, name):
                if name not in self.known_sizes:
                    self.known_sizes[name] = measure(name)
                return self.known_sizes[name]

        def loaders(files, layers):
            return torch.utils.data.DataLoader(Sounds(files, layers), num_workers=4)
        """,
    "a table of each process": """
        import torch.multiprocessing as mp

        CALLS = {}

        def register(call):
            CALLS[len(CALLS)] = call

        def work(rank, features):
            register(features.clone())
            return features.sum().item()

        def main_again():
            for rank in range(2):
                mp.Process(target=work, args=(rank, torch.rand(8))).start()
        """,
    "a compiled step": """
        from tensordict.nn import CudaGraphModule

        def train(criterion: nn.Module, optimizer, batches, fast):
            def update(batch):
                loss = criterion(batch)["loss"]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return loss.detach()

            if fast:
                update = CudaGraphModule(update, warmup=50)
            losses = []
            for batch in batches:
                losses.append(update(batch))
            return torch.stack(losses).mean().item()
        """,
    "an entry that is written again": """
        class Runner(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = Net()
                self.now = {}
                self.all = []

            def handle(self, batch):
                x, y = batch
                loss = F.mse_loss(self.net(x), y)
                self.now.update({"loss": loss})
                self.all.append(self.now["loss"].item())
                loss.backward()
        """,
    "all rows, at once": """
        class Predictions:
            def __init__(self):
                self.net = Net().eval()
                self.rows = deque(maxlen=8)
                self.kept = deque(maxlen=8)

            @torch.no_grad()
            def run(self, loader):
                for x, y in loader:
                    out = self.net(x).cpu()
                    if len(out) == 1:
                        self.rows.append(out)
                    else:
                        self.rows.extend(torch.split(out, [1] * len(out)))
                    for row, good in zip(torch.unbind(out), y):
                        if good:
                            self.kept.append(row)  # TML309
        """,
    "a queue that is filled up": """
        from concurrent.futures import ThreadPoolExecutor

        class Sampler:
            def __init__(self, net: nn.Module):
                self.net = net
                self.ready = deque()
                self.pool = ThreadPoolExecutor(1)

            def make(self):
                return self.net(torch.randn(3, 8))

            def sample(self):
                found = self.ready.popleft().result() if len(self.ready) else self.make()
                while len(self.ready) < 4:
                    self.ready.append(self.pool.submit(self.make))
                return found
        """,
    "a property that is set": """
        class Configured(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self._settings = settings

            @property
            def settings(self):
                return self._settings

            @settings.setter
            def settings(self, settings):
                self._settings = settings

        def prepare(settings):
            settings.half = True
            return settings

        def run(paths):
            for path in paths:
                model = Configured(path)
                model.settings = prepare(model.settings)
                print(model)
        """,
    "text that a model gives": """
        def accuracy(exporter, prompts, wanted):
            found = []
            for prompt, want in zip(prompts, wanted):
                output = exporter.forward(input_texts=[prompt], max_output_len=1)
                output = output[0][0].strip().lower()
                found.append(output)
            return sum(one == want for one, want in zip(found, wanted)) / len(found)
        """,
    "names that go with the function": """
        from accelerate.utils import release_memory

        def trains(make):
            model = Net()
            trainer = make(model)
            trainer.train()
            release_memory(trainer.model, trainer)

        def trains_on(make):
            model = Net()
            trainer = make(model)
            trainer.train()
            release_memory(model, trainer)  # TML603
            other = make(Net())
            other.train()
        """,
    "the text of an error": """
        def run(trainer, parameters):
            try:
                for name, parameter in parameters.items():
                    if "lora" in name.lower():
                        trainer.step(parameter)
            except Exception as error:
                if any(word in str(error).lower() for word in ("memory", "cuda")):
                    torch.cuda.empty_cache()
                else:
                    raise
        """,
    "how often it was right": """
        def train(model: nn.Module, loader, optimizer):
            right = word_acc = total = 0
            for batch in loader:
                loss, kl, acc = model(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                word_acc += acc
                total += kl  # TML101
            return word_acc / len(loader), float(total)
        """,
    "factors of layers": """
        class Kfac(torch.optim.Optimizer):
            def __init__(self, model: nn.Module):
                super().__init__(model.parameters(), {})
                self.modules = []
                self.factors, self.seen = {}, {}
                for module in model.modules():
                    self.modules.append(module)
                    module.register_forward_pre_hook(self._save)

            def _save(self, module, inputs):
                self.seen[module] = inputs[0].detach().T @ inputs[0].detach()

            def step(self):
                for i, m in enumerate(self.modules):
                    self.factors[m] = torch.linalg.eigh(self.seen[m])[1]
        """,
    "a callback's copy for the run": """
        from transformers import TrainerCallback

        class Averages(TrainerCallback):
            def __init__(self):
                self.start = []

            def on_train_begin(self, args, state, control, model, **kwargs):
                for name, parameter in model.named_parameters():
                    self.start.append(parameter.detach().clone())
        """,
}


@pytest.mark.parametrize("snippet", LOOKALIKES.values(), ids=list(LOOKALIKES))
def test_lookalike(snippet: str) -> None:
    check(snippet)


def test_own_class_that_is_called_tensor(tmp_path: Path) -> None:
    """At the lowest confidence what an annotation calls a Tensor is one, unless the project defines that name."""
    plan = engine.plan(load(tmp_path, {"min-confidence": "low", "no-cache": True}, isolated=True))
    program = """
class Reader:
    def __init__(self):
        self.seen = {}

    def read(self, name: str) -> list[Tensor]:
        return name.load()

    def run(self, programs):
        for index, program in enumerate(programs):
            for part in self.read(program):
                self.seen[index] = part
"""
    found = []
    for defined in ("from torch import Tensor", "import torch\nclass Tensor:\n    graph: int"):
        found.append([one.code for one in engine.lint_source(decode("own.py", (defined + program).encode()), plan)])
    assert found == [["TML311"], []]


BOARD = """
class Board:
    def __init__(self):
        self.hits = []

    def add(self, hit):
        self.hits.append(hit){told}

@torch.no_grad()
def search(net, steps):
    board = Board()
    for _ in range(steps):
        board.add(net(torch.rand(64, 8)))
    {ends}

def main():
    {rounds}
        board = search(Net().eval(), 100)
"""
BOARDS = [
    ("return board", "for _ in range(9):", ""),
    ("return board, len(board.hits)", "if True:", ""),
    ("print(len(board.hits))", "if True:", "  # TML303"),
]


@pytest.mark.parametrize(("ends", "rounds", "told"), BOARDS)
def test_an_object_that_one_call_makes_fills_and_hands_back(ends: str, rounds: str, told: str) -> None:
    check(BOARD.format(ends=ends, rounds=rounds, told=told))


def test_a_board_that_was_handed_in_or_goes_on_is_no_result() -> None:
    text = BOARD.format(ends="return board", rounds="if True:", told="  # TML303")
    check(text.replace("(net, steps)", "(net, steps, board)").replace("    board = Board()\n", "").replace(
        "search(Net().eval(), 100)", "Board(); search(Net().eval(), 100, board)"))  # fmt: skip
    check(text.replace("for _ in range(steps):", "while not net.training:"))
