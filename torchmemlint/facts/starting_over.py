"""Functions that empty a place and then lead to what fills it: a run begins, `self.failed = []`, and what it puts there
stays when it has ended, until somebody begins another one."""

from __future__ import annotations

from collections.abc import Collection

from .model import CALLS_PER_STATEMENT, FileFacts, FunctionFacts, Site
from .walk import calls, in_loops, last_name

_DEEPEST = 3  # helpers of helpers


def starts_over(facts: FileFacts, name: str, sites: Collection[Site], filler: str) -> bool:
    """Whether the functions of this name that empty a place, at some of these statements, do so once, before they come
    to what fills it, and not afterwards."""
    emptying = [
        (function, own)
        for function in facts.functions
        if function.name == name and (own := [one for one in in_loops(function.body) if one[0][1] in sites])
    ]
    if not emptying or any(looped for _, own in emptying for _, looped in own):
        return False
    leading = _leading_to(facts, filler)
    return all(_comes_after(function, max(one[1] for one, _ in own), leading) for function, own in emptying)


def _comes_after(function: FunctionFacts, emptied: Site, leading: set[str]) -> bool:
    return not leading.isdisjoint(function.calls) and any(
        last_name(call[2]) in leading and call[1] >= emptied + CALLS_PER_STATEMENT for call in calls(function.body)
    )


def _leading_to(facts: FileFacts, filler: str) -> set[str]:
    """The functions that call one of this name, themselves or by helpers."""
    found = {filler}
    for _ in range(_DEEPEST):
        found |= {function.name for function in facts.functions if not found.isdisjoint(function.calls)}
    return found
