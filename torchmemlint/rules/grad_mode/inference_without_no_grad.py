"""An evaluation or prediction path calls a module while gradients are recorded.

## What it does
Reports the first module call of a path that evaluates, predicts, generates or
extracts features, when no `backward()` is reachable from it and gradients are
on: a function with an evaluation name, code after `.eval()`, a request
handler, a sampling loop, a runner's `val()` that calls `model.val_step`, the
methods of a `ValLoop`. A model in eval mode that is handed to another file's
helper is reported where it is handed over. What
an evaluation returns counts as its results if it puts the model in eval mode
itself, and so does what a module's public `inference` or `transcribe` returns
that takes its inputs to the module's device, or whose siblings are under
`no_grad`. Also a loop that collects what a module computes,
where the results are detached only when the loop has ended, and a loop in
which nothing is trained and all results are detached at once. A method such as
`full_sort_predict` or `encode_image` of a model that was put in eval mode
counts as a run of it; `generate`, which mostly sees to the mode itself, does
not. So is the picture that a training loop has a model draw,
`save_image(generator(fixed), path)`. And the call of another file's helper
that wants its model in eval mode, if another function makes the same call
under `no_grad`.

## Why it retains
`.eval()` changes dropout and normalisation layers; it does not turn recording
off. Each forward pass still saves the activations its backward pass would
need, and holds them until the output goes. Nothing grows as long as nothing is
kept, but the peak is higher: all layers' activations at once where two
layers' would do. The factor rises with the depth of the model. As soon as an
output is collected, the whole graph is collected with it (TML102); a
`.detach()` after the loop comes when all of them stand in memory.

## When it is fine
- `torch.no_grad()`, `torch.inference_mode()` or `set_grad_enabled(False)`
  covers the path: as a `with` block, as a decorator, on the caller.
- Neither the parameters nor the inputs require gradients.
- The framework calls the hook with gradients off (Lightning's validation, test
  and predict hooks; the `evaluate` and `predict` of the transformers Trainer).
- The model runs once in the whole program: one graph, which goes with it (low).
- The path differentiates on purpose: saliency maps, adversarial examples,
  test-time training, forces of a potential.

## How to release it
Decorate the function with `@torch.no_grad()`, or wrap the loop in
`with torch.inference_mode():`.

## References
- PyTorch documentation, "Autograd mechanics", "Locally disabling gradient
  computation", with its section on evaluation mode: the two are independent.
- PyTorch documentation, `torch.no_grad` and `torch.inference_mode`.
- Peak bytes with and without recording: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import knowledge
from ...facts import model as m
from ...facts.evaluating import says_evaluation
from ...facts.model import BACKWARD, EVALUATES, Expr, Site
from ...facts.walk import calls, in_loops, is_count, last_name, nodes, statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.holders import has_parameters
from ...interpreter.values import ASSUMED, Class, Obj
from .. import Report
from ..retained import speaks_of
from .grad_mode_not_in_thread import recorded

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.recordings import Recording
    from ...interpreter.events import ModuleCall

code = "TML201"
name = "inference-without-no-grad"
retains: Retains | None = Retains.PEAK
_OF_MODELS = ("torch.nn.", "torchvision.models.", "transformers.", "timm.")
_SERVICES = ("Handler", "Service", "Servicer", "Predictor", "Deployment", "Endpoint")
_BLANKS = frozenset("zeros ones empty rand randn".split())
_PLAIN = frozenset(("item", "tolist", "numpy"))
_INDICES = frozenset("argmax argmin topk max min eq item tolist sum".split())  # what an index is made by, or read off
_SMALL = frozenset("policy actor critic agent q qnet".split())  # networks that control something: they save little
# Modules that save next to nothing, or only what they are given.
_LIGHT = frozenset("norm normalizer normalize std rms scaler loss losses criterion criterions".split())


def check(evidence: Evidence) -> Iterator[Report]:
    spoken = [kept for kept in evidence.retentions if kept.graph and kept.growing and speaks_of(kept)]
    tried = ("mode-discarded", "mode-not-called", "mode-assigned", "mode-dropped")
    seen: set[str] = {note.frame.name for kind in tried for note in evidence.plain(kind)}  # TML202 says why
    in_threads = [call for _, call in recorded(evidence)]  # TML203 says why
    seen.update(call.frame.name for call in in_threads)
    threaded = {call.site for call in in_threads}
    learned = {one.call.site for one in evidence.recordings if one.demanded}  # also run to go back through, elsewhere
    weighed = [(weight, evidence.in_evaluation(one)) for one in evidence.recordings if (weight := _weight(one))]
    weighed = [(weight, one) for weight, one in weighed if not _is_learned_from(one, learned)]
    own = dict(sorted((recording.function, weight) for weight, recording in weighed if _is_own(recording)))
    said: set[int | str] = set()
    for weight, recording in sorted(weighed, key=lambda pair: (pair[0] < 2, not _repeats(pair[1]), pair[1].site)):
        if not _is_own(recording) and own.get(recording.call.frame.name, 0) >= weight:
            continue  # the function that runs the model is reported itself
        where = recording.defined if recording.function != "<lambda>" else recording.function
        if recording.function in seen or where in said or recording.call.site in threaded:
            continue
        if recording.read_off and not (recording.consumed or recording.evaluating) and not _reads_off(recording):
            continue  # a helper, which others may go back through: what is read off is the caller's affair
        if any(speaks_of(kept) >= weight and evidence.keeps_results_of(kept, recording.call.site) for kept in spoken):
            continue  # reported where its result is kept
        if recording.detached and any(kept.chain and kept.function == recording.function for kept in spoken):
            continue  # the chain that it is made from is: that says where gradients are on
        said.add(where)
        yield Report(
            site=recording.site,
            message=f"`{recording.function}` {_what(recording)}; use `torch.no_grad()`",
            confidence=Confidence(weight),
            value="activations saved for a backward that never comes",
            holder="the result's graph",
            release="decorate the function with `@torch.no_grad()` or `@torch.inference_mode()`",
            remedy=Remedy("no-grad", sure=not recording.escaped and not recording.collected),
        )
    for one in evidence.guarded_elsewhere if not evidence.in_tests else ():
        if one.function.site not in said:
            yield Report(
                site=one.site,
                message=f"`{one.function.name}` has `{one.model}` run with gradients recorded, which `{one.beside}` "
                "turns off for the same call: all activations stay until the result is dropped; use `torch.no_grad()`",
                confidence=Confidence.MEDIUM,
                value="activations saved for a backward that never comes",
                holder="the result's graph",
                release="call it under `torch.no_grad()` or `torch.inference_mode()`",
            )


def _reads_off(recording: Recording) -> bool:
    """Whether the function that runs the model takes the index or number itself."""
    return not _INDICES.isdisjoint(recording.call.frame.facts.calls)


def _is_own(recording: Recording) -> bool:
    """Whether the function that is reported runs the model itself, and not by a helper."""
    return recording.function == recording.call.frame.name


def _is_learned_from(recording: Recording, learned: set[Site]) -> bool:
    """Whether a function that is for inference by its name runs what somebody else goes back through."""
    by_name = _is_own(recording) and not (recording.evaluating or recording.told)
    return by_name and recording.call.site in learned


def _what(recording: Recording) -> str:
    if recording.collected:
        return (
            f"collects what `{recording.module}` computes and detaches it after the loop: "
            "until then the activations of every round stay"
        )
    return (
        f"runs `{recording.module}` with gradients recorded and nothing is back-propagated: "
        "all activations stay until its result is dropped"
    )


def _weight(recording: Recording) -> int:
    call = recording.call
    if recording.demanded or (recording.given_graph and not recording.pipeline):
        return 0
    if _speaks_of(recording, _LIGHT) or _is_plain(call.module):
        return 0
    hands_out = recording.entry or (recording.concludes and recording.evaluating)  # predictions
    if recording.escaped and not (recording.pipeline or hands_out):
        return 0
    flags = call.frame.facts.flags
    if recording.collected and not (recording.in_test or recording.in_module):
        return min(recording.weight, 2)
    if _in_handler(recording) and recording.detached:
        return min(recording.weight, 2)
    if recording.drawn and _draws_in_training(recording):
        return 2
    evaluates = flags & EVALUATES or recording.concludes  # itself, or the evaluation that it is a helper of
    trains = flags & BACKWARD and not _is_apart(recording)
    if recording.detached and not recording.consumed and (not evaluates or trains):
        # its graph lives no longer than the call: it shows where no training needs more
        return 2 if _only_infers(recording) else 1
    if recording.pipeline:
        return 2
    if recording.entry:
        return min(recording.weight, 2) if call.loops else 1
    if recording.in_test:
        return 0
    over_loader = recording.over_loader and (call.grad != ASSUMED or (recording.kept and not recording.in_module))
    if _in_handler(recording):
        return min(recording.weight, 2)
    decides = call.module.unknown and _speaks_of(recording, _SMALL) and not recording.evaluating
    if decides and (_by_forward(call) or not recording.consumed):
        return 1  # it may be any object that decides what is done, with a mode of its own
    taken = recording.consumed or recording.read_off
    told = recording.named or recording.told
    if not recording.evaluating and not (told and (taken or over_loader)):
        return 0
    sees_to_them = recording.over_loader or _sees_to_modes(recording) or flags & BACKWARD
    if call.grad == ASSUMED and recording.in_module and not sees_to_them:
        return 1  # whoever calls the module's method may have turned gradients off
    if not call.loops or _is_trial(call):
        return 1  # run once in the whole program, with one graph that goes when that ends
    if _is_warm_up(call):
        return 1
    used = taken or recording.escaped or (recording.kept and recording.named) or _gives_numbers(recording)
    tried = recording.function == "<module>" and _counts(call)  # a demonstration
    if not used and (tried or not any(loop.kind == "loop" for loop in call.loops)):
        return 1  # run once, and what it gives is dropped at once: a trial, or hooks are what it is run for
    if recording.evaluating and not recording.escaped:
        return recording.weight
    return min(recording.weight, 2)


def _draws_in_training(recording: Recording) -> bool:
    """Whether a loop that trains has a model make pictures, `save_image(generator(fixed), path)`: gradients are on."""
    if recording.weight < 2 or recording.in_test or recording.in_module:
        return False
    return any(loop.kind == "loop" and (loop.backward or loop.steps) for loop in recording.call.loops)


def _is_apart(recording: Recording) -> bool:
    """Whether a script that trains evaluates in a loop of its own."""
    rounds = [loop for loop in recording.call.loops if loop.kind == "loop"]
    return recording.evaluating and bool(rounds) and not any(loop.backward or loop.steps for loop in rounds)


def _is_trial(call: ModuleCall) -> bool:
    """Whether a function that is given nothing runs a model once, to see that it runs: `test()` below a model."""
    frames = [frame for frame in call.frames if frame.function is not None]
    return not any(loop.kind == "loop" for loop in call.loops) and not any(frame.facts.params for frame in frames)


def _is_warm_up(call: ModuleCall) -> bool:
    """Whether a function runs a model once on a tensor of zeros or noise, and drops what it gives at once."""
    body = call.frame.facts.body
    made = {target: one[3] for one in statements(body) if one[0] == m.ASSIGN for target in one[2]}
    for one, looped in in_loops(body):
        if one[0] != m.EXPR or looped or one[2][0] != m.CALL or one[2][1] != call.site:
            continue
        given = [made.get(arg, arg) for arg in one[2][3]]
        return bool(given) and all(_is_factory(arg) for arg in given)
    return False


def _is_factory(value: Expr) -> bool:
    """`torch.zeros(1, 3, size, size).to(device).half()`"""
    while value[0] == m.CALL and value[2][0] == m.ATTR and last_name(value[2]) not in _BLANKS:
        value = value[2][1]
    return value[0] == m.CALL and last_name(value[2]) in _BLANKS


def _counts(call: ModuleCall) -> bool:
    """Whether the loops around a run go over numbers, not over data."""
    sites = {loop.site for loop in call.loops}
    over = [one[3] for one in statements(call.frame.facts.body) if one[0] == m.FOR and one[1] in sites]
    return all(map(is_count, over))


def _only_infers(recording: Recording) -> bool:
    """Whether a model runs again and again where nothing is trained, and all that it gives is detached."""
    call = recording.call
    if recording.weight < 2 or recording.in_test or call.yielding:
        return False
    if recording.in_module and not (_runs_itself(call) and _speaks_of_graphs(call)):
        return False  # whoever calls the module's method may have turned gradients off
    if call.frame.name == "<lambda>":
        return False  # for a helper that detaches whatever it is given to call
    if _is_layer(call.module) or _speaks_of(recording, _SMALL):
        return False
    if not (recording.evaluating or recording.named or call.module.unknown or _is_of_models(call.module)):
        return False  # it may be a filter or a transform
    if any(loop.backward or loop.steps for loop in call.loops):
        return False
    trains = any(frame.facts.flags & BACKWARD for frame in call.frames)
    return any(loop.kind == "loop" for loop in call.loops) and not trains


def _gives_numbers(recording: Recording) -> bool:
    """Whether a function that puts a model in eval mode itself hands out what the model gives as numbers or arrays."""
    frame = recording.call.frame
    return (
        recording.detached
        and bool(frame.facts.flags & EVALUATES)
        and not _PLAIN.isdisjoint(frame.facts.calls)
        and any(statement[0] == m.RETURN and statement[2] is not None for statement in statements(frame.facts.body))
    )


def _speaks_of(recording: Recording, words: frozenset[str]) -> bool:
    """Whether one of these is a word of the module's name."""
    return not words.isdisjoint(recording.module.lower().replace(".", "_").split("_"))


