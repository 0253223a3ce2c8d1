"""What a pass makes once of a module's own weights, and keeps: no activation of the last call."""

from __future__ import annotations

import pytest
from snippets import check

_MIXING = """
    class Mixing(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv = nn.Conv1d(channels, channels, 1, bias=False)
            self.cached = None

        def forward(self, z, reverse=False):
            weight = self.conv.weight.squeeze()
            if not reverse:
                return self.conv(z), torch.logdet(weight)
            {made}
            return F.conv1d(z, {used})
    """


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("if not hasattr(self, 'inverse'): self.inverse = weight.float().inverse()[..., None]", "self.inverse"),
        ("if self.cached is None: self.cached = weight.inverse()", "self.cached"),
        ("if self.cached is None: self.cached = weight.inverse() @ self.conv(z).mean(0)  # TML108", "self.cached"),
        ("if not hasattr(self, 'first'): self.first = self.conv(z)  # TML108", "self.first"),
        ("self.last = self.conv(z)  # TML108", "weight"),
    ],
)
def test_what_is_made_of_weights(made: str, used: str) -> None:
    check(_MIXING.format(made=made, used=used))


_DECAY = """
    class Decay(nn.Module):
        def __init__(self, channels):
            super().__init__()
            {has}
            self.mixes = nn.Sequential(nn.Linear(channels, channels), nn.ReLU())
            self.rates = None

        def get_rates(self, z):
            {made}
            return self.rates

        def forward(self, z):
            return z * self.get_rates(z)
    """
_OWN = "self.log_rates = nn.Parameter(torch.rand(channels).log())"
_REGISTERED = "self.register_parameter('log_rates', nn.Parameter(torch.rand(channels).log()))"


@pytest.mark.parametrize("has", [_OWN, _REGISTERED])
@pytest.mark.parametrize(
    "made",
    [
        "if self.rates is None: self.rates = -self.log_rates.float().exp()",
        "if self.rates is None: self.rates = torch.exp(self.log_rates) * 0.5",
        "if self.rates is None: self.rates = self.mixes(self.log_rates)  # TML108",
        "if self.rates is None: self.rates = self.log_rates.exp() * self.mixes(z)  # TML108",
        "self.rates = self.log_rates.exp() * self.mixes(z)  # TML108",
    ],
)
def test_what_is_made_of_own_parameters(has: str, made: str) -> None:
    check(_DECAY.format(has=has, made=made))


_MIXED = """
    class Mixed(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.register_buffer("order", torch.randperm(channels).float().clamp(min=1))
            self.lower = nn.Parameter(torch.eye(channels))

        def forward(self, z, reverse=False):
            whole = torch.mm(torch.diag(self.order), torch.tril(self.lower))
            if not reverse:
                return F.conv1d(z, whole[..., None])
            {made}
            return F.conv1d(z, self.inverse)
    """


@pytest.mark.parametrize(
    "made",
    [
        "if not hasattr(self, 'inverse'): self.inverse = whole.float().inverse()[..., None]",
        "if not hasattr(self, 'inverse'): self.inverse = (whole @ z).inverse()[..., None]  # TML108",
        "self.inverse = whole.float().inverse()[..., None]  # TML108",
    ],
)
def test_what_is_made_of_weights_and_buffers(made: str) -> None:
    check(_MIXED.format(made=made))
