"""Hooks that stay on a model, and what hooks, passes and contexts keep."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
    "hook that can be called, made by an object of each batch": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        class Features:
            def __init__(self, model, names):
                self.taps = {}
                parts = dict(model.named_modules())
                for name in names:
                    self.taps[name] = Tap()
                    parts[name].register_forward_hook(self.taps[name])  # TML304

        def read(loader):
            model = Net().eval()
            for x in loader:
                features = Features(model, ["layer"])
                with torch.no_grad():
                    model(x)
                print(features.taps["layer"].value.mean().item())
        """,
    "closure over a mask, put on the same model in each trial": """
        class Faults:
            def __init__(self, model, rate):
                self.handles = []
                for name in ("layer",):
                    part = model.get_submodule(name)
                    part.register_forward_pre_hook(self.flip(torch.rand(64, 8) < rate))  # TML304

            @staticmethod
            def flip(mask):
                def hook(module, args):
                    return (torch.where(mask, -args[0], args[0]),)
                return hook

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def campaign(rates, x):
            model = Net().eval()
            for rate in rates:
                faults = Faults(model, rate)
                with torch.no_grad():
                    print(model(x).mean().item())
                faults.close()
        """,
    "hook stores into a dictionary": """
        def features(model: Net, loader):
            kept = {}

            def hook(module, inputs, output):
                kept[len(kept)] = output  # TML108

            model.layer.register_forward_hook(hook)
            model.train()
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
            return kept
        """,
    "hook stores into an attribute": """
        class Recorder:
            def __init__(self, model: Net):
                self.features = {}
                model.layer.register_forward_hook(self.keep)  # TML304

            def keep(self, module, inputs, output):
                self.features[id(module)] = output  # TML108
        """,
    "forward keeps an activation": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.last = None

            def forward(self, x):
                weights = self.layer(x).softmax(-1)
                self.last = weights  # TML108
                return weights @ x
        """,
    "forward keeps its last output": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.last = None

            def forward(self, x):
                self.last = self.layer(x).softmax(-1)  # TML108
                return self.last @ x
        """,
    "forward replaced by one that logs": """
        def main():
            model, log = nn.Linear(8, 2), []
            inner = model.forward

            def forward(x):
                out = inner(x)
                log.append(out)  # TML102
                return out

            model.forward = forward
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                loss = model(torch.randn(4, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "context keeps its input": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x  # TML106
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.x * grad
        """,
    "context keeps its output, of a base that is named by its file": """
        class Chain(torch.autograd.function.Function):
            @staticmethod
            def forward(ctx, x, blocks):
                for block in blocks:
                    x = block(x)
                ctx.end = x  # TML106
                return x

            @staticmethod
            def backward(ctx, grad):
                end = ctx.end
                del ctx.end
                return end * grad, None
        """,
    "recorder that is entered and returned": """
        class Recorder:
            def __init__(self, model):
                self.model = model
                self.features = []
                self.handle = None

            def keep(self, module, args, output):
                self.features.append(output)  # TML108

            def __enter__(self):
                self.handle = self.model.layer.register_forward_hook(self.keep)
                return self

            def __exit__(self, *error):
                self.handle.remove()
        """,
}

GUILTY_BUGS: dict[str, str] = {
    "hook stores into a dictionary": "a hook's own loop has no backward, so a local holder has no weight",
}


@pytest.mark.parametrize("name", known(GUILTY_BUGS, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
