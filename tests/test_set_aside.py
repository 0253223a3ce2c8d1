"""Weights that an object copies, puts back after a validation with others, and keeps."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
class Average:
    def __init__(self, parameters):
        self.shadow = [p.detach().clone() for p in parameters]
        self.kept = None

    @torch.no_grad()
    def update(self, parameters):
        for mean, p in zip(self.shadow, parameters):
            mean.lerp_(p, 0.01)

    def copy_to(self, parameters):
        for mean, p in zip(self.shadow, parameters):
            p.data.copy_(mean)

    def {taken}(self, parameters):
        {takes}

    def {back}(self, parameters):
        if self.kept is None:
            raise RuntimeError("nothing to restore")
        {puts}

    def state_dict(self):
        return {{"shadow": self.shadow, "kept": self.kept}}
{more}
"""
TAKES = "self.kept = [p.detach().clone() for p in parameters]"
PUTS = "for kept, p in zip(self.kept, parameters):\n            p.data.copy_(kept)"
PAIR = """
@torch.no_grad()
def validate(net, average, data):
    average.stash(net.parameters())
    average.copy_to(net.parameters())
    print(net(data))
    average.bring_back(net.parameters())
"""
STEP = PAIR.replace("@torch.no_grad()", "").replace("print(net(data))", "net(data).sum().backward()")
BY_NAME = "self.kept = {name: p.clone() for name, p in parameters.named_parameters()}"
GUILTY = {
    "by name": ("store", "restore", TAKES, PUTS, ""),
    "all states": (
        "backup_weights",
        "restore_weights",
        "self.kept = copy.deepcopy(parameters.state_dict())",
        "parameters.load_state_dict(self.kept)",
        "",
    ),
    "by key": (
        "store",
        "restore",
        BY_NAME,
        "for name, p in parameters.named_parameters():\n            p.data = self.kept[name]",
        "",
    ),
    "by who calls both": ("stash", "bring_back", TAKES, PUTS, PAIR),
}
INNOCENT = {
    "set to none": ("store", "restore", TAKES, PUTS + "\n        self.kept = None", ""),
    "deleted": ("store", "restore", TAKES, PUTS + "\n        del self.kept", ""),
    "cleared": ("store", "restore", BY_NAME, PUTS + "\n        self.kept.clear()", ""),
    "by another method": (
        "store",
        "restore",
        TAKES,
        PUTS,
        "    def finish(self):\n        self.kept = None",
    ),
    "a start to come back to": ("remember", "reset", TAKES, PUTS, ""),
    "read by others": ("store", "restore", TAKES, PUTS, "    def drift(self, p):\n        return self.kept[0] - p"),
    "read from outside": ("store", "restore", TAKES, PUTS, "def show(average):\n    print(average.kept[0].norm())"),
    "around a step of a training": ("stash", "bring_back", TAKES, PUTS, STEP),
    "of some layers": ("store", "restore", "self.kept = [x.clone() for x in self.shadow[:1]]", PUTS, ""),
}


def _code(of: dict[str, tuple[str, str, str, str, str]], name: str) -> str:
    taken, back, takes, puts, more = of[name]
    takes += "  # TML313" if of is GUILTY else ""
    return "import copy\n" + CODE.format(taken=taken, back=back, takes=takes, puts=puts, more=more)


@pytest.mark.parametrize("name", GUILTY)
def test_weights_that_stay_when_they_are_back(name: str) -> None:
    check(_code(GUILTY, name))


@pytest.mark.parametrize("name", INNOCENT)
def test_weights_that_do_not(name: str) -> None:
    check_innocent(_code(INNOCENT, name))
