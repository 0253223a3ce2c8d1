"""Which graphs are only taken for granted: those of what calls give that were not followed.

Code that could not be executed could return anything: what it gives is taken to have a graph, with a leaf of its own
by which it is known again. The program itself proves such a graph where it goes back along it (`loss.backward()`). What
is not proved is doubtful: a verdict must hold without it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from . import words

_WITHOUT: set[str] = set()  # callees whose results get no graph in this run
_LEAVES: dict[str, torch.Tensor] = {}  # by callee
_PROVED: set[str] = set()


def begin(without: Iterable[str]) -> None:
    """A run begins, in which what these give has no graph."""
    _WITHOUT.clear()
    _WITHOUT.update(without)
    _LEAVES.clear()
    _PROVED.clear()


def is_doubtful(callee: str) -> bool:
    """Whether what code that is not followed gives may well have no graph: neither a model nor a loss, by its name."""
    last = callee.rpartition(".")[2].lower().lstrip("_")
    if callee.endswith(("()", "]")):  # an object that such code made, and that is called as a model is
        return False
    return last.rpartition("_")[2] not in words.MODELS and not (
        last.startswith("loss") or last.endswith(("loss", "net"))
    )


def has_graph(callee: str) -> bool:
    return callee not in _WITHOUT


def leaf(callee: str, make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The leaf of all graphs that results of this callee begin."""
    if callee not in _LEAVES:
        _LEAVES[callee] = make()
    return _LEAVES[callee]


def prove(outputs: Iterable[torch.Tensor]) -> None:
    """The program goes back along the graphs of these tensors."""
    wanted = {id(one): callee for callee, one in _LEAVES.items() if callee not in _PROVED}
    queue: list[Any] = [output.grad_fn for output in outputs] if wanted else []
    seen: dict[int, Any] = {}
    while queue and wanted:
        node = queue.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node  # held, so that no other node can take its address
        found = wanted.pop(id(getattr(node, "variable", None)), None)
        if found is not None:
            _PROVED.add(found)
        queue.extend(following for following, _ in node.next_functions)


def unproved() -> list[str]:
    return sorted(set(_LEAVES) - _PROVED)


def leaves() -> dict[str, torch.Tensor]:
    """For whoever asks who holds them: nobody in the program."""
    return _LEAVES
