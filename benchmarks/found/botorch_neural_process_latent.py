"""botorch 0.18.1, botorch_community/models/np_regression.py:473 (TML108): latents of the last batch on the model.

`forward` leaves `z_mu_all` and its relatives on the model with their graph; they stay through the next forward.
"""

import torch
from ledger import growth
from torch import nn


class Process(nn.Module):
    def __init__(self, depth, release):
        super().__init__()
        self.release = release
        self.encode = nn.Sequential(*[layer for _ in range(depth) for layer in (nn.Linear(64, 64), nn.Tanh())])

    def forward(self, x):
        latent = self.encode(x)
        self.latent = latent.detach() if self.release else latent
        return latent.sum()


def evaluate(depth, release):
    """One forward pass that nobody differentiates, of a model of this depth."""
    model = Process(depth, release)
    float(model(torch.randn(256, 64)))
    return model


if __name__ == "__main__":
    print("as released (parameters grow with the depth, too)")
    growth(lambda depth: evaluate(depth, False))
    print("detached")
    growth(lambda depth: evaluate(depth, True))
