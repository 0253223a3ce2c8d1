"""`forward` leaves an activation with its graph on the module between calls.

## What it does
Reports `self.x = value`, `self.store[key] = value` and the like in `forward`
or in a forward hook, where the value carries a graph and nothing takes it away
before the next call: attention maps, features, the last output, an auxiliary
loss. So is a tensor, detached or not, that a hook puts on the module which it
is given, where the file removes its hooks, no other code uses the attribute,
and nothing deletes it. So is a record, `if error < self.best: self.best =
error`, of values that are never back-propagated: an evaluation with gradients.
And so is a table that the pack hook of `saved_tensors_hooks` fills and only the
unpack hook empties: some graphs never run backward. The same is said of a list
that a forward hook fills and only a hook of the backward pass takes from.

## Why it retains
The module lives as long as the program. The stored tensor owns the graph of
the last forward pass, with all saved activations if that pass was never
back-propagated. They stay through the optimizer step, through validation, and
while the next forward pass builds its own graph, so two of them stand in
memory at the peak. After `backward()` the tensor itself and the chain of nodes
stay. A dict keyed by layer holds one graph in all; a list, or a
key that changes with every call, holds one graph per call.

A module with such an attribute also cannot be deep-copied, since only leaf
tensors support it.

## When it is fine
- The value is detached before it is stored.
- Another method takes it and sets it to `None` in the same step, on every
  path: an auxiliary loss that the trainer pops and adds to the loss.
- The value is a constant which `forward` computes once from buffers, such as a
  mask or a position table.

## How to release it
Store `value.detach()`; better, return it. If the graph is needed by a loss,
take it away when it is used: `aux, self.aux = self.aux, None`.

## References
- PyTorch documentation, "Frequently Asked Questions": "Don't hold onto
  tensors and variables you don't need."
- PyTorch documentation, `torch.nn.modules.module.Module.register_forward_hook`.
- Bytes that stay after the step: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.leftovers import left_by_hooks
from ...facts import model as m
from ...facts.model import file_of, statement_of
from ...facts.walk import calls, last_name
from ...finding import Confidence, Retains
from ...interpreter.values import LEAF, Obj, Tensor
from ...lexical.awaiting import never_taken
from ...lexical.packed import never_unpacked
from .. import Report
from ..detaching import detach
from ..retained import cost, is_record, of_code, place, report, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.places import Holder
    from ...evidence.retentions import Retention
    from ...interpreter.events import Store
    from ...interpreter.frames import Frame

code = "TML108"
name = "stored-activation"
retains: Retains | None = Retains.HELD


def _place(retention: Retention) -> tuple[Holder, str]:
    return retention.holder, retention.function


def _is_made_of_weights(evidence: Evidence, retention: Retention) -> bool:
    """`if not hasattr(self, "inverse"): self.inverse = self.weight.inverse()`: no activation, and made once."""
    store, derivation = retention.store_event, evidence.machine.derivation
    if statement_of(store.site) not in store.frame.unit.outline.made_when_missing:
        return False
    weights = _own_parameters(store.owner) | _own_buffers(store)
    own = {name for node in weights for name in derivation.names_of(node)}
    way, ends = [store.node], []
    for node in way:  # back to the weights, and not to what those were made of
        if node in own or not derivation.parents[node]:
            ends.append(node)
        else:
            way += [parent for parent in derivation.parents[node] if parent not in way]
    label_of = {node: derivation.labels.get(node, ("",))[0] for node in way}
    if "module" in label_of.values():
        return False  # of a pass, whatever it was given
    return all(node in own or label_of[node] == "parameters" for node in ends)


def _own_parameters(owner: Obj | Frame) -> set[int]:
    """The nodes of the parameters that a module has as attributes, `self.decay = nn.Parameter(...)`."""
    values = owner.fields.values() if isinstance(owner, Obj) and owner.kind == "module" else ()
    return {atom.node for value in values for atom in value if type(atom) is Tensor and atom.graph == LEAF}


def _own_buffers(store: Store) -> set[int]:
    """The nodes of the buffers that a module has: `self.register_buffer("order", order)`."""
    if not isinstance(store.owner, Obj):
        return set()
    named = {
        call[3][0][1]
        for function in store.frame.unit.facts.functions
        if "register_buffer" in function.calls
        for call in calls(function.body)
        if last_name(call[2]) == "register_buffer" and call[3] and call[3][0][0] == m.CONST
    }
    values = (value for key, value in store.owner.fields.items() if key in named)
    return {atom.node for value in values for atom in value if type(atom) is Tensor}


def check(evidence: Evidence) -> Iterator[Report]:
    spoken = list(of_code(evidence, code))
    last = {_place(retention): retention.store for retention, _ in sorted(spoken, key=lambda one: one[0].store)}
    for retention, confidence in spoken:
        holder = retention.holder
        if not retention.growing and retention.store != last[_place(retention)]:
            continue  # bound again right away
        if not retention.growing and file_of(retention.store) != file_of(retention.site):
            if not (retention.hook and retention.how == "keyed"):
                continue  # the affair of the file that has the module
            retention = retention._replace(led=True)  # which may put the hook on modules as well, and then says it
        if not retention.growing and _is_made_of_weights(evidence, retention):
            continue
        if retention.growing:
            stays = f"{cost(retention)} {until(holder)}"
        else:
            stays = "the last graph stays until the next call"
        message = f"{place(holder)} keeps an activation with its graph between calls: {stays}; store `.detach()`"
        if is_record(retention):
            message = (
                f"{place(holder)} keeps the best value so far with its graph and all activations, though only its "
                "number is asked for; store `.item()` or `.detach()`"
            )
        release = "store `value.detach()`, or reset the attribute to `None` when it has been used"
        remedy = detach(evidence, retention)
        yield report(retention, confidence, message, "activation with its graph", release, remedy=remedy)
    for left in left_by_hooks(evidence.machine, evidence.releases):
        yield Report(
            site=left.site,
            message=(
                f"`{left.module}.{left.attribute}` stays on each module when the hook has been removed, with what the "
                "last pass gave, as long as the module lives; delete it where the hooks are removed"
            ),
            confidence=Confidence.MEDIUM,
            value="the activation of the last pass",
            holder="the modules that the hook ran on",
            release=f"`del {left.module}.{left.attribute}` where the hooks are removed",
        )
    for packed in never_unpacked(evidence.facts):
        yield Report(
            site=packed.site,
            message=(
                f"`{packed.table}` gives an activation back when its node runs backward: those of graphs that never do "
                "stay for all steps that follow; clear the table where the context is entered or left"
                if packed.taken
                else f"`{packed.table}` gains every activation that is packed, and nothing takes one out: those of all "
                "steps stay; take it out where it is unpacked, and clear the table where the context is entered"
            ),
            confidence=Confidence.MEDIUM,
            value="the activations of graphs that never run backward",
            holder=packed.table,
            release=f"`{packed.table}.clear()` where the context is entered or left",
            retains=Retains.GROWING,
        )
    for waiting in evidence.across(never_taken, own=("register_full_backward_hook",)):
        yield Report(
            site=waiting.site,
            message=(
                f"`{waiting.place}` gains an entry with each pass and only a backward hook takes one out: what passes "
                "without a backward leave, as in an evaluation, stays; add nothing where `torch.is_grad_enabled()` is "
                "false, or clear it before each step"
            ),
            confidence=Confidence.MEDIUM,
            value="the activations of passes without a backward",
            holder=waiting.place,
            release=f"`{waiting.place}.clear()` before each step, or `if torch.is_grad_enabled()` around the addition",
            retains=Retains.GROWING,
        )
