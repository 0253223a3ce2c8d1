"""What a variable collects while the backward pass through it is yet to come costs nothing more than that pass does."""

from __future__ import annotations

import pytest
from snippets import check

STAGE = """
class Section:
    def __init__(self):
        self.net = Net()
        self.waiting = {{}}

    def ahead(self, number, x):
        y = self.net(x)
        self.waiting[number] = (x, y)
        return y

    def back(self, number, grad):
        x, y = self.waiting.pop(number)
        y.backward(grad)


def run(section, batches):
    {made}
    for batch in batches:
        {anew}
        for number, chunk in enumerate(batch.chunk(4)):
            y = section.ahead(number, chunk)
            outs.append(y)
            {within}
        {after}
    print(len(outs))


if __name__ == "__main__":
    run(Section(), [torch.randn(16, 8) for _ in range(100)])
"""
EACH = "for number, out in enumerate(outs): section.back(number, torch.ones_like(out))"
PLAIN = {"made": "pass", "anew": "outs = []", "within": "pass", "after": EACH}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"anew": "outs = deque()"},
        {"after": "for number in list(section.waiting): section.back(number, torch.ones(4, 2))"},
        {"after": "while section.waiting: section.back(min(section.waiting), torch.ones(4, 2))"},
    ],
)
def test_of_one_step(change: dict[str, str]) -> None:
    check(STAGE.format(**PLAIN | change))


def test_of_a_module() -> None:
    module = STAGE.replace("class Section:", "class Section(nn.Module):")
    module = module.replace("self.net = Net()", "super().__init__(); self.net = Net()")
    check(module.format(**PLAIN))
    check(module.format(**PLAIN | {"anew": "outs = []; y = 0", "after": EACH.replace("outs)", "[*outs])")}))


@pytest.mark.parametrize(
    "change",
    [
        {"made": "outs = []", "anew": "pass", "after": EACH.replace("(outs)", "(outs[-4:])")},
        {"made": "outs = deque()", "anew": "pass", "after": EACH.replace("(outs)", "(list(outs)[-4:])")},
    ],
)
def test_of_all_steps(change: dict[str, str]) -> None:
    check(STAGE.replace("outs.append(y)", "outs.append(y)  # TML102").format(**PLAIN | change))


SUM = """
def epoch(model: nn.Module, loader, optimizer):
    outs, total = [], 0.0
    for x, y in loader:
        out = model(x)
        outs.append(out){mark}
        total = total + F.mse_loss(out, y)
        {within}
    {after}
    optimizer.step()
    print(len(outs))


def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(10):
        epoch(net, [(torch.randn(4, 8), torch.randn(4, 2)) for _ in range(100)], optimizer)
"""


def test_of_a_sum() -> None:
    check(SUM.format(mark="", within="pass", after="total.backward()"))


def test_of_a_sum_that_is_differentiated_in_between() -> None:
    within = "total.backward(); total = 0.0"
    check(SUM.format(mark="  # TML102", within=within, after="pass"))
