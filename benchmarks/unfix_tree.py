"""A parsed file with the few questions that choosing un-fix mutants asks of it, and edits that keep the lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
OFF = re.compile(r"\b(no_grad|inference_mode|set_grad_enabled|_disable_grad)\b")


@dataclass(frozen=True)
class Edit:
    """Replace the bytes between two offsets."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Mutant:
    """One release taken away: the finding is expected on one of `rows`; `scope` names the function around it."""

    kind: str
    scope: str
    row: int
    rows: frozenset[int]
    span: tuple[int, int]
    edits: tuple[Edit, ...]


class Tree:
    """A file: its syntax tree, the parent of each node, and byte offsets."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.module = ast.parse(source)
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.module):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> Function | ast.Lambda | ast.Module:
        """The function whose body runs this node, or the module."""
        inner = node
        for outer in self.ancestors(node):
            if isinstance(outer, (ast.Lambda, ast.Module)):
                return outer
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner in outer.body:
                return outer
            inner = outer
        return self.module

    def own(self, scope: ast.AST) -> Iterator[ast.AST]:
        """The nodes that run in this function itself: nested functions and classes are left out."""
        body = scope.body if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)) else [scope]
        pending: list[ast.AST] = list(reversed(body))
        while pending:
            node = pending.pop()
            yield node
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                pending.extend(reversed(list(ast.iter_child_nodes(node))))

    def functions(self) -> Iterator[Function | ast.Module]:
        yield self.module
        for node in ast.walk(self.module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops of the same function that repeat this node, the innermost first."""
        found: list[Loop] = []
        inner = node
        for outer in self.ancestors(node):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(outer, (ast.For, ast.AsyncFor, ast.While)) and inner in outer.body:
                found.append(outer)
            inner = outer
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def unrecorded(self, node: ast.AST) -> bool:
        """Grad mode is (or may be) off here by a `with`, a decorator of an enclosing function, or its class."""
        for outer in [node, *self.ancestors(node)]:
            if isinstance(outer, (ast.With, ast.AsyncWith)):
                if any(OFF.search(ast.unparse(item.context_expr)) for item in outer.items):
                    return True
            elif isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and any(
                OFF.search(ast.unparse(decorator)) for decorator in outer.decorator_list
            ):
                return True
        return False

    def place(self, row: int, column: int) -> int:
        return self.offsets[row - 1] + column

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.place(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def one_line(self, edits: Iterable[Edit]) -> bool:
        """No edit crosses a line end, so that every row keeps its number."""
        return all(len(self.source[edit.start : edit.end].splitlines()) <= 1 for edit in edits)

    def apply(self, edits: Iterable[Edit]) -> bytes:
        text = self.source
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            text = text[: edit.start] + edit.text.encode() + text[edit.end :]
        return text


def rows(node: ast.expr | ast.stmt) -> range:
    """The rows of an expression or a simple statement (of a compound one: its first)."""
    if isinstance(node, ast.stmt) and hasattr(node, "body"):
        return range(node.lineno, node.lineno + 1)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def text(node: ast.AST) -> str:
    return ast.unparse(node)


def base(key: str) -> str:
    """`out` of `out.loss`, `losses` of `losses['a']`; `self.x` stays whole."""
    words = re.match(r"(self\.\w+|\w+)", key)
    return words.group(1) if words else key


def targets(statement: ast.AST) -> list[ast.expr]:
    """What a statement binds, tuples taken apart."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        found = list(statement.targets)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.NamedExpr)):
        found = [statement.target]
    elif isinstance(statement, ast.withitem) and statement.optional_vars:
        found = [statement.optional_vars]
    flat: list[ast.expr] = []
    while found:
        target = found.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            found.extend(target.elts)
        else:
            flat.append(target.value if isinstance(target, ast.Starred) else target)
    return flat
