"""Functions of a module that only pass something on, so that they matter as much as who calls them."""

from __future__ import annotations

from . import model as m
from .model import FileFacts, FunctionFacts
from .walk import last_name, once, statements

_STATEMENTS = 8
_MANAGERS = ("contextmanager", "asynccontextmanager")


def called_in_wrappers(facts: FileFacts) -> frozenset[str]:
    """What functions that only pass something on call, by name."""
    inside = {index for other in facts.functions[1:] for index in other.inner}
    wrappers = (one for index, one in enumerate(facts.functions) if index not in inside and _passes_on(one))
    return frozenset(name for one in wrappers for name in one.calls)


def is_wrapper(facts: FileFacts, function: FunctionFacts) -> bool:
    """`def clear_store(): _STORE.clear()`, also as a context manager; not what a script begins with, nor what is
    registered somewhere, nor a function within another one, nor one with others in it, which it may hand out."""
    inside = any(facts.functions[index] is function for other in facts.functions[1:] for index in other.inner)
    return not inside and _passes_on(function)


@once
def _passes_on(function: FunctionFacts) -> bool:
    if function.owner >= 0 or function.inner or function.name in ("<module>", "<lambda>", "main"):
        return False
    if len(function.body) > _STATEMENTS or any(last_name(one) not in _MANAGERS for one in function.decorators):
        return False
    body = list(statements(function.body))
    if any(one[0] == m.RETURN and one[2] is not None for one in body):
        return False  # what it gives to others is what it is for
    return len(body) <= _STATEMENTS and not any(one[0] in (m.FOR, m.WHILE) for one in body)
