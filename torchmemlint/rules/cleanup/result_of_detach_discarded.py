"""A call that returns a new tensor stands alone, so nothing changes.

## What it does
Reports `x.detach()`, `x.cpu()`, `x.to("cpu")`, `x.half()` and similar calls on
a tensor as statements of their own. And a loop that binds its own name to the
detached item, `for h in hidden: h = h.detach()`, and does not use it.

## Why it retains
It keeps nothing by itself: it does not release what it was written to release.
These methods return a new tensor and leave the receiver as it is. After
`loss.detach()` the name `loss` still carries its graph; after `x.cpu()` the
name `x` still lives on the device. A loop's name is only a name: to bind it
anew changes nothing in the list, and a state that is to be cut off goes on with
the graph of all that was before.

## When it is fine
- The receiver is a module: `model.cpu()`, `model.to(device)` and
  `model.half()` work in place.
- The in-place form is used: `loss.detach_()`.
- The call is made for its side effect: a copy that a benchmark repeats, or one
  to each device in turn. `x.clone()` alone is no release in anybody's mind.

## How to release it
Assign the result: `loss = loss.detach()`, `x = x.cpu()`; of a list:
`hidden = [h.detach() for h in hidden]`, or `h.detach_()` in the loop; of the
parameters of a module: `p.data = p.data.to(device)`, or `model.to(device)`.

## References
- PyTorch documentation, `torch.Tensor.detach`, `torch.Tensor.cpu`,
  `torch.Tensor.to` ("Returns ...") and `torch.nn.Module.to` ("modifies the
  module in-place").
- That the tensor is unchanged: asserted by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.program import names_in
from ...facts.walk import expressions_of, last_name, loops, nodes, statements
from ...finding import Confidence, Remedy
from ...lexical.rebound_items import rebound_items
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Stmt
    from ...finding import Retains
    from ...interpreter.events import Plain

code = "TML605"
name = "result-of-detach-discarded"
retains: Retains | None = None
_OF_TORCH = (m.ATTR, (m.NAME, "torch"))  # a data type
_STATES = ("parameters", "named_parameters", "buffers", "named_buffers")
_FAILS = ("raises", "assertRaises", "assertRaisesRegex", "suppress")


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("discarded"):
        method, name, seen = note.detail
        if method == "clone" or _is_to_fail(note) or _is_made_for_itself(note):
            continue
        bound_anew = _instead_in_a_loop(note, name, method)
        release = bound_anew or f"`{name} = {name}.{method}(...)`"
        yield Report(
            site=note.site,
            message=(
                f"the result of `{name}.{method}()` is dropped and `{name}` itself is unchanged: nothing is "
                f"released; write {release}"
            ),
            confidence=Confidence.HIGH if seen else Confidence.MEDIUM,
            release=release,
            remedy=None if bound_anew else Remedy("assign-result", sure=False),
        )
    for item in rebound_items(evidence.program):
        whole = item.container or "what the loop goes through"
        yield Report(
            site=item.site,
            message=(
                f"`{item.name}` is a name of the loop and is not used again: `{whole}` keeps its tensors with their "
                f"graph; make a new list, `[{item.name}.detach() for {item.name} in ...]`, or call "
                f"`{item.name}.detach_()`"
            ),
            confidence=Confidence.HIGH,
            release=f"`[{item.name}.detach() for {item.name} in ...]`, or `{item.name}.detach_()`",
        )


def _instead_in_a_loop(note: Plain, name: str, method: str) -> str:
    """What to write where a loop's own name would be bound anew, and not used again, which changes nothing either."""
    for loop, inside in loops(note.frame.facts.body):
        if loop[0] != m.FOR or name not in names_in(loop[2]) or all(one[1] != note.site for one in inside):
            continue
        if any((m.NAME, name) in expressions_of(one) for one in inside if one[1] > note.site):
            return ""
        if _over_states(loop):
            return f"`{name}.data = {name}.data.{method}(...)`"
        return f"a new list, `[{name}.{method}(...) for {name} in ...]`"
    return ""


def _over_states(loop: Stmt) -> bool:
    """`for p in model.parameters()`"""
    return any(last_name(node) in _STATES for node in nodes(loop[3]) if node[0] == m.CALL)


def _is_to_fail(note: Plain) -> bool:
    """`with pytest.raises(RuntimeError): x.numpy()`; `try: x.to(torch.float16)`, whether the device can do that."""
    for one in statements(note.frame.facts.body):
        fails = one[0] == m.WITH and any(last_name(context) in _FAILS for context, _ in one[2])
        if fails and any(inner[1] == note.site for inner in statements(one[3])):
            return True
        if one[0] == m.TRY and one[3]:
            tried = (inner[2] for inner in statements(one[2]) if inner[0] == m.EXPR and inner[1] == note.site)
            if any(given[:2] == _OF_TORCH for call in tried for given in call[3]):
                return True
    return False


def _is_made_for_itself(note: Plain) -> bool:
    """`for _ in range(100): x.cpu()`, what a benchmark does; `for i in range(gpus): x.to(f"cuda:{i}")`, what opens the
    way to each device: rounds that change nothing of `x`, and ask nothing of it."""
    for loop, inside in loops(note.frame.facts.body):
        if loop[0] == m.FOR and any(one[1] == note.site for one in loop[4]):
            call = next(one[2] for one in loop[4] if one[1] == note.site)
            receiver = call
            while receiver[0] == m.CALL and receiver[2][0] == m.ATTR:
                receiver = receiver[2][1]
            if _over_states(loop):
                return False
            used = sum(node == receiver for one in inside for node in expressions_of(one))
            repeated = all(_is_wait(one) or one[1] == note.site for one in loop[4])
            given = (*call[3], *(value for _, value in call[4]))
            in_turn = not names_in(loop[2]).isdisjoint(name for one in given for name in names_in(one))
            return used == 1 and (repeated or in_turn)
    return False


def _is_wait(statement: Stmt) -> bool:
    """`torch.cuda.synchronize()`"""
    return statement[0] == m.EXPR and last_name(statement[2]) == "synchronize"
