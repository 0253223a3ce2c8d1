"""What the code around a collected value says of it: a framework that back-propagates what a step returns, an optimizer
that has changed the weights since, a gradient that has been taken, a loader that is named for what no training sees."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent, check_syntax

GUILTY = {
    "losses and predictions of a Lightning module that holds a network it was given": """
        import pytorch_lightning as pl

        class Segmenter(pl.LightningModule):
            def __init__(self, net):
                super().__init__()
                self.net = net
                self.losses, self.masks = [], []

            def training_step(self, batch, index):
                loss = F.cross_entropy(self.net(batch[0]), batch[1])
                self.losses.append(loss)  # TML107
                return loss

            def on_train_epoch_end(self):
                self.log("loss", torch.stack(self.losses).mean())

            def validation_step(self, batch, index):
                self.masks.append(self.net(batch[0]).softmax(1))  # TML107

            def on_validation_epoch_end(self):
                self.log("sure", torch.cat(self.masks).max(1).values.mean())
        """,
    "pictures of a generator that is trained on, for whoever calls": """
        def train(generator, critic, loader, noise, epochs):
            first = torch.optim.Adam(generator.parameters())
            second = torch.optim.Adam(critic.parameters())
            pictures = []
            for epoch in range(epochs):
                for real, _ in loader:
                    second.zero_grad()
                    fake = generator(noise())
                    (critic(fake.detach()).mean() - critic(real).mean()).backward()
                    second.step()
                    first.zero_grad()
                    (-critic(fake).mean()).backward()
                    first.step()
                pictures.append(generator(noise()))  # TML102
            return pictures
        """,
    "losses whose gradient has been taken with respect to the input": """
        def attack(model, images, labels, rounds):
            changed, losses = images.clone(), []
            for _ in range(rounds):
                changed.requires_grad_(True)
                loss = F.cross_entropy(model(changed), labels)
                (slope,) = torch.autograd.grad(loss, changed)
                losses.append(loss)  # TML102
                changed = (changed + 0.01 * slope.sign()).detach()
            return changed, losses
        """,
    "a graph that a helper has taken a gradient of before": """
        def penalty(critic, x):
            x.requires_grad_(True)
            (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
            return (slope.norm(2, 1) - 1).pow(2).mean()

        def train(loader, optimizer):
            critic = Net()
            for real, fake in loader:
                loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, (real + fake) / 2)
                optimizer.zero_grad()
                loss.backward(retain_graph=True)  # TML103
                optimizer.step()
        """,
    "what a trainer's loss is computed from": """
        from transformers import Trainer

        class Watched(Trainer):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.logits, self.total = [], 0

            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                out = model(**inputs)
                self.logits.append(out.logits)  # TML102
                self.total = self.total + out.loss  # TML101
                return (out.loss, out) if return_outputs else out.loss
        """,
    "the held-out one of several loaders": """
        def train(model, loaders, optimizer, epochs):
            for _ in range(epochs):
                for x, y in loaders["train"]:
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
                total = 0.0
                for x, y in loaders["val"]:
                    total += F.cross_entropy(model(x), y)  # TML201
                print(total / len(loaders["val"]))
        """,
    "a loader with a short name": """
        def train(model, train_dl, valid_dl, optimizer, epochs):
            for _ in range(epochs):
                for x, y in train_dl:
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
                total = 0.0
                for x, y in valid_dl:
                    total += F.cross_entropy(model(x), y)  # TML201
                print(total / len(valid_dl))
        """,
}

INNOCENT = {
    "what a step of a Lightning module collects and its epoch clears": """
        import pytorch_lightning as pl

        class Segmenter(pl.LightningModule):
            def __init__(self, net):
                super().__init__()
                self.net = net
                self.losses, self.masks = [], []

            def training_step(self, batch, index):
                loss = F.cross_entropy(self.net(batch[0]), batch[1])
                self.losses.append(loss.item())
                return loss

            def validation_step(self, batch, index):
                self.masks.append(self.net(batch[0]).softmax(1))

            def on_validation_epoch_end(self):
                self.log("sure", torch.cat(self.masks).max(1).values.mean())
                self.masks.clear()
        """,
    "outputs of a loop that goes back through another network": """
        def features(encoder, head, loader):
            optimizer, found = torch.optim.Adam(head.parameters()), []
            for x, y in loader:
                with torch.no_grad():
                    code = encoder(x)
                optimizer.zero_grad()
                F.cross_entropy(head(code), y).backward()
                optimizer.step()
                found.append(code)
            return found
        """,
    "forces that are differentiated again": """
        def forces(model, loader):
            for x, target in loader:
                x.requires_grad_(True)
                energy, found = model(x), []
                for part in energy:
                    (force,) = torch.autograd.grad(part, x, create_graph=True)
                    found.append(force)
                (torch.stack(found) - target).pow(2).mean().backward()
        """,
    "a graph that a helper goes through afterwards": """
        def slope_of(loss, net):
            return torch.autograd.grad(loss, net.layer.weight)[0].norm()

        def train(loader, optimizer):
            net = Net()
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                print(slope_of(loss, net).item())
                optimizer.step()
        """,
    "what a trainer's loss is computed from, as numbers": """
        from transformers import Trainer

        class Watched(Trainer):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.total, self.steps = 0.0, 0

            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                out = model(**inputs)
                self.total, self.steps = self.total + out.loss.item(), self.steps + 1
                return (out.loss, out) if return_outputs else out.loss
        """,
    "the loader that is trained on, by its key": """
        def train(model, loaders, optimizer, epochs):
            for _ in range(epochs):
                for x, y in loaders["train"]:
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
                with torch.no_grad():
                    total = 0.0
                    for x, y in loaders["val"]:
                        total += F.cross_entropy(model(x), y)
                print(total / len(loaders["val"]))
        """,
}


@pytest.mark.parametrize("name", list(GUILTY))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", [*GUILTY, *INNOCENT])
def test_is_a_program(name: str) -> None:
    check_syntax({**GUILTY, **INNOCENT}[name])
