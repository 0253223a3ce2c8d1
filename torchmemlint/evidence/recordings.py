"""Module runs that record a graph, with all that says whether anybody uses it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.evaluating import class_evaluates, says_evaluation, says_inference
from ..facts.guarded import own_calls
from ..facts.model import BACKWARD, EVALUATES, Expr, Site, Stmt
from ..facts.program import expressions, text
from ..facts.walk import call_at, nodes, once, root_of
from ..interpreter.entries import grad_of_callers
from ..interpreter.events import Loops, ModuleCall
from ..interpreter.frames import Frame, Loop
from ..interpreter.machine import Machine
from ..interpreter.values import ASSUMED, DEPENDS, OFF, ON, WANTED, Class, Function, Obj
from .asked_modes import turned_off
from .led_from import line_of_home
from .places import UNNAMED, describe_object, in_test, last_part
from .told_to_train import is_told_not_to_train

_OF_OTHERS = tuple((m.NAME, name) for name in ("tf", "tensorflow", "jax", "paddle", "mx"))  # frameworks
_FORCES = re.compile(r"(?:^|_)(?:forces?|virial|stress)(?:$|_)")
_OF_SIGNALS = frozenset(
    "frontend fbank mel mel_spec mel_transform spectrogram stft mfcc resampler resample transform transforms".split()
)
_SIGNAL_CLASS = re.compile("Spectrogram|STFT|Mel[A-Z]|Mel$|MFCC|FBank|Fbank|Resampl")


class Recording(NamedTuple):
    """A module run with autograd recording, whose graph nobody uses."""

    site: Site
    module: str
    function: str
    defined: Site  # where that function is
    evaluating: bool
    named: bool  # the name of the function, or of the loader that it goes over, says evaluation
    told: bool  # to run without the backward pass that it has for others
    over_loader: bool  # there is a loop over a loader around it, in the function or in the evaluation that leads to it
    concludes: bool  # and it puts a module in eval mode itself: what it hands out are results
    entry: bool  # in a module's public method for inference, as users call it
    pipeline: bool  # the call of an inference pipeline: a framework's name for it
    in_test: bool  # in a method of a test case
    in_module: bool  # in a method of a module
    consumed: bool
    read_off: bool  # numbers are made of the indices or truth values that it gives
    drawn: bool  # into a picture
    detached: bool  # its result is detached: the graph lives no longer than the call
    kept: bool  # an attribute keeps what it gives, or code that is not seen is given it
    collected: bool  # in a loop whose results are detached when it has ended
    demanded: bool
    escaped: bool
    given_graph: bool  # its input carries a graph that no run of a module made: it may be there to be differentiated
    weight: int
    call: ModuleCall


def recordings(machine: Machine, refuted: set[int]) -> list[Recording]:
    """Module runs under a grad mode that records."""
    if not machine.module_calls:
        return []
    derivation = machine.derivation
    consumed = _made_of(machine, derivation.consumed)
    read_off = _read_off(machine, consumed)
    drawn = _drawn(machine)
    detached = _made_of(machine, derivation.detached)
    detached_in = _detached_in(machine)
    kept = _made_of(machine, _kept(machine))
    demanded = [call for call in machine.module_calls if call.node in derivation.demanded]
    trained = {call.module for call in demanded}
    by_hooks = any(derivation.labels.get(node, ("",))[0] == "hook" for node in derivation.demanded)
    differentiating = {site for call in demanded for site in call.trail}
    trained_at = {(call.site, call.frame.caller) for call in demanded}
    rounds = {_round(call) for call in demanded if call.loops}
    found = []
    for call in machine.module_calls:
        if call.grad in (OFF, DEPENDS, WANTED) or _is_mostly_guarded(machine, call) or turned_off(call):
            continue
        if id(call.frame.facts) in machine.unrecorded and _is_left_over(call):
            continue
        loop = _collecting_loop(machine, detached_in, call)
        if call.through and loop is None:
            continue
        told = any(call.site == site for site, _ in trained_at) and is_told_not_to_train(call)
        frame, site = _where(call, loop)
        if call.node in refuted or _is_compiled_elsewhere(call.frame):
            continue
        if not machine.is_home(site):
            sure = call.grad == ON or (told and (call.site, call.frame.caller) in trained_at)
            frame, site = _handed_to_helper(machine, call, told) if sure else (frame, site)
            known = machine.is_home(site) and line_of_home(machine, call.site, site, loops=call.loops) is not None
            if not known or site in differentiating:
                continue  # `neurons.attribute(model)` asks for gradients, whatever else it runs
        found.append(
            Recording(
                site=site,
                module=_name(call),
                function=frame.name,
                defined=frame.facts.site,
                evaluating=call.evaluating,
                named=any(map(evaluates_by_name, call.frames)) or _goes_over_held_out(call),
                told=told,
                over_loader=_goes_over_loader(call),
                concludes=any(says_evaluation(frame.name) and frame.facts.flags & EVALUATES for frame in call.frames),
                entry=_in_entry(call),
                pipeline=_in_pipeline(call.frame),
                in_test=in_test(call.frame),
                in_module=isinstance(call.frame.receiver, Obj) and call.frame.receiver.kind == "module",
                consumed=call.node in consumed,
                read_off=call.node in read_off,
                drawn=call.node in drawn,
                detached=call.node in detached,
                kept=call.node in kept or call.node in derivation.passed,
                collected=loop is not None,
                # a run whose own result nobody asks for is there for the hooks, if what they got is differentiated
                demanded=call.node in derivation.demanded
                or _round(call) in rounds
                or (by_hooks and call.node not in consumed),
                escaped=call.node in derivation.escaped,
                given_graph=_given_graph(machine, call),
                weight=_weight(call, call.module in trained),
                call=call,
            )
        )
    return found


def _round(call: ModuleCall) -> tuple[Site, tuple[Site, ...], Loops, bool]:
    """Of which call, in which loop and mode, this is a round: where one is back-propagated, so are those that it goes
    into."""
    return call.site, call.trail, call.loops, call.evaluating


def _name(call: ModuleCall) -> str:
    """A module's name, or what is called, as it is written: `model`."""
    name = describe_object(call.module)
    return name if name != UNNAMED else written(call) or name


