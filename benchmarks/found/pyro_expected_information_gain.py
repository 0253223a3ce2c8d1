"""pyro-ppl 1.9.2, pyro/contrib/oed/eig.py:855 (TML102): losses of all steps collected with their graphs.

The history is stacked at the end; each element keeps the graph of its step, which was retained.
"""

import torch
from ledger import growth
from torch import nn


def optimise(count, release):
    model, history = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 1)), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(count):
        optimizer.zero_grad()
        loss = model(torch.randn(64, 16)).square().mean()
        loss.backward(retain_graph=True)
        optimizer.step()
        history.append(loss.detach().clone() if release else loss)
    return history


if __name__ == "__main__":
    print("as released (per step)")
    growth(lambda count: optimise(count, False))
    print("detached")
    growth(lambda count: optimise(count, True))
