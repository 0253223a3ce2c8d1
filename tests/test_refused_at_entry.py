"""What context managers put where it stays, and leave there when a check of their own refuses to enter."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

SPAN = """
import contextlib
import threading
import tracing
from torch import Tensor

OPEN = []
BY_NAME = {}
HERE = threading.local()
NOW = None
LOCK = threading.Lock()

class Refused(ValueError):
    pass

def check_size(x, limit):
    if x.numel() > limit:
        raise Refused(f"{x.numel()} > {limit}")

class Span:
    active = []

    def __init__(self, name, x: Tensor, owner=None):
        self.name, self.owner, self.own = name, owner, []
        self.x = x

    def __enter__(self):
        BEFORE
        REFUSE
        return self

    def __exit__(self, *exc):
        AFTER

    def _check(self):
        if self.x.dim() != 2:
            raise Refused("two dimensions")

    def _begin(self):
        self.began = True
        OPEN.append(self)

    def _end(self):
        self.began = False
        OPEN.remove(self)
"""
CHECK = "self._check()"
LEFT = {
    "a list of the module": ("OPEN.append(self)  # TML301", CHECK, "OPEN.remove(self)"),
    "under a lock": ("with LOCK:\n            OPEN.append(self)  # TML301", CHECK, "OPEN.remove(self)"),
    "a table": ("BY_NAME[self.name] = self.x  # TML301", CHECK, "del BY_NAME[self.name]"),
    "a record in a table": ("BY_NAME[self.name] = (1, self)  # TML301", CHECK, "BY_NAME.pop(self.name)"),
    "what is current": (
        "global NOW\n        self.outer, NOW = NOW, None\n        NOW = self  # TML301",
        CHECK,
        "global NOW\n        NOW = self.outer",
    ),
    "a list of the thread": ("HERE.stack.append(self)  # TML301", CHECK, "HERE.stack.pop()"),
    "a list of another file": ("tracing.open_spans.append(self)  # TML301", CHECK, "tracing.open_spans.pop()"),
    "a list of the class": ("Span.active.append(self)  # TML302", CHECK, "Span.active.pop()"),
    "a list of the class by its object": ("self.active.append(self)  # TML302", CHECK, "self.active.pop()"),
    "a list of another object": ("self.owner.open.append(self)  # TML303", CHECK, "self.owner.open.remove(self)"),
    "raised right here": (
        "OPEN.append(self)  # TML301",
        "if self.x.dim() != 2:\n            raise Refused",
        "OPEN.remove(self)",
    ),
    "raised by a function": ("OPEN.append(self)  # TML301", "check_size(self.x, 8)", "OPEN.remove(self)"),
}
NOT_LEFT = {
    "the check comes first": (CHECK, "OPEN.append(self)", "OPEN.remove(self)"),
    "a list of its own": ("self.own.append(self.x)", CHECK, "self.own.clear()"),
    "a name": ("OPEN.append(self.name)", CHECK, "OPEN.pop()"),
    "taken out before it raises": (
        "OPEN.append(self)",
        "if self.x.dim() != 2:\n            OPEN.remove(self)\n            raise Refused",
        "OPEN.remove(self)",
    ),
    "left before it raises": (
        "OPEN.append(self)",
        "if self.x.dim() != 2:\n            self.__exit__()\n            raise Refused",
        "OPEN.remove(self)",
    ),
    "a `try` that takes it out": (
        "OPEN.append(self)",
        "try:\n            self._check()\n        except Refused:\n            OPEN.remove(self)\n            raise",
        "OPEN.remove(self)",
    ),
    "an error that is passed over": (
        "OPEN.append(self)",
        "with contextlib.suppress(Refused):\n            self._check()",
        "OPEN.remove(self)",
    ),
    "either of the two": (
        "if self.name:",
        "    raise Refused\n        else:\n            OPEN.append(self)",
        "OPEN.remove(self)",
    ),
    "nothing is refused": ("OPEN.append(self)", "print(self.x.shape)", "OPEN.remove(self)"),
}


def _span(before: str, refuse: str, after: str) -> str:
    return SPAN.replace("BEFORE", before).replace("REFUSE", refuse).replace("AFTER", after)


@pytest.mark.parametrize(("before", "refuse", "after"), [*LEFT.values(), *NOT_LEFT.values()], ids=[*LEFT, *NOT_LEFT])
def test_what_a_refused_entry_leaves(before: str, refuse: str, after: str) -> None:
    check(_span(before, refuse, after))


def test_what_methods_of_the_object_put_and_take_out() -> None:
    text = _span("self._begin()", CHECK, "self._end()")
    check(text.replace("OPEN.append(self)", "OPEN.append(self)  # TML301"))


def test_what_has_no_tensors() -> None:
    before, refuse, after = LEFT["raised right here"]
    text = _span(before.partition("  #")[0], refuse.replace("self.x.dim() != 2", "self.name in BY_NAME"), after)
    check_innocent(text.replace("x: Tensor", "x: int"))


def test_tensors_by_what_the_objects_are_made_with() -> None:
    text = _span(*LEFT["raised by a function"]).replace("x: Tensor", "x")
    check(text + "\ndef trace(model):\n    x = torch.randn(8)\n    with Span('pass', x):\n        model(x)\n")


def test_a_program_that_ends_with_the_error() -> None:
    program = """
