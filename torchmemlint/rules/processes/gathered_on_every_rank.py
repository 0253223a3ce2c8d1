"""Every rank gathers what only one of them reads.

## What it does
Reports `all_gather_object(results, ...)` and `all_gather(results, ...)` whose
result is read under `if rank == 0:` (`is_main_process`, after `if rank != 0:
return`) and nowhere else, also where a helper returns it, a method
puts it on its object, or one rank reads what a method computes of it. So is the
whole state of a sharded model that one rank saves, and that the settings give
to all, `FullStateDictConfig()` or `StateDictOptions(full_state_dict=True)`.
And a context manager that gathers sharded parameters, and whose `__exit__`
returns before it has partitioned them again, under a condition that it did not
gather them under.

## Why it retains
Each rank makes a list of what all ranks have: with 8 ranks there are 8 copies
of the whole evaluation set's results, on one machine, and seven of them are
never read. They stay until the function returns. A parameter that stays whole
after it was read is held by every rank, and so is the next.

## When it is fine
- Every rank reads the result, or reduces it to a number that it needs.
- The gathered values are small: a count, a loss.
- They are tensors of one batch, of which one rank takes what it needs before
  the next: no rank keeps more than that batch.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
Gather to one rank, `gather_object(mine, everything if rank == 0 else None,
dst=0)`, or reduce what is needed before it is sent. Of a sharded model, let the
settings say so: `FullStateDictConfig(offload_to_cpu=True, rank0_only=True)`,
`StateDictOptions(full_state_dict=True, cpu_offload=True)`.

## References
- PyTorch documentation, "torch.distributed": `gather_object` "gathers
  picklable objects from the whole group in a single process",
  `all_gather_object` "into a list" on each.
- What the other ranks keep: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.early_exit import early_exits
from ...lexical.kept_gathers import kept_by_all
from ...lexical.ranks import needed_by_one
from ...lexical.whole_states import whole_states
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML410"
name = "gathered-on-every-rank"
retains: Retains | None = Retains.HELD
of_tests = False


def check(evidence: Evidence) -> Iterator[Report]:
    program = evidence.program
    gathered = list(needed_by_one(evidence.reaching))
    known = {found.read for found in gathered}
    gathered += [found for found in kept_by_all(program, evidence.reaching) if found.read not in known]
    for found in gathered:
        one = "gather_object" if found.call.endswith("object") else "gather"
        yield Report(
            site=found.site,
            message=(
                f"every rank keeps a copy of all ranks' results in `{found.name}`, and only one of them reads it; "
                f"use `{one}(..., dst=0)`, or reduce before it is sent"
            ),
            confidence=Confidence.MEDIUM,
            value="the results of all ranks, on each rank",
            holder=found.name,
            release=f"`{one}(..., dst=0)`: the other ranks pass `None`",
            related=((found.read, "read on one rank only"),),
        )
    for state in whole_states(program):
        yield Report(
            site=state.site,
            message=(
                f"every rank gathers the whole state of the model in `{state.name}`, and only one of them reads it; "
                f"with `{state.switch}=True` the others get none"
            ),
            confidence=Confidence.MEDIUM,
            value="the whole state of the model, on each rank",
            holder=state.name,
            release=f"`{state.switch}=True`",
            related=((state.read, "read on one rank only"),),
        )
    for early in early_exits(program):
        if early.what == "parameters":
            yield Report(
                site=early.site,
                message=(
                    "`__enter__` gathers the parameters whatever this asks, and here `__exit__` returns before they "
                    "are partitioned again: every rank keeps them whole; let go of them first"
                ),
                confidence=Confidence.MEDIUM,
                value="whole parameters, on each rank",
                holder="the parameters",
                release="partition what was gathered before anything in `__exit__` returns",
                related=((early.done, "gathered here"), (early.undone, "partitioned here")),
            )