def written(call: ModuleCall) -> str:
    """What is called, as it is written."""
    found = call_at(call.frame.facts.body, call.site)
    return text(found[2]) if found is not None else ""


def _is_mostly_guarded(machine: Machine, call: ModuleCall) -> bool:
    """Whether a method that leads here is called by a base class of another file, which turns gradients off for it in
    another place."""
    frame = call.frame
    while frame.caller is not None and frame.caller.unit is machine.home:
        frame = frame.caller
    if frame.caller is None or not isinstance(frame.receiver, Obj) or not isinstance(frame.receiver.cls, Class):
        return False
    inherited = frame.caller.receiver is frame.receiver
    return inherited and grad_of_callers(frame.receiver.cls, frame.name) in (OFF, DEPENDS)


def _is_compiled_elsewhere(frame: Frame) -> bool:
    """Whether another framework compiles the function that runs the module, `@tf.function`: then it is that one's."""
    made = (one[2] if one[0] == m.CALL else one for one in frame.facts.decorators)
    return any(root_of(one) in _OF_OTHERS for one in made)


def _is_left_over(call: ModuleCall) -> bool:
    """Whether a private function that nobody calls leads here: the others, which do so with gradients off, are what it
    was written for."""
    outermost = next((frame.name for frame in call.frames if frame.function is not None), "")
    return call.grad == ASSUMED and outermost[:1] == "_" and outermost[:2] != "__"


def in_evaluation(machine: Machine, every: list[Recording], recording: Recording) -> Recording:
    """The same, said of the evaluation that leads to it, where training goes through the same line as well."""
    others = [other for other in every if other.call.site == recording.call.site]
    if not any(other.demanded or other.escaped for other in others):
        return recording
    training = {id(frame.facts) for other in others if other.demanded for frame in other.call.frames}
    frame, site = recording.call.frame, recording.site
    while not _evaluates(frame, training):
        if frame.caller is None:
            return recording
        frame, site = frame.caller, frame.call_site
    return (
        recording._replace(site=site, function=frame.name, defined=frame.facts.site)
        if machine.is_home(site)
        else recording
    )


def _made_of(machine: Machine, nodes: Iterable[int]) -> set[int]:
    """Nodes, and all that they were made from."""
    found = set[int]()
    for node in nodes:
        machine.derivation.spread(found, node)
    return found


