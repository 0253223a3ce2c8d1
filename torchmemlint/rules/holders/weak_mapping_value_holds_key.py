"""A weak mapping's value refers to its key, so the key never goes.

## What it does
Reports `cache[model] = Wrapper(model)`, `cache[model] = partial(run, model)`
and the like where `cache` is a `WeakKeyDictionary`, or a dictionary with weak
references as keys whose callback takes them out. And `cache[x] = x.to(device)`,
unless something asks whether the two are the same: where there is nothing to
do, `to` gives `x` itself.

## Why it retains
A `WeakKeyDictionary` drops an entry when nothing refers to the key any more. It
refers to its values strongly. A value that refers to the key keeps it alive,
and with it the entry: the mapping is as strong as an ordinary dict.

## When it is fine
- The value is made from the key, and does not refer to it.
- It refers to the key weakly.

## How to release it
Keep `weakref.ref(key)` in the value, or what is needed of the key.

## References
- Python documentation, `weakref.WeakKeyDictionary`.
- Bytes per entry: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML316"
name = "weak-mapping-value-holds-key"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("weak-held"):
        yield Report(
            site=note.site,
            message=(
                "the value refers to its key: this weak mapping keeps both, as an ordinary dict would, for as long as "
                "it lives; let the value refer to the key weakly"
            ),
            confidence=Confidence.MEDIUM,
            value="keys and values",
            holder="the weak mapping",
            release="`weakref.ref(key)` in the value, or only what is needed of the key",
        )
    for note in evidence.plain("weak-itself"):
        yield Report(
            site=note.site,
            message=(
                "the value may be its own key, a conversion gives the very same tensor where there is nothing to do: "
                "this weak mapping then keeps it for as long as it lives; store it only if it `is not` the key"
            ),
            confidence=Confidence.MEDIUM,
            value="keys that are their own values",
            holder="the weak mapping",
            release="store the value only if it `is not` the key",
        )
