"""Functions of an object in lists and tables of its own: the circle goes through a container."""

import pytest
from snippets import check

MADE = """
class Base:
    def __init__(self, features):
        self.features = features
        self._after = []

    @property
    def after(self):
        return self._after

    def wait(self):
        value = self.features
        for function in self._after:
            value = function(value)
        return value


class Pending(Base):
    def __init__(self, features, dim):
        super().__init__(features)
        self.dim = dim
        %s

    def shaped(self, value):
        return value.view(-1, self.dim)

    %s


def serve(model, loader):
    for x in loader:
        with torch.no_grad():
            pending = Pending(model(x), 8)
        print(pending.wait().mean().item())


serve(Net(), torch.utils.data.DataLoader([]))
"""
NOTHING = "def close(self):\n        self.features = None"


@pytest.mark.parametrize(
    ("kept", "method"),
    [
        ("self.after.append(lambda value: value.view(-1, self.dim))  # TML315", NOTHING),
        ("self._after.append(self.shaped)  # TML315", NOTHING),
        ("self.after.insert(0, functools.partial(Pending.shaped, self))  # TML315", NOTHING),
        ("self.table = {'shape': self.shaped}  # TML315", NOTHING),
        ("self.table = {}; self.table['shape'] = self.shaped  # TML315", NOTHING),
        ("self.after.append(lambda value: value.view(-1, dim))", NOTHING),
        ("self.after.append(len)", NOTHING),
        ("self.table = {'shape': Pending.shaped}", NOTHING),
        ("self._after.append(self.shaped)", "def close(self):\n        self._after.clear()"),
    ],
)
def test_own_callbacks(kept: str, method: str) -> None:
    check(MADE % (kept, method))


def test_one_that_lives_as_long_as_the_program() -> None:
    text = MADE % ("self.after.append(self.shaped)", NOTHING)
    head, _, _ = text.partition("def serve")
    check(head + "pending = Pending(torch.zeros(8, 8), 8)\nprint(pending.wait())\n")


PUT_BACK = (
    "def checked(self, function):\n        return function\n\n    def wrapped(self, function):\n        return %s\n"
)


@pytest.mark.parametrize(
    "kept",
    [
        "self.shape = self.shaped  # TML315\n        self.shape = self.checked(self.shape)",
        "self.shape = lambda value: value.view(-1, self.dim)  # TML315\n        self.shape = self.checked(self.shape)",
        "self.shape = self.shaped  # TML315\n        self.shape = self.shape if dim else self.shape",
        "self.shape = len\n        self.shape = self.wrapped(self.shape)  # TML315",
        "self.shape = self.wrapped(len)  # TML315",
    ],
)
def test_what_is_put_back_is_said_once(kept: str) -> None:
    check(MADE % (kept, PUT_BACK % "lambda value: function(self.shaped(value))"))
