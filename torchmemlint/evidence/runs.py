"""What the module runs of a file say together: where they are, in which loops, and what they are runs of."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..facts.model import Site
    from ..interpreter.frames import Loop
    from ..interpreter.machine import Machine
    from ..interpreter.values import Obj

Label = tuple[Any, ...]  # ("module", what is run, where), of a node that a run has made
# what is there once a module has run; the last: given to a function of another file
_OF_RUNS = ("module", "ran", "loss", "wide-loss", "cat", "handed over", "beside the loss")


class Runs:
    """The module runs of one file."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.calls = machine.module_calls

    @functools.cached_property
    def loops_at(self) -> dict[Site, set[Loop]]:
        """The loops in which the modules are run, by the place."""
        found: dict[Site, set[Loop]] = {}
        for call in self.calls:
            found.setdefault(call.site, set()).update(call.loops)
        return found

    @functools.cached_property
    def loops(self) -> set[Loop]:
        return set().union(*self.loops_at.values())

    @functools.cached_property
    def threaded(self) -> set[Site]:
        return {call.site for call in self.calls if call.thread}

    @functools.cached_property
    def _yielding(self) -> set[Site]:
        """The runs that a generator makes for its items."""
        return {call.site for call in self.calls if call.yielding}

    @functools.cached_property
    def models(self) -> set[Obj]:
        """What computes something that is back-propagated, in sight or by a framework."""
        derivation, demanded = self.machine.derivation, set(self.machine.derivation.demanded)
        for node in self.machine.losses:
            derivation.spread(demanded, node)
        return {call.module for call in self.calls if call.node in demanded}

    @functools.cached_property
    def cut_off(self) -> set[int]:
        """The nodes of what is detached somewhere, and of what that was made of: whoever detaches it knows that it has
        a graph."""
        found = set[int]()
        for node in self.machine.derivation.detached:
            self.machine.derivation.spread(found, node)
        return found

    @functools.cached_property
    def fed(self) -> set[int]:
        """The nodes of what a model is given, or what that was made of: tensors, whatever they are called."""
        derivation, found = self.machine.derivation, set[int]()
        runs = {node for node, label in derivation.labels.items() if label[0] in ("module", "ran")}
        pending = [node for node in runs if derivation.labels[node][1].weight > 1]
        while pending:
            above = [node for node in derivation.parents[pending.pop()] if node not in found and node not in runs]
            found.update(above)
            pending += above
        return found

    def in_eval_mode(self, labels: list[Label]) -> bool:
        sites = {label[2] for label in labels}
        return any(call.evaluating and call.site in sites for call in self.calls)

    def are_trained(self, labels: list[Label]) -> bool:
        """Whether an optimizer takes steps with what is run [docs: autograd, "In-place correctness"]."""
        sites = {label[2] for label in labels}
        return any(call.module in self.machine.trained and call.site in sites for call in self.calls)

    def repeated_in(self, loops: list[Loop], origins: list[Label]) -> list[Loop]:
        """The loops that run what a value was made from: `[loss * w for w in weights]` collects parts of one graph,
        which is there anyway, and `total = reward[t] + 0.99 * total` adds them up."""
        runs = [label[2] for label in origins if label[0] == "module" and label[2] in self.loops_at]
        if not runs:  # those of a model's parts are within its own
            return loops
        if any(label[0] not in _OF_RUNS for label in origins):
            return loops
        if not self._yielding.isdisjoint(runs):
            return loops
        return [loop for loop in loops if any(loop in self.loops_at[site] for site in runs)]
