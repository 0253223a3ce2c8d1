"""Pictures that a training loop has a model make, with gradients on: nobody back-propagates what is drawn."""

from __future__ import annotations

import pytest
from snippets import check

PRELUDE = """
import torch
from torch import nn
from torchvision.utils import save_image
"""
GAN = """
class Gan:
    def __init__(self):
        self.gen = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 784))
        self.dis = nn.Linear(784, 1)
        self.optimizer = torch.optim.Adam(self.gen.parameters())

    @staticmethod
    def draw(samples, path):
        images = [torch.clamp({image}, 0, 1) for one in samples]
        save_image(images, path)

    def fit(self, loader, fixed):
        for step, real in enumerate(loader):
            fake = self.gen(torch.randn(len(real), 64))
            loss = -self.dis(fake).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 100 == 0:
                {draws}
"""


@pytest.mark.parametrize("image", ["one.view(28, 28)", "one.detach().view(28, 28)"])
def test_samples_with_a_graph(image: str) -> None:
    text = GAN.format(image=image, draws='self.draw(self.gen(fixed), f"{step}.png")  # TML201')
    check(text, PRELUDE)


@pytest.mark.parametrize(
    "draws",
    [
        pytest.param('with torch.no_grad(): self.draw(self.gen(fixed), "a.png")', id="without gradients"),
        pytest.param('self.draw(fake, "a.png")', id="what the loss is of"),
        pytest.param('self.draw(real, "a.png")', id="the data"),
    ],
)
def test_samples_without_one(draws: str) -> None:
    check(GAN.format(image="one.detach()", draws=draws), PRELUDE)


@pytest.mark.parametrize("mode", ["torch.no_grad()", "torch.autocast('cpu')"])
def test_samples_that_become_an_array(mode: str) -> None:
    mark = "" if "no_grad" in mode else "  # TML201"
    text = f"""
class Gan:
    def __init__(self):
        self.gen, self.dis = nn.Linear(64, 784), nn.Linear(784, 1)
        self.optimizer = torch.optim.Adam(self.gen.parameters())

    def draw(self, samples, path):
        rows = [one.detach().view(28, 28) for one in samples]
        plt.imsave(path, torch.cat(rows, dim=1).numpy())

    def fit(self, steps, fixed):
        for step in range(steps):
            loss = -self.dis(self.gen(torch.randn(4, 64))).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            with {mode}:
                self.draw(self.gen(fixed), str(step)){mark}
"""
    check(text, PRELUDE + "from matplotlib import pyplot as plt\n")
