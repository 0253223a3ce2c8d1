"""Methods that change an object of the module and give it back, where a new one was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import PRELUDE, check

CHANGE = "self.late.update(makers)"
OPTIONS = """
import copy

class Options:
    def __init__(self, **values):
        self.values, self.late, self.net = values, {}, None

    def with_values(self, **values):
        ANEW

    def later(self, **makers):
        CHANGE
        return self

    def of(self, net):
        self.net = net  # OF
        return self

    def width_of(self, net):
        self.width = net.in_features
        return self

DEFAULT = Options(bits=8)
NARROW = DEFAULT.with_values(bits=4)
"""
USE = """
def attach(net: nn.Module, options=None, others=DEFAULT):
    options = options or DEFAULT
    USE
    return made.values
"""
OF_NET = "later(device=lambda: next(net.parameters()).device)"


def _options(change: str = f"{CHANGE}  # TML301", anew: str = "return Options(**{**self.values, **values})") -> str:
    return OPTIONS.replace("CHANGE", change).replace("ANEW", anew).replace("  # OF", "")


CHANGES = {
    "the container is filled": "self.late.update(makers)  # TML301",
    "an attribute is bound anew": "self.late = {**self.late, **makers}  # TML301",
    "merged": "self.late |= makers  # TML301",
    "an entry": "self.late['device'] = makers  # TML301",
    "another one is made": "self = Options(**self.values, **makers)",
    "a copy gets it": "made = copy.copy(self)\n        made.late = {**self.late, **makers}\n        return made",
    "how many there are": "self.count = len(makers)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_method_changes(change: str) -> None:
    check(_options(change) + USE.replace("USE", f"made = options.{OF_NET}"))


USES = {
    "the default of a parameter": f"made = others.{OF_NET}",
    "the object by its name": f"made = DEFAULT.{OF_NET}",
    "another object of the module": f"made = NARROW.{OF_NET}",
    "instead of none": f"if options is None:\n        options = NARROW\n    made = options.{OF_NET}",
    "under a short name": f"base = DEFAULT\n    made = base.{OF_NET}",
    "a function that is defined here": "def device():\n        return next(net.parameters()).device\n"
    "    made = DEFAULT.later(device=device)",
}
INNOCENT = {
    "nobody takes it for another one": f"made = DEFAULT\n    DEFAULT.{OF_NET}",
    "an object of the function": f"mine = Options(bits=2)\n    made = mine.{OF_NET}",
    "a copy": f"mine = copy.deepcopy(DEFAULT)\n    made = mine.{OF_NET}",
    "a new one": f"mine = DEFAULT.with_values(bits=2)\n    made = mine.{OF_NET}",
    "a function of nothing": "made = DEFAULT.later(device=lambda: 'cpu')",
    "a function of a number": "width = net.in_features\n    made = DEFAULT.later(width=lambda: width)",
    "of the parameter a number": "made = DEFAULT.width_of(net)",
    "it is taken off again": f"made = DEFAULT.{OF_NET}\n    DEFAULT.late.clear()",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_calls_that_leave_something_there(use: str) -> None:
    check(_options() + USE.replace("USE", use))


@pytest.mark.parametrize("use", INNOCENT.values(), ids=INNOCENT)
def test_calls_that_leave_nothing_there(use: str) -> None:
    check(_options(CHANGE) + USE.replace("USE", use))


def test_a_model_and_an_object_that_is_used_later() -> None:
    text = _options(CHANGE).replace("self.net = net", "self.net = net  # TML301")
    check(f"""{text}
class Tuner:
    def __init__(self, options=DEFAULT):
        self.options = options

    def tune(self, net: nn.Module):
        return self.options.of(net).values
""")


@pytest.mark.parametrize(
    ("anew", "use", "mark"),
    [
        ("return type(self)(**values)", f"made = DEFAULT.{OF_NET}", "  # TML301"),
        ("made = copy.copy(self)\n        return made", f"made = DEFAULT.{OF_NET}", "  # TML301"),
        ("self.values = values\n        return self", f"made = DEFAULT.{OF_NET}", ""),  # all of them change it
        ("self.values = values\n        return self", f"made = others.{OF_NET}", "  # TML301"),
    ],
)
def test_what_the_methods_beside_it_do(anew: str, use: str, mark: str) -> None:
    check(_options(CHANGE + mark, anew) + USE.replace("USE", use))


def test_an_object_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = PRELUDE.replace("import lightning\n", "")
    use = USE.replace("USE", f"made = options.{OF_NET}  # TML301")
    files = {"options.py": head + _options(CHANGE), "attach.py": f"{head}from options import DEFAULT\n{use}"}
    check_project(files, tmp_path, monkeypatch)
