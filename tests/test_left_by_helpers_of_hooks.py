"""Activations that hooks leave on the modules they ran on, read only by helpers of hooks."""

from __future__ import annotations

import pytest
from snippets import check

HEAD = """
def rescale(module, grads):
    return (grads[0] * module.seen,)

def ramp(module, grads):
    return (grads[0] + module.seen,)

RULES = {nn.ReLU: rescale, nn.Tanh: ramp}

def note(module, args, output):
    module.seen = output.detach()%s

def back(module, grad_input, grad_output):
    return RULES[type(module)](module, grad_output)

def attach(module):
    if type(module) not in RULES:
        return
    module.hold = [module.register_forward_hook(note), module.register_full_backward_hook(back)]

def attribute(model, x):
    model.apply(attach)
    try:
        x.requires_grad_(True)
        return torch.autograd.grad(model(x).sum(), x)[0]
    finally:
        model.apply(release)
"""
RELEASE = """
def release(module):
    for handle in module.__dict__.pop("hold", ()):
        handle.remove()
"""
OWN = """
def attach(module):
    if isinstance(module, (nn.ReLU, nn.Tanh)):
        module.rules = {nn.ReLU: rescale, nn.Tanh: ramp}
        module.hold"""
ON_MODULE = HEAD.replace("\nRULES = {nn.ReLU: rescale, nn.Tanh: ramp}\n", "").replace("RULES[", "module.rules[")
ON_MODULE = ON_MODULE.replace(ON_MODULE[ON_MODULE.index("\ndef attach") : ON_MODULE.index(" = [module.")], OWN)
OFF = RELEASE + "    del module.rules\n"
BESIDE = """
class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        {begins}

    def forward(self, x):
        return self.body(x){read}
"""
NONE = BESIDE.format(begins="self.seen = None", read="")
GUILTY = {
    "by way of a table": HEAD % "  # TML108" + RELEASE,
    "of a table on the module": ON_MODULE % "  # TML108" + OFF,
    "begun with none by a module": HEAD % "  # TML108" + RELEASE + NONE,
}
INNOCENT = {
    "a table on the module, and the attribute goes": ON_MODULE % "" + OFF + "    module.__dict__.pop('seen', None)\n",
    "a table that somebody else asks, too": ON_MODULE % "" + OFF + "\ndef show(a, g):\n    a.rules[0](a, g)\n",
    "deleted where the hooks are removed": HEAD % "" + RELEASE + "    module.__dict__.pop('seen', None)\n",
    "of a module that has one of its own": HEAD % ""
    + RELEASE
    + BESIDE.format(begins="self.seen = nn.Linear(8, 8)", read=""),
    "read by the module's pass": HEAD % "" + RELEASE + BESIDE.format(begins="self.seen = None", read=" + self.seen"),
    "let go by the module's own method": HEAD % ""
    + RELEASE
    + NONE
    + "\n    def forget(self):\n        self.seen = None\n",
    "read by somebody else": HEAD % "" + RELEASE + "\ndef show(module):\n    print(module.seen.mean().item())\n",
    "a helper that somebody else calls": HEAD % ""
    + RELEASE
    + "\ndef show(module, g):\n    return rescale(module, g)\n",
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(INNOCENT[name])
