"""What the rules about retained tensors share: which of them a retention belongs to, how sure we are,
and how a place, a lifetime and a cost are put in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..evidence.later_work import works_on
from ..evidence.occasions import is_behind_its_flag, is_for_constructors
from ..evidence.places import is_pass, last_part
from ..evidence.switched_off import is_switched_off, may_be_detached
from ..facts import model as m
from ..facts.evaluating import says_evaluation
from ..facts.model import CALLS_PER_STATEMENT, DECORATORS, file_of
from ..facts.walk import expressions_of, heads, is_count, nodes, statements, with_tests
from ..finding import Confidence, Remedy, Retains
from ..interpreter.frames import Frame
from ..interpreter.values import ANY_NAME, ASSUMED, ATTACHED, ON, Class, Obj
from . import Report
from .rewritten import asks_for_its_gradient, is_called, is_conversion, is_cut_in_the_end, lists_what_is_given

if TYPE_CHECKING:
    from ..evidence.evidence import Evidence
    from ..evidence.places import Holder
    from ..evidence.retentions import Retention
    from ..interpreter.events import Store

_KEY = re.compile(r"\[([^\W\d]\w*)\]")
_ORDERS = ("LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual")
_COUNTS = ("acc", "accs", "accuracy", "accuracies", "correct", "hits", "count")
_TEXTS = frozenset("names paths filenames texts captions sentences".split())
_INDICES = ("ids", "indices", "index", "idx", "mask", "masks", "lengths", "lens")
_STATE_WORDS = frozenset("state states hidden context cache memory overlap carry past hx cx h c".split())
_STATISTICS = frozenset("mean mu std sigma logvar logstd var kl".split())
_KEYS_AND_VALUES = re.compile(r"(^|_)(k|v|kv|keys?|values?)_?caches?$|(^|_)caches?_(k|v|kv|keys?|values?)$")
_HANDLED = ("cat", "indices", "parameters")  # labels of what was only put together or taken apart
_SAMPLING = frozenset(("sample", "sampling", "generate"))
_STEP_HOOKS = ("training_step", "validation_step", "test_step", "predict_step", "eval_step", "train_step")


def of_code(evidence: Evidence, code: str) -> Iterator[tuple[Retention, Confidence]]:
    """The retentions that a rule speaks about: each belongs to one rule, the most specific."""
    growing = {r.holder.text for r in evidence.retentions if r.growing and r.graph and _weight(r) > 0}
    for retention in evidence.retentions:
        weight = _weight(retention)
        if weight <= 0 or _code(retention) != code:
            continue
        if not retention.growing and retention.holder.text in growing:
            continue  # the place is reported where it grows
        if retention.growing and every(retention) == "call" and is_for_constructors(evidence.machine, retention):
            continue
        if retention.growing and is_behind_its_flag(evidence.program, retention):
            continue
        yield retention, Confidence(min(weight, 3))


def speaks_of(retention: Retention) -> int:
    """How surely a rule about graphs says something of this retention already; 0 if none does."""
    return max(_weight(retention), 0) if _code(retention) is not None else 0


def _code(retention: Retention) -> str | None:
    holder = retention.holder
    if retention.threaded:
        return None  # TML203 speaks of the thread
    if not retention.graph:
        kept = retention.growing and holder.kind == "attribute" and not retention.released
        if kept and _in_step_hook(retention) and (retention.summed_up or not retention.small):
            return "TML107"
        if retention.growing and retention.wide:
            return "TML111"
        return None
    if not retention.growing:
        if retention.store_event.key == ANY_NAME:
            return None  # it may be a weight, made anew for each pass
        lasts = holder.kind in ("attribute", "global", "class")
        return "TML108" if lasts and (_in_forward(retention) or is_record(retention)) else None
    kinds = {origin[0] for origin in retention.origins}
    if "grad" in kinds and not retention.spent:
        return "TML110"
    if _in_step_hook(retention) and holder.container and holder.kind == "attribute":
        return "TML107"
    if retention.chain == "carry" or (retention.chain and retention.how == "set" and _names_state(holder.text)):
        return "TML105"
    if retention.chain == "sum" or (retention.how in ("augment", "inplace", "fill", "keyed") and retention.chain):
        made = kinds & {"module", "loss", "wide-loss", "differentiated", "hook", "grad", "input"}
        return "TML101" if made or retention.how == "augment" or retention.spent else "TML205"
    return "TML108" if retention.hook and holder.kind != "local" else "TML102"


def _is_of_a_differentiable(frame: Frame) -> bool:
    """Whether a method's class says that one may differentiate through what it does: `DifferentiableSGD`."""
    receiver = frame.receiver
    cls = receiver.cls if isinstance(receiver, Obj) else None
    return isinstance(cls, Class) and any("Differentiable" in name for name in (cls.facts.name, *cls.base_names))


