"""The quick look at the imports of a file, which settles what is parsed: never less than a parse finds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from conftest import ROOT
from projects import check_project, write

from torchmemlint.facts import model as m
from torchmemlint.facts.lower import lower
from torchmemlint.facts.walk import statements
from torchmemlint.linter.imports import imports
from torchmemlint.linter.project import Project

FILES = [path for name in ("torchmemlint", "fixtures", "tests") for path in sorted((ROOT / name).rglob("*.py"))[::3]]
BEFORE = [
    "", "x = 1\n", "\ufeff", "\x0c", "import os; ", "if 1: ", "class A: ", "def f():\n\t", "# from \\\n",
    "# b: from a \\\n", '"""from here we import (all\n"""\n', "raise A from b\n", "x = [1,\n2]; ", "f = lambda: 1;",
    "if \\\n 1: \\\n ",
]  # fmt: skip
IMPORTS = [
    "from pkg.net import Net", "from pkg . net import Net", "from pkg.net \\\n import Net", "from.net import(Net)",
    "from\tpkg.net\timport\tNet", "from .. net import Net as N, b", "from . import (  # the (small) net\n  net,\n b)",
    "from .import net", "from...import net", "from pkg import*", "from pkg import a, \\\n  b", "from fromage import x",
    "import os, \\\n pkg.net as net", "import pkg . net", "import \\\n pkg", "import a.b.c, d as e ,f",
    "from m\u00f3dulo import \u00e9", "from importlib import import_", "from pkg import (a,  # )\n b, # (\n)",
]  # fmt: skip
AFTER = ["", "\n", "; import late", "  # import nothing", "\nimport late\n", ";"]


def missed(text: str) -> list[object]:
    """What a parse says is imported and the quick look does not."""
    found = imports(text.encode())
    modules = {name[:end] for module, names in found if module is None for name in names for end in ends(name)}
    members = {(module, name) for module, names in found if module is not None for name in [*names, ""]}
    lost: list[object] = []
    for function in lower(text.removeprefix("\ufeff")).functions:
        for statement in statements(function.body):
            if statement[0] == m.IMPORT:
                lost += [dotted for _, dotted in statement[2] if dotted not in modules]
            elif statement[0] == m.FROM:
                module = "." * statement[2] + statement[3]
                lost += [(module, name) for name, _ in statement[4] if (module, name) not in members]
    return lost


def ends(dotted: str) -> list[int]:
    return [index for index, letter in enumerate(dotted + ".") if letter == "."]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_import_of_a_file_is_missed(path: Path) -> None:
    text = path.read_text("utf-8")
    assert missed(text) == []
    assert missed(text.replace("\n", "\r")) == []


@pytest.mark.parametrize("text", IMPORTS)
def test_no_spelling_is_missed(text: str) -> None:
    for before, after, line_end in itertools.product(BEFORE, AFTER, ["\n", "\r\n", "\r"]):
        whole = (before + text + after).replace("\n", line_end)
        assert missed(whole) == [], repr(whole)


def test_what_imports_lead_to(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "", "pkg/net.py": "import torch\n", "pkg/plain.py": "",
        "loud/__init__.py": "import torch\n", "loud/plain.py": "",
    }  # fmt: skip
    write(tmp_path, files)
    project = Project(tmp_path, (), lambda path: None)
    leading = [
        "import loud.plain",
        "import os; from pkg.net import Net",
        "class A: from pkg import net",
        "import pkg.net",
    ]
    for text in [*leading, "import os, pkg . net as net", "from pkg \\\n. net import Net"]:
        assert project.leads_to_trace(str(tmp_path / "a.py"), text.encode()), text
        project.begin()
    for text in [
        "import pkg.plain",
        "import os; from pkg.plain import Net",
        "# import pkg.net",
        "x = 'import pkg.net'",
    ]:
        assert not project.leads_to_trace(str(tmp_path / "a.py"), text.encode()), text
        project.begin()


NET = """
import torch

layer = torch.nn.Linear(3, 3)

def outputs_of(x):
    return layer(x){end}
"""
USER = """
{imports}

outputs = []

def run(loader):
    for x in loader:
        outputs.append({name}(x)){mark}
"""


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import os; from pkg.net import outputs_of", "outputs_of"),
        ("from pkg.net \\\n    import outputs_of", "outputs_of"),
        ("import os, \\\n    pkg.net as net", "net.outputs_of"),
        ("if True: from pkg.net import outputs_of", "outputs_of"),
        ("from pkg . net import outputs_of", "outputs_of"),
        ("import sys; import pkg.net", "pkg.net.outputs_of"),
    ],
)
@pytest.mark.parametrize("mark", ["", "  # TML102"])
def test_findings_in_a_file_that_names_no_torch(
    imports: str, name: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = NET.format(end="" if mark else ".sum().item()")
    user = USER.format(imports=imports, name=name, mark=mark)
    check_project({"pkg/__init__.py": "", "pkg/net.py": library, "user.py": user}, tmp_path, monkeypatch)
