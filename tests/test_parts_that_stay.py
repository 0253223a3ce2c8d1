"""Layers that are worked on one after the other: the model keeps them, whatever names a function has for them."""

from __future__ import annotations

import pytest
from snippets import check

PACKING = """
class Packer:
    def __init__(self, layer):
        self.layer = layer
        self.scale = torch.zeros(layer.weight.shape)

    def find(self, x):
        self.scale += x.mean()

def find_linears(layer):
    return {{name: part for name, part in layer.named_modules() if isinstance(part, nn.Linear)}}

@torch.no_grad()
def pack(model, rows, device):
    layers = model.layers
    for i in range(len(layers)):
        {layer}
        {found}
        packers = {{}}
        for name in found:
            packers[name] = Packer(found[name])
            packers[name].find(rows)
        rows = layer(rows)
        {end}
        torch.cuda.empty_cache()
    return rows

def main():
    model = nn.Module()
    model.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
    print(pack(model, torch.rand(4, 8), "cuda").sum())
"""
ALL, SOME = (
    "found = find_linears(layer)",
    "full = find_linears(layer)\n        found = {n: full[n] for n in ('0', '2')}",
)
STAY = [
    ("layer = layers[i]", ALL, "layers[i] = layer.cpu()\n        del layer\n        del packers"),
    ("layer = layers[i].to(device)", ALL, "layer.cpu()\n        del layer, packers"),
    ("layer = model.layers[i]", SOME, "del packers\n        del layer"),
]


@pytest.mark.parametrize(("layer", "found", "end"), STAY)
def test_layers_that_the_model_keeps(layer: str, found: str, end: str) -> None:
    check(PACKING.format(layer=layer, found=found, end=end))


STAGES = """
class Head(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)

def run(kept, x):
    body = {body}
    head = Head(body)
    x = head(x)
    {gone}
    del body{mark}
    torch.cuda.empty_cache()
    model = Net().cuda()
    return model(x)
"""
DROPPED = [
    ("Net().cuda()", "pass", "  # TML604"),
    ("kept[0]", "kept[0] = None", "  # TML604"),
    ("kept[0]", "kept.pop(0)", "  # TML604"),
    ("kept[0]", "pass", "  # TML604"),
    ("kept.body.eval()", "pass", ""),
]


@pytest.mark.parametrize(("body", "gone", "mark"), DROPPED)
def test_models_that_go(body: str, gone: str, mark: str) -> None:
    text = STAGES.format(body=body, gone=gone, mark=mark)
    check(text.replace("def run(kept, x):", "def run(x):\n    kept = [Net().cuda()]") if "kept[" in body else text)
