"""Which functions do the work: they run a model, or have tensors at hand when they call something else."""

from __future__ import annotations

from .knowledge import MODEL_NAMES
from .model import FileFacts, FunctionFacts
from .program import Place, Program
from .walk import last_name, nodes

_RUNS = MODEL_NAMES | set(
    """forward generate backward matmul bmm einsum softmax conv1d conv2d conv3d interpolate cdist addmm baddbmm
    scaled_dot_product_attention multi_head_attention_forward""".split()
)


def reaches_work(program: Program, names: set[str]) -> bool:
    seen = set[str]()
    for _ in range(4):
        if names & _RUNS:
            return True
        seen |= names
        inside = (place for name in names for place in program.by_name.get(name, ()))
        names = {called for place in inside for called in place.facts.calls} - seen
    return False


def is_called_at_work(program: Program, function: FunctionFacts) -> bool:
    """Whether a function that has tensors or a model at hand calls this one: its frame is in the traceback, too."""
    called = {function.name}
    for _ in range(4):
        callers = [one for one in program.places if not called.isdisjoint(one.facts.calls)]
        if any(_has_at_hand(one) for one in callers):
            return True
        called = {one.facts.name for one in callers} - called
    return False


def _has_at_hand(place: Place) -> bool:
    if any(base.endswith("nn.Module") for base in place.bases):
        return True
    hints = (part for param in place.facts.params if param.hint for part in nodes(param.hint))
    return any(last_name(part) in ("Tensor", "Module") for part in hints) or not _RUNS.isdisjoint(place.facts.calls)


def decorated(facts: FileFacts, function: FunctionFacts) -> set[str]:
    """The functions of the file that are wrapped by the decorator that a function belongs to."""
    index = next(i for i, one in enumerate(facts.functions) if one is function)
    for _ in range(3):
        index = next((i for i, one in enumerate(facts.functions) if index in one.inner), 0)
        if not index:
            break
        name = facts.functions[index].name
        found = {one.name for one in facts.functions if any(last_name(item) == name for item in one.decorators)}
        if found:
            return found
    return set()
