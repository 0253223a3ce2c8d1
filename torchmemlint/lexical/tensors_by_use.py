"""Parameters that a function treats as tensors, whatever callers give it and whatever its annotations say."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import FunctionFacts
from ..facts.walk import heads, nodes, statements

_OF_TENSORS = frozenset(
    """unsqueeze permute expand contiguous detach masked_fill type_as new_zeros new_ones new_empty new_full
    new_tensor""".split()
)
_LAYOUT = frozenset("shape dtype size dim ndim".split())


def is_tensor_by_use(function: FunctionFacts, name: str) -> bool:
    """Whether a method is called on a name that only tensors have, or its device and its shape are read: a module has
    no shape. An array may have both, but is no part of a key."""
    if not _OF_TENSORS.isdisjoint(function.uses.get(name, ())):
        return True
    variable = (m.NAME, name)
    read = {
        node[2]
        for one in statements(function.body)
        for head in heads(one)
        for node in nodes(head)
        if node[0] == m.ATTR and node[1] == variable
    }
    return "device" in read and not _LAYOUT.isdisjoint(read)
