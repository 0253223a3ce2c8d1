"""`from module import *`: statements in order, the last that binds a name wins, and `__all__` says what goes along."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, write
from test_linking_imports import METER, train

from torchmemlint.facts import model as m
from torchmemlint.facts.exports import exported
from torchmemlint.facts.lower import lower
from torchmemlint.facts.outline import Outline
from torchmemlint.linter import imports
from torchmemlint.linter.project import Project

LIGHT = """
class Meter:
    def update(self, value):
        self.total = float(value)
"""
GUILTY, INNOCENT = "from heavy import *", "from light import *"


def innocent(imports: str) -> str:
    return train(imports).replace("  # TML101", "")


ORDERS = {  # imports of the training script, and whether its `Meter` is the heavy one
    "the last star": (f"{INNOCENT}\n{GUILTY}", True),
    "the last star, innocent": (f"{GUILTY}\n{INNOCENT}", False),
    "a class, then a star": (f"{LIGHT}{GUILTY}", True),
    "a star, then a class": (f"{GUILTY}{LIGHT}", False),
    "a class, then a star, innocent": (f"{METER}\n{INNOCENT}", False),
    "an import, then a star": (f"from light import Meter\n{GUILTY}", True),
    "an import, then a star, innocent": (f"from heavy import Meter\n{INNOCENT}", False),
    "a star, then an import": (f"{GUILTY}\nfrom light import Meter", False),
    "a star that lacks it": (f"{GUILTY}\nfrom lacking import *", True),
    "a star whose `__all__` lacks it": (f"{GUILTY}\nfrom listing import *", True),
    "a class, then a star whose `__all__` lacks it": (f"{LIGHT}from unlisted import *", False),
    "a star that may be missing": (f"try:\n    {GUILTY}\nexcept ImportError:\n    {INNOCENT}", True),
    "a star behind a semicolon": (f"import os; {GUILTY}", True),
    "a star of stars": ("from light import *\nfrom stars import *", True),
    "a star of stars in a circle": ("from circle import *", True),
}
MODULES = {
    "heavy.py": METER,
    "light.py": LIGHT,
    "lacking.py": "import math\n# Meter\n",
    "listing.py": f"__all__ = ['other']\nother = 1\n{LIGHT}",
    "unlisted.py": f"__all__ = ('other',)\nother = 1\n{METER}",
    "stars.py": "from light import Meter\nfrom heavy import *\n",
    "circle.py": "from circle import *\nfrom further import *\n",
    "further.py": "from heavy import *\nfrom circle import *\n",
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_last_binding_wins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports, guilty = ORDERS[name]
    user = train(imports) if guilty else innocent(imports)
    check_project({**MODULES, "train.py": user}, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", [name for name in ORDERS if "class" not in name])
def test_the_last_binding_of_another_module_wins(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports, guilty = ORDERS[name]
    for how in ("from between import Meter", "from between import *"):
        user = train(how) if guilty else innocent(how)
        check_project({**MODULES, "between.py": f"{imports}\n", "train.py": user}, tmp_path, monkeypatch)


CLASS = METER.replace("Meter", "_Base")
SPELLINGS = {
    "several names at once": f"{CLASS}\nMeter, other = _Base, 1\n",
    "several targets": f"{CLASS}\nother = Meter = _Base\n",
    "with an annotation": f"{CLASS}\nMeter: type = _Base\n",
    "behind a semicolon": f"{CLASS}\nimport os; Meter = _Base\n",
    "behind an import": "import os; from heavy import Meter\n",
    "over two lines": "from heavy \\\n    import Meter\n",
    "under a condition": f"{CLASS}\nif True:\n    def Meter():\n        return _Base()\n",
    "in a try": f"{CLASS}\ntry:\n    Meter = _Base\nexcept NameError:\n    pass\n",
    "named in `__all__`": f"__all__ = ['Meter']{METER}",
    "added to `__all__`": f"__all__ = ['other']\n__all__ += ['Meter']{METER}",
    "`__all__` of two parts": f"__all__ = ['other'] + ('Meter',){METER}",
    "`__all__` of other modules": f"import heavy\n__all__ = heavy.__all__ + ['other']{METER}",
    "filled in by code": f"__all__ = []{METER}for name in dir():\n    __all__.append(name)\n",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_a_star_finds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"heavy.py": METER, "names.py": SPELLINGS[name], "train.py": train("from names import *")}
    check_project(files, tmp_path, monkeypatch)


def test_names_with_an_underscore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = METER.replace("Meter", "_Meter")
    files = {
        "hidden.py": private,
        "listed.py": f"__all__ = ['_Meter']{private}",
        "guilty.py": train("from listed import *", "_Meter"),
        "innocent.py": train("from hidden import *", "_Meter").replace("  # TML101", ""),
    }
    check_project(files, tmp_path, monkeypatch)


def test_a_module_named_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "pack/__init__.py": "__all__ = ['meters']\n",
        "pack/meters.py": METER,
        "train.py": train("from pack import *", "meters.Meter"),
    }
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("text", "listed", "others"),
    [
        ("a = 1\n", "", True),
        ("__all__ = ['a', 'b']\n", "a b", False),
        ("__all__: list[str] = ['a', *('b', 'c')]\n", "a b c", False),
        ("__all__ = ['a']\n__all__ = ('b',)\n__all__.extend(['c'])\n__all__.append('d')\n", "b c d", False),
        ("if a:\n    __all__ = ['a']\nelse:\n    __all__ = ['b']\n", "a b", False),
        ("__all__ = ['a']\n__all__ += other.__all__\n", "a", True),
        ("__all__ = ['a'] + sorted(names)\n", "a", True),
        ("__all__ = ['a', name]\n", "a", True),
        ("__all__ = []\n", "", True),
        ("def f():\n    __all__ = ['a']\nx.__all__ = ['b']\n", "", True),
    ],
)
def test_what_is_exported(text: str, listed: str, others: bool) -> None:
    assert exported(lower(text).functions[0].body) == (frozenset(listed.split()), others)
    for ended in (text, text.replace("\n", "\r\n"), text.replace("\n", "  # ['x']\n"), text.replace("['", "[\n '")):
        seen = imports.exported(ended.encode())  # what spares the others a parse says the same, or nothing
        assert seen is None or (set(seen), others) == ({name.encode() for name in listed.split()}, False), ended
    assert imports.exported(b"__all__ = [\n  'a',  # one\n  \"b\",\n]\n") == [b"a", b"b"]


def test_what_star_imports_cannot_bring_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages of hundreds of modules hand all of them on with `import *`."""
    text = "__all__ = ['Model{0}']\nclass Model{0}:\n    pass  # a Meter\n"
    files = {f"pack/m{number}.py": text.format(number) for number in range(5)}
    stars = "".join(f"from .m{number} import *\n" for number in range(5))
    names = write(tmp_path, {**files, "pack/__init__.py": stars, "home.py": ""})
    project = Project(tmp_path, (), lambda path: pytest.fail(path))
    pack, one = str(tmp_path / "pack/__init__.py"), str(tmp_path / "pack/m1.py")
    assert names and not project.may_have(pack, "Meter")
    assert project.may_have(pack, "Model1") and project.may_have(one, "Model1") and not project.may_have(one, "Model2")


LAZY = """
from typing import TYPE_CHECKING

if TYPE_CHECKING or SLOW:
    try:
        check()
    except ImportError:
        from .dummies import *
    else:
        from .meters import Meter
        from .others import Other, Meter as Counter
        from .others import Twice
else:
    Twice = None
"""


def test_a_lazy_package_brings_a_name_by_its_import_alone() -> None:
    """Of a statement of hundreds of lines, as in the `__init__` of diffusers and transformers, only that is run."""
    facts = lower(LAZY)
    bound = Outline(facts).bindings[0]
    modules = {name: [one[3] for one in bound[name]] for name in ("Meter", "Other", "Counter")}
    assert modules == {"Meter": ["meters"], "Other": ["others"], "Counter": ["others"]}
    assert {one[0] for one in bound["Twice"]} == {m.IF}
