"""What unknown code computed from what a module gave: a backward pass says whether it has a graph.

`a = penalty(out)`, `loss = a + b`, `loss.backward()`: each term of a sum that is differentiated, and that was made from
what a module gave, has a graph. So has a value that all ways from a term to the modules lead through.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ..interpreter.events import Store
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, MAYBE, VEILED, Tensor

_SOURCES = ("module", "loss", "wide-loss", "hook")
_MOST = 400  # nodes of one term's derivation


def unveiled(machine: Machine) -> Iterator[Store]:
    """The stores of such values, as stores of tensors that carry a graph."""
    if not machine.veiled_stores or not (machine.backwards or machine.losses):
        return
    graphs = _Graphs(machine)
    for store, nodes in machine.veiled_stores:
        kept = [node for node in nodes if graphs.certain(node)]
        if kept:
            tensors = tuple(Tensor(ATTACHED, 2, node) for node in kept)
            parts = tuple((ATTACHED, node) for graph, node in store.parts if graph in (VEILED, MAYBE))
            yield store._replace(tensors=tensors, objects=(), instances=(), parts=parts)


class _Graphs:
    def __init__(self, machine: Machine) -> None:
        self._derivation = derivation = machine.derivation
        self._terms: dict[int, frozenset[int]] = {}
        starts = [*machine.losses, *(node for backward in machine.backwards for node in backward.nodes)]
        for start in starts:
            for term in self._added(start):
                if term in self._terms or len(self._terms) > _MOST:
                    continue
                self._terms[term] = ways = self._ways(term)
                sums = (node for node in ways if node in derivation.terms and node not in self._terms)
                starts += [node for node in sums if self._is_on_all(node, term)]

    def _added(self, start: int) -> list[int]:
        """The terms of a sum that is differentiated, and the sum."""
        derivation = self._derivation
        found = [start]
        for node in found:
            if len(found) > _MOST:
                break
            label = derivation.labels.get(node)
            through = derivation.terms.get(node) or derivation.written.get(node)
            if through is None and label is not None and label[0] == "differentiated":
                through = derivation.parents[node]
            found += [part for part in through or () if part not in found]
        return found

    def _ways(self, term: int) -> frozenset[int]:
        """What a term was made from, if a module's results are among it."""
        ancestors = self._reached(term, -1)
        return frozenset(ancestors) if self._has_source(ancestors) else frozenset()

    def _reached(self, start: int, without: int) -> set[int]:
        seen = {start} - {without}
        queue = list(seen)
        for node in queue:
            if node in self._derivation.unrecorded or len(queue) > _MOST:
                continue
            more = [parent for parent in self._derivation.parents[node] if parent != without and parent not in seen]
            seen.update(more)
            queue += more
        return seen

    def _has_source(self, nodes: set[int]) -> bool:
        labels = self._derivation.labels
        return any(node in labels and labels[node][0] in _SOURCES for node in nodes)

    def _is_on_all(self, node: int, term: int) -> bool:
        """Whether all ways from a term to the modules lead through a node."""
        return node == term or not self._has_source(self._reached(term, node))

    @functools.cache  # noqa: B019  it goes with the evidence
    def certain(self, node: int) -> bool:
        """Whether a value has a graph, by what is differentiated: itself, or what it was computed from."""
        derivation = self._derivation
        if node in derivation.unrecorded:
            return False
        for term, ways in self._terms.items():
            if node in ways and self._is_on_all(node, term):
                return True
        made = derivation.parents[node] if node in derivation.computed else derivation.written.get(node, ())
        return any(map(self.certain, made))
