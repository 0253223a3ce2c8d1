"""Which parts of a formatted string do more than show a value."""

from __future__ import annotations

from typing import Any

import libcst as cst

from .parsing import by_type

_LOOKS = frozenset(
    """abs bool cpu detach dict float format get getattr hex id int isoformat item items join keys len list max mean
    memory_allocated max_memory_allocated min now numel numpy perf_counter repr round set shape size sorted split
    str strftime strip sum time tolist tuple type upper lower values""".split()
)
_CALL, _ATTRIBUTE, _NAME_NODE, _SUBSCRIPT, _BINARY = (
    by_type({kind: True}) for kind in (cst.Call, cst.Attribute, cst.Name, cst.Subscript, cst.BinaryOperation)
)


def does_something(node: Any) -> bool:
    """Whether an expression calls more than what looks at a value, `loss.item()`, `len(rows)`."""
    pending = [node]
    while pending:
        node = pending.pop()
        if type(node) in _CALL:
            method = type(node.func) in _ATTRIBUTE
            if not (method or type(node.func) in _NAME_NODE):
                return True
            if (node.func.attr.value if method else node.func.value) not in _LOOKS:
                return True
            pending += [arg.value for arg in node.args]
            if method:
                pending.append(node.func.value)
        elif type(node) in _ATTRIBUTE or type(node) in _SUBSCRIPT:
            pending.append(node.value)
        elif type(node) in _BINARY:
            pending += [node.left, node.right]
    return False