def _names_state(text: str) -> bool:
    words = text.removeprefix("self.").lower().strip("_").split("_")
    return any(word in _STATE_WORDS for word in words)


def _in_step_hook(retention: Retention) -> bool:
    frame = retention.store_event.frame
    while frame.caller is not None and frame.receiver is not None and frame.caller.receiver is frame.receiver:
        if _is_step_hook(frame.name):
            break
        frame = frame.caller  # `self.note(loss)`
    return _is_step_hook(retention.function) or _is_step_hook(frame.name)


def _is_step_hook(name: str) -> bool:
    return name in _STEP_HOOKS or (name.startswith("on_") and name.endswith("_batch_end"))


def _in_forward(retention: Retention) -> bool:
    if retention.hook or retention.function in ("forward", "forward_hook", "hook", "hook_fn"):
        return True
    return is_pass(retention.store_event.frame) or _is_given_by_pass(retention.store_event)


def _is_given_by_pass(store: Store) -> bool:
    """Whether a plain function puts it on the module whose pass has called it: `set_scale(self, "q", scale)`."""
    frame = store.frame
    while frame.receiver is None and frame.caller is not None:
        frame = frame.caller
    return frame is not store.frame and frame.receiver is store.owner and is_pass(frame)


def is_record(retention: Retention) -> bool:
    """Whether a place keeps the best value so far, `if loss < self.best: self.best = loss`, for its number."""
    store = retention.store_event
    if store.how != "set" or retention.spent:
        return False
    for statement, tests in with_tests(store.frame.facts.body):
        if statement[0] == m.ASSIGN and statement[1] == store.site and statement[3][0] in (m.NAME, m.ATTR, m.ITEM):
            pairs = [(target, statement[3]) for target in statement[2]]
            return any(
                node[0] == m.COMPARE and node[1] in _ORDERS and (node[2:4] in pairs or node[3:1:-1] in pairs)
                for test in tests
                for node in nodes(test)
            )
    return False


def _keeps_the_best(store: Store) -> bool:
    """Whether a part of a tensor is replaced where something is better, `nearer = found < best`, `best[nearer] =
    found[nearer]`: for its numbers."""
    assigned = [one for one in statements(store.frame.facts.body) if one[0] == m.ASSIGN]
    for statement in assigned:
        for target in statement[2] if statement[1] == store.site else ():
            masks = [target[2]] if target[0] == m.ITEM else []
            masks += [one[3] for one in assigned if any(name in masks for name in one[2])]
            if any(node[0] == m.COMPARE and target[1] in node[2:4] for mask in masks for node in nodes(mask)):
                return True
    return False


def replaces(store: Store) -> bool:
    """`states[key] = step(x, states[key])`: the entry is there already. A `defaultdict` may make it here, unless it is
    only cut: `rows[key] = rows[key][-8:]`."""
    if store.how != "keyed":
        return False
    by_default = isinstance(store.owner, Obj) and "$default" in store.owner.fields
    for statement in statements(store.frame.facts.body):
        if statement[0] == m.ASSIGN and statement[1] == store.site:
            value = statement[3]
            there = nodes(value) if not by_default else value[1:2] if value[0] == m.ITEM else ()
            entries = [target for target in statement[2] if target[0] == m.ITEM]
            return any(part in entries for part in there)
    return False


