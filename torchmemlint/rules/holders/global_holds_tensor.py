"""A container of the module gains tensors while the program runs.

## What it does
Reports functions and methods that append a tensor or a model to a list, set or
dict that the module made, or store one there under a key that keeps changing,
where nothing in the file ever empties it. The container may be reached through
`global`, through a helper, or through an object that the module made, such as
an application of FastAPI or Flask, `app.state.results`. What is put there may
get its tensors later: a job that is filed first, and done then.
So are tables of the layers or parameters of a model that a function is given,
`NAMES = {module: name for name, module in model.named_modules()}`; and tables
of what is under way, whose entry goes only if the wait for it ends well, or
what `__enter__` puts there before a check in it raises, since `__exit__` is not
called then; and tables that get an array, or what a file held, for every path,
prompt or user that a function is asked for:
`SOUNDS[path] = librosa.load(path)`.
And an object of the module that keeps what it was given last, a sampler, a
pipeline, when the owner of the model in it lets go of that model to have the
memory back. And a method that changes the module's `DEFAULT` and gives it back,
where those beside it make a new object: `options.with_late(device=lambda:
model.device)` leaves the model in what is everybody's default.

## Why it retains
A module lives in `sys.modules` until the interpreter exits, and its globals
live with it. What they collect is never freed, in any thread or request, also
when all that worked with it is long gone. A table whose keys are parameters
keeps the last model, with its gradients and all that is attached to them.

## When it is fine
- It is filled once, while the module is imported or something is set up.
- The keys are few by their nature (names, shapes, dtypes), or the size is
  tested where it is filled.
- Something clears, pops or replaces it: in sight of the loop that fills it a
  function that nobody calls does not count, nor does an eviction that waits for
  the length of another container.

## How to release it
Give the container to the object or the call that needs it, so that it goes with
it; or bound it and evict. Key a table by `id(module)`, keep the name on the
module, or take a `weakref.WeakKeyDictionary`.

## References
- Python documentation, "The import system": `sys.modules` keeps every module.
- Bytes per call: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.held_elsewhere import held_elsewhere
from ...facts.model import statement_of
from ...finding import Confidence, Retains
from ...lexical.changed_in_place import ChangedInPlace, changed_in_place
from ...lexical.model_tables import model_tables
from .. import Report
from ..kept import of_code
from ..wording import each, left_by_refusals, left_pending, limit, loaded, report, what

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML301"
name = "global-holds-tensor"
retains: Retains | None = Retains.GROWING
general = True  # a rule that says why it grows comes first


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        if retention.function == "<module>":
            continue  # a script's or notebook's own results: its whole body is one function
        message = (
            f"the module's `{retention.holder.text}` gains {what(retention)} {each(retention)} and nothing removes "
            "them: they stay for the rest of the process; pass the container in, or bound it"
        )
        release = "let the object or call that needs the values own the container, or bound it and evict"
        yield report(retention, confidence, message, release, limit(retention))
    for table in model_tables(evidence.program):
        yield Report(
            site=table.site,
            message=(
                f"the module's `{table.table}` keeps every part of `{table.model}`, and nothing empties it: the model "
                "stays for the rest of the process; refer to its parts weakly, or clear the table with the model"
            ),
            confidence=Confidence.MEDIUM,
            value=f"`{table.model}` with all of its parameters",
            holder=f"the global {table.table}",
            release="keep names on the modules, or refer to these weakly",
            retains=Retains.HELD,
        )
    for held in held_elsewhere(evidence.machine, evidence.program):
        yield Report(
            site=held.site,
            message=(
                f"`{held.holder}` keeps what it got last, and with it the model that `{held.dropped}` lets go of: it "
                "stays until the next one comes; keep only what is needed of it, or let go of it together with the "
                "model"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the model that `{held.dropped}` lets go of",
            holder=held.holder,
            release="keep only what is needed of it, or let go of it together with the model",
            related=((held.drop, "the model goes here"),),
            retains=Retains.HELD,
        )
    yield from loaded(evidence, of_class=False)
    yield from left_pending(evidence, everywhere=True)
    yield from left_by_refusals(evidence, "global")
    growing = (retention for retention in evidence.retentions if retention.growing)
    said = {statement_of(site) for retention in growing for site in (retention.store, retention.site)}
    for one in changed_in_place(evidence.program, evidence.class_of_imported):
        if statement_of(one.site) not in said:
            yield _in_place(one)


def _in_place(one: ChangedInPlace) -> Report:
    beside = f", as `{one.anew}` does" if one.anew else ""
    return Report(
        site=one.site,
        message=(
            f"`{one.method}` changes its object and gives it back: called on the module's `{one.shared}`, it leaves "
            f"there what refers to `{one.what}`, which so outlives the call; make a new object{beside}"
        ),
        confidence=Confidence.MEDIUM,
        value=f"`{one.what}`",
        holder=f"the global {one.shared}",
        release=f"make a new object in `{one.method}`, and change that",
        retains=Retains.GROWING if one.grows else Retains.HELD,
        related=((one.other, "called here" if one.own else "changed here"),),
    )
