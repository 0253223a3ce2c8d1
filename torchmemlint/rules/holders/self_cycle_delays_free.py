"""An object made in a loop holds itself: only the cyclic collector frees it.

## What it does
Reports `self.callback = self.on_batch`, `self.get = lambda: self.features` and
the like in classes that hold tensors or a model and are constructed in a loop,
or whose own methods make new objects of the class, as those of a distribution
do; a module that gets a `forward` which refers to it, by a closure or
`types.MethodType`; a scheduler, loader or `defaultdict` on the object that
keeps such a function, or a list or table of its own that gets one; and inner
functions that call themselves and refer to a tensor of the function around
them, or to a list of such. So are hooks on tensors,
`x.register_hook(self.on_grad)` or
`x.grad_fn.register_hook(partial(clear, self))`, of an object that has `x` or
what was computed from it. So are objects that put themselves, or a function
that they make and that refers to them, into a registry of their own, where
their class keeps models, batches or results: `self.handlers.append((f, self))`.
So is a part that knows its whole, `self.store = Store(self)`, a node of a tree
with its parent, where no method of the part lets go of that again.
And `ddp.register_comm_hook(state, hook)` where the hook, or its state, refers
to the wrapper, and one is made for each run. And a pack hook of
`saved_tensors_hooks` that gives back the tensor it is given, around a pass of
which nothing but numbers and shapes is asked.

## Why it retains
A bound method, or a lambda that mentions `self`, refers to the object. Kept on
the object it closes a circle, which reference counting cannot free. The memory
goes when Python's cyclic collector comes by, and that counts objects, not
bytes: a few large tensors are no reason for it to run. On a GPU the program may
run out of memory first.

A hook in a graph is worse: the circle goes through the graph's nodes, which the
collector does not look into. Such an object is never freed. The same is true of
a communication hook: it belongs to the reducer of its wrapper, which is C++.
What a pack hook gives belongs to the node that saves it, and a saved result
refers to that node; a backward pass lets go of it, and an estimate has none.

## When it is fine
- One object lives as long as the program: nothing is to be freed.
- The callback is a static function, or holds a weak reference.
- The object has nothing heavy.
- What is packed is detached, or the graph is run backward.
- The program runs the collector itself, `gc.collect()`, also while it has
  turned it off with `gc.disable()`: else such objects pile up. To collect once
  before that is not enough.

## How to release it
Keep the name of the method instead of the method, `weakref.WeakMethod`, or a
function of the module; pass what a recursive function needs as an argument.

## References
- Python documentation, `gc`: collections start when allocations exceed
  deallocations by a threshold.
- PyTorch documentation, `torch.autograd.graph.saved_tensors_hooks`: what the
  pack hook returns "cannot hold a reference to the input tensor".
- PyTorch blog, "Understanding GPU Memory 2: Finding and Removing Reference
  Cycles".
- Bytes that wait for the collector: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...interpreter.cycles import cycles
from ...lexical.collector_off import is_off
from ...lexical.comm_hooks import own_hooks
from ...lexical.own_registry import own_entries
from ...lexical.packed import HOOKS
from ...lexical.packed_as_given import PackedAsGiven, packed_as_given
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML315"
name = "self-cycle-delays-free"
retains: Retains | None = Retains.DELAYED


def check(evidence: Evidence) -> Iterator[Report]:
    collects = "collect" in evidence.program.called
    found = list(cycles(evidence.machine))
    longer = {one.site for one in evidence.listening} if found else set()  # TML314: kept by what outlives it as well
    for cycle in found:
        if cycle.site in longer:
            continue
        if cycle.never:
            yield Report(
                site=cycle.site,
                message=(
                    f"{cycle.what} has a tensor of a graph in which this hook refers to it: it stays for the rest of "
                    "the process, since the collector does not look into graphs; refer to it weakly, or remove the hook"
                ),
                confidence=Confidence(cycle.weight),
                value=cycle.what,
                holder=cycle.through,
                release="refer to it weakly (`weakref.ref`) in the hook, or keep the handle and `remove()` it",
                retains=Retains.GROWING,
            )
            continue
        off = is_off(evidence.whole, cycle.made)
        if collects and not off:
            continue
        until = "while `gc.disable()` is in force" if off else "until the cyclic collector runs, which counts objects"
        yield Report(
            site=cycle.site,
            message=(
                f"{cycle.through}: {cycle.what} stays {until}{'' if off else ' and not bytes'}; refer to it weakly, or "
                "pass what is needed as an argument"
            ),
            confidence=Confidence(cycle.weight),
            value=cycle.what,
            holder=cycle.through,
            release="refer to it weakly (`weakref.WeakMethod`), or pass what is needed as an argument",
            retains=Retains.GROWING if off else None,
        )
    yield from _through_the_reducer(evidence)
    yield from map(_in_the_graph, evidence.across(packed_as_given, HOOKS))
    if not collects:
        yield from _in_their_own_registries(evidence)


def _through_the_reducer(evidence: Evidence) -> Iterator[Report]:
    for own in own_hooks(evidence.program):
        what = "state of its communication hook" if own.state else "communication hook"
        yield Report(
            site=own.site,
            message=(
                f"the {what} refers to `{own.name}`, whose reducer keeps it: the collector does not look into the "
                f"reducer, so each `{own.name}`, with its model, buckets and optimizer, stays for the rest of the "
                "process; refer to it weakly, `weakref.ref`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"each `{own.name}` with its model and buckets",
            holder="its own reducer",
            release=f"give the hook a `weakref.ref({own.name})`, or only the parts that it needs",
            retains=Retains.GROWING,
        )


def _in_the_graph(packed: PackedAsGiven) -> Report:
    return Report(
        site=packed.site,
        message=(
            "the pack hook gives back the tensor itself: an operation that saves its own result, as `tanh` and "
            "`softmax` do, has a node that keeps what refers to that node, and no backward pass ends it: the graph "
            "stays for the rest of the process, since the collector does not look into graphs; return `x.detach()`"
        ),
        confidence=Confidence.MEDIUM,
        value="the graph of each pass, with what it has saved",
        holder="its own nodes",
        release="return `x.detach()` from the pack hook, or run the pass under `torch.no_grad()`",
        retains=Retains.GROWING,
        related=((packed.other, "packed here" if packed.run else "nobody differentiates this pass"),),
    )


def _in_their_own_registries(evidence: Evidence) -> Iterator[Report]:
    said: set[int] = set()
    for entry in own_entries(evidence.facts):
        if entry.site in said:
            continue
        said.add(entry.site)
        what = "a function that refers to it" if entry.function else "the object itself"
        yield Report(
            site=entry.site,
            message=(
                f"`self.{entry.registry}` gets {what}: each {entry.cls}, with all that it holds, stays until the "
                "cyclic collector runs, which counts objects and not bytes; refer to it weakly, `weakref.ref(self)`, "
                "or pass it when the entry is used"
            ),
            confidence=Confidence.MEDIUM,
            value=f"each {entry.cls}",
            holder=f"its own `{entry.registry}`",
            release="keep `weakref.ref(self)`, or pass the object when the entry is used",
        )