def _weight(retention: Retention) -> int:
    weight = retention.weight
    holder = retention.holder
    if not retention.graph:
        if replaces(retention.store_event):
            return 0
        texts = weight < 3 and last_part(holder.text).rsplit("_", 1)[-1] in _TEXTS
        return 1 if retention.wide or texts or _goes_with_its_variable(retention) else min(weight, 2)
    if retention.chain and is_conversion(retention.store_event):
        return 0  # the same tensor again, or a copy of it elsewhere
    if _is_of_a_differentiable(retention.store_event.frame):
        return 0  # the graph of all its steps is what it is there for
    local = holder.kind == "local" or (holder.kind == "global" and retention.function == "<module>")
    inside = retention.store_event.inside or _in_a_pass(retention.store_event.frame)
    passing = local or (holder.kind == "attribute" and _is_made_in_a_pass(retention.store_event.owner))
    if passing and inside and not (retention.training or _samples(retention)):
        return 0  # it goes when `forward` returns; parts in eval mode, as batch norms of one image, say nothing of it
    if local and _is_counted(retention):
        if retention.function == "__call__" and retention.escaped and not retention.training:
            return 0  # the steps of one result, as of a module's `forward`: whoever calls chooses the mode
        if _code(retention) == "TML110" and retention.escaped and _is_returned(retention):
            return 0  # a few rows, summed up for whoever calls, if not all of them are seen
        if retention.chain == "carry" and not (retention.training or retention.evaluating or retention.spent):
            weight = 1 if not (retention.named or _generates(retention)) else weight  # a window of known length
    elsewhere = local and file_of(retention.store) != file_of(retention.site)
    if elsewhere and not (retention.training or retention.evaluating or retention.named):
        return 0  # what another file's function computes in its own loop, such as a solver that calls this one
    if local and lists_what_is_given(retention.store_event):
        return 0
    if local and not holder.owner:
        return 0  # a container without a name: it goes where the expression goes
    if local and _code(retention) == "TML205":
        if not (retention.training or retention.evaluating):
            return 0  # a sum that a function computes and gives, such as a polynomial: no state that is updated
        if retention.escaped and _is_returned(retention):
            return 0  # adapted weights, through which whoever calls may differentiate, if not all of them are seen
    assumed = retention.store_event.grad == ASSUMED  # whoever calls may have turned gradients off
    memo = retention.how == "keyed" and not retention.chain
    if memo and retention.escaped and holder.kind == "attribute" and _code(retention) == "TML110":
        return 0  # a memo of derivatives, for whoever asks for them: the loss that they go into is theirs
    if retention.escaped and (
        retention.growing
        or retention.handed_on
        or not (retention.function == "forward" or is_pass(retention.store_event.frame))
    ):
        if retention.training:
            mixed = any(tensor.graph != ATTACHED for tensor in retention.store_event.tensors)
            if mixed and retention.how == "grow":
                return 0  # detached where it is back-propagated, attached where the caller does that
            weight -= not (retention.spent or retention.outdated)
        elif retention.growing and (retention.evaluating or _is_hooked_on(retention)):
            weight = min(weight, 2)
        else:
            return 0
    elif local and not (retention.training or retention.evaluating or retention.named or _generates(retention)):
        computed = any(origin[0] not in _HANDLED for origin in retention.origins)
        if assumed or not computed:
            return weight if _code(retention) == "TML110" else 0
    last = last_part(holder.text)
    cache = holder.kind == "attribute" and ("Cache" in holder.owner or _KEYS_AND_VALUES.search(last) is not None)
    if assumed and not retention.training and cache:
        return 1  # of keys and values, of a stream: made for inference, where whoever calls turns gradients off
    if retention.how in ("augment", "inplace") and last in ("weight", "bias"):
        return 0  # on a parameter that needs gradients it would raise [docs: autograd, in-place on leaves]
    differentiated = retention.training and retention.spent and retention.weight == 3  # computed in sight
    if last.rsplit("_", 1)[-1] in _COUNTS and not (retention.evaluating or differentiated):
        return 1  # how often something was right has no graph
    if retention.hook and retention.closed:
        return 1  # collected between two calls, and let go by its owner
    made_for_it = local or is_cut_in_the_end(retention.store_event)
    if retention.how == "fill" and made_for_it:
        best = (retention.training or retention.evaluating) and _keeps_the_best(retention.store_event)
        if not (best or (retention.training and retention.spent)):
            return 0  # filling a tensor that was made for it; with what was differentiated it is a record
    if retention.growing and is_switched_off(retention.store_event):
        return 1
    let_go = not retention.late and (
        retention.consumed or (retention.released and (retention.emptier or not retention.hook))
    )
    if let_go and all(loop.kind == "call" for loop in retention.loops):
        weight = 1  # whoever calls it, and is not seen, can have it let go
    if assumed and not retention.training:
        weight = min(weight, 2)
        passes_by = local and not (_decodes(retention) or _generates(retention))
        by_key = retention.how == "keyed" and not retention.hook and _code(retention) != "TML205"
        if not retention.evaluating and (passes_by or by_key):
            weight = 1  # a place for each key is not for each call; an average of each parameter grows in its place
        driven = not retention.late and all(loop.kind == "call" for loop in retention.loops)
        if retention.chain and retention.released and driven and not retention.evaluating:
            weight = 1  # whoever drives it may reset it in time
    if not retention.growing:
        weight = min(weight, 2)
        if retention.hook and _goes_with_the_call(retention.store_event):
            return 0
        if is_switched_off(retention.store_event) or may_be_detached(retention.store_event):
            return 0
        if holder.text == f"self.{holder.owner}":
            return 0  # whoever called has made it for this pass
        if asks_for_its_gradient(retention.store_event):
            return 0  # whoever reads that goes back through the graph first
        if is_called(retention.store_event):
            return 0  # `self.layer = self.layer_class(8)`, `self.layer(x)`: a module that is made when it is needed
        if last.rsplit("_", 1)[-1] in _INDICES:
            return 1  # whole numbers have no graph
        handed = (retention.handed_on or retention.released) and not retention.hook
        if assumed and (handed or any(word in last for word in ("loss", "aux", "penalty"))):
            weight = 1  # for another function, or for whoever sums the losses
        by_pass = retention.function in ("forward", "__call__") or _is_given_by_pass(retention.store_event)
        if not by_pass and not retention.hook:
            if last in ("weight", "bias"):
                return 0  # made anew for each pass, by what another part gives
            if _is_setter(retention.store_event) or _is_read_elsewhere(retention.store_event, last):
                return 0  # for whoever asks for it
            if not _STATISTICS.isdisjoint(last.split("_")):
                weight = 1  # of a distribution, for whoever computes the divergence
    elif local and _is_of_nowhere(retention):
        weight = min(weight, 1)
    return weight


