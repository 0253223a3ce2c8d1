"""Callbacks that an object connects to a signal of its own each time something comes in.

`self.saved.connect(lambda path: write(path, frame))` in what shows each frame: a connection more, with its frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import calls, expressions_of, last_name, statements

_SELF = (m.NAME, "self")
_SIGNALS = ("Signal", "pyqtSignal")
_ONCE = frozenset("init setup build create make connect bind wire open start add new register install load".split())


class Connected(NamedTuple):
    """Where a connection is made; the signal, and what its callback refers to."""

    site: Site
    signal: str
    kept: str


def connected_each_time(facts: FileFacts) -> Iterator[Connected]:
    """Connections of what a method is given to a signal of the object itself, where nothing is ever disconnected."""
    connecting = any("connect" in function.calls for function in facts.functions)
    for cls in facts.classes if connecting else ():
        body = facts.functions[cls.body]
        own = {t[1] for one in statements(body.body) for t in targets(one) if t[0] == m.NAME and _is_signal(one)}
        for index in cls.methods.values() if own else ():
            method = facts.functions[index]
            if "connect" in method.calls and _runs_again(facts, cls, method):
                yield from _in_method(facts, method, own)


def _is_signal(statement: Expr) -> bool:
    return statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) in _SIGNALS


def _runs_again(facts: FileFacts, cls: ClassFacts, method: FunctionFacts) -> bool:
    """Whether a method is connected to a signal itself, and nothing in the class disconnects."""
    if not _ONCE.isdisjoint(method.name.lower().split("_")):
        return False
    if any("disconnect" in facts.functions[index].calls for index in cls.methods.values()):
        return False
    return any(
        last_name(call[2]) == "connect" and call[3] and call[3][0] == (m.ATTR, _SELF, method.name)
        for function in facts.functions
        for call in (calls(function.body) if "connect" in function.calls else ())
    )


def _in_method(facts: FileFacts, method: FunctionFacts, own: set[str]) -> Iterator[Connected]:
    given = {param.name for param in method.params[1:]}
    for statement in statements(method.body):
        call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
        if call is None or call[2][0] != m.ATTR or call[2][2] != "connect" or not call[3]:
            continue
        signal, callback = call[2][1], call[3][0]
        if signal[0] != m.ATTR or signal[1] != _SELF or signal[2] not in own or callback[0] != m.LAMBDA:
            continue
        inner = facts.functions[callback[1]]
        read = {node[1] for one in statements(inner.body) for node in expressions_of(one) if node[0] == m.NAME}
        kept = sorted((read - {param.name for param in inner.params}) & given)
        if kept:
            yield Connected(statement[1], signal[2], kept[0])
