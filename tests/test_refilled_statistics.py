"""Running statistics that a method fills anew, and that are reached by way of their module: neither reads them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

NORM = """
class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, 2))
        self.register_buffer("mean", torch.zeros(dim, 2))
        self.register_buffer("covar", torch.zeros(dim, 3))
        self.reset_parameters()

    def reset_parameters(self):
        {refill}

    def forward(self, x):
        if self.training:
            mean = x.mean(0)
            self.covar[:, 0] = 0.9 * self.covar[:, 0] + 0.1 * x.var(0){note}
        else:
            mean = self.covar[:, 0]
        return (x - mean) * self.weight[:, 0]

    def penalty(self):
        return {penalty}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.bn = nn.Linear(4, 4), Norm(4)

    def forward(self, x):
        return self.bn(self.lin(x))

def main(steps):
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(3, 4)).sum(){more}
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(model.bn.weight.norm().item())
"""
REFILLS = {
    "by zeros": "self.covar.zero_()",
    "some columns": "self.covar[:, :2] = 1.4",
    "anew": "self.covar = torch.zeros(4, 3)",
}


@pytest.mark.parametrize("refill", REFILLS.values(), ids=REFILLS)
def test_statistics_that_are_filled_anew(refill: str) -> None:
    check(NORM.format(refill=refill, note="  # TML101", penalty="0.0", more=""))


def test_statistics_that_the_loss_asks_for() -> None:
    more = " + model.bn.penalty()"
    check_innocent(NORM.format(refill="self.covar.zero_()", note="", penalty="self.covar.pow(2).sum()", more=more))


def test_statistics_of_what_is_cut_off() -> None:
    text = NORM.format(refill="self.covar.zero_()", note="", penalty="0.0", more="")
    check_innocent(text.replace("x.var(0)", "x.detach().var(0)"))
