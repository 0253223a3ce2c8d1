"""Hooks that a part of an object has put on a model: only what the object asks of that part takes them out."""

from __future__ import annotations

import pytest
from snippets import check

EXTRACTOR = """
class Hooks:
    def __init__(self):
        self.features, self.handles = {{}}, []

    def attach(self, name, module):
        def keep(module, inputs, output):
            self.features[name] = output.detach().clone()
        self.handles.append(module.register_forward_hook(keep))

    def detach(self):
        for handle in self.handles:
            handle.remove()

class Extractor:
    def __init__(self, encoder):
        self.encoder, self.hooks = encoder, Hooks()
        self.hooks.attach("first", encoder.layer){mark}

    def run(self, x):
        with torch.no_grad():
            self.encoder(x)
        return {run}

    def close(self):
        {close}

def main(steps):
    encoder = Net().eval()
    for _ in range(steps):
        extractor = Extractor(encoder)
        print(extractor.run(torch.rand(4, 8)))
        {then}
"""
GIVES = "{name: value.detach() for name, value in self.hooks.features.items()}"
ALL_OUT = "[self.hooks.detach(), self.hooks.features][1]"


@pytest.mark.parametrize(
    ("run", "close", "then", "mark"),
    [
        (GIVES, "self.hooks.detach()", "pass", "  # TML304"),
        (GIVES, "hooks = self.hooks; hooks.detach()", "extractor.close()", ""),
        (GIVES, "self.hooks.detach()", "extractor.close()", ""),
        (ALL_OUT, "self.hooks.detach()", "pass", ""),
    ],
)
def test_what_is_detached_is_another_thing(run: str, close: str, then: str, mark: str) -> None:
    check(EXTRACTOR.format(run=run, close=close, then=then, mark=mark))


COMPOSITE = """
class Rule:
    def __init__(self):
        self.seen = []

    def keep(self, module, inputs, output):
        self.seen.append(output.detach())

    def register(self, module):
        {register}

class Composite:
    def __init__(self):
        self.handles, self.rules = [], {{}}

    def register(self, model):
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                rule = self.rules[name] = Rule()
                self.handles.append(rule.register(module))

    def remove(self):
        for handle in self.handles:
            handle.remove()

def relevance(model, x):
    composite = Composite()
    composite.register(model){mark}
    with torch.no_grad():
        model(x)
    {then}
    return {{name: len(rule.seen) for name, rule in composite.rules.items()}}

def main(steps):
    model = Net().eval()
    for _ in range(steps):
        print(relevance(model, torch.rand(4, 8)))
"""


@pytest.mark.parametrize(
    ("register", "then", "mark"),
    [
        ("return module.register_forward_hook(self.keep)", "pass", "  # TML304"),
        ("handle = module.register_forward_hook(self.keep); return handle", "pass", "  # TML304"),
        ("return module.register_forward_hook(self.keep)", "composite.remove()", ""),
    ],
)
def test_a_part_that_gives_its_handle_to_the_whole(register: str, then: str, mark: str) -> None:
    check(COMPOSITE.format(register=register, then=then, mark=mark))
