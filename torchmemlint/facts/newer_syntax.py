"""Where things stand in a text that libcst can parse and the Python that runs cannot: `type X = int` under Python 3.11.

What `positions.py` has from `ast`, by libcst's own account of positions. That is slow, and only such files come here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from ..finding import Location
from .positions import LINE_END, Span

_INK = re.compile(r"[^\r\n]")
_SUITES = ("body", "cases", "handlers", "orelse", "finalbody")
_LINES = (cst.SimpleStatementLine, cst.SimpleStatementSuite)
_PARTS = (cst.IndentedBlock, cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase)
_TEMPLATED = getattr(cst, "TemplatedString", cst.FormattedString)  # older ones read none
_FORMATTED = (cst.FormattedString, _TEMPLATED)
_ELSEWHERE = (cst.Annotation, cst.TypeParameters, *_FORMATTED, cst.BaseSuite, cst.If, *_PARTS)


class NewerTree:
    """What libcst says; a `positions.Tree`. Raises `libcst.ParserSyntaxError` where it cannot parse the text."""

    def __init__(self, text: str) -> None:
        module, self._places = _parsed(text)
        self._lines = LINE_END.split(text)
        self.outer: Sequence[cst.CSTNode] = [
            one for node in module.body for one in (node.body if isinstance(node, _LINES) else [node])
        ]

    def statements(self) -> Iterator[cst.CSTNode]:
        return _statements(self.outer)

    def calls(self, statement: cst.CSTNode) -> list[cst.CSTNode]:
        found: list[cst.CSTNode] = []
        stack = [statement]
        while stack:
            node = stack.pop()
            if isinstance(node, cst.Call):
                found.append(node)
            stack += [child for child in node.children if not isinstance(child, _ELSEWHERE)]
        return sorted(found, key=self._extent)

    def decorator(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and statement.decorators:
            return statement.decorators[0].decorator
        return None

    def is_value(self, statement: cst.CSTNode) -> bool:
        return isinstance(statement, cst.Expr)

    def span(self, node: cst.CSTNode) -> Span:
        place = self._places[node]
        row, end = place.start.line, Location(place.end.line, place.end.column + 1)
        if isinstance(node, cst.BaseCompoundStatement):
            end = Location(row, len(self._lines[row - 1]) + 1)
        return Location(row, place.start.column + 1), end

    def _extent(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        place = self._places[node]
        return place.start.line, place.start.column, -place.end.line, -place.end.column


def _statements(nodes: Iterable[Any]) -> Iterator[cst.CSTNode]:
    for node in nodes:
        if isinstance(node, _LINES):
            yield from node.body
            continue
        if not isinstance(node, _PARTS):
            yield node
        if isinstance(node, (cst.BaseCompoundStatement, *_PARTS)):
            for field in _SUITES:
                value = getattr(node, field, None) or ()
                yield from _statements((value,) if isinstance(value, cst.CSTNode) else value)


def without_formatted(text: str) -> str:
    """The text with names in brackets in place of formatted strings, each as long as what it stands for: the tokenizer
    of an older Python loses its way in `f"{d["("]}"`. Raises `libcst.ParserSyntaxError` as `NewerTree` does."""
    _, places = _parsed(text)
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    spans = sorted(
        (starts[place.start.line - 1] + place.start.column, starts[place.end.line - 1] + place.end.column)
        for node, place in places.items()
        if isinstance(node, _FORMATTED)
    )
    done, pieces = 0, []
    for start, end in spans:
        if start >= done:  # else it is inside of another
            pieces += [text[done:start], "(", _INK.sub("x", text[start + 1 : end - 1]), ")"]
            done = end
    return "".join([*pieces, text[done:]])


def _parsed(text: str) -> tuple[cst.Module, Mapping[cst.CSTNode, CodeRange]]:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)  # a parser makes each node but once
    return wrapper.module, wrapper.resolve(PositionProvider)
