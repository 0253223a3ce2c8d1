"""Helpers that put a hook on a layer and give its handle to who asked, who lets it fall or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

_HELPER = """
class Record:
    def __init__(self):
        self.output = None

def capture(layer):
    record = Record()

    def hook(module, args, output):
        record.output = output{held}

    return layer.register_forward_hook(hook), record
"""
HELPER = _HELPER.replace("{held}", "")
LEFT = _HELPER.replace("{held}", "  # TML108")
USER = """
class Explainer:
    def __init__(self, model):
        self.model = model.eval()

    def explain(self, image):
        handle, record = capture(self.model.features){mark}
        try:
            score = self.model(image).max()
            (gradient,) = torch.autograd.grad(score, record.output)
        finally:
            {after}
        return gradient.mean().item()

def main(model, images):
    explainer = Explainer(model)
    return [explainer.explain(image) for image in images]
"""
LAYERS = """
def watch(model, shapes):
    handles = []
    for layer in model.children():
        def hook(module, args, output, layer=layer):
            shapes.append(output)
        handles.append(layer.register_forward_hook(hook))
    {between}
    return handles

def summaries(model, batches):
    rows = []
    for x in batches:
        shapes = []
        {bound}watch(model, shapes){mark}
        try:
            with torch.no_grad():
                model(x)
        finally:
            {after}
        rows.append([tuple(one.shape) for one in shapes])
    return rows
"""
BAD = USER.format(mark="  # TML304", after="pass")
GUILTY = {
    "bound and never asked for": LEFT + BAD,
    "bound to nothing": LEFT + BAD.replace("handle, record", "_, record"),
    "by a name": LEFT.replace("return layer", "handle = layer") + "    return handle, record\n" + BAD,
}
INNOCENT = {
    "removed": HELPER + USER.format(mark="", after="handle.remove()"),
    "kept by the helper as well": HELPER.replace("return layer", "handle = layer")
    + "    OPEN.append(handle)\n    return handle, record\n\nOPEN = []\n"
    + USER.format(mark="", after="OPEN.pop().remove()"),
    "all of them removed": LAYERS.format(
        between="pass", bound="handles = ", mark="", after="for one in handles:\n                one.remove()"
    ),
    "all of them kept on the model": LAYERS.format(
        between="model.handles = handles",
        bound="",
        mark="",
        after="while model.handles:\n                model.handles.pop().remove()",
    ),
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(INNOCENT[name])


@pytest.mark.parametrize("mark", ["  # TML304", ""])
def test_a_helper_of_another_file(mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = USER.format(mark=mark, after="pass" if mark else "handle.remove()")
    files = {"tap.py": HELPER, "explain.py": "import torch\nfrom tap import capture\n" + user}
    check_project(files, tmp_path, monkeypatch)
