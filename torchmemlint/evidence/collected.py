"""Results that a loop collects where they were computed, and that are moved to the host only after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.batches import is_loader
from ..facts.knowledge import DTYPES, TO_DEVICE
from ..facts.model import Expr, Site, Stmt
from ..facts.program import expressions, targets
from ..facts.walk import call_at, calls, is_count, last_name, nodes, root_of, statements
from ..interpreter.events import Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.machine import Machine
from ..interpreter.parts import INDICES
from ..interpreter.values import ANY, ATTACHED
from .occasions import is_being_made
from .places import Holder, describe, last_part
from .put_on_device import is_put_there

_NEAR = 8  # nodes of the derivation between a place and what fills it
_STEPS = 6  # from a collection to what is moved: joined, cast, the best of it; beyond that it is worked with
_PLACES = TO_DEVICE | {"Accelerator", "gather_for_metrics"}
_JOINS = ("cat", "concat", "concatenate", "vstack", "hstack")
_NUMPY = ((m.NAME, "np"), (m.NAME, "numpy"))
_RUNS_A_MODEL = ("forward", "__call__")
_OF_SAMPLES = frozenset("reward rewards score scores loss losses acc accs accuracy accuracies".split())


class Collected(NamedTuple):
    store: Store
    holder: str
    function: str
    weight: int


def collected_on_device(machine: Machine, stores: Iterable[Store]) -> Iterator[Collected]:
    """Local containers, and tensors that `cat` makes longer, that leave the device after the loop has ended: what is
    stored there."""
    if not machine.moves:
        return
    ancestors = machine.derivation.ancestors
    read_off = machine.derivation.read_off
    moved = [(_made_in_a_few_steps(machine, node), node, loops) for node, loops in machine.moves]
    told = [(_made_in_a_few_steps(machine, node, of=True), node, loops) for node, loops in machine.moves]
    for store in stores:
        if not store.tensors or any(t.graph == ATTACHED for t in store.tensors) or not machine.is_home(store.site):
            continue
        loop = growing(machine, store)
        if loop is None or not any(tensor.size == ANY for tensor in store.tensors):
            continue
        given = {near for tensor in store.tensors for near in ancestors(tensor.node, _NEAR)}
        shared = {source for node in given for source in machine.derivation.shared.get(node, ())}  # what was detached
        given |= {near for node in shared for near in ancestors(node, _NEAR)}
        inside = [loop for loop in store.loops if loop not in store.birth]
        early = any(node in given for _, node, loops in moved if any(loop in loops for loop in inside))
        ends = moved if any(node in read_off for node in given) else told  # labels tell of the logits, if of anything
        late = any(not made.isdisjoint(store.nodes) for made, _, loops in ends if loop not in loops)
        holder = describe(store.owner, store.key, machine)
        if _is_as_loaded(store, loop):
            continue  # a loader gives it on the host
        if is_put_there(store, loop):
            continue  # whoever asked for them wants them there
        scripts = holder.kind == "global" and store.frame.function is None  # its body is one function
        own = scripts or (holder.kind in ("local", "attribute") and holder.owner)
        if late and not early and own and _moves_inputs(store):
            # What `.cpu()` is called on is a tensor, whatever else is known of it.
            runs = any(machine.derivation.labels.get(node, ("",))[0] in ("module", "ran") for node in given)
            batches = any(loop.name == "loader" or _moves_items(store, loop, runs) for loop in inside)
            if batches or holder.kind == "local":
                yield Collected(store, holder.text, holder.owner, 2 if batches and not _is_of_samples(holder) else 1)


def _made_in_a_few_steps(machine: Machine, node: int, *, of: bool = False) -> set[int]:
    """What a tensor was made from, also by `detach()`, which shares the storage; with `of` also what labels or truth
    values are of, `logits.argmax(1)`. What an algorithm computes from its own state, step after step on the device, is
    not that state; nor what unseen code makes of it and of something else, `knn_predict(feature, bank)`."""
    derivation = machine.derivation
    found, last = {node}, [node]
    for _ in range(_STEPS):
        for each in last:
            shared = [one for one in derivation.shared.get(each, ()) if one not in found]
            found.update(shared)
            last += shared
        last = [each for each in last if each not in derivation.foreign or len(derivation.parents[each]) < 2]
        parents = {parent for each in last for parent in derivation.parents[each]}
        parents |= {source for each in last for source in derivation.read_off.get(each, ()) if of}
        parents -= found
        found |= parents
        last = list(parents)
    return found


def _is_of_samples(holder: Holder) -> bool:
    """Whether it collects one number for each sample, by its name: `rewards`, `scores_list`."""
    words = last_part(holder.text).lower().strip("_").split("_")
    return not _OF_SAMPLES.isdisjoint(words[-2:])


def _moves_inputs(store: Store) -> bool:
    """Whether the function, or the one that called it, puts something on a device; or has accelerate do so, whose
    loaders do [docs: Accelerator.prepare]."""
    if _helpers(store.frame):
        return True
    frame: Frame | None = store.frame
    while frame is not None:
        if not _PLACES.isdisjoint(frame.facts.calls):
            return True
        frame = frame.caller
    return False


def _helpers(frame: Frame) -> set[Site]:
    """The calls, in a function, of such as put something on a device: `ids = self.tensorize(batch)`. A model that does
    so when it is run only brings things to where it is."""
    return {
        key[0]
        for key, inner in frame.children.items()
        if inner.name not in _RUNS_A_MODEL
        and not TO_DEVICE.isdisjoint(inner.facts.calls)
        and any(last_name(call[2]) in TO_DEVICE and not _stays_or_leaves(call) for call in calls(inner.facts.body))
    }


def _moves_items(store: Store, loop: Loop, runs: bool) -> bool:
    """Whether a loop puts on a device what it goes over: batches, not the steps of one generation; `runs`: a model is
    run on them."""
    whole = {key[0] for key, inner in store.frame.children.items() if _goes_over_a_loader(inner)}
    helpers = _helpers(store.frame) - whole
    for statement in statements(store.frame.facts.body):
        if statement[0] != m.FOR or statement[1] != loop.site:
            continue
        asked = list(calls(statement[4]))
        handed = (one for call in asked if call[1] in helpers for one in (*call[3], *(value for _, value in call[4])))
        if any(_root(one) in _items_of(statement) for one in handed):
            return True
        moves = [call for call in asked if last_name(call[2]) in TO_DEVICE and not _stays_or_leaves(call)]
        if (moves or loop.runs) and takes_slices(statement):
            return True
        items = _items_of(statement)
        items -= set() if runs or loop.runs else _on_the_host(statement)
        counted = is_count(statement[3])  # `torch.full((1,), i).to(device)` is of a step
        for expr in expressions(statement[4]):
            if expr[0] == m.COMP:  # `{key: value.to(device) for key, value in batch.items()}`
                over = [part for part in expr[5] if _root(part[1]) in items]
                items |= {name for part in over for name in nodes(part[0]) if name[0] == m.NAME}
        for call in moves:
            moved = (call[2][1],) if call[2][0] == m.ATTR and call[2][2] in ("to", "cuda") else call[3][:1]
            if any(_root(one) in items or (not counted and _made_of(one, items)) for one in moved):
                return True
    return False


def _on_the_host(loop: Stmt) -> set[Expr]:
    """What a round computes with NumPy, `weight = weight / np.std(weight)`: where no model runs, what goes to a device
    after that is wanted there."""
    return {
        target
        for one in statements(loop[4])
        if one[0] == m.ASSIGN and any(root_of(call[2]) in _NUMPY for call in nodes(one[3]) if call[0] == m.CALL)
        for target in targets(one)
    }


def _goes_over_a_loader(frame: Frame) -> bool:
    """`for name, loader in loaders.items(): found[name] = evaluate(model, loader)`: a helper that has a loop over
    batches of its own is given all of them, and what it gives is of a whole data set."""
    return any(one[0] == m.FOR and is_loader(one[3]) for one in statements(frame.facts.body))


def _items_of(loop: Stmt) -> set[Expr]:
    return {part for target in targets(loop) for part in nodes(target) if part[0] == m.NAME}


def _is_as_loaded(store: Store, loop: Loop) -> bool:
    """`for batch in loader: labels.append(batch[1])`: a part of what a loader gives, under the name that the loop has
    for it."""
    call = call_at(store.frame.facts.body, store.site) if loop.name == "loader" else None
    over = next((one for one in statements(store.frame.facts.body) if one[1] == loop.site), None)
    if call is None or over is None or len(call[3]) != 1:
        return False
    place = call[3][0]
    while place[0] in (m.ATTR, m.ITEM):
        place = place[1]
    bound = {name for one in statements(over[4]) for target in targets(one) for name in nodes(target)}
    return place[0] == m.NAME and place not in bound and any(place in nodes(target) for target in targets(over))


def _stays_or_leaves(call: Expr) -> bool:
    """`x.to(torch.float32)`, `x.to(weight.dtype)`, `x.to(dtype=kind)`: to another type, where it is; or to the host,
    `x.to("cpu")`."""
    given = [*call[3], *(value for key, value in call[4] if key != "copy")]
    if (m.CONST, "cpu") in given:
        return True
    if len(given) != 1:
        return False
    named = last_name(given[0])
    return named in DTYPES or named.endswith("dtype") or call[4][:1] == (("dtype", given[0]),)


def _made_of(expr: Expr, items: set[Expr]) -> bool:
    """`torch.from_numpy(frame).float()`, `transform(image).unsqueeze(0)`: a tensor that was made of an item."""
    while expr[0] == m.CALL:
        if any(_root(one) in items for one in expr[3]):
            return True
        expr = expr[2][1] if expr[2][0] == m.ATTR else expr[3][0] if expr[3] else expr[2]
    return False


def takes_slices(loop: Stmt) -> bool:
    """`for start in range(0, len(rows), size): batch = rows[start : start + size]`."""
    steps = any(is_count(node) and len(node[3]) == 3 for node in nodes(loop[3]) if node[0] == m.CALL)
    indices = (expr[2] for expr in expressions(loop[4]) if expr[0] == m.ITEM) if steps else ()
    return any(index[0] == m.SLICE and index[1] in targets(loop) for index in indices)


def _root(expr: Expr) -> Expr:
    """`batch` of `batch["image"].float()`."""
    while expr[0] in (m.ATTR, m.ITEM) or (expr[0] == m.CALL and expr[2][0] == m.ATTR):
        expr = expr[2][1] if expr[0] == m.CALL else expr[1]
    return expr


def growing(machine: Machine, store: Store) -> Loop | None:
    """The loop whose rounds add to the place."""
    if store.how == "set" and not _concatenated(machine, store):
        return None
    if store.how not in ("set", "grow", "keyed") or is_being_made(store):
        return None
    born = store.birth
    repeats = [loop for loop in store.loops if loop not in born and loop.kind == "loop" and type(loop.site) is int]
    return repeats[-1] if repeats else None


def _concatenated(machine: Machine, store: Store) -> bool:
    """`kept = torch.cat([kept, new])`: the value derives from what the place held, through a concatenation. Where it
    began as a tensor, which it stays, no second round has shown that."""
    if not isinstance(store.owner, Frame):
        return False
    derivation = machine.derivation
    if _joins_itself(store):
        near = derivation.ancestors(store.node, _NEAR)
        return all(derivation.labels.get(node) != INDICES for node in near)  # a few numbers for each sample
    for node in derivation.ancestors(store.node, _NEAR):
        label = derivation.labels.get(node)
        if label is not None and label[0] == "cat":
            for part in derivation.ancestors(node, _NEAR):
                write = derivation.labels.get(part)
                if write is not None and write[0] == "write" and write[1] is store.owner and write[2] == store.key:
                    return True
    return False


def _joins_itself(store: Store) -> bool:
    variable = (m.NAME, store.key)
    return any(
        last_name(call[2]) in _JOINS and any(variable in nodes(given) for given in call[3][:1])
        for one in statements(store.frame.facts.body)
        if one[0] == m.ASSIGN and one[1] == store.site and variable in one[2]
        for call in nodes(one[3])
        if call[0] == m.CALL
    )
