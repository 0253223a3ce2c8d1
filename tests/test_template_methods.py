"""Methods of a base class that call what a class of the same file puts in for one that only raises."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_BASE = """
        class Predictor:
            def __init__(self):
                self.outputs = []

            def predict(self, net, data):
                self.switch(net)
                for batch in data:
                    result = self.run(net, batch)
                    self.outputs.append(result)  # TML102
                return self.finish(self.outputs)

            def switch(self, net, test=True):
                if test:
                    net.eval()
                else:
                    net.train()

            def run(self, net, batch):
                raise NotImplementedError

            def finish(self, outputs):
                raise NotImplementedError
"""

SEEN = {
    "what the class gives is kept by its base": _BASE
    + """
        class Labels(Predictor):
            def run(self, net, batch):
                return net(batch)

            def finish(self, outputs):
                return [one.detach().numpy().argmax() for one in outputs]
        """,
    "through another method of the base": """
        class Loop:
            def __init__(self):
                self.losses = []

            def fit(self, loader, optimizer):
                for batch in loader:
                    self.advance(batch, optimizer)

            def advance(self, batch, optimizer):
                loss = self.compute(batch)
                loss.backward()
                optimizer.step()
                self.losses.append(loss)  # TML102

            def compute(self, batch):
                raise NotImplementedError("of each task")

        class Classify(Loop):
            def __init__(self, net: nn.Module):
                super().__init__()
                self.net = net

            def compute(self, batch):
                return self.net(batch).mean()
        """,
}

INNOCENT = {
    "the class gives numbers": _BASE.replace("  # TML102", "")
    + """
        class Labels(Predictor):
            def run(self, net, batch):
                with torch.no_grad():
                    return net(batch).argmax().item()

            def finish(self, outputs):
                return list(outputs)
        """,
    "what it gives is differentiated by others": """
        class Stepper:
            def step(self, loss, params):
                new = self.propose(loss, params)
                for name, value in params.items():
                    with torch.no_grad():
                        value.copy_(new[name].detach())

            def propose(self, loss, params):
                raise NotImplementedError

        class Newton(Stepper):
            def propose(self, loss, params):
                new = {}
                for name, value in params.items():
                    grad = torch.autograd.grad(loss, [value], create_graph=True)[0]
                    new[name] = value - grad
                return new
        """,
}


@pytest.mark.parametrize("text", SEEN.values(), ids=SEEN.keys())
def test_seen(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", INNOCENT.values(), ids=INNOCENT.keys())
def test_innocent(text: str) -> None:
    check_innocent(text)
