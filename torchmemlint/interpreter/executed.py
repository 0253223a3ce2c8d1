"""Namespaces that `exec` and `runpy` fill: what the code in them makes is not seen, but what is done after it tells."""

from __future__ import annotations

from collections.abc import Iterable

from ..facts.model import FileFacts, FunctionFacts, Site
from ..facts.walk import calls, last_name, loops
from .frames import Frame
from .machine import Machine
from .values import FREE, Obj, Tensor, Value

Kwargs = dict[str, Value]
_EXECUTES = frozenset(("exec", "run_path", "run_module"))
# What is put back after code of others: it was there to use torch.
_PUTS_BACK = frozenset(
    "empty_cache set_default_dtype set_default_device set_grad_enabled reset_peak_memory_stats".split()
)
_WHAT_IT_MAKES = "what it makes"  # no key that anybody could read
_LABEL = "executed"
_DEEPEST = 4


def execute(machine: Machine, frame: Frame, args: list[Value]) -> None:
    """`exec(code, namespace)`: whatever the code binds is in the last of its namespaces."""
    for atom in args[-1] if len(args) > 1 else ():
        if type(atom) is Obj and atom.kind == "dict" and _is_for_torch(frame):
            _fill(machine, atom)


def _run(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    namespace = machine.allocate(frame, ("namespace", site), "dict")
    if _is_for_torch(frame):
        _fill(machine, namespace)
    return (namespace,)


def _fill(machine: Machine, namespace: Obj) -> None:
    node = machine.derivation.node((), (_LABEL, namespace))
    machine.put(namespace.fields, _WHAT_IT_MAKES, (Tensor(FREE, 2, node),))


def filled_by_code(machine: Machine, tensors: Iterable[Tensor]) -> Obj | None:
    """The namespace, if tensors stand for all that some code may have made, wherever that was put on its way."""
    nodes = {tensor.node for tensor in tensors}
    for _ in range(_DEEPEST):
        for node in nodes:
            label = machine.derivation.labels.get(node, ("",))
            if label[0] == _LABEL:
                namespace: Obj = label[1]
                return namespace
        nodes = {parent for node in nodes for parent in machine.derivation.parents[node]}
    return None


def _is_for_torch(frame: Frame) -> bool:
    """Whether a loop that leads to this function, or is in it, puts torch's state back in each of its rounds."""
    facts = frame.unit.facts
    for function in facts.functions:
        for loop, _ in loops(function.body):
            names = {last_name(call[2]) for call in calls(loop[-2])}
            reached = _called(facts, names)
            done = names.union(*(one.calls for one in reached))
            here = function is frame.facts or any(one is frame.facts for one in reached)
            if here and not _EXECUTES.isdisjoint(done) and not _PUTS_BACK.isdisjoint(done):
                return True
    return False


def _called(facts: FileFacts, names: set[str]) -> list[FunctionFacts]:
    found: list[FunctionFacts] = []
    for _ in range(_DEEPEST):
        inner = [one for one in facts.functions if one.name in names and one not in found]
        found += inner
        names = {name for one in inner for name in one.calls}
    return found


EXECUTES = {"runpy.run_path": _run, "runpy.run_module": _run}
