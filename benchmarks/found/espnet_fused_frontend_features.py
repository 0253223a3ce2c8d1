"""espnet 202511, espnet2/asr/frontend/fused.py:139 and espnet2/gan_svs/post_frontend/fused.py:101 (TML108).

The frontend keeps `feats`, `feats_proj`, `feats_reshaped` and `feats_final` of the last batch on itself, with the
graph of its frontends; locals would do.
"""

import torch
from ledger import growth
from torch import nn


class Fused(nn.Module):
    def __init__(self, count, keep):
        super().__init__()
        self.keep = keep
        self.frontends = nn.ModuleList(nn.Linear(80, 64) for _ in range(count))

    def forward(self, x):
        projected = [frontend(x) for frontend in self.frontends]
        final = [part[:, :40] for part in projected]
        if self.keep:
            self.projected, self.final = projected, final
        return torch.cat(final, -1)


def recognise(count, keep):
    model = Fused(count, keep)
    float(model(torch.randn(4, 50, 80)).mean())
    return model


if __name__ == "__main__":
    print("as released (per frontend)")
    growth(lambda count: recognise(count, True))
    print("as locals")
    growth(lambda count: recognise(count, False))
