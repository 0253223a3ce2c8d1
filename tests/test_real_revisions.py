"""What first looks at real revisions, before and after a fix, had not seen; each shape written anew, and small."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEEN = {
    "a model that its object has put in eval mode": """
        class Scorer:
            def __init__(self):
                self.net = nn.Linear(8, 8)
                self.net.eval()

            def score(self, requests):
                found = []
                for request in requests:
                    found.append((F.log_softmax(self.net(request), dim=-1), False))  # TML102
                return found
        """,
    "a hook for each call of a method that runs the model": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

            def forward(self, x):
                return self.blocks(x)

            def activations(self, images):
                found = {}

                def save(name):
                    def hook(module, args, output):
                        found[name] = output.detach()

                    return hook

                for name, layer in self.named_modules():
                    layer.register_forward_hook(save(name))  # TML304
                self.forward(images)
                return found
        """,
    "a pass under a name that ends with forward": """
        def eval_model(model, writer, length):
            model.eval()
            start = torch.zeros(1, 1, 1)
            wave = model.incremental_forward(start, length=length)  # TML201
            writer.write(wave.view(-1).cpu().data.numpy())

        def main(loader, writer):
            model = build().to("cpu")
            optimizer = torch.optim.Adam(model.parameters())
            for x in loader:
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
                eval_model(model, writer, 8)
        """,
    "a state for whatever object, beside loads onto the host": """
        def load_model(model, path):
            model.load_state_dict(torch.load(path, map_location="cpu"))

        def load_custom(obj, path):
            obj.load_state_dict(torch.load(f"{path}/custom_checkpoint.pkl"))  # TML312
        """,
    "running statistics of a layer that learns": """
        class Scale(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.gain = nn.Parameter(torch.ones(size))
                self.register_buffer("mean", torch.zeros(size))
                self.register_buffer("spread", torch.zeros(size))

            def forward(self, x):
                if self.training:
                    mean, spread = x.mean(0), x.std(0)
                    self.mean.mul_(0.9).add_(0.1 * mean)  # TML101
                    self.spread = 0.9 * self.spread + 0.1 * spread  # TML101
                else:
                    mean, spread = self.mean, self.spread
                return self.gain * (x - mean) / spread
        """,
    "errors that a metric sums up with their graph": """
        class MeanError:
            def reset(self):
                self.total = torch.tensor(0.0)
                self.count = 0

            def update(self, output):
                y_pred, y = output
                self.total += torch.sum(torch.abs(y_pred - y))  # TML101
                self.count += y.shape[0]

            def compute(self):
                return self.total.item() / self.count
        """,
}

NOT_SEEN = {
    "sums of a metric that have no graph, or that only its caller knows of": """
        class MeanError:
            def reset(self):
                self.total = torch.tensor(0.0)
                self.right = 0

            def update(self, output):
                y_pred, y = output[0].detach(), output[1].detach()
                self.total += torch.sum(torch.abs(y_pred - y))
                self.right += (y_pred.argmax(1) == y).sum()

            def compute(self):
                return self.total.item()

        class Average:
            def reset(self):
                self.total = 0.0
                self.targets = torch.tensor([])

            def update(self, output, n):
                y_pred, y = output
                self.total += output * n
                self.targets = torch.cat([self.targets, y])

            def compute(self):
                return self.total
        """,
    "running statistics without the graph, or of data": """
        class Scale(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.gain = nn.Parameter(torch.ones(size))
                self.register_buffer("mean", torch.zeros(size))
                self.register_buffer("seen", torch.zeros(size))

            def forward(self, x):
                mean = x.mean(0)
                if self.training:
                    self.mean.mul_(0.9).add_(0.1 * mean.detach())
                    self.seen.add_((x > 0).sum(0))
                return self.gain * (x - mean)

        class Observations(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("mean", torch.zeros(size))

            def forward(self, x):
                if self.training:
                    self.mean.mul_(0.9).add_(0.1 * x.mean(0))
                return x - self.mean
        """,
    "numbers of a model in eval mode, and what only the caller differentiates": """
        class Scorer:
            def __init__(self):
                self.net = nn.Linear(8, 8)
                self.net.eval()

            @torch.no_grad()
            def score(self, requests):
                found = []
                for request in requests:
                    found.append((F.log_softmax(self.net(request), dim=-1), False))
                return found
        """,
    "a method that sets hooks up, once": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

            def forward(self, x):
                return self.blocks(x)

            def watch(self):
                found = {}

                def save(name):
                    def hook(module, args, output):
                        found[name] = output.detach()

                    return hook

                for name, layer in self.named_modules():
                    layer.register_forward_hook(save(name))
                return found
        """,
    "a small state, beside loads onto the host": """
        def load_model(model, path):
            model.load_state_dict(torch.load(path, map_location="cpu"))

        def load_scheduler(scheduler, path):
            scheduler.load_state_dict(torch.load(f"{path}/scheduler.bin"))
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", NOT_SEEN)
def test_not_seen(name: str) -> None:
    check_innocent(NOT_SEEN[name])
