"""States that a network has between the time steps of one sample, and that are reset for each."""

from __future__ import annotations

import pytest
from snippets import check

NEURON = """
class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.synapse, self.v = nn.Linear(64, 64), None

    def reset(self):
        self.v = None

    def forward(self, x):
        v = self.synapse(x) if self.v is None else 0.9 * self.v + self.synapse(x)
        s = torch.sigmoid(v - 1.0)
        self.v = v * (1 - s)MARK
        return s

class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Neuron(), Neuron()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def reset(self):
        for layer in self.layers:
            layer.reset()

def clips(n):
    for _ in range(n):
        yield (torch.rand(6, 8, 64) < 0.3).float()

def present(net, clip):
    net.reset()
    for x in clip:
        net(x)

def present_all(net, clips):
    net.reset()
    for x in clips:
        net(x)

def main(steps):
    net, data = Spiking(), torch.rand(600, 8, 64)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(99, 6, 64)), batch_size=8)
"""


def _program(rounds: str, mark: str = "") -> str:
    """`rounds`: the lines of a loop, each with a blank for a level."""
    lines = [line.replace(" ", "    ", len(line) - len(line.lstrip())) for line in rounds.split("|")]
    return NEURON.replace("MARK", mark) + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "rounds",
    [
        "for clip in clips(steps):| net.reset()| for x in clip:|  net(x)",
        "for clip in clips(steps):| net.reset()| for t in range(clip.shape[0]):|  net(clip[t])",
        "for clip in clips(steps):| net.reset()| for t, x in enumerate(clip.unbind(0)):|  net(x)",
        "for clip in clips(steps):| present(net, clip)",
        "for step in range(steps):| clip = torch.rand(6, 8, 64)| net.reset()| for x in clip:|  net(x)",
        "for (batch,) in loader:| net.reset()| for x in batch.transpose(0, 1):|  net(x)",
        "for (batch,) in loader:| for t in range(6):|  net(batch[:, 0])| net.reset()",
    ],
)
def test_reset_for_each_sample(rounds: str) -> None:
    check(_program(rounds))


@pytest.mark.parametrize(
    "rounds",
    [
        "for clip in clips(steps):| for x in clip:|  net(x)",
        "for epoch in range(steps):| net.reset()| for x in data:|  net(x)",
        "for epoch in range(steps):| present_all(net, data)",
        "for epoch in range(steps):| net.reset()| for (batch,) in loader:|  net(batch[:, 0])",
        "for epoch in range(steps):| net.reset()| for (batch,) in loader:|  for t in range(6):|   net(batch[:, t])",
        "for step, clip in enumerate(clips(steps)):| if step % 100 == 0:|  net.reset()| for x in clip:|  net(x)",
        "for (clip,) in loader:| net.reset()| for x in clip.split(1, dim=1):|  net(x[:, 0])",
    ],
)
def test_reset_too_late(rounds: str) -> None:
    check(_program(rounds, "  # TML101"))