def _in_handler(recording: Recording) -> bool:
    """Whether a model answers the requests of a service, and what it gives goes out as numbers or arrays."""
    frame = recording.call.frame
    receiver = frame.receiver
    if recording.escaped or recording.kept or not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    if receiver.kind == "module" or recording.weight < 2 or recording.in_test:
        return False
    served = any(name.endswith(_SERVICES) for name in (receiver.cls.facts.name, *receiver.cls.base_names))
    return served and says_evaluation(frame.name) and not _PLAIN.isdisjoint(frame.facts.calls)


def _by_forward(call: ModuleCall) -> bool:
    """`policy.forward(obs)`: of an object that is no module, which would be called itself."""
    return any(one[1] == call.site and last_name(one[2]) == "forward" for one in calls(call.frame.facts.body))


def _runs_itself(call: ModuleCall) -> bool:
    """Whether a module's method runs the whole module on batches: that is for its users, and not a part of a pass."""
    frame = call.frame
    return call.module is frame.receiver and frame.name[:1] != "_" and "forward" not in frame.name


def _speaks_of_graphs(call: ModuleCall) -> bool:
    """Whether the function detaches what it gets: it would not if it counted on gradients being off."""
    return "detach" in call.frame.facts.calls and {"numpy", "tolist"} & set(call.frame.facts.calls) != set()


