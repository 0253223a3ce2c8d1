"""Hooks that run for every module of the process, and what they keep."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRACED = """
from torch.nn.modules.module import register_module_forward_hook

class Tracer:
    def __init__(self):
        self.outs = []
        self.handle = {register}(self.keep)

    def keep(self, module, given, out):
        self.outs.append({kept}){mark}

def main(steps):
    net = Net()
    tracer = Tracer()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(torch.randn(4, 8)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {each}
    tracer.handle.remove()
"""


@pytest.mark.parametrize("register", ["register_module_forward_hook", "nn.modules.module.register_module_forward_hook"])
def test_what_such_a_hook_keeps(register: str) -> None:
    check(TRACED.format(register=register, kept="out", each="pass", mark="  # TML108"))


@pytest.mark.parametrize(
    ("kept", "each"), [("out.detach().mean().item()", "pass"), ("out", "tracer.outs.clear()"), ("out.shape", "pass")]
)
def test_what_it_does_not_keep(kept: str, each: str) -> None:
    check_innocent(TRACED.format(register="register_module_forward_hook", kept=kept, each=each, mark=""))
