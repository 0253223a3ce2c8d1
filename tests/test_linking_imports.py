"""What the imports of a file lead to: a finding of one file that needs a class of another, however it is imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, lint, write

from torchmemlint.config import load
from torchmemlint.linter import engine, pool
from torchmemlint.linter.project import Project

METER = """
class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value):
        self.total = self.total + value
        self.n += 1
"""
TRAIN = """
import torch
{imports}

def train(model: torch.nn.Module, loader, optimizer):
    meter = {meter}()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item())
        meter.update(loss)  # TML101
"""


def train(imports: str, meter: str = "Meter") -> str:
    return TRAIN.format(imports=imports, meter=meter)


PROJECTS = {
    "a script beside its module": {"meters.py": METER, "train.py": train("from meters import Meter")},
    "an alias of the module": {"meters.py": METER, "train.py": train("import meters as m", "m.Meter")},
    "a dotted import": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "train.py": train("import pack.meters", "pack.meters.Meter"),
    },
    "relative": {"pack/__init__.py": "", "pack/meters.py": METER, "pack/train.py": train("from .meters import Meter")},
    "a script in a package, beside its module": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/train.py": train("from meters import Meter"),
    },
    "a part of a package names no module beside it": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/sizes.py": "WIDTH = 8",
        "pack/train.py": train("from .sizes import WIDTH\nfrom meters import Meter").replace("  # TML101", ""),
    },
    "a module of a package is no other package of that name": {
        "pack/__init__.py": "",
        "pack/ray.py": METER,
        "pack/train.py": train("from ray import Meter").replace("  # TML101", ""),
    },
    "relative, one up": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/jobs/__init__.py": "",
        "pack/jobs/train.py": train("from ..meters import Meter"),
    },
    "a part of a package, without what its `__init__` brings": {
        "pack/tools/meters.py": METER,
        "pack/jobs/train.py": train("import pack.tools as tools", "tools.Meter"),
    },
    "a submodule as a name": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/train.py": train("from . import meters", "meters.Meter"),
    },
    "a submodule that its package brings": {
        "pack/__init__.py": "from . import meters",
        "pack/meters.py": METER,
        "train.py": train("from pack import meters", "meters.Meter"),
    },
    "a submodule that its package brings under another's name": {
        "pack/__init__.py": "from . import floats as meters",
        "pack/meters.py": METER,
        "pack/floats.py": "class Meter:\n    def update(self, value):\n        self.total = float(value)\n",
        "train.py": train("import pack", "pack.meters.Meter").replace("  # TML101", ""),
    },
    "re-exported": {
        "pack/__init__.py": "from .tools import Meter",
        "pack/tools/__init__.py": "from .meters import Meter as Meter",
        "pack/tools/meters.py": METER,
        "train.py": train("from pack import Meter"),
    },
    "re-exported by a star": {
        "pack/__init__.py": "from .meters import *",
        "pack/meters.py": METER,
        "train.py": train("from pack import Meter"),
    },
    "imported by a star": {"meters.py": METER, "train.py": train("from meters import *")},
    "a namespace package": {"pack/tools/meters.py": METER, "train.py": train("from pack.tools.meters import Meter")},
    "a src layout": {
        "src/pack/__init__.py": "",
        "src/pack/meters.py": METER,
        "scripts/train.py": train("from pack.meters import Meter"),
    },
    "a part of a package, where two files have the name": {
        "pack/tools/meters.py": METER,
        "pack/tools/others.py": METER,
        "pack/jobs/train.py": train("from pack.tools import Meter").replace("  # TML101", ""),
    },
    "a folder that may only be called like a package": {
        "tools/meters.py": METER,
        "jobs/train.py": train("from tools import Meter").replace("  # TML101", ""),
    },
    "a cycle": {
        "meters.py": "import train\nfrom train import nothing\n" + METER,
        "train.py": train("from meters import Meter"),
    },
    "names that import each other": {
        "a.py": "from b import Meter\n",
        "b.py": "from a import Meter\n",
        "train.py": train("from a import Meter").replace("  # TML101", ""),
    },
    "imported on a condition": {
        "meters.py": METER,
        "train.py": train("try:\n    from meters import Meter\nexcept ImportError:\n    Meter = None"),
    },
    "imported in the function": {
        "meters.py": METER,
        "train.py": train("", "Meter").replace("    meter =", "    from meters import Meter\n    meter ="),
    },
    "the package goes before a module of its name": {
        "meters/__init__.py": METER,
        "meters.py": "class Meter:\n    def update(self, value):\n        print(float(value))\n",
        "train.py": train("from meters import Meter"),
    },
    "the nearer of two modules of one name": {
        "jobs/meters.py": "class Meter:\n    def update(self, value):\n        self.total = float(value)\n",
        "meters.py": METER,
        "jobs/train.py": train("from meters import Meter").replace("  # TML101", ""),
    },
    "a standard module is not taken for a file": {
        "queue.py": METER,
        "train.py": train("from queue import Meter").replace("  # TML101", ""),
    },
    "an excluded folder is no context": {
        "venv/meters.py": METER,
        "train.py": train("from venv.meters import Meter").replace("  # TML101", ""),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)


HEAVY = "from torch import nn\nfrom pack.light import *\n"
LEADS = [
    ("from . import heavy\n", True),
    ("from . import (  # noqa\n    heavy, light)\n", True),
    ("import os, pack.heavy\n", True),
    ("from .further import x\n", True),
    ("from .light import (a,\n    b)\n", False),
    ("from .light import a, \\\n    b\n", False),
    ("from . import light\nfrom os import path\n", False),
    ("import os\nfrom . import file\n", False),
    ("from .absent import x\n", True),
    ("from pack.absent import x\n", True),
    ("from absent import x\n", False),
]


@pytest.mark.parametrize(("text", "leads"), LEADS)
def test_what_imports_lead_to_torch(text: str, leads: bool, tmp_path: Path) -> None:
    files = {"__init__": "", "heavy": HEAVY, "light": "a = b = 1\n", "further": "from . import heavy\n", "file": text}
    write(tmp_path, {f"pack/{name}.py": content for name, content in files.items()})
    project = Project(tmp_path, (), lambda path: None)
    assert project.leads_to_trace(str(tmp_path / "pack" / "file.py"), text.encode()) is leads


def test_the_store_in_the_other_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, PROJECTS["relative"])
    monkeypatch.chdir(tmp_path)
    (finding,) = pool.lint_files(["pack/train.py"], engine.plan(load(tmp_path, {"no-cache": True}, isolated=True)), 1)
    stored = finding.related[0]
    assert (stored.filename, stored.start.row, stored.message) == ("pack/meters.py", 7, "stored here")


def test_a_context_file_that_cannot_be_parsed_is_its_own_affair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write(tmp_path, {"meters.py": "class Meter(:\n", "train.py": train("from meters import Meter")})
    monkeypatch.chdir(tmp_path)
    assert lint(tmp_path, names) == [("meters.py", 1, "TML900")]
    assert lint(tmp_path, ["train.py"]) == []
