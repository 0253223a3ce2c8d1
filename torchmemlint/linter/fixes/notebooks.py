"""Edits in notebooks: the lines of a cell that they touch are written anew, and every other byte of the file stays."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...finding import Edit, Location
from ...notebook import Cell
from ...source import Source
from .text import apply_edits


class NotPossible(Exception):
    """Edits that cannot be made in a notebook: they touch a magic, or more than one cell at once."""


class Value(NamedTuple):
    """A JSON value with its place in the text: start, end."""

    start: int
    end: int
    content: Any  # of containers: their values, again with places


def rewritten(source: Source, edits: Sequence[Edit]) -> bytes:
    """The bytes of a notebook after edits of its program. Raises NotPossible."""
    text = source.raw.decode("utf-8-sig")
    cells = _values(text).content["cells"].content
    changes: list[tuple[int, int, str]] = []
    for cell in source.cells:
        own = [edit for edit in edits if cell.holds(edit.start.row)]
        if own:
            value = cells[cell.number - 1].content["source"]
            changes += _changed(text, value, _edited(source, cell, own, value))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    mark = source.raw[: len(source.raw) - len(source.raw.removeprefix(b"\xef\xbb\xbf"))]
    return mark + text.encode("utf-8", "surrogatepass")


def _edited(source: Source, cell: Cell, edits: Sequence[Edit], value: Value) -> str:
    """A cell's text after edits. What they replace must be Python, not what stands for a magic."""
    old = _text(value)
    lines = [line.rstrip("\r") for line in old.split("\n")]
    program = [line.rstrip("\n") for line in source.lines()[cell.first - 1 : cell.first - 1 + cell.rows]]
    within = []
    for edit in edits:
        last = edit.end.row - (edit.end.column == 1 and edit.end.row > edit.start.row)
        if not cell.holds(last):
            raise NotPossible("it touches more than one cell")
        touched = range(edit.start.row - cell.first, last - cell.first + 1)
        if (edit.start.column, edit.end.column) != (1, 1) and any(lines[row] != program[row] for row in touched):
            raise NotPossible("it touches a magic")
        within.append(Edit(_within(cell, edit.start), _within(cell, edit.end), edit.content))
    new = apply_edits("\n".join(lines) + "\n", within).removesuffix("\n")  # its last line has no end
    return new.replace("\n", "\r\n") if "\r\n" in old else new


def _within(cell: Cell, place: Location) -> Location:
    return Location(place.row - cell.first + 1, place.column)


def _text(value: Value) -> str:
    return "".join(part.content for part in value.content) if isinstance(value.content, list) else value.content


def _changed(text: str, value: Value, new: str) -> list[tuple[int, int, str]]:
    """The changes of the file that give a cell its new source: of a list of lines only those that differ."""
    plain = text[value.start : value.end].isascii() and "\\u" in text[value.start : value.end]

    def written(line: str) -> str:
        return json.dumps(line, ensure_ascii=plain)

    parts = value.content
    if not isinstance(parts, list) or not parts:
        return [(value.start, value.end, written(new))]
    old = [part.content for part in parts]
    lines = new.splitlines(keepends=True)  # as nbformat does, which knows more line ends than Python
    if "".join(old).splitlines(keepends=True) != old:
        lines = re.findall(r"[^\n]*\n|[^\n]+\Z", new)
    between = text[parts[0].end : parts[1].start] if len(parts) > 1 else ""
    between = between or f",{text[value.start + 1 : parts[0].start] or ' '}"
    changes = []
    matcher = difflib.SequenceMatcher(None, old, lines, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        added = between.join(written(line) for line in lines[new_first:new_last])
        if kind == "replace":
            changes.append((parts[first].start, parts[last - 1].end, added))
        elif kind == "insert" and first:
            changes.append((parts[first - 1].end, parts[first - 1].end, between + added))
        elif kind == "insert":
            changes.append((parts[0].start, parts[0].start, added + between))
        elif kind == "delete" and last < len(parts):
            changes.append((parts[first].start, parts[last].start, ""))
        elif kind == "delete":
            changes.append((parts[first - 1].end if first else parts[0].start, parts[last - 1].end, ""))
    return changes


def _values(text: str) -> Value:
    """The text's JSON, each value with its place."""
    plain = json.JSONDecoder().raw_decode

    def scan(index: int) -> Value:
        index = _next(text, index)
        if text[index] in "[{":
            return members(index, text[index] == "{")
        content, end = plain(text, index)
        return Value(index, end, content)

    def members(start: int, named: bool) -> Value:
        items: list[Value] = []
        by_name: dict[str, Value] = {}
        index = _next(text, start + 1)
        while text[index] not in "]}":
            if named:
                name, index = plain(text, index)
                value = by_name[name] = scan(_next(text, index) + 1)  # behind the colon
            else:
                value = scan(index)
                items.append(value)
            index = _next(text, value.end)
            if text[index] == ",":
                index = _next(text, index + 1)
        return Value(start, index + 1, by_name if named else items)

    return scan(0)


def _next(text: str, index: int) -> int:
    """The next place that is not white space."""
    while text[index] in " \t\r\n":
        index += 1
    return index
