"""What is a pass of a layer, whatever its name, what a test says of a mode, and what makes a class a metric."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

RESCALE = """
        class Rescale(nn.Module):
            def __init__(self, width, share=0.1):
                super().__init__()
                self.share = share
                self.scale = nn.Parameter(torch.ones(width))
                self.register_buffer("center", torch.zeros(width))

            def _inverse(self, y):
                if self.training:
                    mean = y.mean(0)
                    self.center.mul_(1 - self.share).add_(%s * self.share)%s
                else:
                    mean = self.center
                return (y - mean) * self.scale
        """

SEEN = {
    "statistics in a pass of another name": RESCALE % ("mean", "  # TML101"),
    "a mode that is set where it is not yet so": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))

            def forward(self, x):
                return self.net(x)

        def classify(model: Model, loader):
            if model.training:
                model.eval()
            found = []
            for x in loader:
                found.append(model(x).argmax(1).tolist())  # TML201
            return found
        """,
    "a mode that is asked for": """
        def classify(model: nn.Module, loader):
            assert not model.training, "put it in eval mode first"
            found = []
            for x in loader:
                found.append(model(x).argmax(1).tolist())  # TML201
            return found
        """,
    "a model that sees to its mode where users ask it": """
        class Marker(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))

            def forward(self, x):
                return self.net(x)

            def predict(self, x):
                if self.training:
                    self.eval()
                return self.forward(x)  # TML201
        """,
    "steps of a search whose results are cut by `.data`, from states in a list": """
        class Search:
            def __init__(self, models):
                self.models = models

            def cuda(self):
                for model in self.models:
                    model.cuda()

            def generate(self, source, steps):
                states = [model.encoder(source) for model in self.models]
                tokens = source.new_zeros(4, steps)
                for step in range(steps):
                    tokens[:, step] = self._next(tokens[:, :step], states).argmax(1)
                return tokens

            def _next(self, tokens, states):
                total = None
                for model, state in zip(self.models, states):
                    out = model.decoder(tokens, state)  # TML201
                    scores = out[:, -1].softmax(-1).data
                    total = scores if total is None else total + scores
                return total
        """,
    "what a callback keeps of each step": """
        class Rows(lightning.pytorch.callbacks.BasePredictionWriter):
            def __init__(self):
                super().__init__(write_interval="epoch")
                self.rows = []

            def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
                self.rows.append(outputs)  # TML107
        """,
    "a metric by the class that it comes from": """
        from ignite.metrics import EpochMetric, Metric

        class Base(Metric):
            def update(self, output):
                y_pred, y = output
                self._update((y_pred.squeeze(-1), y))

        class Kept(Base, EpochMetric):
            def reset(self):
                self.seen = torch.tensor([])

            def _update(self, output):
                y_pred, y = output
                self.seen = torch.cat([self.seen, y_pred.type_as(self.seen)], dim=0)  # TML101
        """,
}

