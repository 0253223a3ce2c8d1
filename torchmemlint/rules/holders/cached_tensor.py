"""A caching decorator keeps tensors, modules or the object itself as keys.

## What it does
Reports functions under `functools.lru_cache`, `functools.cache` or a decorator
of the project, a function or a class, that stores results in a dictionary of
its own and takes none out, where the key of an entry keeps something heavy:
`self` of an object with tensors, a model or agents, a parameter that is a
tensor, a module, or such an object. So are methods whose results are tensors: a
hundred entries or more keep these, and their object. So are caches without a
bound that keep a tensor, or what lies in a file, for each index, path or text
they were called with, and those that keep an array, an open file, or all that
`__getitem__` hands out, for each item of a data set, also around `__getitem__`
itself: every worker of a loader has a cache of its own.

## Why it retains
The cache belongs to the function and lives as long as the module. Each entry
owns its arguments and its result. `self` as a part of the key keeps the object
alive, with all that hangs from it, although its owner has dropped it; so does a
model that was passed in and unloaded since. `maxsize=1` still keeps the last
one. A tensor hashes by identity: only a call with the same object finds its
entry, so that the cache keeps each new tensor until it is full.

## When it is fine
- The key is made of numbers, strings, dtypes and devices: one entry for each
  shape that the program uses.
- The cache belongs to the object: an attribute that is computed once, or
  `functools.cached_property`.

## How to release it
Keep the value on the object (`cached_property`, an attribute); pass what the
function needs of it, an int or a string; or call `cache_clear()` where the
object goes.

## References
- Python documentation, "How do I cache method calls?": the cache keeps a
  reference to the instance.
- PyTorch documentation, `torch.Tensor`: hashing is by `id`.
- Bytes per object: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.caches import cached_by_calls, cached_functions
from ...evidence.kept import kept_by_workers
from ...facts.model import CALL, Site, file_of, statement_of
from ...facts.walk import last_name, statements
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML305"
name = "cached-tensor"
retains: Retains | None = Retains.GROWING
_A = {"tensor": "a tensor", "array": "an array", "handle": "an open file", "item": "an item of the data set"}


def check(evidence: Evidence) -> Iterator[Report]:
    cleared = any("cache_clear" in function.calls for function in evidence.facts.functions)
    said = set[Site]()
    for cached, place in (
        *((one, one.site) for one in cached_functions(evidence.machine)),
        *cached_by_calls(evidence.machine),
    ):
        if cached.site in said or (cached.result == "item" and _fills_workers(evidence, cached.name)):
            continue
        said.add(cached.site)
        entries = {-1: "every one that it was ever called with", 1: "the last one"}.get(
            cached.bound, f"up to {cached.bound} of them"
        )
        where = f"{cached.owner}.{cached.name}" if cached.owner else cached.name
        if not cached.kept:
            rest = f"as long as the {cached.owner} lives" if cached.of_object else "for the rest of the process"
            yield Report(
                site=cached.site,
                message=(
                    f"the cache of `{where}` has no bound and keeps {_A[cached.result]} for every `{cached.key}` "
                    f"that it was ever called with, {rest}; give it a `maxsize`, or let the caller keep them"
                ),
                confidence=Confidence(cached.weight - cleared),
                value=f"the {cached.result}s that it returned",
                holder=f"the cache of {where}",
                release="give the cache a `maxsize`, or compute the value each time",
            )
            continue
        yield Report(
            site=cached.site,
            message=(
                f"the cache of `{where}` has `{cached.key}` in its keys and keeps {cached.kept}: {entries}, "
                "for the rest of the process; cache on the object, or key by a number or string"
            ),
            confidence=Confidence(cached.weight - cleared),
            value=cached.kept,
            holder=f"the cache of {where}",
            release="cache on the object (`functools.cached_property`), or take a number or string as the key",
            retains=Retains.HELD if cached.bound == 1 else None,
            related=((place, "cached here"),) if place != cached.site else (),
            said_by=place if file_of(place) != file_of(cached.site) else None,
        )


def _fills_workers(evidence: Evidence, name: str) -> bool:
    """Whether TML404 speaks of the table of a decorator of this method, which the workers of a loader fill."""
    filled = {statement_of(kept.site) for kept in kept_by_workers(evidence.machine) if kept.context.kind == "loader"}
    functions = evidence.facts.functions
    named = (one for function in functions if function.name == name for one in function.decorators)
    wrapping = {last_name(one[2] if one[0] == CALL else one) for one in named}
    within = [one for one in functions if one.owner < 0 and one.name in wrapping] if filled else []
    for function in within:
        within += [functions[index] for index in function.inner]
    return any(statement_of(one[1]) in filled for function in within for one in statements(function.body))
