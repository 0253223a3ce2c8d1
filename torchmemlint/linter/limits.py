"""What is refused before it is parsed: nesting that would crash the parser or exhaust the stack.

libcst, which reads what is too new for CPython, parses by recursion in native code: some two thousand
nested brackets, or a chain of a few thousand operators, kill the process. CPython's own parser refuses
politely, unless it is given more stack, which our own walk over a tree needs. So a scan of the text,
ten times faster than a parse, picks out the few files that could be too deep, and only those are
measured exactly.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..source import Source, Unreadable

MAX_DEPTH = 1000  # levels of the syntax tree; libcst dies beyond about three times as many
_MAX_BRACKETS = 200  # CPython's own limit
_STACK_FRAMES = 12_000  # what walking a tree of MAX_DEPTH levels may take

_BRACKETS = bytes.maketrans(b"[]{}", b"()()")
_STRINGS = (
    rb'"""([^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)"""',
    rb"'''([^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'''",
    rb'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"',
    rb"'([^'\\\n]*(?:\\.[^'\\\n]*)*)'",
)
_OPAQUE = re.compile(b"|".join(_STRINGS) + rb"|#[^\n]*", re.S)
_LONG_FIELD = re.compile(rb"\([^()]{%d}" % MAX_DEPTH)
_DEEP = b"(" * (_MAX_BRACKETS + 1) + b")" * (_MAX_BRACKETS + 1)  # stands for code that needs a closer look
_PIECE = re.compile(rb"[(),;]|[^\s(),;]+")


def check(source: Source) -> None:
    """Raises Unreadable if the source is nested too deeply to be parsed safely."""
    if not _may_be_deep(source.text.encode("utf-8", "surrogatepass")):
        return
    try:
        tree = parse_ast(source)
    except SyntaxError as error:
        raise unreadable(error) from error
    deepest, row = _depth(tree)
    if deepest > MAX_DEPTH:
        raise Unreadable(f"is nested too deeply to be parsed: {deepest:,} levels of at most {MAX_DEPTH:,}", row)


def parse_ast(source: Source) -> ast.Module:
    """CPython's tree of the source. Raises SyntaxError, or Unreadable where CPython gives up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like: not ours to report
            return ast.parse(source.text)
    except (RecursionError, MemoryError) as error:
        raise Unreadable("is nested too deeply to be parsed") from error
    except SyntaxError:
        raise
    except ValueError as error:  # characters that CPython cannot encode
        raise Unreadable(f"cannot be parsed: {error}") from error


def unreadable(error: SyntaxError) -> Unreadable:
    """CPython's complaint as ours, with a place that exists."""
    return Unreadable(f"cannot be parsed: {error.msg}", max(error.lineno or 1, 1), max(error.offset or 1, 1))


@contextmanager
def deep_stack() -> Iterator[None]:
    """Room for recursion over a tree of MAX_DEPTH levels.

    Only while our own code walks a tree: CPython's parser derives its own limit from this one, and
    with more room it would crash where it now refuses.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _may_be_deep(data: bytes) -> bool:
    """A sure and cheap bound: a statement's tree is no deeper than the statement has bytes."""
    code = _OPAQUE.sub(_code_in, data)
    if code.count(b"elif") > MAX_DEPTH // 2:
        return True
    size = opened = balance = start = at = 0
    for line in code.translate(_BRACKETS).split(b"\n"):
        at += len(line) + 1
        stripped = line.strip()
        size += len(stripped)
        opening = stripped.count(b"(")
        opened += opening
        balance += opening - stripped.count(b")")
        if balance <= 0 and not stripped.endswith(b"\\"):
            if (opened > _MAX_BRACKETS or size > MAX_DEPTH) and _statement_may_be_deep(code[start:at]):
                return True
            size = opened = balance = 0
            start = at
    return balance > 0 and _statement_may_be_deep(code[start:])


def _code_in(match: re.Match[bytes]) -> bytes:
    """What is left of a comment or a string: nothing, or `_DEEP` for a formatted string full of code."""
    body = match[match.lastindex] if match.lastindex else b""
    if len(body) < _MAX_BRACKETS:
        return b""
    prefix = match.string[max(match.start() - 2, 0) : match.start()]
    if prefix[-1:] not in b"fFtT" and not (prefix[-1:] in b"rR" and prefix[:1] in b"fFtT"):
        return b""
    fields = body.replace(b"{{", b"").replace(b"}}", b"").translate(_BRACKETS)
    return _DEEP if fields.count(b"(") > _MAX_BRACKETS or _LONG_FIELD.search(fields) else b""


def _statement_may_be_deep(code: bytes) -> bool:
    """A closer bound for a long statement: bytes since the last comma, summed over the open brackets."""
    open_sizes: list[int] = []
    depth = here = 0
    for match in _PIECE.finditer(code.translate(_BRACKETS)):
        piece = match[0]
        if piece == b"(":
            open_sizes.append(here)
            here = 0
        elif piece == b")":
            depth += 1 - here
            here = open_sizes.pop() + 1 if open_sizes else 1
        elif piece in b",;":
            depth -= here
            here = 0
        else:
            here += len(piece)
            depth += len(piece)
        if depth > MAX_DEPTH or len(open_sizes) > _MAX_BRACKETS:
            return True
    return False


def _depth(tree: ast.Module) -> tuple[int, int]:
    """The deepest nesting of the tree as libcst would build it, and the row where it stands."""
    deepest, place = 0, 1
    todo: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while todo:
        node, depth, row = todo.pop()
        row = getattr(node, "lineno", row)
        if depth > deepest:
            deepest, place = depth, row
        below = depth + 1
        if isinstance(node, ast.BoolOp):  # flat here, a chain of pairs there
            below = depth + len(node.values)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            below = depth + len(node.generators)
        todo.extend((child, below, row) for child in ast.iter_child_nodes(node))
    return deepest, place
