"""espnet 202511, espnet2/enh/layers/complexnn.py:356, :357, :375 to :377 (TML101): running statistics with a graph.

The statistics are buffers, and each training pass mixes the batch's mean and variance into them with gradients
recorded. The normalized values do not go through the buffers, so no backward pass ever reaches the chain that they
form: what a step has added stays until the layer goes. speechbrain 1.1.2,
nnet/quaternion_networks/q_normalization.py:145, :149, does the same with a weighted sum.
"""

import torch
from ledger import growth
from torch import nn


class Norm(nn.Module):
    def __init__(self, release):
        super().__init__()
        self.release = release
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x):
        mean = x.mean((0, 2))
        self.mean.lerp_(mean.detach() if self.release else mean, 0.1)
        return x - mean[:, None]


def train(steps, release):
    model = nn.Sequential(nn.Conv1d(4, 16, 3), Norm(release))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(steps):
        loss = model(torch.randn(2, 4, 50)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    print("as released")
    growth(lambda steps: train(steps, False))
    print("detached")
    growth(lambda steps: train(steps, True))
