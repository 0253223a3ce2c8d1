"""Statistics that the first pass begins and all others add to: by a counter, by a flag, and begun anew in time."""

from __future__ import annotations

import pytest
from snippets import check

PASS = """
        class Normed(nn.Module):
            def __init__(self, size, momentum=0.1):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(size))
                self.momentum, self.seen, self.started = momentum, 0, False
                self.register_buffer("mean", torch.zeros(size))

            def forward(self, x):
                if not self.training:
                    return self.scale * (x - self.mean)
                mean = x.mean(0)
                self.seen = self.seen + 1
                if {test}:
                    self.mean = mean{cut}
                    self.started = True
                else:
                    self.mean = (1 - self.momentum) * self.mean + self.momentum * mean  {mark}
                return self.scale * (x - mean)
        """
RESTART = """
            def begin(self):
                self.seen, self.started = 0, False
                self.seen = 0
        """


@pytest.mark.parametrize("test", ["self.seen == 1", "not self.started", "self.seen is 1"])
@pytest.mark.parametrize("cut", ["", ".detach()"])
def test_begun_once(test: str, cut: str) -> None:
    check(PASS.format(test=test, cut=cut, mark="# TML101"))


@pytest.mark.parametrize("test", ["self.seen % 100 == 1", "x.shape[0] == 1"])
def test_begun_anew(test: str) -> None:
    check(PASS.format(test=test, cut="", mark=""))


def test_put_back_by_a_method() -> None:
    check(PASS.format(test="self.seen == 1", cut="", mark="") + RESTART)
