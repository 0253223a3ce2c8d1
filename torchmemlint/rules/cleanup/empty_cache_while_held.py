"""The cache is emptied while something still holds what was to be freed.

## What it does
Reports a clean-up that deletes a model and empties the cache while an optimizer
made from the model's parameters, a scheduler made around that, or an object
that the model was given to, is still bound beside it, not used again or for
nothing that would read the model; an `empty_cache()` that comes before the
`del` of the same clean-up, or before its last step, which takes a model out of
an attribute or a table; and one in a function that has still bound what a model
computed, or an array of CuPy, does not use it again, and goes on to do more
work; or a round's model, or what has it, while the next round of the loop makes
its own; or the model of an attribute, which is bound to the next one only
below, or above, so that both are there while it is made. And `del encoders` of
a list whose models still have names of their own, which nothing needs in this
case. An `empty_cache()` in an `except` clause, where the next round of the loop
tries again: the traceback still holds the frames of the failed attempt. And a
model that an attribute lets go of, where another attribute of the object holds
it too, or replaces, where a whole beside it was made with the one before; or a
global, where another global of its module is an object that has it. And an
attribute that a run sets as it sets others, where the teardown at its end lets
go of those, empties the cache, and forgets this one; or that `load()` sets, and
`unload()` forgets in the same way. And a model that `setup()` makes, where
`teardown()` empties the cache and lets go of nothing at all; or an object of
which `cleanup()` takes one part out, and leaves its attribute with the rest.
And a table of models that is cleared, where an attribute still has what was
made around the last of them.

## Why it retains
An optimizer refers to every parameter and, after its first step, to moments of
the same size. `del model` leaves all of that alive: of a model trained with
Adam parameters, gradients and both moments stay, that is everything.
`empty_cache()` gives back only blocks that no tensor uses when it is called;
what is deleted afterwards stays reserved, and a local that nobody reads any
more is alive until the function returns or binds the name again.

## When it is fine
- The optimizer and the scheduler are dropped as well.
- Another `empty_cache()` follows the `del`.
- The function returns right after it has emptied the cache.
- The clean-up lets go of a model, and a result without a graph is left beside
  it: it gives back what was meant (low confidence).
- The cache is emptied below the clause, when the exception is gone.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
Drop everything that refers to the parameters first, `del model, optimizer,
scheduler`, then collect, then empty the cache.

## References
- PyTorch documentation, `torch.optim.Optimizer.param_groups`;
  `torch.cuda.empty_cache`.
- What is alive when the cache is emptied: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.cleared_tables import held_after_clearing
from ...evidence.emptied import bound_while_emptied, emptied_while_held
from ...evidence.forgotten import forgotten, undone
from ...evidence.given_parts import held_by_locals, held_by_parts
from ...evidence.held_elsewhere import held_elsewhere
from ...evidence.left_loaded import left_loaded
from ...evidence.next_rounds import left_for_next_round
from ...evidence.part_torn_down import parts_torn_down
from ...evidence.replaced_models import replaced_models
from ...evidence.stand_ins import held_by_wholes
from ...evidence.still_held import still_held, still_held_beside, still_held_by_globals
from ...facts.program import EMPTIES
from ...finding import Confidence, Remedy, Retains
from ...lexical.retries import emptied_in_clauses
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Site

code = "TML604"
name = "empty-cache-while-held"
retains: Retains | None = Retains.HELD
of_tests = False


def check(evidence: Evidence) -> Iterator[Report]:
    reported: set[Site] = set()
    for slip in evidence.across(emptied_while_held, "empty_cache", levels=1):
        reported.add(slip.site)
        if slip.kind == "order":
            yield Report(
                site=slip.site,
                message=(
                    f"the cache is emptied while `{slip.name}` is still bound, so its memory stays reserved: delete it "
                    "first and call `empty_cache()` last"
                ),
                confidence=Confidence(slip.weight),
                retains=Retains.CACHED,
                value=f"the memory of `{slip.name}`",
                holder=slip.name,
                release="`del` first, `empty_cache()` last",
                related=((slip.other, "deleted only here"),),
                remedy=Remedy("move-last", slip.name) if "." not in slip.name else None,
            )
            continue
        if slip.kind.startswith("parts:"):
            parts = slip.kind.removeprefix("parts:")
            yield Report(
                site=slip.site,
                message=(
                    f"this removes the container `{slip.name}` and frees nothing: `{parts}` still bind what was in it; "
                    f"`del {parts}` as well, before the cache is emptied"
                ),
                confidence=Confidence(slip.weight),
                value=f"what was in `{slip.name}`",
                holder=parts.split(", ")[0],
                release=f"`del {parts}` as well, before the cache is emptied",
                related=((slip.other, "put in here"),),
            )
            continue
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.kind}` still refers to every parameter of `{slip.name}` and to its own state of that size, so "
                f"emptying the cache gives none of it back; drop `{slip.kind}` too"
            ),
            confidence=Confidence(slip.weight),
            value=f"parameters of `{slip.name}` and the optimizer's state",
            holder=slip.kind,
            release=f"drop `{slip.kind}` as well, before the cache is emptied",
            related=((slip.other, "made from the parameters here"),),
            remedy=Remedy("drop-also", slip.kind, sure=False),
        )
    by_text = evidence.across(held_by_locals, own=EMPTIES)
    for held in (*still_held(evidence.machine, evidence.program), *by_text):
        if held.site in reported:
            continue
        reported.add(held.site)
        names = ", ".join(held.holders)
        yield Report(
            site=held.site,
            message=(
                f"`{names}` still holds what `{held.name}` stood for and is not used again, so emptying the cache "
                f"gives none of it back; drop `{names}` too"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the parameters of `{held.name}`",
            holder=held.holders[0],
            release=f"drop `{names}` as well, before the cache is emptied",
            related=((held.bound, "bound here"),),
            remedy=Remedy("drop-also", names, sure=False) if "." not in names else None,
        )
    by_globals = list(still_held_by_globals(evidence.machine, evidence.program))
    if by_globals:  # TML301 speaks of what an object was given after it was made, where it was given
        given = {one.drop for one in held_elsewhere(evidence.machine, evidence.program) if one.site != one.drop}
        by_globals = [one for one in by_globals if one.site not in given]
    by_text = evidence.across(held_by_parts, own=EMPTIES)
    for held in (*still_held_beside(evidence.machine, evidence.program), *by_globals, *by_text):
        if held.site not in reported:
            reported.add(held.site)
            names = ", ".join(held.holders)
            yield Report(
                site=held.site,
                message=(
                    f"`{held.name}` goes but `{names}` still holds the model, so what is freed here is nothing of it; "
                    f"let go of `{names}` as well"
                ),
                confidence=Confidence.MEDIUM,
                value=f"the parameters of `{held.name}`",
                holder=held.holders[0],
                release=f"let go of `{names}` as well, before the cache is emptied",
            )
    for held in held_after_clearing(evidence.machine, evidence.program):
        if held.site not in reported:
            reported.add(held.site)
            names = ", ".join(held.holders)
            yield Report(
                site=held.site,
                message=(
                    f"the table lets go of its models but `{names}` was made around one of them and still has it, so "
                    f"emptying the cache gives none of that one back; let go of `{names}` as well"
                ),
                confidence=Confidence.MEDIUM,
                value="the parameters of one of the models",
                holder=held.holders[0],
                release=f"let go of `{names}` as well, before the cache is emptied",
            )
    for held in held_by_wholes(evidence.machine, evidence.program):
        names = ", ".join(held.holders)
        yield Report(
            site=held.site,
            message=(
                f"`{held.name}` gets another one here but `{names}` still has the model before, which stays there when "
                f"the cache is emptied; give `{names}` the new one as well, or let go of it"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the parameters that `{held.name}` had before",
            holder=held.holders[0],
            release=f"give `{names}` the new one as well, or let go of it",
        )
    for function in evidence.facts.functions if "empty_cache" in evidence.program.called else ():
        for site in emptied_in_clauses(evidence.program, function):
            yield Report(
                site=site,
                message=(
                    "the cache is emptied inside `except`, where the traceback still keeps every frame of the failed "
                    "attempt with its tensors: their memory stays reserved while the next round tries again; note in "
                    "the clause that it failed, and empty the cache below it"
                ),
                confidence=Confidence.MEDIUM,
                retains=Retains.CACHED,
                value="the frames of the failed attempt",
                holder="the exception's traceback",
                release="note in the clause that it failed, and empty the cache below it",
            )
    in_runs = forgotten(evidence.machine, evidence.program)
    for left in (*in_runs, *left_loaded(evidence.machine, evidence.program)):
        freed = ", ".join(f"self.{name}" for name in left.freed[:3])
        yield Report(
            site=left.site,
            message=(
                f"`{left.attribute}` is set as `{freed}` is, but `{left.teardown}()` does not let go of it, so the "
                f"{left.what} stays with the object; let go of it there, too"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the {left.what}",
            holder=left.attribute,
            release=f"let go of it in `{left.teardown}()` as well",
            related=((left.at, "the others go here"),),
        )
    for one in undone(evidence.machine, evidence.program):
        yield Report(
            site=one.site,
            message=(
                f"`{one.teardown}()` empties the cache while `self.{one.attribute}`, which `{one.setup}()` made, is "
                f"still bound, so nothing of the {one.what} is freed; `del self.{one.attribute}` first"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the {one.what}",
            holder=f"self.{one.attribute}",
            release=f"`del self.{one.attribute}` before the cache is emptied",
            related=((one.made, "made here"),),
        )
    for left_over in parts_torn_down(evidence.machine, evidence.program):
        yield Report(
            site=left_over.site,
            message=(
                f"`{left_over.method}()` takes `{left_over.part}` out, and `{left_over.attribute}` goes on holding the "
                f"rest, as `{left_over.rest}`, of which emptying the cache gives nothing back; "
                f"let go of `{left_over.attribute}` first"
            ),
            confidence=Confidence.MEDIUM,
            value=f"`{left_over.rest}` of `{left_over.attribute}`",
            holder=left_over.attribute,
            release=f"`{left_over.attribute} = None` before the cache is emptied",
            related=((left_over.gone, "only this part goes"),),
        )
    for old in replaced_models(evidence.machine, evidence.program):
        if old.late is not None:
            yield Report(
                site=old.site,
                message=(
                    f"the next model is made while `{old.holder}` still has the one before: both are there until it is "
                    "bound, and emptying the cache afterwards is too late for that; let go of it first"
                ),
                confidence=Confidence.MEDIUM,
                retains=Retains.PEAK,
                value="the parameters of the model before",
                holder=old.holder,
                release=f"`{old.holder} = None` and `empty_cache()` before the next one is made",
                related=((old.late, "emptied only here"),),
            )
        elif old.site not in reported:
            yield Report(
                site=old.site,
                message=(
                    f"`{old.holder}` still has the model that the next one is to replace, so emptying the cache gives "
                    f"none of it back, and both are there while that is made; let go of it first"
                ),
                confidence=Confidence.MEDIUM,
                value="the parameters of the model before",
                holder=old.holder,
                release=f"`{old.holder} = None` before the cache is emptied",
                related=((old.bound, "replaced only here"),),
            )
    for slip in left_for_next_round(evidence.machine, evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.name}` of this round: still bound, so emptying the cache gives none of its memory back, and "
                f"the next round makes its own beside it; `del {slip.name}` first"
            ),
            confidence=Confidence(slip.weight),
            value=f"the {'memory' if slip.kind == 'arrays' else 'parameters'} of `{slip.name}`",
            holder=slip.name.split(", ")[0],
            release=f"`del {slip.name}` before the cache is emptied",
            related=((slip.other, "bound here, until the next round binds it again"),),
        )
    for slip in bound_while_emptied(evidence.machine, evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.name}`: bound here and not used again, so emptying the cache gives none of its memory back, "
                f"while more work follows; `del {slip.name}` first"
            ),
            confidence=Confidence(slip.weight),
            value=f"the memory of `{slip.name}`",
            holder=slip.name.split(", ")[0],
            release=f"`del {slip.name}` before the cache is emptied",
            related=((slip.other, "bound here"),) if slip.other >= 0 else (),
        )
