"""A file's text beside its tree: from a finding's place to a node, from a node to edits."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cached_property

from ...finding import Edit, Location

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")  # where Python ends lines: not at form feeds
_STRINGS = frozenset(
    number for name, number in vars(tokenize).items() if name in ("STRING", "FSTRING_MIDDLE", "TSTRING_MIDDLE")
)


class Text:
    """The text of one file. Raises SyntaxError where Python cannot parse it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = _LINE.findall(text)
        self.tree = ast.parse(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def start(self, node: ast.expr | ast.stmt) -> Location:
        return self._location(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> Location:
        return self._location(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _location(self, row: int, offset: int) -> Location:
        line = self.lines[row - 1] if row <= len(self.lines) else ""
        return Location(row, (offset if line.isascii() else len(line.encode()[:offset].decode(errors="replace"))) + 1)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The source of a node."""
        return ast.get_source_segment(self.text, node) or ""

    def at(self, start: Location, end: Location) -> ast.stmt | ast.expr | None:
        """The outermost statement or call that a place is about; a block's place ends with its first line."""
        best: ast.stmt | ast.expr | None = None
        for node in self._by_row.get(start.row, ()):
            if self.start(node) == start:
                if self.end(node) == end:
                    return node
                best = best or (node if isinstance(node, ast.stmt) and _is_block(node) else None)
        return best

    @cached_property
    def _by_row(self) -> dict[int, list[ast.stmt | ast.Call]]:
        """Statements and calls by the row that they begin in, the outer ones first."""
        found: dict[int, list[ast.stmt | ast.Call]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.stmt, ast.Call)):
                found.setdefault(node.lineno, []).append(node)
        return found

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node's parents, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node belongs to, or is."""
        return next((each for each in (node, *self.above(node)) if isinstance(each, ast.stmt)), None)

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The function whose body a node runs in; None in a lambda or in a module."""
        for parent in self.above(node):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return parent
            if isinstance(parent, (ast.Lambda, ast.ClassDef)):
                return None
        return None

    def between(self, start: Location, end: Location) -> str:
        """The text from one place to another."""
        rows = self.lines[start.row - 1 : end.row]
        rows[-1] = rows[-1][: end.column - 1]
        rows[0] = rows[0][start.column - 1 :]
        return "".join(rows)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which a statement stands."""
        for _, value in ast.iter_fields(self.parents[statement]):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]  # a `match` case or a handler holds its own list: found above

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Whether nothing else stands on the lines of a statement, comments apart."""
        first, last = self.lines[statement.lineno - 1], self.lines[(statement.end_lineno or statement.lineno) - 1]
        before = first[: self.start(statement).column - 1]
        after = last[self.end(statement).column - 1 :].strip()
        return not before.strip() and (not after or after.startswith("#"))

    def without_lines(self, statement: ast.stmt) -> Edit:
        """The edit that takes out a statement that stands alone on its lines."""
        return Edit(Location(statement.lineno, 1), Location((statement.end_lineno or statement.lineno) + 1, 1), "")

    def after(self, statement: ast.stmt, lines: str) -> Edit:
        """The edit that puts whole lines behind a statement that stands alone on its own."""
        row = statement.end_lineno or statement.lineno
        if row < len(self.lines) or self.lines[row - 1].endswith(("\n", "\r")):
            return insertion(Location(row + 1, 1), lines)
        newline = lines[len(lines.rstrip("\r\n")) :]
        return insertion(Location(row, len(self.lines[row - 1]) + 1), newline + lines[: len(lines) - len(newline)])

    def margin(self, statement: ast.stmt) -> str:
        """The white space before a statement that begins its line."""
        return self.lines[statement.lineno - 1][: self.start(statement).column - 1]

    def newline(self, row: int) -> str:
        """The line end that a new line next to `row` gets."""
        line = self.lines[row - 1]
        return line[len(line.rstrip("\r\n")) :] or "\n"

    def indent(self, statement: ast.stmt) -> str:
        """One more step to the right, as the file around a statement does it."""
        for parent in self.above(statement):
            if isinstance(parent, ast.stmt) and self.stands_at_line_start(parent):
                own, outer = self.margin(statement), self.margin(parent)
                if own.startswith(outer) and own != outer:
                    return own[len(outer) :]
        return "\t" if self.margin(statement).startswith("\t") else "    "

    def stands_at_line_start(self, statement: ast.stmt) -> bool:
        return not self.margin(statement).strip()

    def indented(self, first: int, last: int, by: str) -> list[Edit]:
        """Edits that move rows to the right, but not what lies inside of strings over several lines."""
        rows = [row for row in range(first, last + 1) if self.lines[row - 1].strip() and row not in self._in_strings]
        return [insertion(Location(row, 1), by) for row in rows]

    @cached_property
    def _in_strings(self) -> set[int]:
        """Rows that begin inside of a string."""
        rows: set[int] = set()
        opened = 0
        for token in tokenize.generate_tokens(io.StringIO(self.text, newline=None).readline):
            name = tokenize.tok_name[token.type]
            if token.type in _STRINGS:
                rows.update(range(token.start[0] + 1, token.end[0] + 1))
            if name in ("FSTRING_START", "TSTRING_START"):
                opened = opened or token.start[0]
            elif name in ("FSTRING_END", "TSTRING_END"):
                rows.update(range(opened + 1, token.end[0] + 1))
                opened = 0
        return rows


def insertion(place: Location, content: str) -> Edit:
    return Edit(place, place, content)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; they must not overlap. Insertions at one place keep their order."""
    lines = _LINE.findall(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def index(place: Location) -> int:
        return min(starts[min(place.row, len(starts)) - 1] + place.column - 1, len(text))

    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (index(edit.start), index(edit.end))):
        parts += [text[done : index(edit.start)], edit.content]
        done = index(edit.end)
    return "".join([*parts, text[done:]])


def _is_block(node: ast.stmt) -> bool:
    return hasattr(node, "body")