def _read_off(machine: Machine, consumed: Iterable[int]) -> set[int]:
    """What indices and truth values are about, of which numbers are made: `(out.argmax(1) == y).sum().item()`."""
    found = set[int]()
    pending = list(consumed)
    for node in pending:
        for origin in machine.derivation.read_off.get(node, ()):
            made = _made_of(machine, (origin,))
            pending += made - found
            found |= made
    return found


def _drawn(machine: Machine) -> set[int]:
    """What pictures are made of, also where it is detached first."""
    found = _made_of(machine, machine.derivation.drawn)
    shared = machine.derivation.shared
    return found | _made_of(machine, {origin for node in found for origin in shared.get(node, ())})


def _kept(machine: Machine) -> Iterator[int]:
    """What attributes of objects keep with its graph."""
    for store in machine.stores:
        if store.how == "set" and isinstance(store.owner, Obj) and store.owner.kind in ("instance", "module"):
            yield from store.with_graph


def _given_graph(machine: Machine, call: ModuleCall) -> bool:
    """Whether a run's input carries a graph, and not merely that of the runs of other modules."""
    derivation = machine.derivation
    seen: set[int] = set()
    pending, runs = list(call.attached_inputs), False
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        label = derivation.labels.get(node)
        if label is None or label[0] == "write":  # of what a place keeps
            pending.extend(derivation.parents[node])
        elif label[0] == "module":
            runs = True
        else:
            return True
    return bool(call.attached_inputs) and not runs


def _detached_in(machine: Machine) -> dict[Loops, set[int]]:
    """What was detached, and all that it was made from, by the loops that ran when it was."""
    derivation = machine.derivation
    made: dict[Loops, set[int]] = {}
    for node, loops in derivation.detached.items():
        derivation.spread(made.setdefault(loops, set()), node)
    return made


def _collecting_loop(machine: Machine, detached_in: dict[Loops, set[int]], call: ModuleCall) -> Loop | None:
    """The loop that collects the results, if they are detached only when it has ended."""
    for loops, made in detached_in.items():
        inside = [loop for loop in call.loops if loop not in loops]
        if not inside or inside[0].kind != "loop" or call.node not in made:
            continue
        for store in machine.stores:
            collects = store.how in ("grow", "keyed") and inside[0] in store.loops and inside[0] not in store.birth
            if collects and call.node in machine.derivation.ancestors(store.node):
                return inside[0]
    return None


def _evaluates(frame: Frame, training: set[int]) -> bool:
    """Whether a function evaluates: its name says so, and training does not lead through it (like skorch's `infer`)."""
    if frame.facts.flags & EVALUATES:
        return True
    return says_evaluation(frame.name) and id(frame.facts) not in training


def _where(call: ModuleCall, loop: Loop | None) -> tuple[Frame, Site]:
    """Where to speak of a module run: at itself, or in the function whose loop collects the results."""
    frame, site = call.frame, call.site
    while loop is not None and loop in frame.loops and frame.caller is not None:
        frame, site = frame.caller, frame.call_site
    return frame, site


def _handed_to_helper(machine: Machine, call: ModuleCall, told: bool) -> tuple[Frame, Site]:
    """The line of the home that hands a model in eval mode to another file's helper, with gradients on: the helper
    alone does not show that nobody turns them off. Nor does one that trains as well, if it is not `told` otherwise."""
    frame, site = call.frame, call.site
    if not (call.evaluating or told):
        return frame, site
    if told and frame.caller is not None:
        frame, site = frame.caller, frame.call_site
    while not machine.is_home(site) and frame.caller is not None and not frame.facts.flags & EVALUATES:
        frame, site = frame.caller, frame.call_site
    return frame, site


def _goes_over_loader(call: ModuleCall) -> bool:
    own = [frame for frame in call.frames if frame.receiver is not None and frame.receiver is call.frame.receiver]
    frame = next(filter(evaluates_by_name, own), call.frame)  # `run` of a loop object, for its `run_iter`
    return any(loop.name == "loader" for loop in call.loops if loop not in frame.loops)


def _goes_over_held_out(call: ModuleCall) -> bool:
    """Whether the innermost loader around it is one of a validation or test set, on which nothing is trained."""
    loader = next((loop for loop in reversed(call.loops) if loop.name == "loader"), None)
    return loader is not None and loader.held_out and not (loader.backward or loader.steps)


