"""Which functions are worth running: those that a rule could speak about, and what leads to them."""

from __future__ import annotations

from . import knowledge
from . import model as m
from .model import FileFacts, FunctionFacts

# What makes a function worth a run of its own: it changes what others hold, or says how gradients are to be kept.
_SINKS = m.GROWS | m.KEEPS | m.BACKWARD | m.HOOKS | m.THREADS | m.RECORDS | m.DISCARDS | m.MODE | m.EVALUATES | m.HOLDS
_PLAIN_BASES = frozenset(("Module", "object", "ABC", "Protocol", "Generic"))
# A graph that only locals keep matters while the function trains or evaluates, itself or through what it calls.
_DRIVES = m.BACKWARD | m.EVALUATES | m.MODE | m.HOOKS | m.THREADS


def worth_running(facts: FileFacts) -> set[int]:
    """The functions that a rule could speak about: with a sink of their own, or calling one by that name."""
    worth = {i for i, function in enumerate(facts.functions) if function.flags & _SINKS or _evaluation(function)}
    worth |= _passes_of_copies(facts)
    driving = {i for i, function in enumerate(facts.functions) if function.flags & _DRIVES or _evaluation(function)}
    _add_callers(facts, driving)
    worth |= {i for i in driving if facts.functions[i].flags & m.LOCAL}
    _add_callers(facts, worth)
    keeping = {facts.functions[index].owner for index in worth}
    worth |= {
        i for i, f in enumerate(facts.functions) if f.flags & m.RELEASES and _may_release(facts, f.owner, keeping)
    }
    _add_callers(facts, worth)
    return worth


def _passes_of_copies(facts: FileFacts) -> set[int]:
    """The passes of classes that copy a module: the copy may have kept what it should not, `requires_grad`."""
    copying = {function.owner for function in facts.functions if "deepcopy" in function.calls and function.owner >= 0}
    methods = [facts.classes[owner].methods for owner in copying]
    return {own[name] for own in methods for name in ("forward", "__call__") if name in own}


def _may_release(facts: FileFacts, owner: int, keeping: set[int]) -> bool:
    """Whether something that a function lets go may have been kept: in its class or a base, or in the module."""
    if owner in keeping or owner < 0:
        return bool(keeping)
    bases = {base[-1] for base in facts.classes[owner].bases if base[0] in (m.NAME, m.ATTR)}
    if not keeping.isdisjoint(i for i, klass in enumerate(facts.classes) if klass.name in bases):
        return True
    inherits = {facts.classes[other].name for other in keeping if other >= 0}
    names = {facts.classes[owner].name} | bases
    unseen = bases - {klass.name for klass in facts.classes} - _PLAIN_BASES
    return bool(unseen) or any(names & _bases(facts, name) for name in inherits)


def _bases(facts: FileFacts, name: str) -> set[str]:
    """The names of a class's bases in the file."""
    return {
        base[-1] for klass in facts.classes if klass.name == name for base in klass.bases if base[0] in (m.NAME, m.ATTR)
    }


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
        name = facts.functions[index].name
        found = callers.pop(name, []) if name != "__init__" else []  # which is called by the class's name
        if index in outer:
            found.append(outer[index])
        for caller in found:
            if caller not in chosen:
                chosen.add(caller)
                queue.append(caller)


def _evaluation(function: FunctionFacts) -> bool:
    name = function.name.lower()
    if name.startswith("test_") and not says_evaluation(name):
        return False  # of a test suite
    return any(word in name for word in knowledge.EVALUATION_WORDS) and bool(function.calls)


def says_evaluation(name: str) -> bool:
    """Whether a function's name says that it evaluates: `validate`, `run_eval`, `predict_batch`; not a
    test of a test suite: `test_output_shape`."""
    words = name.lower().strip("_").split("_")
    if words[0] == "test" and len(words) > 1 and words[1] not in ("epoch", "loop", "one", "batch", "step"):
        return False
    return any(word in knowledge.EVALUATION_NAMES for word in words)
