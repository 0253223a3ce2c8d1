"""Innocent modules: what one pass makes for itself, lets go or hands out, and passes that are chosen."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "a sequence that a helper adds to itself": """
        def main(rows):
            inner = nn.Sequential(nn.Linear(2, 2))
            inner.append(inner)
            loss = inner(rows).sum()
            loss.backward()
            return loss.item()
        """,
    "layers of one model that choose a method": """
        class Layer(nn.Module):
            def __init__(self, first):
                super().__init__()
                self.body = nn.Linear(8, 8)
                self.chosen = self.one if first else self.other

            def one(self, x):
                return self.body(x)

            def other(self, x):
                return x + self.body(x)

            def forward(self, x):
                return self.chosen(x)

        class Tower(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = nn.ModuleList()
                for number in range(depth):
                    layer = Layer(number == 0)
                    self.layers.append(layer)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        @torch.no_grad()
        def main(loader):
            tower = Tower(4)
            for x in loader:
                print(tower(x).mean().item())
        """,
    "attributes-that-are-put-back-all-at-once": """
class Recorder:
    def __init__(self):
        self.seen = []

    def forward(self, x):
        self.seen.append(torch.zeros(x.shape))
        return x

    def rewind(self, before):
        state = self.__dict__
        state.update(before)
""",
    "closures that refer to each other, kept on their object": """
        class Metric:
            def wrap(self, update):
                def wrapped(*args):
                    return inner(*args)

                def inner(*args):
                    self.count += 1
                    return update(*args) if args else wrapped(0)

                self.update = wrapped
        """,
    "lengths that a module hands out next to its features": """
        class Recognizer(nn.Module):
            def __init__(self, frontend, encoder, speakers):
                super().__init__()
                self.frontend = frontend
                self.encoder = nn.GRU(8, 8)
                self.speakers = speakers

            def recognize(self, x, lens):
                self.eval()
                hs, hlens, mask = self.frontend(x, lens)
                hlens_n = [None] * self.speakers
                for i in range(self.speakers):
                    hs[i], hlens_n[i] = self.encoder(hs[i], hlens)
                return [h.argmax(-1) for h in hs], hlens_n
        """,
    "hidden states of one pass, trimmed": """
        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = Net()

            def forward(self, x, most):
                feats = self.model(x).hidden_states
                feats = [h[:, :most, :] for h in feats]
                return feats[-1]
        """,
    "blocks of a model that choose their pass when they are made": """
        class Block(nn.Module):
            def __init__(self, split):
                super().__init__()
                self.conv = nn.Conv2d(8, 8, 3)
                self.forward = self.by_slice if split else self.by_parts

            def by_slice(self, x):
                return self.conv(x)

            def by_parts(self, x):
                return self.conv(x)

        def build(depth):
            return nn.Sequential(*[Block(i % 2) for i in range(depth)])
        """,
    "features of the last pass that the owner's method lets go": """
        class Up(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv3d(8, 8, 3)
                self.previous = None

            def drop(self):
                self.previous = None

            def forward(self, x):
                x = self.conv(x)
                if self.previous is None:
                    self.previous = x
                return x

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = Up()

            def forward(self, x):
                out = torch.cat([self.up(part) for part in x.split(4)])
                for module in self.modules():
                    if isinstance(module, Up):
                        module.drop()
                return out
        """,
    "a callback of the one object that lives as long as the program": """
        class Server:
            def __init__(self):
                self.model = Net()
                self.handler = self.answer

            def answer(self, x):
                return self.model(x)

        def serve():
            server = Server()
            while True:
                server.handler(torch.rand(8)).sum().backward()
        """,
    "skip connections": """
        class UNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.ModuleList([nn.Conv2d(3, 3, 3) for _ in range(3)])
                self.up = nn.ModuleList([nn.Conv2d(6, 3, 3) for _ in range(3)])
            def forward(self, x):
                skips = []
                for d in self.down:
                    x = d(x)
                    skips.append(x)
                for u in self.up:
                    x = u(torch.cat([x, skips.pop()], 1))
                return x
        """,
    "layers": """
        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

            def forward(self, x):
                skips = []
                for layer in self.layers:
                    x = layer(x)
                    skips.append(x)
                return x + sum(skips)
        """,
    "layers by number": """
        class Deep(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.num_layers = layers
                self.layer = nn.Linear(8, 8)

            def forward(self, x):
                for _ in range(self.num_layers):
                    x = self.layer(x)
                return x
        """,
    "list stacked and returned": """
        class Unrolled(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(8, 8)

            def forward(self, xs):
                hidden = torch.zeros(1, 8)
                outputs = []
                for x in xs:
                    hidden = self.cell(x, hidden)
                    outputs.append(hidden)
                return torch.stack(outputs)
        """,
    "list returned": """
        class Pyramid(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

            def forward(self, x):
                levels = {}
                for index, block in enumerate(self.blocks):
                    x = block(x)
                    levels[f"p{index}"] = x
                return levels
        """,
    "saved for backward": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, power):
                ctx.save_for_backward(x)
                ctx.power = power
                ctx.shape = x.shape
                ctx.needs = ctx.needs_input_grad[0]
                return x ** power

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return ctx.power * x * grad, None
        """,
    "scores sampled from a map, without the dimensions of one element": """
        class Detector(nn.Module):
            def forward(self, maps, places):
                scores = []
                for i in range(len(maps)):
                    found = F.grid_sample(maps[i].unsqueeze(0), places[i].view(1, 1, -1, 2))[0, 0, 0, :]
                    scores.append(found)
                return scores
        """,
    "maps of a decoder, made level by level": """
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.projections = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

            def forward(self, maps):
                levels = [self.projections[i](level) for i, level in enumerate(maps)]
                memory = torch.cat(levels)
                anchors = memory.detach().topk(3)[0]
                return memory, anchors
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
