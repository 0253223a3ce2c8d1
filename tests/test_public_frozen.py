"""Networks that are frozen before they run, as public code writes it; each beside one of which a part still trains."""

from __future__ import annotations

import pytest
from snippets import check

_LOOP = """
def restore(paths):
    model = {net}
    model.eval()
    {loop}
    model = model.to("cuda")
    for path in paths:
        save(model(read(path))){mark}
"""
_CHOSEN = """
class Wide(Net):
    pass

def restore(paths, kind):
    if kind == "wide":
        model = {first}(8)
    else:
        model = {first}(4)
    model.eval()
    {loop}
    for path in paths:
        save(model(read(path))){mark}
"""
_LAYERS = """
def layers(block, count):
    made = []
    for _ in range(count):
        made.append(block())
    return nn.Sequential(*made)

class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3)

    def forward(self, x):
        return x + F.relu(self.conv(x))

class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rest = nn.Conv2d(3, 8, 3), layers(Block, 3)

    def forward(self, x):
        return self.rest(self.first(x))

def restore(paths):
    model = Trunk()
    model.eval()
    {loop}
    for path in paths:
        save(model(read(path))){mark}
"""
_NAMED = "for name, weight in model.named_parameters(): weight.requires_grad = False"
_GUILTY = "  # TML201"
SNIPPETS = {
    "named": _LOOP.format(net="Net()", loop=_NAMED, mark=""),
    "named, of an unseen class": _LOOP.format(net="networks.SRNet(64)", loop=_NAMED, mark=""),
    "named, by a method": _LOOP.format(net="Net()", loop=_NAMED.replace(" = False", "_(False)"), mark=""),
    "listed": _LOOP.format(net="Net()", loop=_NAMED.replace("model.n", "list(model.n").replace("():", "()):"), mark=""),
    "counted": _LOOP.format(
        net="Net()", loop="for i, weight in enumerate(model.parameters()): weight.requires_grad = False", mark=""
    ),
    "not frozen": _LOOP.format(
        net="Net()", loop="for name, weight in model.named_parameters(): print(name)", mark=_GUILTY
    ),
    "but for the head": _LOOP.format(
        net="Net()", loop=_NAMED.replace(": ", ":\n        if 'head' not in name: "), mark=_GUILTY
    ),
    "the head passed over": _LOOP.format(
        net="Net()",
        loop=_NAMED.replace(": ", ":\n        if 'head' in name:\n            continue\n        "),
        mark=_GUILTY,
    ),
    "the first few": _LOOP.format(
        net="Net()",
        loop="for i, weight in enumerate(model.parameters()):\n"
        "        if i > 7:\n            break\n        weight.requires_grad = False",
        mark=_GUILTY,
    ),
    "buffers": _LOOP.format(net="Net()", loop=_NAMED.replace("parameters", "buffers"), mark=_GUILTY),
    "one of two": _CHOSEN.format(first="Wide", loop=_NAMED, mark=""),
    "one of two, not frozen": _CHOSEN.format(first="Wide", loop="pass", mark=_GUILTY),
    "layers of a helper": _LAYERS.format(loop=_NAMED, mark=""),
    "layers of a helper, not frozen": _LAYERS.format(loop="pass", mark=_GUILTY),
    "layers of a helper, but for the head": _LAYERS.format(
        loop="for weight in model.first.parameters(): weight.requires_grad = False", mark=_GUILTY
    ),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


_KEYS = """
def train(loader, optimizer, criterion):
    net, sums = Net(), {{}}
    for batch in loader:
        optimizer.zero_grad()
        loss, found = criterion(net(batch))
        loss.backward()
        optimizer.step()
        for key in {over}:
            if "loss" in key:
                sums.setdefault(key, 0.0)
                sums[key] += found[key]{end}
    for key in sorted(sums.keys()):
        print(key, sums[key])
        sums[key] = 0.0
"""


@pytest.mark.parametrize("over", ["found", "found.keys()"])
def test_the_keys_of_what_a_criterion_gives_are_no_losses(over: str) -> None:
    check(_KEYS.format(over=over, end=".item()"))
    check(_KEYS.format(over=over, end="  # TML101"))
