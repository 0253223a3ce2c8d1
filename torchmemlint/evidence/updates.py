"""What a place gains in one training step, or in the parts of one update, and is rid of by the next."""

from __future__ import annotations

from ..facts import model as m
from ..facts.evaluating import says_inference
from ..facts.given_containers import is_empty
from ..facts.model import BACKWARD, Site
from ..facts.program import expressions, targets, text
from ..facts.walk import call_at, is_count, nodes, statements
from ..interpreter.events import Backward, Loops, Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Tensor
from .places import is_pass


def beyond_a_step(store: Store, growing: list[Loop], repeats: list[Loop]) -> list[Loop]:
    """Without the loops of one training step, or of one pass that is called from elsewhere, where each empties the
    place, or makes the object that has it: those go through time, and what they leave is there for one step. So do the
    batches of one optimizer step."""
    growing = [loop for loop in growing if loop.name != "accumulation"]
    steps = [store.loops.index(loop) for loop in repeats if (loop.backward or _is_pass(loop)) and loop not in growing]
    if store.how == "set" and isinstance(store.owner, Obj) and _differentiates(store.frame):
        steps += [number for number, loop in enumerate(store.loops) if loop.backward and loop in store.birth]
    emptied = [loop for loop in repeats if loop not in growing]
    steps += [store.loops.index(loop) for loop in emptied if any(_is_about(one, loop, store) for one in growing)]
    return [loop for loop in growing if loop.backward or not any(step < store.loops.index(loop) for step in steps)]


def _is_about(inner: Loop, outer: Loop, store: Store) -> bool:
    """Whether a loop goes through the time steps of what one round of another is about: the rows of its tensor, or so
    many steps for each batch of a loader, `for batch in loader: for t in range(self.steps): ...`."""
    if inner.part_of is outer:
        return True
    around = [loop for loop in store.loops[: store.loops.index(inner)] if loop.kind == "loop"]
    return outer.name == "loader" and around[-1:] == [outer] and inner.site in _counting(store.frame)


def _counting(frame: Frame | None) -> set[Site]:
    """The loops over numbers of a function, and of those that it was called from."""
    found: set[Site] = set()
    while frame is not None:
        found |= {one[1] for one in statements(frame.facts.body) if one[0] == m.FOR and is_count(one[3])}
        frame = frame.caller
    return found


def beyond_one_pass(store: Store, holder: str, growing: list[Loop]) -> list[Loop]:
    """Without the loops of a module's pass that makes the place anew, `self.parts = []`: what they leave there is there
    until the next pass, as the parts in a variable of the pass are until it returns. Batches are no parts."""
    if store.how not in ("grow", "keyed") or not is_pass(store.frame) or not _makes_anew(store, holder):
        return growing
    return [loop for loop in growing if loop.backward or loop.kind != "loop" or loop.name == "loader"]


def _makes_anew(store: Store, holder: str) -> bool:
    """Whether the function binds an attribute to an empty container before it fills it, whatever the case."""
    return any(
        one[0] in (m.ASSIGN, m.ANNOTATE)
        and one[1] < store.site
        and one[-1] is not None
        and is_empty(one[-1])
        and holder not in map(text, nodes(one[-1]))  # `list(self.parts)` has what was there
        for one in store.frame.facts.body
        if holder in map(text, targets(one))
    )


def _is_pass(loop: Loop) -> bool:
    """Whether the rounds are calls of a module's pass, by code that is not seen."""
    return loop.kind == "call" and (loop.name == "forward" or says_inference(loop.name))


def beyond_one_batch(store: Store, born: Loops, growing: list[Loop]) -> list[Loop]:
    """Without the loops in a step, or over a batch, that the place was made for, and that is differentiated in it: `for
    batch in loader: total = 0` and `for _ in range(self.repeats): ... loss.backward(); total += loss`. Whatever is left
    of their graphs goes with the batch."""
    around = [loop for loop in born if loop.kind == "loop"]
    if not around or not (around[-1].backward or around[-1].name == "loader"):
        return growing
    counted = {one[1] for one in statements(store.frame.facts.body) if one[0] == m.FOR and is_count(one[3])}

    def inside(loop: Loop) -> bool:
        return loop.site in counted and (not loop.backward or around[-1].name == "loader")

    return [loop for loop in growing if not inside(loop)]


def beyond_one_update(store: Store, growing: list[Loop]) -> list[Loop]:
    """Without the loops over the parts of one update: each part is differentiated by itself, the optimizer steps when
    all of them have been, and by the next step the place is a new one. What is left of their graphs is there so long.
    """

    def is_part(loop: Loop) -> bool:
        outer = store.loops[: store.loops.index(loop)]
        return loop.backward and not loop.steps and loop.name != "loader" and any(map(updates, outer))

    def updates(loop: Loop) -> bool:
        return loop.steps and loop.backward and loop not in growing

    return [loop for loop in growing if not is_part(loop)]


def beyond_the_pass_to_come(machine: Machine, store: Store, kept: list[Tensor], growing: list[Loop]) -> list[Loop]:
    """Without the loops that are over when a backward pass comes through all that their rounds have put there:
    `outs.append(stage.forward(chunk))`, and the stage differentiates what it has put by, chunk by chunk, once it has
    seen the last one. Till then the graphs have to be there, whoever else has them. A generator goes on in between."""
    around = _callers(store.frame)
    passes = [one for one in machine.backwards if all(_goes_through(machine, one, tensor) for tensor in kept)]
    for one in passes:
        way = _callers(one.frame)
        between = any(frame.facts.generator for frame in way - around)
        if between or around.isdisjoint(way) or one.retain or not one.method:
            return growing
    if not passes:
        return growing
    return [loop for loop in growing if loop.kind != "loop" or any(loop in one.loops for one in passes)]


def _callers(frame: Frame | None) -> set[Frame]:
    """An activation of a function, and those that it was called from."""
    found: set[Frame] = set()
    while frame is not None:
        found.add(frame)
        frame = frame.caller
    return found


def _goes_through(machine: Machine, backward: Backward, tensor: Tensor) -> bool:
    gone: set[int] = set()
    for node in backward.nodes:
        machine.derivation.spread(gone, node, backward.inputs | machine.derivation.cut)
    names = machine.derivation.names_of(tensor.node)
    return any(name in gone or machine.derivation.within(name) in gone for name in names)


def has_entries(store: Store) -> bool:
    """Whether what is put there is no loss itself, but has one among other things: `kept.append(outputs)`, and
    `outputs["loss"]` elsewhere in the function; or a container that was made of several."""
    if store.nesting > 0:
        return True
    call = call_at(store.frame.facts.body, store.site)
    given = call[3] if call is not None else ()
    return any(expr[0] == m.ITEM and expr[1] in given for expr in expressions(store.frame.facts.body))


def _differentiates(frame: Frame | None) -> bool:
    """Whether a function, or one that it was called from, has a backward pass of its own."""
    while frame is not None:
        if frame.facts.flags & BACKWARD:
            return True
        frame = frame.caller
    return False