def _is_of_nowhere(retention: Retention) -> bool:
    """Whether nothing in sight trains, evaluates or back-propagates what a variable collects: in code like that most
    that seems to have a graph has none, or is wanted with it (`benchmarks/first_look.csv`). A model that is built in
    sight is known to be one."""
    if retention.spent or retention.evaluating or retention.named or _code(retention) == "TML110":
        return False
    return not (retention.origins or retention.chain) if retention.training else retention.weight < 3


def _is_hooked_on(retention: Retention) -> bool:
    """Whether a hook adds to a list that nothing empties: whoever reads the last of it leaves the others."""
    return retention.hook and retention.how == "grow" and not retention.released


def _goes_with_the_call(store: Store) -> bool:
    """`seen = Capture()`, `def hook(...): seen.output = output`, in a function that takes its hooks out again, or gives
    the handle to one that does."""
    function = store.frame.function
    outer = function.frame if function is not None and function.frame.function is not None else None
    if outer is None or not any("remove" in one.facts.calls for one in (outer, outer.caller) if one is not None):
        return False
    made = {
        target
        for one in statements(outer.facts.body)
        if one[0] == m.ASSIGN and one[3][0] == m.CALL
        for target in one[2]
    }
    return any(
        target[0] == m.ATTR and target[1] in made
        for one in statements(store.frame.facts.body)
        if one[1] == store.site
        for target in (one[2] if one[0] == m.ASSIGN else ())
    )


def _is_setter(store: Store) -> bool:
    """`def save_map(self, attention): self.map = attention`"""
    if not store.frame.name.lstrip("_").startswith(("save_", "set_")):
        return False
    given = {(m.NAME, param.name) for param in store.frame.facts.params}
    return any(
        statement[0] == m.ASSIGN and statement[1] == store.site and statement[3] in given
        for statement in statements(store.frame.facts.body)
    )


def _is_read_elsewhere(store: Store, name: str) -> bool:
    """Whether another method of the class reads the attribute, or another function of the file one of that name."""
    own = store.frame.facts
    return any(
        node[0] == m.ATTR and node[2] == name and (node[1] != (m.NAME, "self") or function.owner == own.owner)
        for function in store.frame.unit.facts.functions
        if function is not own and function.name != "__init__"
        for statement in statements(function.body)
        for node in expressions_of(statement)
    )


def _is_counted(retention: Retention) -> bool:
    """Whether all loops that add to a place go a number of times that is known before, or over a part of something:
    `for _ in range(self.horizon)`, `for row in rows[:4]`."""
    body = statements(retention.store_event.frame.facts.body)
    over = {statement[1]: statement[3] for statement in body if statement[0] == m.FOR}
    counted = {
        site for site, value in over.items() if is_count(value) or (value[0] == m.ITEM and value[2][0] == m.SLICE)
    }
    return bool(counted) and all(loop.site in counted for loop in retention.loops)


def _is_returned(retention: Retention) -> bool:
    """Whether the function that fills a variable returns what it is filled with."""
    place = (m.NAME, retention.holder.text)
    body = statements(retention.store_event.frame.facts.body)
    return any(s[0] == m.RETURN and place in nodes(head) for s in body for head in heads(s))


def _in_a_pass(frame: Frame) -> bool:
    """Whether a frame is in the pass of a module whose caller is not seen."""
    while frame.caller is not None and frame.caller.function is not None:
        frame = frame.caller
    receiver = frame.receiver
    return frame.name == "forward" and isinstance(receiver, Obj) and receiver.kind == "module"


