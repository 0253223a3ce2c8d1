"""What hooks leave for a pass to give out: whether it has a graph is said by the pass that ran inside."""

from __future__ import annotations

import pytest
from snippets import check

EXTRACTOR = """
class Extractor(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.found = {{}}
        for name, layer in net.named_children():
            layer.register_forward_hook(self.keep(name))  # TML304

    def keep(self, name):
        def hook(module, given, out):
            self.found[name] = out{mark}
        return hook

    def forward(self, x):
        self.net(x)
        return self.found

def main(steps):
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).eval()
    for _ in range(steps):
        with {mode}:
            print(Extractor(net)(torch.randn(4, 8))["1"].max().item())
"""


@pytest.mark.parametrize(("mode", "mark"), [("torch.no_grad()", ""), ("torch.enable_grad()", "  # TML108")])
def test_a_dictionary_that_hooks_fill(mode: str, mark: str) -> None:
    check(EXTRACTOR.format(mode=mode, mark=mark))
