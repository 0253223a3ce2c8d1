"""Sums that one table has under several names: each is what was added to it, and dividing them adds nothing."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax

PROGRAMS = {
    "a default for each name": """
        def train(loader, optimizer):
            net, sums = Net(), defaultdict(float)
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sums["loss"] += loss  # TML101
                sums["shown"] += loss.item()
            return sums
        """,
    "means that are made in place and shown": """
        class Trainer:
            def __init__(self, loader, optimizer, every):
                self.net, self.loader, self.optimizer, self.every = Net(), loader, optimizer, every
                self.sums, self.steps = defaultdict(float), 0

            def step(self, x, y):
                extra = self.net(x).abs().mean()
                loss = extra + F.mse_loss(self.net(x), y)
                self.sums["extra"] += extra  # TML101
                self.sums["loss"] += loss.item()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.steps += 1

            def run(self):
                for x, y in self.loader:
                    self.step(x, y)
                    if self.steps % self.every == 0:
                        for name in self.sums:
                            self.sums[name] /= self.every
                            print(name, self.sums[name])
        """,
    "means in other words": """
        class Trainer:
            def __init__(self, loader, optimizer):
                self.net, self.loader, self.optimizer, self.total = Net(), loader, optimizer, 0.0

            def step(self, x, y):
                loss = F.mse_loss(self.net(x), y)
                self.total += loss  # TML101
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

            def run(self):
                for x, y in self.loader:
                    self.step(x, y)
                self.total = self.total / len(self.loader)
                print(self.total)
        """,
    "numbers under two names": """
        def train(loader, optimizer):
            net, sums = Net(), defaultdict(float)
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sums["loss"] += loss.detach()
                sums["shown"] += loss.item()
            for name in sums:
                sums[name] /= len(loader)
            return sums
        """,
    "lists under two names": """
        def train(loader, optimizer):
            net, seen = Net(), defaultdict(list)
            for x, y in loader:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen["loss"].append(loss)  # TML102
                seen["shown"].append(loss.item())
            return seen
        """,
    "frames that are moved to a device, for each client": """
        class Hub:
            def __init__(self, model):
                self.model, self.frames, self.clients = model.eval(), defaultdict(list), {}

            def on_connect(self, client):
                self.clients[client.id] = client

            def on_frame(self, client, frame):
                self.frames[client.id].append(frame.cuda())  # TML303
                with torch.inference_mode():
                    return self.model(torch.stack(self.frames[client.id][-16:])[None]).argmax().item()

            def on_disconnect(self, client):
                self.clients.pop(client.id, None)
        """,
    "frames that go with their client": """
        class Hub:
            def __init__(self, model):
                self.model, self.frames = model.eval(), defaultdict(list)

            def on_frame(self, client, frame):
                self.frames[client.id].append(frame.cuda())
                with torch.inference_mode():
                    return self.model(torch.stack(self.frames[client.id][-16:])[None]).argmax().item()

            def on_disconnect(self, client):
                self.frames.pop(client.id, None)
        """,
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_program(name: str) -> None:
    check(PROGRAMS[name])


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_is_a_program(name: str) -> None:
    check_syntax(PROGRAMS[name])
