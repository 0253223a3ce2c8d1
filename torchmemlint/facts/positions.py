"""Sites -> rows and columns, by the standard library's `ast`: ten times faster than asking libcst, and
it visits the same statements and calls in the same order. Where `ast` refuses a text, as syntax that is newer than
the Python that runs, libcst is asked (`newer_syntax.py`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from ..finding import Location
from ..notebook import Cell
from .model import CALLS_PER_STATEMENT, DECORATORS, STATEMENTS_PER_FILE, Site

LINE_END = re.compile(r"\r\n|\r|\n")  # not form feeds, where Python sees no line end
Span = tuple[Location, Location]
_SUITES = ("body", "handlers", "orelse", "finalbody", "cases")
_FORMATTED = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))


class Tree(Protocol):
    """What somebody's parse of a file says of where things stand. Nodes are whatever the parser makes."""

    outer: Sequence[Any]  # the statements of the module's own body

    def statements(self) -> Iterator[Any]:
        """Statements in the order that they are written."""

    def calls(self, statement: Any) -> list[Any]:
        """The calls of a statement itself (not of statements inside it, annotations or formatted strings), as they
        begin; of those that begin together, the longest first."""

    def decorator(self, statement: Any) -> Any | None:
        """The first decorator of a definition."""

    def is_value(self, statement: Any) -> bool:
        """Whether it is an expression that stands alone."""

    def span(self, node: Any) -> Span:
        """Where a statement or call begins and ends; of what has a body, the first line stands for it."""


def positions(text: str, sites: Iterable[Site]) -> dict[Site, Span]:
    """The spans of these sites, all of one file."""
    wanted = set(sites)
    first = min(wanted, default=0) // CALLS_PER_STATEMENT // STATEMENTS_PER_FILE * STATEMENTS_PER_FILE
    by_statement: dict[int, list[int]] = {}
    for site in wanted:
        by_statement.setdefault(site // CALLS_PER_STATEMENT, []).append(site % CALLS_PER_STATEMENT)
    tree = _tree(text)
    found: dict[Site, Span] = {}
    for ordinal, statement in enumerate(tree.statements(), first):
        numbers = by_statement.get(ordinal)
        if numbers is None:
            continue
        calls = tree.calls(statement) if any(numbers) else []
        for number in numbers:
            span = tree.span(calls[number - 1] if 0 < number <= len(calls) else statement)
            decorator = tree.decorator(statement) if number == DECORATORS else None
            if decorator is not None:
                span = tree.span(decorator)[0], tree.span(statement)[1]
            found[ordinal * CALLS_PER_STATEMENT + number] = span
    return found


def displays(text: str, cells: Iterable[Cell], number: int) -> frozenset[Site]:
    """The expressions that end a cell, and are therefore shown and kept; those with a `;` after them are not."""
    try:
        tree = _tree(text)
    except (ValueError, RecursionError, MemoryError):
        return frozenset()
    outer = {id(statement) for statement in tree.outer}
    numbered = enumerate(tree.statements(), number * STATEMENTS_PER_FILE)
    ordinals = [(ordinal, one, *tree.span(one)) for ordinal, one in numbered if id(one) in outer]
    lines = LINE_END.split(text)
    found: set[Site] = set()
    for cell in cells:
        inside = [(ordinal, one, end) for ordinal, one, start, end in ordinals if cell.holds(start.row)]
        if inside and tree.is_value(inside[-1][1]):
            ordinal, _, end = inside[-1]
            if not lines[end.row - 1][end.column - 1 :].lstrip().startswith(";"):
                found.add(ordinal * CALLS_PER_STATEMENT)
    return frozenset(found)


def _tree(text: str) -> Tree:
    """A parse of a text that libcst can parse. Raises ValueError or RecursionError where Python gives up."""
    try:
        return _Tree(text)
    except SyntaxError:
        from .newer_syntax import NewerTree  # brings more of libcst than a run needs

        return NewerTree(text)


class _Tree:
    """What `ast` says."""

    def __init__(self, text: str) -> None:
        self.outer: Sequence[ast.stmt] = ast.parse(text).body
        self._lines = LINE_END.split(text)

    def statements(self) -> Iterator[ast.stmt]:
        return _statements(self.outer)

    def calls(self, statement: ast.stmt) -> list[ast.Call]:
        found: list[ast.Call] = []
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Call):
                found.append(node)
            for name, value in ast.iter_fields(node):
                if name in ("annotation", "returns", "type_params") or (node is statement and name in _SUITES):
                    continue
                for part in value if isinstance(value, list) else (value,):
                    if isinstance(part, ast.AST) and not isinstance(part, _FORMATTED):
                        stack.append(part)
        found.sort(key=lambda one: (one.lineno, one.col_offset, -(one.end_lineno or 0), -(one.end_col_offset or 0)))
        return found

    def decorator(self, statement: ast.stmt) -> ast.expr | None:
        return next(iter(getattr(statement, "decorator_list", ())), None)

    def is_value(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Expr)

    def span(self, node: ast.stmt | ast.expr) -> Span:
        row, column = node.lineno, node.col_offset
        end_row, end_column = node.end_lineno or row, node.end_col_offset or column
        if isinstance(node, ast.stmt) and (hasattr(node, "body") or hasattr(node, "cases")):
            end_row, end_column = row, len(self._lines[row - 1].encode())
        return Location(row, self._points(row, column)), Location(end_row, self._points(end_row, end_column))

    def _points(self, row: int, offset: int) -> int:
        """`ast` counts columns in bytes from 0; we count code points from 1."""
        line = self._lines[row - 1] if row <= len(self._lines) else ""
        if line.isascii():
            return offset + 1
        return len(line.encode()[:offset].decode(errors="replace")) + 1


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for field in _SUITES:
            for part in getattr(statement, field, ()):
                yield from _statements([part] if isinstance(part, ast.stmt) else part.body)
