"""Hooks of one object that fill two lists, and a reset that empties one of them: of one file, and of several, where the
model of the other file has the list that the objects are in."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.taps{hint} = []

    def forward(self, x):
        return self.fc(x)
"""
TAPS = """
class Tap:
    def __init__(self, layer):
        self.given, self.made = [], []
        self.handles = [layer.register_forward_pre_hook(self.before), layer.register_forward_hook(self.after)]

    def before(self, module, inputs):
        self.given.append(inputs){mark}

    def after(self, module, inputs, output):
        self.made.append(output)

    def reset(self):
        self.made = []
        {both}

@torch.no_grad()
def main(loader):
    net = Net()
    for layer in (net.fc,):
        net.taps.append(Tap(layer))
    dead = 0
    for x in loader:
        net(x)
        dead += sum((one == 0).sum().item() for tap in net.taps for one in tap.made)
        for tap in net.taps:
            tap.reset()
    print(dead)
"""
CASES = [("  # TML303", "pass"), ("", "self.given.clear()")]


@pytest.mark.parametrize(("mark", "both"), CASES)
def test_in_one_file(mark: str, both: str) -> None:
    check(MODEL.format(hint="") + TAPS.format(mark=mark, both=both))


@pytest.mark.parametrize("hint", ["", ": list[object]"])
@pytest.mark.parametrize(("mark", "both"), CASES)
def test_with_a_model_of_another_file(
    mark: str, both: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "import torch\nfrom torch import nn\n"
    main = head + "from model import Net\n" + TAPS.format(mark=mark, both=both)
    check_project({"model.py": head + MODEL.format(hint=hint), "main.py": main}, tmp_path, monkeypatch)


LOSSES = """
import torch
from model import Net

def main(loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        loss = net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        net.taps.append(loss{taken}){mark}
    print(len(net.taps))
"""


@pytest.mark.parametrize(("taken", "mark"), [("", "  # TML102"), (".item()", "")])
def test_a_list_of_a_model_of_another_file(
    taken: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "from torch import nn\n" + MODEL.format(hint="")
    check_project({"model.py": model, "main.py": LOSSES.format(taken=taken, mark=mark)}, tmp_path, monkeypatch)


STACKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for number in range(3):
            self.layers.append(nn.Linear(8, 8))
            self.add_module(str(number), self.layers[-1])

    def forward(self, x):
        return self.layers[0](x)
"""
LAYERS = """
import torch
from model import Net

def main(loader):
    net, seen = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        for layer in net.layers:
            x = layer(x)
            seen.append(x)  # TML102
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()
    print(len(seen))
"""


def test_a_list_that_the_constructor_fills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"model.py": "from torch import nn\n" + STACKED, "main.py": LAYERS}, tmp_path, monkeypatch)
