"""Sites -> rows and columns, by the standard library's `ast`: ten times faster than asking libcst, and
it visits the same statements and calls in the same order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ..finding import Location
from ..notebook import Cell
from .model import CALLS_PER_STATEMENT, DECORATORS, STATEMENTS_PER_FILE, Site

_LINE_END = re.compile(r"\r\n|\r|\n")
Span = tuple[Location, Location]


def positions(text: str, sites: Iterable[Site]) -> dict[Site, Span]:
    """The spans of these sites, all of one file. Raises SyntaxError if `ast` refuses the text."""
    wanted = set(sites)
    first = min(wanted, default=0) // CALLS_PER_STATEMENT // STATEMENTS_PER_FILE * STATEMENTS_PER_FILE
    by_statement: dict[int, list[int]] = {}
    for site in wanted:
        by_statement.setdefault(site // CALLS_PER_STATEMENT, []).append(site % CALLS_PER_STATEMENT)
    lines = _LINE_END.split(text)  # not at form feeds, where Python sees no line end
    found: dict[Site, Span] = {}
    for ordinal, statement in enumerate(_statements(ast.parse(text).body), first):
        numbers = by_statement.get(ordinal)
        if numbers is None:
            continue
        calls = _calls(statement) if any(numbers) else []
        for number in numbers:
            node: ast.stmt | ast.expr = statement
            if 0 < number <= len(calls):
                node = calls[number - 1]
            span = _span(node, lines)
            decorators = getattr(statement, "decorator_list", ())
            if number == DECORATORS and decorators:
                span = (_span(decorators[0], lines)[0], _span(statement, lines)[1])
            found[ordinal * CALLS_PER_STATEMENT + number] = span
    return found


def displays(text: str, cells: Iterable[Cell], number: int) -> frozenset[Site]:
    """The expressions that end a cell, and are therefore shown and kept; those with a `;` after them are not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    outer = {id(statement) for statement in tree.body}
    ordinals = [
        (i, one) for i, one in enumerate(_statements(tree.body), number * STATEMENTS_PER_FILE) if id(one) in outer
    ]
    lines = _LINE_END.split(text)
    found: set[Site] = set()
    for cell in cells:
        inside = [(ordinal, one) for ordinal, one in ordinals if cell.holds(one.lineno)]
        if inside and isinstance(inside[-1][1], ast.Expr):
            ordinal, last = inside[-1]
            rest = lines[(last.end_lineno or last.lineno) - 1].encode()[last.end_col_offset :]
            if not rest.lstrip().startswith(b";"):
                found.add(ordinal * CALLS_PER_STATEMENT)
    return frozenset(found)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order that they are written."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.Match):
            for case in statement.cases:
                yield from _statements(case.body)
            continue
        for field in ("body", "handlers", "orelse", "finalbody"):
            for part in getattr(statement, field, ()):
                if isinstance(part, ast.ExceptHandler):
                    yield from _statements(part.body)
                else:
                    yield from _statements([part])


def _calls(statement: ast.stmt) -> list[ast.Call]:
    """The calls of a statement itself (not of statements inside it, annotations or formatted strings)."""
    found: list[ast.Call] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            if node is statement and name in ("body", "handlers", "orelse", "finalbody", "cases"):
                continue
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST) and not isinstance(part, ast.JoinedStr):
                    stack.append(part)
    found.sort(key=lambda call: (call.lineno, call.col_offset, -(call.end_lineno or 0), -(call.end_col_offset or 0)))
    return found


def _span(node: ast.stmt | ast.expr, lines: list[str]) -> Span:
    row, column = node.lineno, node.col_offset
    end_row, end_column = node.end_lineno or row, node.end_col_offset or column
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With,
                         ast.AsyncFor, ast.AsyncWith, ast.Try)):  # fmt: skip
        end_row, end_column = row, len(lines[row - 1].encode())  # the header's first line stands for it
    return Location(row, _points(lines, row, column)), Location(end_row, _points(lines, end_row, end_column))


def _points(lines: list[str], row: int, offset: int) -> int:
    """`ast` counts columns in bytes from 0; we count code points from 1."""
    line = lines[row - 1] if row <= len(lines) else ""
    if line.isascii():
        return offset + 1
    return len(line.encode()[:offset].decode(errors="replace")) + 1
