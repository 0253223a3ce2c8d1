"""`net.layers[i](x)` in a loop over numbers: one pass through the layers, and no sum over rounds."""

from __future__ import annotations

import pytest
from snippets import check

_SHOWN = """
    import sys
    import numpy as np

    class Stack(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            layers = nn.ModuleList()
            for i in range(0, sizes.size - 1):
                part = nn.Linear(int(sizes[i]), int(sizes[i + 1]))
                layers.append(part)
                layers.append(nn.ReLU())
            self.top = nn.Sequential(*layers)

    def shown(net, x, rows):
        size = len(net.top)
        z = x
        for i in range(0, size):
            {step}
            rows.append(z.detach().cpu().numpy().flatten())
        return float(z.detach().mean())

    if __name__ == "__main__":
        net, rows = Stack(np.fromstring(sys.argv[1], sep="-")), []
        for _ in range(100):
            shown(net, torch.rand(3, 8), rows)
    """


@pytest.mark.parametrize(
    "step",
    [
        "z = net.top[i](z)",
        "z = net.top[i](z) * 0.5",
        "z = z + net.top[0](z)  # TML101",
    ],
)
def test_a_layer_by_its_number(step: str) -> None:
    check(_SHOWN.format(step=step))
