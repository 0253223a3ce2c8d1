"""Where two ways meet: either of two values, and whether the second adds anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .values import ANY, NAMED, Const, Light, Opaque, Tensor

if TYPE_CHECKING:
    from .derivation import Derivation
    from .values import Value

_MOST_ATOMS = 6


def join(a: Value, b: Value, derivation: Derivation) -> Value:
    """Either of two values."""
    if a is b or not b:
        return a
    if not a:
        return b
    if a == b:
        return a
    merged = list(a)
    for atom in b:
        if atom in merged:
            continue
        for index, other in enumerate(merged):
            if (
                type(atom) is Tensor
                and type(other) is Tensor
                and atom.graph == other.graph
                and atom.bundle == other.bundle
            ):
                node = atom.node
                if node != other.node:
                    node = derivation.node((atom.node, other.node))
                    derivation.write(node, atom.node, other.node)
                size = atom.size if atom.size == other.size else ANY
                merged[index] = Tensor(atom.graph, max(atom.weight, other.weight), node, size, atom.bundle)
                break
            if type(atom) is Opaque and type(other) is Opaque:
                node = derivation.node((atom.node, other.node))
                derivation.write(node, atom.node, other.node)
                merged[index] = Opaque(node)
                break
            if type(atom) is Const and type(other) is Const and atom.value is not None and other.value is not None:
                merged[index] = NAMED if isinstance(atom.value, str) and isinstance(other.value, str) else Light()
                break
        else:
            if len(merged) < _MOST_ATOMS:
                merged.append(atom)
    return tuple(merged)


def same_kind(a: Value, b: Value) -> bool:
    """Equal but for the nodes of the derivation, and for numbers and text: nothing that would make a second look at a
    loop worth while."""
    return a is b or _sketch(a) == _sketch(b)


def _sketch(value: Value) -> tuple[list[Any], set[Any]]:
    tensors: list[Any] = []
    others: set[Any] = set()
    for atom in value:
        kind = type(atom)
        if kind is Tensor:
            tensors.append((atom.graph, atom.weight, atom.bundle))
        elif kind is Opaque:
            tensors.append(())
        elif kind is Const and (atom.value is None or type(atom.value) is bool):
            others.add(str(atom.value))  # what tests ask for, `first = True`, `best = None`: a change leads elsewhere
        elif kind is not Const and kind is not Light:
            others.add(atom)
    tensors.sort()
    return tensors, others
