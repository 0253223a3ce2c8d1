"""Notebooks: the code cells of an `.ipynb` file (nbformat 4) as one program, and cells in `# %%` scripts.

Nothing is executed. Magics and shell lines become `pass`, so that every other line stays where it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "snippets", "mprun", "memit")  # their cells are Python
_MAGIC_LINE = re.compile(r"^\s*(?:[%!?].*|[\w.]+\?{1,2}\s*)$")
_AUTOMAGIC = re.compile(
    r"^(?:pip|conda|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|pwd|man|less|more)(?: +(?:\.{1,2}/|[^\s=(,.]).*)?$"
)
_MAGIC_VALUE = re.compile(r"^(\s*[\w.,\s\[\]]+=\s*)[%!](?!=).*$")
_MAY_MARK = re.compile(r"%%|In\s*\[")
_PERCENT = re.compile(r"^#\s*(?:%%|In\s*\[[\d ]*\]:)(?P<rest>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number among all cells, from 1, and the rows it has in the program."""

    number: int
    first: int
    rows: int

    def holds(self, row: int) -> bool:
        return self.first <= row < self.first + self.rows


def program(raw: bytes) -> tuple[str, tuple[Cell, ...]]:
    """The code cells of a notebook as one program. Raises ValueError for what is no notebook."""
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"is not valid UTF-8: byte 0x{raw[error.start]:02x}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not a notebook: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise ValueError("is not a notebook of nbformat 4: it has no list of cells")
    if not _is_python(document):
        return "", ()
    text: list[str] = []
    cells: list[Cell] = []
    for number, cell in enumerate(document["cells"], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        lines = _lines(cell.get("source", ""))
        cells.append(Cell(number, len(text) + 1, len(lines)))
        text += lines
    return "".join(line + "\n" for line in text), tuple(cells)


def _is_python(document: dict[str, Any]) -> bool:
    metadata = document.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    language = info.get("name") if isinstance(info, dict) else None
    return language is None or str(language).lower() in ("python", "ipython")


def _lines(source: Any) -> list[str]:
    """The lines of a cell, with everything that is not Python made harmless."""
    joined = "".join(str(part) for part in source) if isinstance(source, list) else str(source)
    lines = [line.rstrip("\r") for line in joined.split("\n")]
    lines = _dedented(lines)
    start = next((index for index, line in enumerate(lines) if line.strip() and line[0] != "#"), 0)
    if lines[start].startswith("%%"):
        if lines[start][2:].split(" ", 1)[0] not in _PYTHON_MAGICS:
            return [""] * len(lines)
        lines[start] = ""
    going_on = inside = False
    for index, line in enumerate(lines):
        magic = None if inside else _MAGIC_LINE.match(line) or _AUTOMAGIC.match(line)
        if going_on or magic:
            lines[index] = "" if going_on else f"{indent(line)}pass"
            going_on = line.rstrip().endswith("\\")
        else:
            inside = line.endswith("\\")  # a `%` that follows is an operator
            lines[index] = _MAGIC_VALUE.sub(r"\1None", line)
    return lines


def _dedented(lines: list[str]) -> list[str]:
    """Without the indentation of the first line, as IPython runs a cell [docs: IPython's `leading_indent`]."""
    first = next((line for line in lines if line.strip()), "")
    return [line.removeprefix(indent(first)) for line in lines] if indent(first) else lines


def indent(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def percent_cells(text: str) -> tuple[Cell, ...]:
    """The code cells of a script with `# %%` lines, as editors and jupytext know them; none without two of them."""
    if _MAY_MARK.search(text) is None:
        return ()  # most scripts, without a look at each line
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    marks = list(_PERCENT.finditer(text))
    if len(marks) < 2:
        return ()
    rows = [text.count("\n", 0, mark.start()) + 1 for mark in marks]
    last = text.count("\n") + 2
    return tuple(
        Cell(number, row, end - row)
        for number, (mark, row, end) in enumerate(zip(marks, rows, [*rows[1:], last], strict=True), 1)
        if "[markdown]" not in mark["rest"] and "[md]" not in mark["rest"]
    )