def _goes_with_its_variable(retention: Retention) -> bool:
    """Whether the object that collects is a variable's of a function in sight, for one loop over batches there: it goes
    with the call, or is what the call gives."""
    owner = retention.store_event.owner
    root = list(owner.holders)[-1] if isinstance(owner, Obj) else owner
    if not isinstance(root, Frame) or root.function is None or retention.holder.kind != "attribute":
        return False
    if works_on(retention):
        return False
    return sum(loop.kind in ("loop", "items") for loop in retention.store_event.loops) <= 1


def _is_made_in_a_pass(owner: Obj | Frame) -> bool:
    """Whether a place is one of an object that a variable of such a pass has: it goes when `forward` returns."""
    root = list(owner.holders)[-1] if isinstance(owner, Obj) else owner
    return isinstance(root, Frame) and root.function is not None and _in_a_pass(root)


def _samples(retention: Retention) -> bool:
    """Whether a module's method runs it again and again on what it gave, to sample or evaluate, with gradients on."""
    store = retention.store_event
    named = says_evaluation(store.frame.name) or not _SAMPLING.isdisjoint(store.frame.name.split("_"))
    return named and bool(retention.chain) and store.inside and store.grad == ON


def _decodes(retention: Retention) -> bool:
    """Whether an evaluation, which is no part of a module's pass, carries a state from step to step."""
    receiver = retention.store_event.frame.receiver
    inside = isinstance(receiver, Obj) and receiver.kind == "module"
    return retention.named and retention.chain == "carry" and not inside


def _generates(retention: Retention) -> bool:
    """Whether a generator of text or numbers carries a state from step to step. Nothing that it gives has a graph, so
    to turn gradients off is its own affair."""
    return retention.inward and not _SAMPLING.isdisjoint(retention.function.split("_"))


# -- words ----------------------------------------------------------------------------------------


def place(holder: Holder) -> str:
    """`self.history` (class Tracker), `self.maps["last"]`"""
    named = _KEY.sub(r'["\1"]', holder.text)
    text = f"`{named}`"
    return f"{text} (class {holder.owner})" if holder.kind == "attribute" and holder.owner else text


def until(holder: Holder, retention: Retention | None = None) -> str:
    if holder.kind == "local" and retention is not None and _is_bound_anew(retention):
        return f"until the next round binds {place(holder)} anew"
    if holder.kind == "local":
        named = holder.owner and holder.owner != "<module>"
        return f"until `{holder.owner}` returns" if named else "until it is dropped"
    if holder.kind == "attribute":
        return f"as long as the {holder.owner} lives" if holder.owner else "as long as its owner lives"
    return "for the rest of the process"


def _is_bound_anew(retention: Retention) -> bool:
    """Whether a loop of the function that collects makes the container, `for batch in loader: losses = []`."""
    store = retention.store_event
    own = store.frame.name == retention.holder.owner
    return own and any(loop.kind == "loop" and loop not in store.frame.loops for loop in store.birth)


def every(retention: Retention) -> str:
    return "call" if all(loop.kind == "call" for loop in retention.loops) else "iteration"


def cost(retention: Retention) -> str:
    """What one more step costs, in words."""
    if retention.spent:
        return f"the autograd nodes (host memory) of every {every(retention)} stay"
    if every(retention) == "call":  # whether its callers go back through it is not seen
        return "the graph of every call, and what activations no backward pass frees, stay"
    return f"the graph and saved activations of every {every(retention)} stay"


def unless_recorded(retention: Retention) -> str:
    """The other way out for a graph that nothing goes back through."""
    return "" if retention.spent else ", or compute them under `torch.no_grad()`"


def report(
    retention: Retention,
    confidence: Confidence,
    message: str,
    value: str,
    release: str,
    retains: Retains | None = None,
    remedy: Remedy | None = None,
) -> Report:
    related = retention.related
    if retention.store != retention.site:
        related = ((retention.store, "stored here"), *related)
    same_file = file_of(retention.store) == file_of(retention.site)
    return Report(
        site=retention.site,
        message=message,
        confidence=confidence,
        value=value,
        holder=retention.holder.text,
        release=release,
        retains=retains or (Retains.GROWING if retention.growing else Retains.HELD),
        related=tuple(note for note in related if note[0] != retention.site)[:4],
        remedy=None if retention.site % CALLS_PER_STATEMENT == DECORATORS else remedy,
        said_by=retention.store if retention.led else None,
        said_along=retention.store_event.trail if retention.led else (),
        by_calls=retention.growing and every(retention) == "call",
        remedy_site=retention.store if same_file else retention.site,  # else: let go where it is handed over
    )
