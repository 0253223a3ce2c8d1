"""What is alive: bytes of tensor storages, and autograd nodes, as the reproductions print them."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch


def live() -> tuple[int, int]:
    """Bytes of all live tensor storages, and the number of autograd nodes that live tensors reach."""
    gc.collect()
    tensors = [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
    nodes, queue = set(), [one.grad_fn for one in tensors]
    while queue:
        node = queue.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            queue += [following for following, _ in node.next_functions]
    return sum(storages.values()), len(nodes)


def growth(run: Callable[[int], object], steps: int = 4) -> None:
    """Print what `run(n)` keeps alive, through what it returns, for n and 2n steps."""
    for count in (steps, 2 * steps):
        before = live()
        kept = run(count)
        after = live()
        print(f"{count:3} steps: {after[0] - before[0]:8} B, {after[1] - before[1]:4} autograd nodes more")
        del kept