def main():
    for step in range(8):
        with Span(str(step), torch.randn(4, step)):
            print(step)

if __name__ == "__main__":
    main()
"""
    check_innocent(_span(*LEFT["a list of the module"]).replace("  # TML301", "") + program)
    check(_span(*LEFT["a list of the module"]) + program.replace("main():\n    for", "serve():\n    for", 1))


@pytest.mark.parametrize(
    "body",
    [
        "OPEN.append(x)  # TML301\n    check_size(x, 8)\n    TRY",
        "check_size(x, 8)\n    OPEN.append(x)\n    TRY",
        "OPEN.append(x)\n    TRY".replace("TRY", "try:\n        check_size(x, 8)\n        yield x\n    FINALLY"),
    ],
)
def test_a_generator_that_manages_a_block(body: str) -> None:
    body = body.replace("TRY", "try:\n        yield x\n    FINALLY")
    body = body.replace("FINALLY", "finally:\n        OPEN.remove(x)")
    text = _span("pass", "pass", "pass")
    check(f"{text}\n@contextlib.contextmanager\ndef span(x: Tensor):\n    {body}\n")


PROBE = """
class Probe:
    def __init__(self, model: nn.Module, limit):
        self.model, self.limit, self.seen = model, limit, []

    def __enter__(self):
        FIRST
        if self.limit < 1:
            raise ValueError(self.limit)
        SECOND
        return self

    def keep(self, module, inputs, output):
        self.seen.append(output.detach())

    def __exit__(self, *exc):
        self.handle.remove()
        self.seen.clear()
"""
HOOK = "self.handle = self.model.register_forward_hook(self.keep)"


@pytest.mark.parametrize(("first", "second"), [(f"{HOOK}  # TML304", "pass"), ("pass", HOOK)])
def test_hooks(first: str, second: str) -> None:
    check(PROBE.replace("FIRST", first).replace("SECOND", second))


def test_hooks_of_its_own_part() -> None:
    text = PROBE.replace("FIRST", HOOK).replace("SECOND", "pass")
    check_innocent(
        text.replace(
            "self.model, self.limit, self.seen = model,",
            "self.model = nn.Linear(4, 4)\n        self.limit, self.seen =",
        )
    )


def test_a_check_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = "def demand(x):\n    if x.dim() != 2:\n        raise ValueError('two dimensions')\n"
    text = f"import torch\nfrom checks import demand\n{_span(*LEFT['raised by a function'])}".replace(
        "check_size(self.x, 8)", "demand(self.x)"
    )
    check_project({"checks.py": checks, "spans.py": text}, tmp_path, monkeypatch)
