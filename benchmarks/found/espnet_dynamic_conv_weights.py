"""espnet 202511, espnet/nets/pytorch_backend/transformer/dynamic_conv2d.py:96 (TML108): weights kept for plots.

Each layer stores its attention weights with their graph at each forward pass, so a finished, never differentiated
pass keeps its graph through the next one.
"""

import torch
from ledger import growth
from torch import nn


class Layer(nn.Module):
    def __init__(self, release):
        super().__init__()
        self.release = release
        self.weights = nn.Linear(64, 7)
        self.out = nn.Linear(64, 64)

    def forward(self, x):
        weights = self.weights(x)
        self.attn = weights.detach() if self.release else weights
        return self.out(x) * weights.softmax(-1).mean(-1, keepdim=True)


def decode(layers, release):
    model = nn.Sequential(*[Layer(release) for _ in range(layers)])
    float(model(torch.randn(2, 50, 64)).mean())
    return model


if __name__ == "__main__":
    print("as released (per layer)")
    growth(lambda layers: decode(layers, False))
    print("detached")
    growth(lambda layers: decode(layers, True))
