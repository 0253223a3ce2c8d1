"""Notebooks are read without being run: cells, magics, positions within the cell."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from conftest import Lint, Write, lines
from hypothesis import given
from hypothesis import strategies as st

from torchmemlint.finding import Edit, Location
from torchmemlint.linter.fixes.apply import edited
from torchmemlint.linter.fixes.text import apply_edits
from torchmemlint.notebook import percent_cells, program
from torchmemlint.source import decode


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


@pytest.mark.parametrize(
    ("shown", "kept"),
    [("rows", 1), ("rows[0]", 1), ("{'rows': rows}", 1), ("[len(row) for row in rows]", 0), ("list(rows[0])", 0)],
)
def test_what_is_in_containers_is_kept(write: Write, lint: Lint, shown: str, kept: int) -> None:
    write({"a.ipynb": notebook("import torch\nrows = [{'box': b} for b in torch.rand(3, 3) * 2]", shown)})
    assert [line.split(" ")[2] for line in lines(lint("--isolated", "a.ipynb"))] == ["TML801"] * kept


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
    "#@title Sound\n%%html\n<audio src=x>",
    " !echo \\\n    more",
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


# -- changes --------------------------------------------------------------------------------------

LOOP = (
    "import torch\n"
    "%load_ext autoreload\n"
    "model, losses = torch.nn.Linear(3, 1), []\n"
    "for _ in range(10):\n"
    "    loss = model(torch.rand(2, 3)).sum()  # “損失”\n"
    "    loss.backward()\n"
    "    losses.append(loss)"
)


def written(*cells: str, **style: Any) -> str:
    """A notebook as Jupyter writes it, or in another style."""
    document = json.loads(notebook(*cells))
    document["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["[1,  2]"]}]
    return json.dumps(document, **{"indent": 1, "ensure_ascii": False, **style}) + "\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("style", [{}, {"indent": None}, {"ensure_ascii": True}, {"indent": "\t"}])
def test_a_fix_changes_the_source_lines_that_it_names(write: Write, lint: Lint, style: Any, mark: bytes) -> None:
    before = written("md:# “Title”", LOOP, "x = 1", **style)
    root = write("a.ipynb", mark + before.encode())
    result = lint("--isolated", "--fix", "--unsafe-fixes", "a.ipynb")
    assert (result.exit_code, result.stderr) == (0, "Fixed 1 finding, nothing is left.\n")
    assert (root / "a.ipynb").read_bytes() == mark + before.replace("append(loss)", "append(loss.detach())").encode()


def test_lines_that_come_and_go(write: Write, lint: Lint) -> None:
    before = written("import torch\ntorch.no_grad()\nprint(1)\n\nprint(2)")
    root = write("a.ipynb", before)
    diff = lint("--isolated", "--diff", "--unsafe-fixes", "a.ipynb").stdout
    assert [line for line in diff.splitlines() if line[:1] in "+-"][2:] == [
        '-    "torch.no_grad()\\n",',
        '-    "print(1)\\n",',
        '+    "with torch.no_grad():\\n",',
        '+    "    print(1)\\n",',
        '-    "print(2)"',
        '+    "    print(2)"',
    ]
    lint("--isolated", "--fix", "--unsafe-fixes", "a.ipynb")
    source = json.loads((root / "a.ipynb").read_text())["cells"][0]["source"]
    assert "".join(source) == "import torch\nwith torch.no_grad():\n    print(1)\n\n    print(2)"


def test_a_source_that_is_one_string(write: Write, lint: Lint) -> None:
    cell = {"cell_type": "code", "source": "import torch\r\nx = torch.rand(3)\r\nx", "metadata": {}, "outputs": []}
    before = json.dumps({"nbformat": 4, "cells": [cell], "metadata": {}})
    root = write("a.ipynb", before)
    assert lint("--isolated", "--fix", "--unsafe-fixes", "a.ipynb").exit_code == 0
    assert (root / "a.ipynb").read_text() == before.replace('\\nx"', '\\nx;"')


def test_comments_go_into_the_cell(write: Write, lint: Lint) -> None:
    before = written(*SHOWN, "torch.no_grad()")
    root = write("a.ipynb", before)
    assert lint("--isolated", "--add-noqa", "a.ipynb").stderr == "Added 2 suppressions.\n"
    assert lines(lint("--isolated", "a.ipynb")) == []
    expected = before.replace('"x"', '"x  # noqa: TML801"').replace('grad()"', 'grad()  # noqa: TML202"')
    assert (root / "a.ipynb").read_text() == expected
    assert lint("--isolated", "--ignore", "TML8", "--extend-select", "TML801", "a.ipynb").exit_code == 0


def test_fixes_in_reports_count_within_the_cell(write: Write, lint: Lint) -> None:
    write({"a.ipynb": written(*SHOWN)})
    (found,) = json.loads(lint("--isolated", "--output-format", "json", "a.ipynb").stdout)
    assert found["fix"]["edits"] == [
        {"content": ";", "location": {"row": 2, "column": 2}, "end_location": {"row": 2, "column": 2}}
    ]


_ROW = st.text('ab "\\é𝄞\u2028\t{}[],:', max_size=6).map(lambda text: f"# {text}")


@given(st.lists(st.lists(_ROW, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=4), st.data())
def test_edits_of_cells_are_those_of_the_text(cells: list[str], data: st.DataObject) -> None:
    source = decode("a.ipynb", written(*cells, ensure_ascii=data.draw(st.booleans())).encode())
    rows = source.lines()
    row = data.draw(st.integers(1, len(rows)))
    column = data.draw(st.integers(1, len(rows[row - 1].rstrip("\n")) + 1))
    edit = Edit(Location(row, column), Location(row, column), data.draw(st.sampled_from(["# x", "# 1\n# 2", "é"])))
    after = edited(source, [edit])
    assert after.text == apply_edits(source.text, [edit])
    assert [cell.number for cell in after.cells] == [cell.number for cell in source.cells]
    old, new = (_lists(program.raw) for program in (source, after))
    assert new == ["".join(lines).splitlines(keepends=True) for lines in new]  # as nbformat splits: U+2028 ends a line
    assert len(after.raw.splitlines()) - len(source.raw.splitlines()) == sum(map(len, new)) - sum(map(len, old))


def _lists(raw: bytes) -> list[list[str]]:
    return [cell["source"] for cell in json.loads(raw)["cells"]]


SPAWNED = """import multiprocess
import torch
from torch import nn
table = nn.Embedding(50_000, 256)
def count(rank, table):
    print(rank, table.weight.shape)
def run(ranks):
    context = multiprocess.get_context("spawn")
    workers = [context.Process(target=count, args=(rank, table)) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def test_spawned_workers_do_not_run_the_cells(write: Write, lint: Lint) -> None:
    """Their `__main__` has no file that they could import."""
    script = SPAWNED.replace("multiprocess", "multiprocessing") + 'if __name__ == "__main__":\n    run(2)\n'
    write({"a.ipynb": notebook(SPAWNED, "run(2)"), "a.py": script})
    assert [line.split(" ")[:2] for line in lines(lint("--isolated", "a.py", "a.ipynb"))] == [["a.py:4:1:", "TML402"]]
