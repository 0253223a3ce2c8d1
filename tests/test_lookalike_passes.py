"""Passes and evaluations of real code bases that look like a leak and are none, beside what they look like."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from snippets import PLAN, PRELUDE, check

from torchmemlint.linter.engine import lint_source
from torchmemlint.source import decode

LOOKALIKES = {
    "a distribution for each part of one result": """
        class Mixed:
            def __init__(self, sizes):
                self.sizes = sizes

            def over(self, logits):
                parts = torch.split(logits, list(self.sizes), dim=1)
                self.parts = [torch.distributions.Categorical(logits=part) for part in parts]
                self.others = [F.softmax(part, 1) for part in torch.split(logits, list(self.sizes), dim=1)]
                return self

        class Policy(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.net = nn.Linear(4, sum(sizes))
                self.mixed = Mixed(sizes)

            def forward(self, observation):
                return self.mixed.over(self.net(observation)).parts
        """,
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
