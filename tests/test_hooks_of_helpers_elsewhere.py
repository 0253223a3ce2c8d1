"""Hooks that helpers of another file put in and take out, and that an error in between leaves on the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

TAPS = """
class Tap:
    def __init__(self):
        self.maps = {}

    def named(self, name):
        def keep(module, args, out):
            self.maps[name] = out.detach() ** 2
        return keep

    def sums(self):
        return {name: rows.sum().item() for name, rows in self.maps.items()}

def put_in(model, tap):
    return [part.register_forward_hook(tap.named(name)) for name, part in model.named_children()]

def put_one_in(model, name, tap):
    return getattr(model, name).register_forward_hook(tap.named(name))

def count_in(model, counts):
    return [part.register_forward_hook(lambda module, args, out: counts.append(1)) for part in model.children()]

def take_out(handles):
    for handle in handles:
        handle.remove()
"""
MAIN = """
import torch
{imports}

@torch.no_grad()
def sums(model, x):
    tap = {tap}
    {body}
    return tap.sums()

def survey(model, batches):
    found, refused = [], 0
    for x in batches:
        try:
            found.append(sums(model, x))
        except RuntimeError as error:
            refused += 1
            print(error)
    return found, refused
"""
NAMED = "from taps import Tap, count_in, put_in, put_one_in, take_out"
DUE = "  # TML304"
GUILTY = {
    "both by helpers": (NAMED, "Tap()", f"handles = put_in(model, tap){DUE}\nmodel(x)\ntake_out(handles)"),
    "by the name of their module": (
        "import taps",
        "taps.Tap()",
        f"handles = taps.put_in(model, tap){DUE}\nmodel(x)\ntaps.take_out(handles)",
    ),
    "one of them": (NAMED, "Tap()", f'handle = put_one_in(model, "head", tap){DUE}\nmodel(x)\nhandle.remove()'),
    "taken out here": (
        NAMED,
        "Tap()",
        f"handles = put_in(model, tap){DUE}\nmodel(x)\nfor handle in handles:\n    handle.remove()",
    ),
}
INNOCENT = {
    "put in here, in one line": (
        NAMED,
        "Tap()",
        "handles = [part.register_forward_hook(tap.named(0)) for part in model.children()]\ntry:\n    model(x)\n"
        "finally:\n    take_out(handles)",
    ),
    "put in here, one of them": (
        NAMED,
        "Tap()",
        "handle = model.head.register_forward_hook(tap.named(0))\ntry:\n    model(x)\nfinally:\n    take_out([handle])",
    ),
    "in a `finally`": (
        NAMED,
        "Tap()",
        "handles = put_in(model, tap)\ntry:\n    model(x)\nfinally:\n    take_out(handles)",
    ),
    "on an error, too": (
        NAMED,
        "Tap()",
        "handles = put_in(model, tap)\ntry:\n    model(x)\nexcept RuntimeError:\n    take_out(handles)\n"
        "    raise\ntake_out(handles)",
    ),
    "at the end of a stack": (
        "import contextlib\n" + NAMED,
        "Tap()",
        "with contextlib.ExitStack() as stack:\n    stack.callback(take_out, put_in(model, tap))\n    model(x)",
    ),
    "nothing comes in between": (NAMED, "Tap()", "handles = put_in(model, tap)\ntake_out(handles)"),
    "a model of its own": (
        NAMED,
        "Tap()",
        "own = torch.nn.Linear(8, 2)\nhandles = put_in(own, tap)\nown(x)\ntake_out(handles)",
    ),
    "numbers": (NAMED, "Tap()", "handles = count_in(model, [])\nmodel(x)\ntake_out(handles)"),
}


def project(form: tuple[str, str, str]) -> dict[str, str]:
    imports, tap, body = form
    return {"taps.py": TAPS, "main.py": MAIN.format(imports=imports, tap=tap, body=body.replace("\n", "\n    "))}


@pytest.mark.parametrize("form", GUILTY)
def test_hooks_that_an_error_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    check_project(project(GUILTY[form]), tmp_path, monkeypatch)


@pytest.mark.parametrize("form", INNOCENT)
def test_hooks_that_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    check_project(project(INNOCENT[form]), tmp_path, monkeypatch)


def test_an_error_that_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = project(GUILTY["both by helpers"])
    text = files["main.py"].replace(DUE, "")
    text = text[: text.index("def survey")] + "def main():\n    print(sums(torch.nn.Linear(8, 2), torch.rand(4, 8)))\n"
    check_project(files | {"main.py": text + "\nmain()\n"}, tmp_path, monkeypatch)
