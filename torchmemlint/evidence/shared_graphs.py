"""Graphs that several share: two backward passes, or the runs of two models."""

from __future__ import annotations

from itertools import islice

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.walk import call_at, nodes, statements
from ..interpreter.events import Backward
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj
from .recordings import Recording


def differentiated_again(machine: Machine, backward: Backward) -> bool:
    """Whether another pass goes through the same graph later in the step."""
    own = _graph_of(machine, backward)
    if not backward.method and _is_handed_out(machine, backward):
        return True  # for a weight of a loss that is handed out, and goes through the same graph
    run = not backward.method  # by now, this one
    for other in machine.backwards:
        run = run or other is backward
        if other.site == backward.site:
            if other is not backward and other.frame is backward.frame and own & _graph_of(machine, other):
                return True  # in the next of a few rounds that are gone through one by one
            continue
        if not run or other.loops[: len(backward.loops)] != backward.loops[: len(other.loops)]:
            continue
        if other.site < backward.site and other.frame is backward.frame:
            continue
        if _is_foreign(machine, other) or own & _graph_of(machine, other):
            return True
        if _unseen(machine, backward) and _unseen(machine, other):
            return True  # nothing says that they do not share a graph
    return _is_returned_in_sum(backward)


def _is_handed_out(machine: Machine, backward: Backward) -> bool:
    """Whether a part of the graph goes to code that is not seen: what a module or loss gave, or, where the networks are
    frozen and only a scale of the loss is trained, what was computed on the way."""
    derivation = machine.derivation
    through = _gone_through(machine, backward)
    return not derivation.escaped.isdisjoint(_graph_of(machine, backward) | (through & derivation.live))


def _is_returned_in_sum(backward: Backward) -> bool:
    """`penalty.backward(retain_graph=True)`, then `return loss + penalty`, also of a helper's caller: whoever gets the
    sum goes through the graph of the penalty once more."""
    frame, site = backward.frame, backward.site
    call = call_at(frame.facts.body, site)
    terms = [call[2][1]] if call is not None and backward.method and call[2][0] == m.ATTR else []
    while True:
        names = {term for term in terms if term[0] == m.NAME}
        if names and any(_adds(expr, names) for expr in _returned(frame.facts, site)):
            return True
        if frame.caller is None:
            return False
        frame, site = frame.caller, frame.call_site
        call = call_at(frame.facts.body, site)
        terms = [] if call is None else [*call[3], *(value for _, value in call[4])]


def _returned(facts: FunctionFacts, after: Site) -> list[Expr]:
    """What a function gives back after a call."""
    return [one[2] for one in statements(facts.body) if one[0] == m.RETURN and one[2] and one[1] > after]


def _adds(expr: Expr, names: set[Expr]) -> bool:
    """Whether one of these is a term of a sum, with something else that is computed."""
    sums = (part for part in nodes(expr) if part[0] == m.ARITH and part[1] == "Add")
    return any((left in names) != (right in names) and m.CONST not in (left[0], right[0]) for _, _, left, right in sums)


def _unseen(machine: Machine, backward: Backward) -> bool:
    labels = machine.derivation.labels
    return all(labels[node][0] == "differentiated" for node in _graph_of(machine, backward))


def _is_foreign(machine: Machine, backward: Backward) -> bool:
    """Whether a backward pass goes through what unknown code made: then not all of its graph is seen."""
    return not backward.nodes or not machine.derivation.foreign.isdisjoint(_gone_through(machine, backward))


def _graph_of(machine: Machine, backward: Backward) -> set[int]:
    labels = machine.derivation.labels
    return {
        node
        for node in _gone_through(machine, backward)
        if node in labels and labels[node][0] in ("module", "loss", "differentiated", "cat", "hook")
    }


def _gone_through(machine: Machine, backward: Backward) -> set[int]:
    """What a backward pass goes through: it ends where something was computed without recording."""
    derivation, found = machine.derivation, set[int]()
    for start in backward.nodes:
        derivation.spread(found, start, frozenset(derivation.cut))
    return found


def meets_others(machine: Machine, recording: Recording) -> bool:
    """Whether a backward pass goes through this run together with the run of another module."""
    return any(_meet(machine, recording, start) for backward in machine.backwards for start in backward.nodes)


def meets_others_in_loss(machine: Machine, recording: Recording) -> bool:
    """Whether a loss that is handed out, for others to differentiate, is made of this run and of another
    module's."""
    derivation = machine.derivation
    losses = (node for node, label in derivation.labels.items() if label[0] in ("loss", "wide-loss"))
    return any(node in derivation.escaped and _meet(machine, recording, node) for node in losses)


def _meet(machine: Machine, recording: Recording, start: int) -> bool:
    derivation = machine.derivation
    labels = [derivation.labels.get(node) for node in derivation.ancestors(start)]
    modules = {_whole(label[1]) for label in labels if label is not None and label[0] == "module"}
    return _whole(recording.call.module) in modules and len(modules) > 1


def _whole(module: Obj) -> Obj:
    """The model that a module is a part of, where that is not seen."""
    whole = module
    for holder in islice(module.holders, 1, None):
        if type(holder) is not Obj or holder.kind != "module" or isinstance(holder.cls, Class):
            break
        whole = holder
    return whole