def evaluates_by_name(frame: Frame) -> bool:
    """Whether a function says that it evaluates, or is a method of something that does: `ValLoop`, `Evaluator`, or what
    somebody took for without gradients, with `@torch.no_grad()` around the class."""
    if says_evaluation(frame.name):
        return True
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or receiver.kind == "module" or not isinstance(receiver.cls, Class):
        return False
    return class_evaluates(receiver.cls.facts.name) or "@no_grad" in receiver.cls.external


def _weight(call: ModuleCall, trained: bool) -> int:
    """How sure it is that activations are recorded. What is `trained` somewhere is a model, whatever its name."""
    known = call.module.cls.facts.name if isinstance(call.module.cls, Class) else ""
    told = bool(known) and not call.module.unknown  # of an annotation it may be a base class of all of them
    if _SIGNAL_CLASS.search(known) or (not told and last_part(describe_object(call.module)) in _OF_SIGNALS):
        return 1  # mostly a transform, which has nothing to learn
    weight = max(call.weight, min(call.module.weight, 2), 1 + trained)  # what was learnt of the module later
    dotted = call.module.cls if isinstance(call.module.cls, str) else ""
    foreign = "." in dotted and not dotted.startswith("torch.nn.")  # what another package gives may be a function
    fed = call.fed and not foreign
    if weight == 1 and (fed or any(loop.name == "loader" for loop in call.loops)):
        weight = 1 + any(map(evaluates_by_name, call.frames))  # what is called so, and is given a batch, is a model
    if weight > 1 and _asks_for_forces(call.frame.facts.body):
        return 1
    return weight if call.grad != ASSUMED else min(weight, 2)


def _names_forces(block: tuple[Stmt, ...]) -> bool:
    """`model(coordinates)["force"]`: the model differentiates its energy itself, which takes gradients."""
    words = set[object]()
    for expr in expressions(block):
        if expr[0] in (m.NAME, m.ATTR, m.CONST):
            words.add(expr[-1])
        elif expr[0] == m.CALL and len(expr) == 5:
            words.update(keyword for keyword, _ in expr[4])
    return any(isinstance(word, str) and _FORCES.search(word) for word in words)


_asks_for_forces = once(_names_forces)


def _in_entry(call: ModuleCall) -> bool:
    """Whether a module's own method for inference runs it, and sees to what its users do not: it takes the inputs to
    the module's device, or other methods for inference beside it turn gradients off. Or one that makes the loader
    that it goes through, and trains nothing."""
    frame = call.frame
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or receiver.kind != "module":
        return False
    makes_loader = "DataLoader" in frame.facts.calls and not any(one.facts.flags & BACKWARD for one in call.frames)
    if not (makes_loader or says_inference(frame.name)) or not isinstance(receiver.cls, Class):
        return False
    if any("loss" in name for name in frame.facts.calls):
        return False  # a pass of validation, for a trainer's hooks
    if makes_loader:
        return any(loop.name == "loader" and not loop.steps for loop in call.loops if loop not in frame.loops)
    if _is_run_by_forward(frame.name, receiver.cls):
        return False
    return _takes_to_device(frame) or _gradients_guarded_elsewhere(receiver.cls)


def _is_run_by_forward(name: str, cls: Class) -> bool:
    """Whether a method is what the module does when it does not train, `return self.inference(batch)` in `forward`:
    gradients are the affair of whoever evaluates it."""
    passes = (one for one in cls.find("forward") or () if isinstance(one, Function))
    return any(name == called for one in passes for called, _ in own_calls(one.facts))


def _takes_to_device(frame: Frame) -> bool:
    """`x.to(self.device)`, `x.to(next(self.parameters()).device)`."""
    return any(
        expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] == "to" and any(map(_own_device, expr[3]))
        for expr in expressions(frame.facts.body)
    )


def _own_device(expr: Expr) -> bool:
    return expr[0] == m.ATTR and expr[2] == "device" and (m.NAME, "self") in nodes(expr)


def _gradients_guarded_elsewhere(cls: Class) -> bool:
    return any(
        isinstance(member, Function) and member.grad == OFF and says_inference(name)
        for name, value in cls.members.items()
        for member in value
    )


def _in_pipeline(frame: Frame) -> bool:
    """Whether this is the `__call__` of a pipeline [docs of diffusers: pipelines are for inference]."""
    receiver = frame.receiver
    if frame.name != "__call__" or not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    if receiver.cls.facts.name.startswith(("Onnx", "Flax", "TF")):
        return False  # not torch's modules
    return receiver.kind != "module" and any(name.endswith("Pipeline") for name in receiver.cls.base_names)