UNSEEN = {
    "statistics of a detached input": RESCALE % ("mean.detach()", ""),
    "a mode that is asked for, to train": """
        def steps(model: nn.Module, loader, optimizer):
            if not model.training:
                model.train()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
        """,
    "two ways of a pass": """
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(8, 2)

            def forward(self, x):
                if self.training:
                    return self.net(x)
                return self.net(x).argmax(1)
        """,
    "a model that sees to its mode and to gradients": """
        class Marker(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))

            def forward(self, x):
                return self.net(x)

            @torch.no_grad()
            def predict(self, x):
                if self.training:
                    self.eval()
                return self.forward(x)
        """,
    "statistics by `.data` of a round that trains": """
        def steps(loader, optimizer):
            model = Net()
            for x, y in loader:
                out = model(x)
                hits = (out.data.argmax(1) == y).sum().item()
                loss = F.cross_entropy(out, y)
                loss.backward()
                optimizer.step()
                print(loss.item(), hits)
        """,
    "what a callback writes at the end of the epoch": """
        class Rows(lightning.pytorch.callbacks.BasePredictionWriter):
            def __init__(self):
                super().__init__(write_interval="epoch")
                self.rows, self.losses = [], []

            def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
                self.rows.append(outputs)

            def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
                self.losses.append(outputs["loss"].item())

            def on_predict_epoch_end(self, trainer, pl_module):
                torch.save(self.rows, "rows.pt")
                self.rows.clear()
        """,
    "what a callback computes anew for each weight": """
        import copy

        def between(start, end, step):
            return start + (end - start) * step

        class Smoothed(lightning.Callback):
            def __init__(self):
                self.states = None

            def on_validation_start(self, trainer: "lightning.Trainer", pl_module: "lightning.LightningModule"):
                if self.states is None:
                    self.states = copy.deepcopy(pl_module.model.state_dict())

            @torch.no_grad()
            def on_train_batch_end(self, trainer: "lightning.Trainer", pl_module: "lightning.LightningModule", *rest):
                for key, value in pl_module.model.state_dict().items():
                    self.states[key] = between(value.detach(), self.states[key], 0.99)
        """,
    "a model in eval mode that is called for the steps of one input": """
        class Spikes:
            def __init__(self, net: nn.Module):
                self.net = net
                self.net.eval()

            def __call__(self, data):
                spikes = []
                for step in range(data.shape[1]):
                    spikes.append(self.net(data[:, step]))
                return torch.stack(spikes)
        """,
    "a metric that cuts in the class that it comes from": """
        from ignite.metrics import EpochMetric, Metric

        class Base(Metric):
            def update(self, output):
                y_pred, y = output
                self._update((y_pred.detach(), y))

        class Kept(Base, EpochMetric):
            def reset(self):
                self.seen = torch.tensor([])

            def _update(self, output):
                y_pred, y = output
                self.seen = torch.cat([self.seen, y_pred.type_as(self.seen)], dim=0)
        """,
    "a metric whose updates run with gradients off": """
        from torchmetrics import Metric

        class Kept(Metric):
            def reset(self):
                self.seen = torch.tensor([])

            def update(self, preds):
                self.seen = torch.cat([self.seen, preds.type_as(self.seen)], dim=0)
        """,
}


@pytest.mark.parametrize("snippet", SEEN.values(), ids=SEEN)
def test_seen(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", UNSEEN.values(), ids=UNSEEN)
def test_unseen(snippet: str) -> None:
    check_innocent(snippet)


_WHOLE = """
    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 1)

        def begin(self):
            self.scores = []

        def forward(self, x):
            score = torch.sigmoid(self.layer(x))
            if self.training:
                self.scores.append(torch.log(score)){mark}
            return bool(score > 0.5)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.agent = Agent()

        def fit(self, xs):
            self.agent.begin()
            for x in xs:
                self.agent(x)
            return torch.cat(self.agent.scores).sum()

        def draw(self, x):
            stop = self.agent(x)
            while not stop:
                stop = self.agent(x)
            return x

        def forward(self, xs):
            {choice}
    """
_CHOICES = [
    ("if self.training:\n                return self.fit(xs)\n            return self.draw(xs[0])", ""),
    ("if not self.training:\n                return self.draw(xs[0])\n            return self.fit(xs)", ""),
    ("if self.training:\n                out = self.fit(xs)\n            else:\n                out = self.draw(xs[0])"
     "\n            return out", ""),
    ("if self.training:\n                return self.draw(xs[0])\n            return self.fit(xs)", "  # TML102"),
    ("if self.training:\n                self.train(True)\n            return self.draw(xs[0])", "  # TML102"),
    ("if not self.training:\n                self.train()\n            return self.draw(xs[0])", "  # TML102"),
]  # fmt: skip


@pytest.mark.parametrize(("choice", "mark"), _CHOICES)
def test_parts_are_in_the_mode_that_their_whole_has_asked_for(choice: str, mark: str) -> None:
    check(_WHOLE.format(choice=choice, mark=mark))
