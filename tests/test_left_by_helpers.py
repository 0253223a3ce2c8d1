"""Activations that a pass leaves on its modules, stored by a helper of `forward`."""

from __future__ import annotations

import pytest
from snippets import check

HELPERS = {
    "a branch of the helper": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
                self.attn = None

            def attend(self, value, scores, mask):
                if mask is not None:
                    self.attn = torch.softmax(scores.masked_fill(mask, -1e4), dim=-1)
                else:
                    self.attn = torch.softmax(scores, dim=-1)  # TML108
                return torch.matmul(self.attn, value)

            def forward(self, x, mask=None):
                scores = self.q(x) @ self.k(x).transpose(-2, -1)
                return self.attend(self.v(x), scores, mask)
    """,
    "given by keyword, kept in a private attribute": """
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.score = nn.Linear(8, 4)

            def _route(self, *, tokens):
                weights = F.softmax(self.score(tokens), dim=-1)
                self._last_weights = weights  # TML108
                return weights.topk(2).values

            def forward(self, tokens):
                return self._route(tokens=tokens)
    """,
    "two helpers down": """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(8, 8)

            def _keep(self, h):
                self.features = h  # TML108

            def _body(self, x):
                h = self.inner(x).relu()
                self._keep(h)
                return h * 2

            def forward(self, x):
                return self._body(x)
    """,
    "a base class has the helper": """
        class Base(nn.Module):
            def compute(self, x):
                self.probs = torch.sigmoid(self.head(x))  # TML108
                return self.probs.mean(-1)

        class Derived(Base):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(8, 3)

            def forward(self, x):
                return self.compute(x)
    """,
    "in a dictionary by layer": """
        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 8)
                self.maps = {}

            def _note(self, name, value):
                self.maps[name] = value  # TML108

            def forward(self, x):
                x = self.first(x)
                self._note("first", x)
                return x
    """,
    "a helper with the name of a pass": """
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(8, 8)

            def forward_features(self, x):
                self.hidden_map = self.cell(x)  # TML108
                return self.hidden_map.tanh()

            def forward(self, x):
                return self.forward_features(x).sum(-1)
    """,
    "property setter free": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)

            def encode(self, x):
                out = self.a(x)
                self.z = out  # TML108
                return out

            def forward(self, x):
                return self.encode(x).exp()
""",
    "tuple target": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(4, 4)

            def run(self, x):
                out, self.last_h = self.rnn(x)  # TML108
                return out

            def forward(self, x):
                return self.run(x)
""",
    "einsum attention": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

            def attention(self, q, k, v):
                s = torch.einsum("bid,bjd->bij", q, k)
                self.attention_map = s.softmax(-1)  # TML108
                return torch.einsum("bij,bjd->bid", self.attention_map, v)

            def forward(self, x):
                return self.attention(self.q(x), self.k(x), x)
""",
    "super forward": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)

            def forward(self, x):
                self.kept_out = self.a(x)  # TML108
                return self.kept_out.relu()

        class D(Base):
            def forward(self, x):
                return super().forward(x) + 1
""",
    "call of a helper in a loop": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

            def one(self, layer, x):
                y = layer(x)
                self.current = y  # TML108
                return y.relu()

            def forward(self, x):
                for layer in self.layers:
                    x = self.one(layer, x)
                return x
""",
}

HELPER_TWINS = {
    "detached in the helper": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
                self.attn = None

            def attend(self, value, scores):
                probs = torch.softmax(scores, dim=-1)
                self.attn = probs.detach()
                return torch.matmul(probs, value)

            def forward(self, x):
                return self.attend(self.v(x), self.q(x) @ self.k(x).transpose(-2, -1))
    """,
    "taken off again by forward": """
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.score = nn.Linear(8, 4)

            def _route(self, *, tokens):
                self._last_weights = F.softmax(self.score(tokens), dim=-1)
                return self._last_weights.topk(2).values

            def forward(self, tokens):
                out = self._route(tokens=tokens)
                self._last_weights = None
                return out
    """,
    "a number of it": """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(8, 8)

            def _keep(self, h):
                self.level = h.mean().item()

            def forward(self, x):
                h = self.inner(x).relu()
                self._keep(h)
                return h * 2
    """,
    "a loss of the file takes it": """
        class Routed(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(8, 3)

            def compute(self, x):
                self.probs = torch.sigmoid(self.head(x))
                return self.probs.mean(-1)

            def forward(self, x):
                return self.compute(x)

            def balance_loss(self):
                return self.probs.var()
    """,
    "a mask that is made once": """
        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 8)
                self.mask = None

            def _make(self, x):
                self.mask = torch.ones(x.shape[-1], dtype=torch.bool).triu()

            def forward(self, x):
                if self.mask is None:
                    self._make(x)
                return self.first(x).masked_fill(self.mask, 0)
    """,
    "for the training step that unseen code drives": """
        class Gan:
            def __init__(self):
                self.net = Net()

            def set_input(self, batch):
                self.real = batch

            def forward(self):
                self.fake = self.net(self.real)

            def backward_g(self):
                self.loss_g = self.fake.mean()
                self.loss_g.backward()

            def optimize_parameters(self):
                self.forward()
                self.backward_g()
    """,
}


@pytest.mark.parametrize("snippet", HELPERS.values(), ids=list(HELPERS))
def test_helper_keeps_an_activation(snippet: str) -> None:
    check(snippet)


@pytest.mark.parametrize("snippet", HELPER_TWINS.values(), ids=list(HELPER_TWINS))
def test_helper_keeps_nothing(snippet: str) -> None:
    check(snippet)
