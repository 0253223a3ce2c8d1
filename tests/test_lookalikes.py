"""What real code bases write that looks like a leak and is none, each beside what it looks like."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from snippets import PLAN, PRELUDE, check

from torchmemlint.linter.engine import lint_source
from torchmemlint.source import decode

LOOKALIKES = {
    "a pipeline that its framework runs without gradients": """
        from transformers import Pipeline

        class Answers(Pipeline):
            def answer_one_by_one(self, questions):
                found = []
                for question in questions:
                    found.append(self.model(question.unsqueeze(0)).logits)
                return torch.cat(found)

            def _forward(self, questions):
                self.model.eval()
                return self.answer_one_by_one(questions)
        """,
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
    "a decorator that hands out no_grad()(function)": """
        def smart(new=True):
            def decorate(fn):
                return (torch.inference_mode if new else torch.no_grad)()(fn)
            return decorate

        def quiet(fn):
            return torch.no_grad()(fn)

        @smart()
        def evaluate(model: nn.Module, loader):
            model.eval()
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

        @quiet
        def validate(model: nn.Module, loader):
            model.eval()
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()
            return hits

        def predict(model: nn.Module, loader):
            model.eval()
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()  # TML201
            return hits
        """,
    "a decorator of other code that says so": """
        from utils.torch_utils import eval_with_no_grad, smart_inference_mode, timed

        @smart_inference_mode()
        def evaluate(model: nn.Module, loader):
            model.eval()
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()
            return hits

        @eval_with_no_grad
        def validate(model: nn.Module, loader):
            model.eval()
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()
            return hits

        @timed
        def predict(model: nn.Module, loader):
            model.eval()
            hits = 0
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()  # TML201
            return hits
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
    "descent inside of a layer": """
        class Descent(nn.Module):
            def __init__(self):
                super().__init__()
                self.rate = nn.Parameter(torch.tensor([0.1]))

            def forward(self, x, y, energy, rounds=5):
                momentum = torch.zeros_like(y)
                for _ in range(rounds):
                    value = energy(x, y)
                    grad = torch.autograd.grad(value, y, create_graph=True)[0]
                    momentum = 0.9 * momentum - self.rate * grad
                    y = y + momentum
                return y
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
    "statistics in another type": """
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.bn = nn.BatchNorm1d(8)

            def forward(self, x):
                if self.bn.running_mean.dtype != torch.float:
                    self.bn.weight = self.bn.weight.float()
                    self.bn.bias = self.bn.bias.to(torch.float)
                return self.bn(x.float())
        """,
    "a layer run for the shape of what it gives": """
        def infer_output_dim(conv: nn.Module, channels):
            x = torch.randn(10, channels, 200, 80)
            x = conv(x)
            return x.transpose(1, 2).size(-1)
        """,
    "backward of the library, in a function of that name": """
        class Recompute(torch.autograd.Function):
            @staticmethod
            def backward(ctx, *args):
                outputs, given = [], []
                for index in range(len(args)):
                    outputs.append(ctx.made[index])
                    given.append(args[index])
                torch.autograd.backward(outputs, given)
                return (None, None) + tuple(one.grad for one in outputs)
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
    "what another method of the module is for": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.scores = None
                self.seen = None

            def forward(self, x):
                self.scores = self.layer(x)
                self.seen = torch.softmax(self.scores, -1)  # TML108
                return x * 2

            def loss(self):
                return F.binary_cross_entropy_with_logits(self.scores.mean(-1), torch.ones(len(self.scores)))
        """,
    "bound twice in one pass": """
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.basis = nn.Parameter(torch.randn(4, 8))
                self.share = nn.Parameter(torch.randn(2, 4))

            def forward(self, x):
                self.w = self.share @ self.basis
                self.w = self.w.view(4, 4)  # TML108
                return x @ self.w
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
    "weights of losses that the caller differentiates": """
        class Balanced(nn.Module):
            def __init__(self, last):
                super().__init__()
                self.critic = Net()
                self.last = last

            def share(self, first, second):
                a = torch.autograd.grad(first, self.last, retain_graph=True)[0]
                b = torch.autograd.grad(second, self.last, retain_graph=True)[0]
                return (a.norm() / (b.norm() + 1e-4)).detach()

            def forward(self, x, made):
                first = (x - made).abs().mean()
                second = -self.critic(made).mean()
                return first + self.share(first, second) * second
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
    "a register that a mixin clears": """
        class Access:
            def __init__(self):
                self.registered = {}

            def register(self, name, tensor):
                if name not in self.registered:
                    self.registered[name] = []
                self.registered[name].append(tensor)

            def reset_registered(self):
                for _, module in self.named_modules():
                    module.registered.clear()

        class Encoder(nn.Module, Access):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            def forward(self, x):
                x = self.layer(x)
                self.register("layer", x)
                return x
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
    "parameters that are fused in place": """
        class Detect(nn.Module):
            def __init__(self):
                super().__init__()
                self.m = nn.ModuleList(nn.Conv2d(8, 8, 1) for _ in range(3))
                self.scale = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(3))

            def fuse(self):
                for i in range(len(self.m)):
                    self.m[i].bias += self.m[i].weight.sum((1, 2, 3)) * self.scale[i]
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
    "what a hook leaves for the one who runs the model": """
        class Wrapper(nn.Module):
            def __init__(self, net: nn.Module):
                super().__init__()
                self.net = net
                self.hidden = {}
                self.net[-2].register_forward_hook(self._hook)

            def _hook(self, module, inputs, output):
                self.hidden[inputs[0].device] = output.flatten(1)

            def forward(self, x):
                self.hidden.clear()
                self.net(x)
                hidden = self.hidden[x.device]
                self.hidden.clear()
                return hidden
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
    "whole numbers in a buffer": """
        class Codes(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.codes = torch.zeros(1000, dtype=torch.long)
                self.values = torch.zeros(1000)
                self.at = 0

            def forward(self, x):
                found = self.layer(x).flatten()
                self.codes[self.at : self.at + 8] = found
                self.values[self.at : self.at + 8] = found  # TML101
                self.at += 8
                return found
        """,
}


@pytest.mark.parametrize("snippet", LOOKALIKES.values(), ids=list(LOOKALIKES))
def test_lookalike(snippet: str) -> None:
    check(snippet)


def test_another_library() -> None:
    """A loss of MXNet, whose graph goes when the recording ends."""
    text = """
        import mxnet as mx
        from mxnet import autograd

        def train(net, loader, trainer, criterion):
            total = 0
            for x, y in loader:
                with autograd.record():
                    loss = criterion(net(x), y)
                loss.backward()
                trainer.step(len(x))
                total += loss
            return total
        """
    assert not lint_source(decode("train.py", textwrap.dedent(text).encode()), PLAN)


@pytest.mark.parametrize(
    ("path", "reported"), [("tests/test_models.py", 0), ("norm_test.py", 0), ("models.py", 1)], ids=str
)
def test_tests_of_a_model(path: str, reported: int) -> None:
    """What a test suite runs is small and over soon."""
    text = PRELUDE + textwrap.dedent(
        """
        def test_one_batch():
            model = Net()
            model.eval()
            for _ in range(3):
                assert model(torch.randn(3, 8)).argmax(1).tolist()
        """
    )
    assert len(lint_source(decode(str(Path(path)), text.encode()), PLAN)) == reported
