"""Hooks that the `__del__` of an object takes out: it runs where the hooks do not keep the object alive."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

EXTRACTOR = """
class Record:
    def __init__(self{owner}):
        self.seen = []
        {keeps}

    def __call__(self, module, inputs, output):
        self.seen.append(output.detach())

class Extractor:
    def __init__(self, model):
        self.model, self.handles = model, []
        for layer in (model.layer,):
            record = Record({given})
            self.handles.append(layer.register_forward_hook(record))

    def close(self):
        for handle in self.handles:
            handle.remove()

    def {last}(self):
        {ends}

    @torch.no_grad()
    def run(self, x):
        return self.model(x)

def main(steps):
    model = Net().eval()
    for step in range(steps):
        extractor = Extractor(model){told}
        extractor.run(torch.randn(64, 8))
"""


def extractor(owner: str = "", last: str = "__del__", ends: str = "self.close()", told: str = "") -> str:
    keeps = "self.owner = owner" if owner else "pass"
    return EXTRACTOR.format(
        owner=f", {owner}" if owner else "", keeps=keeps, given="self" if owner else "", last=last, ends=ends, told=told
    )


@pytest.mark.parametrize("ends", ["self.close()", "[handle.remove() for handle in self.handles]"])
def test_an_object_that_its_hooks_do_not_keep(ends: str) -> None:
    check_innocent(extractor(ends=ends))


def test_an_object_that_its_hooks_keep() -> None:
    check(extractor(owner="owner", told="  # TML304"))


def test_an_end_that_does_something_else() -> None:
    check(extractor(ends="print(self.model)", told="  # TML304"))
    check(extractor(last="end", told="  # TML304"))