def _is_of_models(module: Obj) -> bool:
    """Whether a module is put together of torch's layers, or comes from a package of models."""
    cls = module.cls
    return isinstance(cls, str) and (cls.startswith(_OF_MODELS) or cls.endswith(".from_pretrained"))


def _is_layer(module: Obj) -> bool:
    """Whether a module is a single layer of torch, which saves little but its input."""
    dotted = module.cls if isinstance(module.cls, str) else ""
    return dotted.startswith("torch.nn.") and dotted.rsplit(".", 1)[-1] not in knowledge.MODULE_CONTAINERS


def _is_plain(module: Obj) -> bool:
    """Whether a module is of a class of the project that has nothing to train: a formula."""
    return isinstance(module.cls, Class) and not has_parameters(module)


def _sees_to_modes(recording: Recording) -> bool:
    """Whether a module's method for inference sets the mode itself, and is there for its users or runs the module
    again and again: who sees to the mode would see to the gradients."""
    call = recording.call
    offered = call.frame.name.startswith("predict")  # what a pipeline calls, `translate`, it may call under `no_grad`
    rounds = offered or any(loop.kind == "loop" for loop in call.loops if loop not in call.frame.loops)
    own = (one[2] for one in calls(call.frame.facts.body) if last_name(one[2]) == "eval")
    return rounds and any((m.NAME, "self") in nodes(callee) for callee in own) and recording.concludes


def _repeats(recording: Recording) -> bool:
    """Whether a loop of its function is around the run: what precedes it may be a trial."""
    call = recording.call
    return any(loop.kind == "loop" for loop in call.loops if loop not in call.frame.loops)
