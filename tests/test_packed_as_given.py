"""Pack hooks that give back the tensor which they are given, and passes that nobody differentiates."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import PRELUDE, check, check_innocent

HOOKS = """
import contextlib
from torch.autograd.graph import saved_tensors_hooks

class Held:
    def __init__(self, tensor, shape):
        self.tensor, self.shape = tensor, shape

class Shape:
    def __init__(self, tensor):
        self.shape = tuple(tensor.shape)

class Saved(saved_tensors_hooks):
    def __init__(self):
        self.shapes = []
        def pack(x):
            self.shapes.append(x.shape)
            RETURN
        super().__init__(pack, lambda x: x)

"""
GIVEN_BACK = {
    "itself": "return x  # TML315",
    "in a tuple": "return x, x.device  # TML315",
    "in a table": "return {'x': x}  # TML315",
    "in an object": "return Held(x, x.shape)  # TML315",
    "as a view": "return x.reshape(-1)  # TML315",
    "if it is on no device": "return x.cpu() if x.is_cuda else x  # TML315",
    "after a test": "if x.numel() < 8:\n                return x  # TML315\n            return x.detach()",
}
NOT_GIVEN_BACK = {
    "detached": "return x.detach()",
    "detached in a tuple": "return x.detach(), x.device",
    "its shape": "return Shape(x)",
    "bound anew": "x = x.detach()\n            return x",
    "copied": "return x.to('cpu', copy=True)",
    "a leaf": "if isinstance(x, nn.Parameter) or x.is_leaf:\n                return x\n            return x.detach()",
}
PASS = """
def shapes(model, x):
    with Saved() as saved:
        model(x)
    return saved.shapes
"""


@pytest.mark.parametrize("line", [*GIVEN_BACK.values(), *NOT_GIVEN_BACK.values()], ids=[*GIVEN_BACK, *NOT_GIVEN_BACK])
def test_what_a_pack_hook_gives_back(line: str) -> None:
    check(HOOKS.replace("RETURN", line) + PASS)


NOT_DIFFERENTIATED = {
    "a result that is asked for its shape": """
def shapes(model, x):
    saved = Saved()
    with saved:
        out = model(x)
    return saved.shapes, out.shape
""",
    "a loss that is asked for its value": """
def shapes(model, loader):
    total = 0.0
    for x, y in loader:
        with Saved():
            loss = F.cross_entropy(model(x), y)
        total += loss.item()
    return total
""",
    "by a context manager of one's own": """
@contextlib.contextmanager
def saved():
    with Saved() as found:
        yield found

def shapes(model, x):
    with Saved():
        model(x)
""",
    "by the object's model": """
class Estimate:
    def __init__(self):
        self.net = Net()

    def ask(self, x):
        with Saved() as saved:
            self.net(x)
        return len(saved.shapes)
""",
}
DIFFERENTIATED = {
    "backward": """
def shapes(model, x):
    with Saved() as saved:
        out = model(x)
    out.sum().backward()
    return saved.shapes
""",
    "by a helper": """
def step(model, x):
    model(x).sum().backward()

def shapes(model, x):
    with Saved() as saved:
        step(model, x)
    return saved.shapes
""",
    "by the caller, perhaps": """
def shapes(model, x):
    with Saved() as saved:
        out = model(x)
    return out, saved.shapes
""",
    "by whom it is handed to": """
def shapes(model, x, done):
    with Saved() as saved:
        done(model(x))
    return saved.shapes
""",
    "no gradients": """
def shapes(model, x):
    with torch.no_grad(), Saved() as saved:
        model(x)
    return saved.shapes
""",
    "no gradients for the caller": """
def saved_shapes(model, x):
    with Saved() as saved:
        model(x)
    return saved.shapes

@torch.no_grad()
def table(model, xs):
    return [saved_shapes(model, x) for x in xs]
""",
    "no model": """
def shapes(lines):
    with Saved() as saved:
        lines.sort()
    return saved.shapes
""",
}


@pytest.mark.parametrize("text", NOT_DIFFERENTIATED.values(), ids=NOT_DIFFERENTIATED)
def test_passes_that_nobody_differentiates(text: str) -> None:
    check(HOOKS.replace("RETURN", "return x  # TML315") + text)


@pytest.mark.parametrize("text", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_passes_that_somebody_may_differentiate(text: str) -> None:
    check_innocent(HOOKS.replace("RETURN", "return x") + text)


MADE = {
    "in the function": """
def shapes(model, x):
    found = []
    def pack(saved):
        found.append(saved.shape)
        return saved  # TML315
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        model(x)
    return found
""",
    "of lambdas, by keyword": """
def run(model, x):
    hooks = saved_tensors_hooks(pack_hook=lambda saved: saved, unpack_hook=lambda saved: saved)  # TML315
    with hooks:
        model(x)
""",
    "by a function": """
def as_they_are():
    return saved_tensors_hooks(lambda saved: saved, lambda saved: saved)  # TML315

def run(model, x):
    with as_they_are():
        model(x)
""",
    "by a generator": """
@contextlib.contextmanager
def listed(found):
    def pack(saved):
        found.append(saved.shape)
        return saved  # TML315
    with saved_tensors_hooks(pack, lambda saved: saved):
        yield

def shapes(model, x):
    found = []
    with listed(found):
        model(x)
    return found
""",
    "by an object that has them": """
class Listed:
    def __init__(self):
        self.found = []
        self.hooks = saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, saved):
        self.found.append(saved.shape)
        return saved  # TML315

    def unpack(self, saved):
        return saved

    def __enter__(self):
        self.hooks.__enter__()
        return self.found

    def __exit__(self, *exc):
        self.hooks.__exit__(*exc)

def shapes(model, x):
    with Listed() as found:
        model(x)
    return found
""",
}


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_how_hooks_are_made(text: str) -> None:
    check("import contextlib\nfrom torch.autograd.graph import saved_tensors_hooks\n" + text)


def test_hooks_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = PRELUDE.replace("import lightning\n", "") + HOOKS.replace("RETURN", "return x")
    run = PASS.replace("model(x)", "model(x)  # TML315")
    files = {"saved.py": hooks, "shapes.py": f"import torch\nfrom saved import Saved\n{run}"}
    check_project(files, tmp_path, monkeypatch)
