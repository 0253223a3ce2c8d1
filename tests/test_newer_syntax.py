"""Files whose syntax is newer than the Python that runs: places, comments and fixes are as they would be otherwise."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from conftest import NOWHERE, Lint, Write, codes
from test_facts import FIXTURES, SYNTAX, calls

from torchmemlint.config import load
from torchmemlint.facts import model as m
from torchmemlint.facts import positions as placing
from torchmemlint.facts.lower import lower
from torchmemlint.facts.newer_syntax import without_formatted
from torchmemlint.linter import engine
from torchmemlint.notebook import percent_cells

PLAN = engine.plan(load(NOWHERE, {"preview": True, "min-confidence": "low", "no-cache": True}, isolated=True))
NEWER = {
    "a type alias": "type Batch = tuple[int, int]",
    "type parameters": "def first[T](items: list[T]) -> T:\n    return items[0]",
    "the same quotes inside": 'name = f"{table["key"]}"',
    "a bracket in the same quotes": 'name = f"{table["("]}"',
    "quotes that are left open": 'name = f"{table["it\'s"]}"',
    "a hash in the same quotes": 'name = f"{table["# noqa"]}"',
    "lines in a formatted string": 'name = f"{\n    table  # what it was\n}"',
    "a template": 't"{name} of {table["("]}"',
    "two errors without brackets": "try:\n    pass\nexcept KeyError, ValueError:\n    pass",
}
BODY = """
import torch

{newer}

torch.no_grad()
torch.no_grad(); torch.no_grad()
torch.no_grad(  # noqa: TML202
)
x = 1  # noqa: TML202
"""


def without_ast(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on Python refuses every text."""

    def refuse(*_: object) -> ast.Module:
        raise SyntaxError("invalid syntax")

    monkeypatch.setattr("torchmemlint.facts.lower.parse", refuse)
    monkeypatch.setattr(placing, "_Tree", refuse)
    monkeypatch.setattr("torchmemlint.linter.limits.parse_ast", refuse)


@pytest.mark.parametrize("newer", NEWER.values(), ids=NEWER)
def test_places_and_comments(newer: str, write: Write, lint: Lint) -> None:
    write("a.py", text := BODY.format(newer=newer))
    row = text[: text.index("torch.no_grad()")].count("\n") + 1
    places = [(row, 1, 202), (row + 1, 1, 202), (row + 1, 18, 202), (row + 4, 8, 901)]
    assert codes(lint("a.py")) == [f"a.py:{row}:{column} TML{code}" for row, column, code in places]
    lint("--fix", "a.py")
    fixed = (write({}) / "a.py").read_text()
    assert "torch.no_grad(  # noqa: TML202\n" in fixed
    assert fixed.endswith("x = 1\n")
    assert newer in fixed
    lint("--add-noqa", "a.py")
    assert lint("a.py").stdout == ""
    assert newer in (write({}) / "a.py").read_text()


def test_the_other_place_of_a_finding(write: Write, lint: Lint) -> None:
    meters = (
        "type Number = float\nclass Meter:\n    total = 0\n    def update(self, value):\n        self.total += value\n"
    )
    train = (
        "import torch\nfrom meters import Meter\n\ndef train(model: torch.nn.Module, loader):\n    meter = Meter()\n"
        "    for x in loader:\n        loss = model(x).mean()\n        loss.backward()\n        meter.update(loss)\n"
    )
    write({"meters.py": meters, "train.py": train})
    result = lint("--output-format", "full", "train.py")
    assert "train.py:9:9" in result.stdout
    assert "meters.py:5:9" in result.stdout


@pytest.mark.parametrize("path", FIXTURES[::4], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_all_places_are_those_of_ast(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_same_places(path.read_text("utf-8"), monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        SYNTAX,
        'x = "äöü😀"; y = f("ß", g(1))\nπ = h("日本", k)  # ü\n',
        "a()\n\x0c\nb()\r\nc()\rd()\n'''\x0b\x1c\u2028'''; e()\n",
        "@(f)\ndef g(): pass\n@ f(1)\n@f\nclass B: pass\n",
        "(f())\n(\n f()\n)\nf();\ndel (a, b), (c)\nfrom a import (b,\n c,)\nimport a . b\nassert (x), (f(y))\n",
        "try: a()\nexcept* B: c()\nmatch f(x):\n  case 1: g()\n  case _ if h(): k()\n",
        "print(f'{a()}' 'b' f'{c(d)}', e(), sep=f(lambda: g()))\nx: int = f(\n1)\nif a:\n\tf(\\\n g)\n",
    ],
)
def test_places_of_odd_texts_are_those_of_ast(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        ast.parse(text)
    except SyntaxError:
        pytest.skip("needs a newer Python")
    check_same_places(text, monkeypatch)


def check_same_places(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = lower(text)
    statements = range(0, facts.statements * m.CALLS_PER_STATEMENT, m.CALLS_PER_STATEMENT)
    sites = {*calls(facts), *statements, *(site + m.DECORATORS for site in statements)}
    known = placing.positions(text, sites)
    without_ast(monkeypatch)
    assert placing.positions(text, sites) == known
    assert known.keys() == sites


@pytest.mark.parametrize("path", FIXTURES[::10], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_reports_are_the_same_without_ast(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = engine.lint_file(str(path), PLAN, engine.session(PLAN))
    without_ast(monkeypatch)
    assert engine.lint_file(str(path), PLAN, engine.session(PLAN)) == known


def test_cells_show_the_same_without_ast(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# %%\nx = f()\nx\n# %%\nx;\n# %%\nif x:\n    x\n# %%\n(x); y  # all\n# %%\ny = 2; x ; # not this\n"
    cells = percent_cells(text)
    known = placing.displays(text, cells, 0)
    assert len(known) == 2
    without_ast(monkeypatch)
    assert placing.displays(text, cells, 0) == known


def test_formatted_strings_leave_every_other_character_in_its_place() -> None:
    text = 'a = f"{b["("]}" "c" rf"""{\n  d}\r\n""" # e\nt"{f"{g}"}" if h else ""\n'
    plain = without_formatted(text)
    assert plain == 'a = (xxxxxxxxx) "c" (xxxxx\nxxxx\r\nxx) # e\n(xxxxxxxxx) if h else ""\n'
