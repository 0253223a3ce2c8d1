"""Hooks for saved tensors that are methods of an object beside, of the object itself, or functions of the module: the
table that they fill is there for all steps."""

from __future__ import annotations

import pytest
from snippets import check

OFFLOAD = """
TABLE = {{}}

def pack(tensor):
    TABLE[len(TABLE)] = tensor.cpu(){of_module}
    return len(TABLE) - 1

def unpack(key):
    return {from_module}

class Offload:
    def __init__(self):
        self.stash, self.count = {{}}, 0

    def pack(self, tensor):
        self.count += 1
        self.stash[self.count] = tensor.cpu(){of_object}
        return self.count

    def unpack(self, key):
        return {from_object}

    def loss(self, model, x):
        with torch.autograd.graph.saved_tensors_hooks({inside}):
            return model(x).pow(2).mean()

def main(steps):
    model, offload = Net(), Offload()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        {again}
        with torch.autograd.graph.saved_tensors_hooks({hooks}):
            loss = model(torch.rand(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(offload.loss(model, torch.rand(4, 8)).item())
"""
NEITHER = "lambda x: x, lambda x: x"
OTHER, OWN, MODULE = "offload.pack, offload.unpack", "self.pack, self.unpack", "pack, unpack"
MARK = "  # TML108"


@pytest.mark.parametrize(
    ("hooks", "inside", "taken", "again", "of_object", "of_module"),
    [
        (OTHER, NEITHER, False, "pass", MARK, ""),
        (NEITHER, OWN, False, "pass", MARK, ""),
        (MODULE, NEITHER, False, "pass", "", MARK),
        (OTHER, NEITHER, True, "pass", "", ""),
        (MODULE, NEITHER, True, "pass", "", ""),
        (OTHER, NEITHER, False, "offload = Offload()", "", ""),
        (MODULE, NEITHER, False, "TABLE.clear()", "", ""),
        (NEITHER, NEITHER, False, "pass", "", ""),
    ],
)
def test_what_nobody_takes_out(
    hooks: str, inside: str, taken: bool, again: str, of_object: str, of_module: str
) -> None:
    check(
        OFFLOAD.format(
            hooks=hooks,
            inside=inside,
            again=again,
            of_object=of_object,
            of_module=of_module,
            from_object="self.stash.pop(key)" if taken else "self.stash[key]",
            from_module="TABLE.pop(key)" if taken else "TABLE[key]",
        )
    )
