"""Tables of models that a service keeps by a name which whoever asks has chosen."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SERVICE = """
SUPPORTED = ("small", "large")

def load_model(model_name):
    torch.manual_seed(len(model_name))
    return nn.Linear(256, 256).eval()

class Provider:
    def __init__(self):
        self.models = {{}}

    def model(self, model_name):
        {asked}
        if model_name not in self.models:
            self.models[model_name] = load_model(model_name){mark}
            {evicts}
        return self.models[model_name]

class Service:
    def __init__(self):
        self.provider = Provider()

    @torch.inference_mode()
    def speak(self, {sent}):
        model = self.provider.model({name})
        return model(torch.randn(1, 256)).norm().item()

def main(steps):
    service = Service()
    for step in range(steps):
        print(service.speak({request}))
"""
REQUEST = '{{"model": f"voice-{step}"}}'.replace("{{", "{").replace("}}", "}")


def _text(sent: str, name: str, mark: str = "", asked: str = "pass", evicts: str = "pass") -> str:
    return SERVICE.format(sent=sent, name=name, mark=mark, asked=asked, evicts=evicts, request=REQUEST)


@pytest.mark.parametrize(
    ("sent", "name"),
    [("payload", 'payload["model"]'), ("request", "request.model_name"), ("req", 'req.get("model")')],
)
def test_a_name_that_is_sent(sent: str, name: str) -> None:
    check(_text(sent, name, "  # TML311"))


def test_a_parameter_that_says_nothing() -> None:
    check(_text("request", "request.model", "  # TML311").replace("model_name", "wanted"))


@pytest.mark.parametrize(
    ("name", "asked", "evicts"),
    [
        (
            'payload["model"]',
            "pass",
            "if len(self.models) > 2:\n                self.models.pop(next(iter(self.models)))",
        ),
        ('payload["model"]', "assert model_name in SUPPORTED", "pass"),
        ('payload["model"]', "print(self.configs[model_name])", "pass"),
        (
            'payload["model"]',
            'if model_name not in ("small", "large"):\n            raise KeyError(model_name)',
            "pass",
        ),
        ('payload["language"]', "pass", "pass"),
    ],
)
def test_one_of_a_few_and_a_limit(name: str, asked: str, evicts: str) -> None:
    check_innocent(_text("payload", name, asked=asked, evicts=evicts))
