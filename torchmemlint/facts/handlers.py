"""`except` clauses: what they do while the exception, and with it every frame of the failed call, is alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import knowledge
from . import model as m
from .model import Expr, FunctionFacts, Site, Stmt
from .walk import calls, last_name, nodes, statements

_MEMORY = ("OutOfMemory", "MemoryError")
_BROAD = ("RuntimeError", "Exception", "BaseException", "")
_LETS_GO = frozenset(("with_traceback", "clear_frames"))
_LIGHT = (
    knowledge.REPORTERS | knowledge.BUILTINS | {"append", "get", "join", "format", "empty_cache", "collect", "sleep"}
)


class Retry(NamedTuple):
    """The work of a `try` done again in its `except` clause."""

    site: Site
    callee: str
    function: str
    certain: bool  # the clause is about memory, in so many words


class Kept(NamedTuple):
    """A caught exception that is put away."""

    site: Site
    holder: str
    root: str  # the name at the root of the holder
    grows: bool
    function: FunctionFacts
    names: frozenset[str]  # what is called in the `try`


def retries(function: FunctionFacts) -> Iterator[Retry]:
    """Work that is tried again while the traceback of the first try keeps its frames."""
    for statement in _tries(function):
        tried = {last_name(call[2]) for call in _calls(statement[2])} | {function.name}
        tried -= _LIGHT
        for caught, _, body in statement[3]:
            certain = _about_memory(caught, body)
            if not certain and not _empties_cache(body):
                continue
            if not set(_type_names(caught)) & set(_BROAD) and not certain:
                continue
            if any(last_name(call[2]) in _LETS_GO for call in _calls(body)):
                continue
            for call in _calls(body):
                name = last_name(call[2])
                if name in tried and len(name) > 2:
                    yield Retry(call[1], name, function.name, certain)
                    break


def kept(function: FunctionFacts) -> Iterator[Kept]:
    """Exceptions that a clause puts into an attribute, a global or a container."""
    for statement in _tries(function):
        for _, name, body in statement[3]:
            if name is None:
                continue
            for inner, _ in statements(body):
                place = _place_of(inner, name)
                if place is None:
                    continue
                holder, grows = place
                root = holder
                while root[0] in (m.ATTR, m.ITEM):
                    root = root[1]
                called = frozenset(last_name(call[2]) for call in _calls(statement[2]))
                yield Kept(inner[1], _text(holder), last_name(root), grows, function, called)


def _tries(function: FunctionFacts) -> Iterator[Stmt]:
    return (statement for statement, _ in statements(function.body) if statement[0] == m.TRY)


def _calls(block: tuple[Stmt, ...]) -> Iterator[Expr]:
    for statement, _ in statements(block):
        yield from calls(statement)


def _type_names(caught: Expr | None) -> list[str]:
    if caught is None:
        return [""]
    if caught[0] == m.NEW:
        return [last_name(item) for item in caught[3]]
    return [last_name(caught)]


def _about_memory(caught: Expr | None, body: tuple[Stmt, ...]) -> bool:
    if any(word in name for name in _type_names(caught) for word in _MEMORY):
        return True
    for statement, tests in statements(body):
        for expr in tests:
            for node in nodes(expr):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
        for call in calls(statement):
            name = last_name(call[2]).lower()
            if "oom" in name or "out_of_memory" in name:
                return True
        if statement[0] == m.IF:
            for node in nodes(statement[2]):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
                if node[0] == m.CALL and "oom" in last_name(node[2]).lower():
                    return True
    return False


def _empties_cache(body: tuple[Stmt, ...]) -> bool:
    return any(last_name(call[2]) == "empty_cache" for call in _calls(body))


def _place_of(statement: Stmt, name: str) -> tuple[Expr, bool] | None:
    """Where a statement puts the exception, and whether that place grows."""
    if statement[0] == m.ASSIGN and _is_exception(statement[3], name):
        for target in statement[2]:
            if target[0] in (m.ATTR, m.ITEM):
                return target, target[0] == m.ITEM
    if statement[0] == m.EXPR and statement[2][0] == m.CALL:
        call = statement[2]
        adds = call[2][0] == m.ATTR and call[2][2] in ("append", "add", "appendleft") and len(call[3]) == 1
        if adds and _is_exception(call[3][0], name):
            return call[2][1], True
    return None


def _is_exception(value: Expr, name: str) -> bool:
    if value == (m.NAME, name):
        return True
    if value[0] == m.NEW:
        return any(_is_exception(item, name) for item in value[3])
    if value[0] == m.CALL:
        return bool(value[2][0] == m.ATTR and value[2][2] == "exc_info")
    return False


def _text(place: Expr) -> str:
    if place[0] == m.ATTR:
        return f"{_text(place[1])}.{place[2]}"
    if place[0] == m.ITEM:
        return _text(place[1])
    return str(place[-1]) if place[0] == m.NAME else "..."
