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
