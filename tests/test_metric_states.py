"""States of metrics, which the base class resets for whoever asks for the value."""

from snippets import check

METRIC = """
from torchmetrics import Metric

class Spread({base}):
    def __init__(self):
        super().__init__()
        {made}

    def update(self, values: torch.Tensor):
        self.values = torch.cat((self.values, values)){mark}

    def compute(self):
        return self.values.std()
"""
STATE = 'self.add_state("values", default=torch.tensor([]), dist_reduce_fx="cat")'


def test_a_state_and_what_is_none() -> None:
    check(METRIC.format(base="Metric", made=STATE, mark=""))
    check(METRIC.format(base="Metric", made="self.values = torch.tensor([])", mark="  # TML303"))
    check(METRIC.format(base="nn.Module", made="self.values = torch.tensor([])", mark="  # TML303"))


def test_a_state_that_adds_up_graphs() -> None:
    check("""
    from torchmetrics import Metric

    class Total(Metric):
        def __init__(self, model):
            super().__init__()
            self.model = model
            self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx="sum")

        def update(self, loss):
            self.total = self.total + loss

    def train(model, loader, optimizer):
        net, total = nn.Linear(8, 2), Total(model)
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total.total = total.total + loss  # TML101
    """)
