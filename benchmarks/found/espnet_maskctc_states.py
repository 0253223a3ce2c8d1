"""espnet 202511, espnet/nets/pytorch_backend/e2e_asr_maskctc.py:130 and 138 (TML108): encoder and decoder outputs.

`hs_pad` and `pred_pad` stay on the model with their graph; nothing in the package reads them.
"""

import torch
from ledger import growth
from torch import nn


class Recogniser(nn.Module):
    def __init__(self, layers, keep):
        super().__init__()
        self.keep = keep
        self.encoder = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(64, 64), nn.GELU())])
        self.decoder = nn.Linear(64, 10)

    def forward(self, x):
        states = self.encoder(x)
        predicted = self.decoder(states)
        if self.keep:
            self.hs_pad, self.pred_pad = states, predicted
        return predicted.logsumexp(-1).mean()


def validate(layers, keep):
    model = Recogniser(layers, keep)
    float(model(torch.randn(4, 100, 64)))
    return model


if __name__ == "__main__":
    print("as released (per layer)")
    growth(lambda layers: validate(layers, True))
    print("as locals")
    growth(lambda layers: validate(layers, False))
