"""Objects that get all the attributes of another one, `clone.__dict__.update(self.__dict__)`."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CLONES = """
class Recorder:
    def __init__(self):
        self.seen = []

    def clone(self):
        {made}
        return other

    def record(self, x):
        self.seen.append(x){mark}

@torch.no_grad()
def main(steps):
    model, recorder = Net(), Recorder()
    for step in range(steps):
        recorder.clone().record(model(torch.randn(64, 8)))
"""
BARE = "other = object.__new__(type(self))\n        "
MADE = {
    "bare": BARE + "other.__dict__.update(self.__dict__)",
    "by vars": BARE + "vars(other).update(vars(self))",
    "of the class": (
        "cls = self.__class__\n        other = cls.__new__(cls)\n        other.__dict__.update(self.__dict__)"
    ),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_is_shared_with_the_clone(made: str) -> None:
    check(CLONES.format(made=made, mark="  # TML303"))


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_the_clone_has_for_itself(made: str) -> None:
    check_innocent(CLONES.format(made=f"{made}\n        other.seen = []", mark=""))


def test_attributes_of_something_else() -> None:
    check_innocent(CLONES.format(made=BARE + "other.__dict__.update({'seen': []})", mark=""))
