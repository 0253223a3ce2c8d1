"""allennlp 2.10.1, allennlp/training/gradient_descent_trainer.py:511 (TML102): outputs of an accumulated group.

With gradient accumulation each micro-batch's output dict stays with its graph until the group's callbacks have run,
though only the loss of the current one is differentiated.
"""

import torch
from ledger import growth
from torch import nn


def group(count, release):
    model, outputs = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)), []
    for _ in range(count):
        logits = model(torch.randn(32, 64))
        batch = {"loss": logits.square().mean(), "logits": logits, "probs": logits.softmax(-1)}
        batch["loss"].backward()
        outputs.append({name: value.detach() for name, value in batch.items()} if release else batch)
    return outputs


if __name__ == "__main__":
    print("as released (per micro-batch)")
    growth(lambda count: group(count, False))
    print("detached")
    growth(lambda count: group(count, True))
