"""libcst's parser with nodes that cost less: what it makes of a file, but for the spaces and brackets.

libcst's parser is native, but each node that it has found is made by calling the class of that name in the module
`libcst`. A third of a parse goes there: half of the nodes are white space, every node is frozen, so that its fields
are set through `object.__setattr__`, and every node is checked, though of what the parser itself makes none would
fail (`CSTNode.__post_init__` has a note to that effect). Nothing here reads spaces, and nothing checks or changes
a node. So while a file is parsed, the names stand for classes that are derived from libcst's and set what is read;
white space and punctuation are not made at all.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import libcst as cst

T = TypeVar("T")

_UNREAD_NODES = frozenset(
    """SimpleWhitespace ParenthesizedWhitespace TrailingWhitespace EmptyLine Newline Comment Comma Semicolon Colon
    LeftParen RightParen LeftSquareBracket RightSquareBracket LeftCurlyBrace RightCurlyBrace AssignEqual""".split()
)
_UNREAD_FIELDS = frozenset(
    """lpar rpar lbracket rbracket lbrace rbrace comma semicolon colon equal leading_lines lines_after_decorators
    lines_after_module_name header footer indent trailing_whitespace""".split()
)
_one_at_a_time = threading.Lock()


def parse(text: str) -> cst.Module:
    """The tree of a file, without what `_UNREAD_NODES` and `_UNREAD_FIELDS` name.

    Raises `libcst.ParserSyntaxError` where libcst cannot parse the text.
    """
    with _one_at_a_time, _exchanged():
        return cst.parse_module(text)


def parse_with_spaces(text: str) -> cst.Module:
    """The tree of a file as libcst makes it. Raises `libcst.ParserSyntaxError` where it cannot."""
    with _one_at_a_time:
        return cst.parse_module(text)


def by_type(handlers: Mapping[type, T]) -> dict[type, T]:
    """What is to be done with each of libcst's types of node, also for the types that `parse` makes of them."""
    return {**handlers, **{_LEAN[kind.__name__]: handler for kind, handler in handlers.items()}}


def _lean(cls: Any) -> Any:
    """A class derived from a node's, whose objects are made with the fields that are read, and without checks."""
    given: dict[str, object] = {}
    parameters, lines = [], ["pass"]
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        if field.name in _UNREAD_FIELDS or field.name.startswith("whitespace"):
            parameters.append(f"{field.name}=None")
            continue
        lines.append(f"self.{field.name} = {field.name}")
        if field.default is not dataclasses.MISSING:
            given[f"_{field.name}"] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            given[f"_{field.name}"] = field.default_factory()
        parameters.append(f"{field.name}=_{field.name}" if f"_{field.name}" in given else field.name)
    head = ", ".join(["self", *(["*"] if parameters else []), *parameters])
    exec(f"def __init__({head}):\n    " + "\n    ".join(lines), given)
    own = {"__slots__": (), "__init__": given["__init__"], "__setattr__": object.__setattr__}
    return type(cls)(cls.__name__, (cls,), own)


_nothing = dict[str, object]().update  # in place of a node that nobody reads: takes any fields, gives None, in C


def _nodes() -> Iterator[tuple[str, Any]]:
    """libcst's own classes of nodes that are not abstract."""
    for name, value in vars(cst).items():
        is_node = isinstance(value, type) and issubclass(value, cst.CSTNode) and dataclasses.is_dataclass(value)
        if is_node and not name.startswith("Base"):
            yield name, value


_PLAIN = dict(_nodes())
_LEAN = {name: _lean(cls) for name, cls in _PLAIN.items() if name not in _UNREAD_NODES}
_EXCHANGED = {name: _LEAN.get(name, _nothing) for name in _PLAIN}


@contextmanager
def _exchanged() -> Iterator[None]:
    vars(cst).update(_EXCHANGED)
    try:
        yield
    finally:
        vars(cst).update(_PLAIN)
