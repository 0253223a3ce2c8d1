"""What a pass stores is said where it is stored, also where an evaluation runs the pass with gradients off."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PASS = """
class Probed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)
        self.features = []
        self.last = None

    def note(self, h):
        {put}

    def forward(self, x):
        h = self.body(x).relu()
        self.note(h)
        return self.head(h)

@torch.no_grad()
def evaluate(net, data):
    return sum((net(x).argmax(1) == y).float().mean().item() for x, y in data)

def train(net, data, optimizer):
    for x, y in data:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def main(steps):
    net = Probed()
    data = [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(steps)]
    train(net, data, torch.optim.SGD(net.parameters(), lr=0.1))
    print(evaluate(net, data))
"""


@pytest.mark.parametrize("put", ["self.features.append(h)  # TML102", "self.last = h  # TML108"])
def test_what_a_pass_stores(put: str) -> None:
    check(PASS.format(put=put))


def test_what_a_pass_cuts_off() -> None:
    check_innocent(PASS.format(put="self.last = h.detach()"))


def test_what_is_given_without_a_graph_as_well() -> None:
    check("""
    class Mean:
        def __init__(self):
            self.total = 0.0

        def update(self, value):
            self.total = self.total + value

    @torch.no_grad()
    def evaluate(net, data):
        mean = Mean()
        for x, y in data:
            mean.update(F.cross_entropy(net(x), y))
        return float(mean.total)

    def train(net, data, optimizer):
        mean = Mean()
        for x, y in data:
            loss = F.cross_entropy(net(x), y)
            mean.update(loss)  # TML101
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(float(mean.total), evaluate(net, data))
    """)


CARRIED = """
class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(8, 8), nn.Linear(8, 2)

    def forward(self, x, hidden):
        hidden[0] = self.cell(x, hidden[0])
        return self.out(hidden[0])

def train(batches):
    model = Steps()
    hidden = [torch.zeros(4, 8)]
    for x, y in batches:
        loss = 0
        for now, after in zip(x, y):
            loss = loss + F.cross_entropy(model(now, hidden), after)  # TML105
        weights = list(model.parameters())
        grads = torch.autograd.grad(loss, weights, retain_graph=True)
        with torch.no_grad():
            for weight, grad in zip(weights, grads):
                weight -= 0.1 * grad
    with torch.no_grad():
        hidden = [torch.zeros(4, 8)]
        return sum(float(model(x, hidden).sum()) for x, _ in batches)
"""


def test_what_a_pass_puts_into_a_list_of_its_caller() -> None:
    """Is the caller's, who hands it on."""
    check(CARRIED)
