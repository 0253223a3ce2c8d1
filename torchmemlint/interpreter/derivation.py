"""Which value was made from which: the graph that a run leaves behind."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frames import Loop
    from .parts import Part
    from .values import Obj


class Derivation:
    """Which tensor was made from which: a growing graph of numbered nodes.

    Back-propagating or handing out a value marks all it was made from; marks are spread once a node.
    """

    def __init__(self) -> None:
        self.parents: list[tuple[int, ...]] = [()]
        self.labels: dict[int, Any] = {}
        self.places: set[tuple[int, str]] = set()  # those that such labels speak of, by the identity of their owners
        self.demanded: set[int] = set()
        self.gone_through: set[int] = set()  # those of them that a backward pass comes to
        self.cut: set[int] = set()  # what was computed without recording: no backward pass goes on from there
        self.spent: set[int] = set()
        self.escaped: set[int] = set()
        self.handed: set[int] = set()  # out, to code that is not seen: what was made last
        self.consumed: set[int] = set()
        self.drawn: set[int] = set()  # into a picture that goes into a file
        self.live: set[int] = set()  # results that have a graph, or may have one
        self.passed: set[int] = set()  # given to code that is not seen
        self.stored: set[int] = set()  # went on into an attribute of an object that others see
        self.detached: dict[int, tuple[Loop, ...]] = {}  # and the loops that ran when it was
        self.refuted: set[int] = set()  # cannot have a graph after all
        self.whole: set[int] = set()  # tensors of whole numbers or truth values, which cannot have a graph
        self.parts: dict[int, Part] = {}  # views of a part of something
        self.afresh: set[int] = set()  # what a generator gives, and has made for this item
        self.shared: dict[int, tuple[int, ...]] = {}  # what has another's storage, as `detach()` does: and that
        self.read_off: dict[int, tuple[int, ...]] = {}  # indices and truth values, and what they are about
        self.leaves: set[int] = set()  # of which `requires_grad_()` has made leaves, wherever they are kept
        self.frozen: set[int] = set()  # of which something says that they require no gradients
        self.gradients: set[int] = set()  # that were computed without a graph of their own
        self.terms: dict[int, tuple[int, ...]] = {}  # sums and multiples, and what was added up or scaled
        self.computed: set[int] = set()  # what has a graph if one of those has that it was made from
        self.foreign: set[int] = set()  # what unknown code made
        self.unrecorded: set[int] = set()  # that, while gradients were off
        self.apart: set[int] = set()  # the parts of one tensor together, `torch.split(scores, 2)`
        self.returned: dict[int, dict[int, int]] = {}  # by a pass: each tensor, and its node outside
        self.loaded: dict[int, Obj] = {}  # batches as they come from the workers of a loader, and that
        self.batches: set[int] = set()  # what a loader gives, which somebody has made in sight
        self.varied: set[int] = set()  # made with another size in each round
        self.sized: set[int] = set()  # given a size, whatever that was before
        self.written: dict[int, tuple[int, ...]] = {}  # nodes of what is put somewhere, or may be one of several: these

    def is_whole(self, node: int) -> bool:
        """Whether a tensor has elements that cannot require gradients."""
        return node in self.whole or any(map(self.is_whole, self.written.get(node, ())))

    def node(self, parents: tuple[int, ...] = (), label: Any = None) -> int:
        self.parents.append(parents)
        number = len(self.parents) - 1
        if label is not None:
            self.labels[number] = label
            if label[0] == "write":
                self.places.add((id(label[1]), label[2]))
        return number

    def spread(self, marks: set[int], start: int, stop: frozenset[int] = frozenset()) -> None:
        stack = [start]
        while stack:
            node = stack.pop()
            if node not in marks and node not in stop:
                marks.add(node)
                stack.extend(self.parents[node])

    def write(self, node: int, *originals: int) -> None:
        """Tensors go somewhere: from there they are read as another node."""
        self.written[node] = originals
        if not self.leaves.isdisjoint(originals):
            self.leaves.add(node)

    def require(self, node: int, grad: bool) -> None:
        """`requires_grad_()`: of this tensor, under whatever name or in whatever list it was found."""
        for one in self.names_of(node):
            (self.leaves.add if grad else self.leaves.discard)(one)
            (self.frozen.discard if grad else self.frozen.add)(one)

    def names_of(self, node: int) -> list[int]:
        """A tensor's node, and those that it had before it was put where it was found."""
        stack, seen = [node], {node}
        for one in stack:
            stack += [original for original in self.written.get(one, ()) if original not in seen]
            seen.update(stack)
        return stack

    def within(self, node: int) -> int:
        """The node that a tensor had within the pass which returned it as it was: `return self.state`."""
        for run in self.parents[node]:
            for inner, outside in self.returned.get(run, {}).items():
                if outside == node:
                    return inner
        return node

    def comes_from(self, node: int, places: Container[int]) -> bool:
        """Whether a tensor is one of these as it is, under whatever name and in whatever container."""
        return any(one in places for one in self.names_of(node))

    def is_step(self, node: int) -> bool:
        """Whether this is what a training step gave."""
        label = self.labels.get(node)
        return label is not None and label[0] == "step"

    def ancestors(self, start: int, most: int = 400) -> list[int]:
        """`start` and what it was made from, nearest first."""
        seen = {start}
        order = [start]
        for node in order:
            if len(order) > most:
                break
            for parent in self.parents[node]:
                if parent not in seen:
                    seen.add(parent)
                    order.append(parent)
        return order
