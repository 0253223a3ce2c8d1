"""Models that are let go of while an object beside has them; by the text. `# TML604` says what is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

APP = """
import gc
import weakref
from transformers import pipeline
from loaders import load_model

class Captioner:
    def __init__(self, model, device):
        {keeps}

    def close(self):
        self.model = None

class App:
    def load(self, name):
        {load}

    def caption(self, image):
        return self.captioner(image)

    def unload(self):
        {unload}
        gc.collect()
        torch.cuda.empty_cache()
"""
KEEPS = "self.model, self.device = model, device"
LOAD = 'self.model = load_model(name)\n        self.captioner = Captioner(self.model, "cuda")'
UNLOAD = "self.model = None"


@pytest.mark.parametrize(
    ("keeps", "load"),
    [
        (KEEPS, LOAD),
        ("self.model = model", LOAD),
        (
            KEEPS,
            'model = load_model(name)\n        self.model = model\n        self.captioner = Captioner(model, "cuda")',
        ),
        ("pass", 'self.model = load_model(name)\n        self.captioner = pipeline("image-to-text", self.model)'),
    ],
)
def test_an_object_that_was_given_it(keeps: str, load: str) -> None:
    check(APP.format(keeps=keeps, load=load, unload=UNLOAD + "  # TML604"))


@pytest.mark.parametrize(
    ("keeps", "load", "unload"),
    [
        ("self.device = model.device", LOAD, UNLOAD),
        ("self.model = weakref.ref(model)", LOAD, UNLOAD),
        (KEEPS, LOAD.replace("self.captioner", "captioner"), UNLOAD),
        (KEEPS, LOAD, f"{UNLOAD}\n        self.captioner = None"),
        (KEEPS, LOAD, f"self.captioner.close()\n        {UNLOAD}"),
        (KEEPS, LOAD, f'self.model.to("cpu")\n        {UNLOAD}'),
        (KEEPS, LOAD.replace("model", "config"), UNLOAD.replace("model", "config")),
    ],
)
def test_what_has_none_or_goes_too(keeps: str, load: str, unload: str) -> None:
    check_innocent(APP.format(keeps=keeps, load=load, unload=unload))


GLOBALS = """
import gc
from loaders import load_model

model = captioner = None

class Captioner:
    def __init__(self, model):
        self.model = model

def load(name):
    global model, captioner
    model = load_model(name)
    captioner = Captioner(model)

def unload():
    global model{}
    model = None{}
    gc.collect()
    torch.cuda.empty_cache()
"""


def test_globals() -> None:
    check(GLOBALS.format("", "  # TML604"))
    check_innocent(GLOBALS.format(", captioner\n    captioner = None", ""))


LOCALS = """
import gc
from loaders import load_model

class Captioner:
    def __init__(self, model):
        self.model = model

    def score(self, images):
        return sum(float(self.model(image).sum()) for image in images)

def compare(names, images):
    for name in names:
        model = load_model(name)
        {}
        print(name, captioner.score(images))
        {}
        gc.collect()
        torch.cuda.empty_cache()
        {}
"""
OWN = "captioner = Captioner(model)"


def test_locals() -> None:
    check(LOCALS.format(OWN, "del model  # TML604", "pass"))
    check_innocent(LOCALS.format(OWN, "del model, captioner", "pass"))
    check_innocent(LOCALS.format(OWN, "del model", "print(captioner.score(images))"))
    check_innocent(LOCALS.format(OWN, "model.cpu()\n        del model", "pass"))
    check_innocent(LOCALS.format("captioner = Captioner(model.config)", "del model", "pass"))


def test_a_class_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = "class Captioner:\n    def __init__(self, model, device):\n        self.model = model\n"
    app = APP[APP.index("class App") :].format(load=LOAD, unload=UNLOAD + "  # TML604")
    head = "import gc\nimport torch\nfrom engine import Captioner\nfrom loaders import load_model\n\n"
    check_project({"engine.py": engine, "app.py": head + app}, tmp_path, monkeypatch)
