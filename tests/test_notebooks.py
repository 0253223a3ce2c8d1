"""Notebooks are read without being run: cells, magics, positions within the cell."""

from __future__ import annotations

import ast
import json

import pytest
from conftest import Lint, Write, lines
from hypothesis import given
from hypothesis import strategies as st

from torchmemlint.notebook import percent_cells, program


def notebook(*cells: str, language: str = "python") -> str:
    made = [
        {"cell_type": "markdown", "source": cell[3:].splitlines(keepends=True)}
        if cell.startswith("md:")
        else {"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {"language_info": {"name": language}}, "nbformat": 4})


SHOWN = ("md:# Title", "%matplotlib inline\nimport torch\n!pip install torch", "x = torch.rand(3, 3)\nx")


def test_positions_count_within_the_cell(write: Write, lint: Lint) -> None:
    write({"a.ipynb": notebook(*SHOWN, "torch.no_grad()")})
    result = lint("--isolated", "a.ipynb")
    assert [line.split(" ")[0:3] for line in lines(result)] == [
        ["a.ipynb:cell", "3:2:1:", "TML801"],
        ["a.ipynb:cell", "4:1:1:", "TML202"],
    ]
    found = json.loads(lint("--isolated", "--output-format", "json", "a.ipynb").stdout)
    assert (found[0]["cell"], found[0]["location"]) == (3, {"row": 2, "column": 1})


def test_full_report_quotes_the_cell(write: Write, lint: Lint) -> None:
    write({"a.ipynb": notebook(*SHOWN)})
    shown = lint("--isolated", "--output-format", "full", "a.ipynb").stdout
    assert "a.ipynb:cell 3:2:1" in shown and "2 | x\n" in shown


def test_notebooks_are_found_in_folders(write: Write, lint: Lint) -> None:
    write({"work/a.ipynb": notebook(*SHOWN), "work/.ipynb_checkpoints/a.ipynb": notebook(*SHOWN)})
    assert len(lines(lint("--isolated", "work"))) >= 1


@pytest.mark.parametrize("last", ["x;", "print(x)", "x.shape", "y = x", "x.mean().item()", "%time x", "x.sum?"])
def test_what_is_not_kept(write: Write, lint: Lint, last: str) -> None:
    write({"a.ipynb": notebook("import torch\nx = torch.rand(3, 3)", last)})
    assert lines(lint("--isolated", "a.ipynb")) == []


def test_noqa_in_a_cell(write: Write, lint: Lint) -> None:
    write({"a.ipynb": notebook("import torch\nx = torch.rand(3, 3)\nx  # noqa: TML801")})
    assert lines(lint("--isolated", "a.ipynb")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is not a notebook"), ("[]", "nbformat 4"), ('{"worksheets": []}', "nbformat 4")],
)
def test_no_notebook(write: Write, lint: Lint, text: str, said: str) -> None:
    write({"a.ipynb": text})
    result = lint("--isolated", "a.ipynb")
    assert result.exit_code == 1 and "TML900" in result.stdout and said in result.stdout


def test_a_syntax_error_has_its_cell(write: Write, lint: Lint) -> None:
    write({"a.ipynb": notebook("import torch", "x = 1\ny = = 2")})
    assert "a.ipynb:cell 2:2:" in lint("--isolated", "a.ipynb").stdout


def test_other_languages_are_left_alone(write: Write, lint: Lint) -> None:
    write({"a.ipynb": notebook("library(torch)\nx <- 1", language="R")})
    assert lines(lint("--isolated", "a.ipynb")) == []


MAGIC = [
    "%load_ext x",
    "!ls *.pt",
    "x = !ls",
    "y, z = %sql select",
    "?x",
    "x.y??",
    "    !echo",
    "%%bash\nfor f in *; do",
]


@given(st.lists(st.sampled_from([*MAGIC, "x = 1", "if x:\n    pass", "", "# note", "a %= 3\nb = a % 2"]), max_size=6))
def test_a_program_keeps_its_rows(cells: list[str]) -> None:
    text, found = program(notebook(*cells).encode())
    assert [cell.rows for cell in found] == [len(cell.split("\n")) for cell in cells]
    assert text.count("\n") == sum(cell.rows for cell in found)


@pytest.mark.parametrize("magic", MAGIC)
def test_magics_leave_python(magic: str) -> None:
    text, _ = program(notebook(f"if True:\n{magic}" if magic.startswith(" ") else magic).encode())
    ast.parse(text)


def test_percent_cells() -> None:
    text = "import torch\n# %% [markdown]\n# words\n# %% one\nx = 1\nx\n# %%\ny\n"
    assert [(cell.first, cell.rows) for cell in percent_cells(text)] == [(4, 3), (7, 3)]
    assert percent_cells("x = 1\n# %%\nx\n") == ()
