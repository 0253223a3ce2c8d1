"""monai 1.6.1, monai/networks/nets/milmodel.py:87 (TML108): hook outputs stay in `extra_outputs` with their graph.

Four feature maps and the graph of a whole backbone stay until the next forward pass.
"""

import torch
from ledger import growth
from torch import nn


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return self.layer(x).mean((2, 3))


class Mil(nn.Module):
    def __init__(self, width, release):
        super().__init__()
        self.net = Backbone(width)
        self.extra_outputs = {}
        self.release = release
        self.net.layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.extra_outputs["layer"] = output

    def forward(self, x):
        y = self.net(x) + self.extra_outputs["layer"].mean((2, 3))
        if self.release:
            self.extra_outputs.clear()
        return y


def score(width, release):
    model = Mil(width, release)
    float(model(torch.randn(4, 3, 32, 32)).mean())
    return model


if __name__ == "__main__":
    print("as released (per channel)")
    growth(lambda width: score(width, False))
    print("cleared after its use")
    growth(lambda width: score(width, True))
