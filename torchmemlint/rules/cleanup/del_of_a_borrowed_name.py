"""A name is deleted to free memory, while the caller still binds the object.

## What it does
Reports `del p`, or `p = None`, of a parameter, or of what a context manager has
yielded, in a function that then collects or empties the cache, while the caller
goes on binding the object under a name of its own. The same for the variable of
a loop over a parameter or a container that the function leaves as it is, `for
item in self.items: del item`, or over what the loop itself names, `for part in
(self.encoder, self.decoder): part = None`. For a model that was taken out of a
container, `model = models[i]`, for an attribute that was asked for by its name,
`part = getattr(self, name)`, and for `del items` of `*items`, which is a tuple
of the function's own. Where the function is another file's, the call is named
that leaves a name bound. For `model = None` of a global in a function that does
not say `global model`. And for the parts of a model that a loop moves to a
device one after the other, `block = block.to(device)`, and then deletes the
name of instead of moving them back.

## Why it retains
`del` removes a name, not an object. The object lives as long as anything
refers to it: the caller's variable, the `as` name of the `with` statement
(which stays bound after the block), an attribute. So nothing is freed, and the
`empty_cache()` that follows has nothing to give back.

## When it is fine
- The parameter was the last reference: the caller passed a temporary, or
  deletes its own name at once.
- The name is deleted for other reasons: no clean-up follows.

## How to release it
Delete the caller's name, in the caller: `del model`, then collect and empty the
cache; or hand over the owner (`release(trainer)` that sets `trainer.model =
None`).

## References
- PyTorch documentation, `torch.nn.Module.to`: "This method modifies the module
  in-place."
- Python documentation, "The del statement": deletion of a name "removes the
  binding of that name"; "The with statement".
- What is alive after the clean-up: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.borrowed import borrowed, borrowed_by_helpers
from ...lexical.moved_parts import moved_parts
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML602"
name = "del-of-a-borrowed-name"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    for part in moved_parts(evidence.program):
        yield Report(
            site=part.site,
            message=(
                f"this removes the name `{part.name}` and frees nothing: it is a part of `{part.whole}` and stays on "
                "the device that this round has moved it to, as those of all rounds do; move it back, "
                f"`{part.name}.cpu()`, first"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the weights of every `{part.name}`",
            holder=part.whole,
            release=f"`{part.name}.cpu()` before the name goes",
            related=((part.moved, "moved here"),),
        )
    for slip in borrowed_by_helpers(evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.kind}` deletes a name of its own and frees nothing: this function still binds the object as "
                f"`{slip.name}`; `del {slip.name}` here, and then collect and empty the cache"
            ),
            confidence=Confidence(slip.weight),
            value=f"what `{slip.name}` refers to",
            holder=slip.name,
            release=f"`del {slip.name}` here, then collect and empty the cache",
            related=((slip.other, "only this name goes"),),
        )
    for slip in evidence.across(borrowed, "empty_cache", levels=1):
        if slip.kind == "global":
            yield Report(
                site=slip.site,
                message=(
                    f"this binds a name of the function and frees nothing: the global `{slip.name}` stays as it is; "
                    f"say `global {slip.name}` first"
                ),
                confidence=Confidence(slip.weight),
                value=f"what the global `{slip.name}` refers to",
                holder=slip.name,
                release=f"`global {slip.name}` at the top of the function",
            )
            continue
        container = slip.kind.removeprefix("in ") if slip.kind.startswith("in ") else ""
        if container:
            who = f"`{container}` still holds it"
        elif slip.kind == "yielded":
            who = "the `with` block's own name for it stays bound, also after the block"
        elif slip.kind:
            who = f"the caller still binds it as `{slip.kind}`"
        else:
            who = "whoever calls this still binds it"
        yield Report(
            site=slip.site,
            message=(
                f"this removes the name `{slip.name}` and frees nothing: {who}; drop the reference there, and then "
                "collect and empty the cache"
            ),
            confidence=Confidence(slip.weight),
            value=f"what `{slip.name}` refers to",
            holder=container or (slip.kind if slip.kind not in ("", "yielded") else slip.name),
            release=f"`{container}.clear()`"
            if container
            else "delete the name in the caller, which is the last to bind it",
            related=((slip.other, "handed out here" if slip.kind == "yielded" else "passed here"),)
            if slip.other >= 0
            else (),
        )
