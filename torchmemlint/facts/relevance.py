"""Which functions are worth running: those that a rule could speak about, and what leads to them."""

from __future__ import annotations

from . import knowledge
from . import model as m
from .model import FileFacts, FunctionFacts

# What makes a function worth a run of its own: it changes what others hold, or says how gradients are to be kept.
_SINKS = (
    m.GROWS
    | m.KEEPS
    | m.BACKWARD
    | m.HOOKS
    | m.THREADS
    | m.RECORDS
    | m.DISCARDS
    | m.MODE
    | m.RELEASES
    | m.EVALUATES
    | m.HOLDS
)
# A graph that only locals keep matters while the function trains or evaluates, itself or through what it calls.
_DRIVES = m.BACKWARD | m.EVALUATES | m.MODE | m.HOOKS | m.THREADS


def worth_running(facts: FileFacts) -> set[int]:
    """The functions that a rule could speak about: with a sink of their own, or calling one by that name."""
    worth = {i for i, function in enumerate(facts.functions) if function.flags & _SINKS or _evaluation(function)}
    driving = {i for i, function in enumerate(facts.functions) if function.flags & _DRIVES or _evaluation(function)}
    _add_callers(facts, driving)
    worth |= {i for i in driving if facts.functions[i].flags & m.LOCAL}
    _add_callers(facts, worth)
    return worth


def _add_callers(facts: FileFacts, chosen: set[int]) -> None:
    """Add all functions that call a chosen one by its name, or that it is defined in."""
    callers: dict[str, list[int]] = {}
    outer: dict[int, int] = {}
    for index, function in enumerate(facts.functions):
        for name in function.calls:
            callers.setdefault(name, []).append(index)
        for inner in function.inner:
            outer[inner] = index
    queue = list(chosen)
    while queue:
        index = queue.pop()
        found = callers.pop(facts.functions[index].name, [])
        if index in outer:
            found.append(outer[index])
        for caller in found:
            if caller not in chosen:
                chosen.add(caller)
                queue.append(caller)


def _evaluation(function: FunctionFacts) -> bool:
    name = function.name.lower()
    return any(word in name for word in knowledge.EVALUATION_WORDS) and bool(function.calls)
