"""Retentions: heavy values that reached a place which outlives them.

Each store is joined with what says whether it stays: who holds it, since when, how often, what lets go, who will
still differentiate it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, Site, Stmt, statement_of
from ..facts.passed_by import PassedBy
from ..facts.program import targets
from ..facts.walk import is_count, last_name, nodes, statements
from ..facts.ways import LeftBehind
from ..interpreter.events import NEVER, Loops, Store
from ..interpreter.frames import Frame, Loop, kept_since
from ..interpreter.holders import called_back, heavy_objects, made_since
from ..interpreter.keys import FRESH, IDENTITY, KNOWN
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, DEPENDS, FEW, FREE, LEAF, SCALAR, Obj, Tensor
from .demand import Demand
from .left_on_items import is_left_on_item, is_of_one_item, was_there
from .left_on_stacks import left_on_stack
from .let_go import made_at
from .lifetimes import Lifetimes, older
from .occasions import filled_in_training, is_being_made
from .origins import (
    anchor,
    is_differentiated,
    is_seen_without_graph,
    is_spent,
    is_wide,
    listens,
    origins,
    stays_inside,
)
from .places import Holder, holder_of, in_test, last_part
from .rates import is_let_go_late
from .recordings import evaluates_by_name
from .runs import Runs
from .short_entries import keys_of_short_entries
from .updates import (
    beyond_a_step,
    beyond_one_batch,
    beyond_one_pass,
    beyond_one_update,
    beyond_the_pass_to_come,
    has_entries,
)
from .ways_out import left_behind
from .within_bounds import beyond_bounds

_REPEATS = ("loop", "call")  # kinds of loops whose rounds are steps


class Retention(NamedTuple):
    """A heavy value that stays where it outlives its use."""

    site: Site  # where to speak of it
    store: Site
    graph: bool  # attached to the autograd graph, as opposed to a plain tensor
    how: str
    chain: str  # "" | "sum" | "carry"
    growing: bool
    loops: Loops  # those whose rounds add to it
    holder: Holder
    function: str  # where it is stored
    hook: bool
    spent: bool  # has been back-propagated: its activations are gone, its nodes stay
    outdated: bool  # an optimizer has changed the weights that it was computed with: nobody can go back through it
    training: bool  # a backward pass runs in a loop that it outlives
    evaluating: bool  # it comes from a module in eval mode
    named: bool  # a function on the way says that it evaluates
    inward: bool  # a local state, and nothing that is computed with it is handed out
    escaped: bool
    handed_on: bool  # another function reads the place
    consumed: bool  # a function that empties it has read it
    summed_up: bool  # what a framework calls at the end of an epoch reads it
    released: bool  # something empties the place, though not in time
    emptier: bool  # what does so for a hook is there for that, by its name
    late: bool  # it does so once for many of the rounds that fill it
    closed: bool  # the owner's close empties it
    wide: bool  # a scalar with an input-sized storage
    threaded: bool  # recorded in a thread that was started under no_grad
    origins: tuple[Any, ...]  # labels of what it was computed from
    small: bool  # scalars, or a few elements
    remade: bool  # what holds it is made anew in each round of some loop
    weight: int
    related: tuple[tuple[Site, str], ...]
    store_event: Store
    left: LeftBehind | None = None  # the way out of a function on which an entry stays that the others take out
    passed: PassedBy | None = None  # the release that some entries never come to
    led: bool = False  # another file stores what it has made itself, or in its own loop: it may say so


class Retentions:
    """What is found of them in one file, from the stores of its run."""

    def __init__(
        self,
        machine: Machine,
        stores: list[Store],
        lifetimes: Lifetimes,
        demand: Demand,
        refuted: set[int],
        in_tests: bool,
    ) -> None:
        self.machine = machine
        self.stores = stores
        self.lifetimes = lifetimes
        self.demand = demand
        self.refuted = refuted
        self.in_tests = in_tests
        self._threads = {note.site for note in machine.plain if note.kind == "thread"}
        self.runs = Runs(machine)

    def found(self) -> list[Retention]:
        """One a place and store, those with the most evidence."""
        best: dict[tuple[Site, str, bool], Retention] = {}
        keys = keys_of_short_entries(self.machine, self.lifetimes)
        for store in (*self.stores, *self._filled_later(), *keys):
            if statement_of(store.site) in self.lifetimes.moving:
                continue
            for retention in self._judge(store):
                key = (retention.site, retention.holder.text, retention.graph)
                known = best.get(key)
                if known is None or _rank(retention) > _rank(known):
                    best[key] = retention
        found = sorted(best.values(), key=lambda retention: (retention.site, retention.holder.text))
        return list(self._once(found))

    def _once(self, found: list[Retention]) -> Iterator[Retention]:
        """Those of the home file, and what another file makes and keeps by itself only at the first line that leads
        there: `state.session(key)` hands over nothing that stays."""
        said: set[tuple[Site, str, bool]] = set()
        for retention in found:
            made = retention.store_event.instances
            if made and not any(map(self.machine.is_home, (retention.store, *(one.site for one in made)))):
                place = (retention.store, retention.holder.text, retention.graph)
                if place in said:
                    continue
                said.add(place)
            yield retention

    def _filled_later(self) -> Iterator[Store]:
        """Stores of objects that got their tensors or models when they were in the container already."""
        for store in self.machine.later:
            held = (*store.instances, *called_back(store.instances))
            tensors = tuple(tensor._replace(graph=FREE) for tensor in self.machine.reach(held))
            objects = () if tensors else heavy_objects(store.instances)
            if tensors or objects:
                yield store._replace(
                    tensors=tensors,
                    objects=objects,
                    fresh=any(made_since(obj, store.loops, store.birth) for obj in objects),
                )

    def _judge(self, store: Store) -> Iterator[Retention]:
        if self.demand.demanded(store) and not self.demand.stays_anyway(store):
            return
        attached = [t for t in store.tensors if t.graph == ATTACHED and t.node not in self.refuted]
        free = [tensor for tensor in store.tensors if tensor.graph != ATTACHED]
        if attached and store.hook and (is_seen_without_graph(self.machine, store) or self.demand.led_to(store)):
            attached = []
        if attached and was_there(self.machine, store):
            return
        if store.how == "set" and store.carried < NEVER <= store.summed and self.lifetimes.begins_with(store):
            attached = []
        if attached and not self._is_cut(store) and not self.demand.taken_without_gradients(store):
            yield from self._retention(store, attached, True)
        if (free or store.objects) and store.how in ("grow", "keyed"):
            yield from self._retention(store, free, False)

    def _is_cut(self, store: Store) -> bool:
        """Whether what replaces a value is a new leaf on another way, `p.detach().requires_grad_()`: a switch says
        whether the next round is to reach back through this one."""
        leaves = (tensor.node for tensor in store.tensors if tensor.graph == LEAF)
        return store.how == "set" and any(node in self.machine.derivation.leaves for node in leaves)

    def _retention(self, store: Store, kept: list[Tensor], graph: bool) -> Iterator[Retention]:
        lifetimes, holder = self.lifetimes, holder_of(self.machine, store)
        if isinstance(store.owner, Obj) and store.owner.bounded and not (graph and store.owner.roomy):
            return
        tested = self.in_tests and holder.kind in ("local", "attribute")
        if tested or (holder.kind == "local" and in_test(store.frame)):
            return  # it goes with the test
        since = min(store.summed, store.carried)
        # what a chain goes back to was there before: its object is made in some rounds only, `if key not in table`
        born = kept_since(store.owner, store.birth) if since < NEVER else lifetimes.kept_since(store)
        repeats = [loop for loop in store.loops if loop not in born and loop.kind in _REPEATS]
        if is_being_made(store):  # another one in each round, whoever gets it
            repeats = [loop for loop in repeats if loop is store.loops[-1]]
            if holder.kind == "global":  # which has a list that is whole, as from a function that fills one in a loop
                holder = holder._replace(kind="local", owner="<module>")
        if store.how not in ("grow", "keyed") or (graph and store.key_kind == KNOWN):
            chained = [loop for loop in older(store, since) if not is_of_one_item(store, [loop])]
            growing = [loop for loop in repeats if loop in chained or (graph and is_left_on_item(store, loop))]
        else:
            growing = _of_slots(store, repeats, older(store, since) if graph else [], graph)
        resets = lifetimes.resets_of(store)
        left = left_behind(self.machine, lifetimes.releases, store, resets) if resets and growing else None
        left = left or (left_on_stack(self.machine, lifetimes.releases, store, resets) if resets and growing else None)
        uncovered = [loop for loop in growing if left or not lifetimes.covered(store, loop, graph)]
        place = last_part(holder.text)
        # what is left behind counts against the limit, and once that is reached nothing is let in any more
        beyond = uncovered if left or not uncovered else beyond_bounds(store, place, uncovered)
        if beyond != uncovered:
            off = lifetimes.releases.switched_off(place, holder.owner, made=made_at(store.owner))
            uncovered = uncovered if store.frame.name in off else beyond
            if not uncovered:
                return
        growing = beyond_a_step(store, uncovered, repeats)
        updated = beyond_one_batch(store, born, beyond_one_update(store, growing)) if graph else growing
        if updated != growing and is_spent(self.machine, store, kept) and not has_entries(store):
            growing = updated
        growing = beyond_one_pass(store, holder.text, growing) if graph and holder.kind == "attribute" else growing
        if graph and holder.kind == "local" and growing:
            growing = beyond_the_pass_to_come(self.machine, store, kept, growing)
        if uncovered and not growing:
            return  # it is there for one step
        made_from: list[Any] | None = None
        parts = since < NEVER or store.how in ("grow", "keyed")
        variable = holder.kind == "local" or (holder.kind == "global" and store.frame.function is None)
        if graph and variable and parts and not self._in_thread(store.frame):
            made_from = origins(self.machine, store.node)
            growing = self.runs.repeated_in(growing, made_from)
        if not growing and (holder.kind == "local" or not graph or not repeats):
            return
        if not growing and any(lifetimes.covered(store, loop, graph) for loop in repeats):
            return
        if store.hook:  # a loop that sets hooks up, and runs nothing, is over before they are called
            growing = [loop for loop in growing if loop.kind == "call" or loop in self.runs.loops]
        site = self._led_each_round(store, growing) or anchor(self.machine, store, graph)
        led = None
        if site is None and growing and not listens(self.machine, store):
            led = self._leads_to(store, growing, holder.kind == "local")
        if site is not None or led is not None:
            made_from = origins(self.machine, store.node) if made_from is None else made_from
            record = self._record(site or led or -1, store, kept, graph, holder, growing, repeats, made_from)
            led_there = led is not None or (not graph and self._grows_there(store, growing))
            if site is not None and not self.machine.is_home(store.site):
                led_there = led_there or self._is_given_back_by_pass(site)
            yield record._replace(left=left, passed=self._passed(store, holder) if growing else None, led=led_there)

    def _grows_there(self, store: Store, growing: list[Loop]) -> bool:
        """Whether a loop of the other file, and none of this one, makes a place of that file grow: whoever calls it has
        one call, and what it leaves is said where it is left."""
        rounds = [loop for loop in growing if loop.kind == "loop"]
        return bool(rounds) and not self.machine.is_home(store.site) and not any(map(self._is_of_home, rounds))

    def _is_of_home(self, loop: Loop) -> bool:
        return type(loop.site) is not int or self.machine.is_home(loop.site)

    def _in_thread(self, frame: Frame | None) -> bool:
        """Whether a thread runs it, which is given something new in each round."""
        while frame is not None and frame.call_site not in self._threads:
            frame = frame.caller
        return frame is not None

    def _led_each_round(self, store: Store, growing: list[Loop]) -> Site | None:
        """The call of this file each of which makes the place of another file grow, where what is kept comes back from
        a module's `forward` of this file: that gives its result to whoever asks."""
        if self.machine.is_home(store.site) or not growing:
            return None
        frame, site = self._entered(store), anchor(self.machine, store)
        if frame is None or site is None or not self._is_pass(site):
            return None
        return frame.call_site if any(loop.kind == "loop" and loop in frame.loops for loop in growing) else None

    def _is_given_back_by_pass(self, site: Site) -> bool:
        """Whether it is said of the `return` of a module's `forward` what others keep of what it gives."""
        return site % CALLS_PER_STATEMENT == 0 and self._is_pass(site)

    def _is_pass(self, site: Site) -> bool:
        """Whether a statement of this file is in a module's `forward`."""
        passes = (one for one in self.machine.facts.functions if one.name == "forward")
        return any(one[1] == site for function in passes for one in statements(function.body))

    def _entered(self, store: Store) -> Frame | None:
        """The function of another file that this one calls, on the way to what that file stores."""
        frame = store.frame
        while frame.caller is not None and frame.caller.unit is not self.machine.home:
            frame = frame.caller
        return None if frame.caller is None or not self.machine.is_home(frame.call_site) else frame

    def _leads_to(self, store: Store, growing: list[Loop], local: bool) -> Site | None:
        """The call that leads to what another file stores: in a loop of this one, or in a script, which alone knows
        what it gives to a loop of the other file; the variables of that file's functions are its own affair."""
        frame = self._entered(store)
        if frame is None or frame.caller is None:
            return None
        in_loop = any(loop.kind == "loop" and loop in frame.loops for loop in growing)
        return frame.call_site if in_loop or (not local and self._is_of_script(frame.caller)) else None

    def _is_of_script(self, frame: Frame) -> bool:
        """Whether the file is what is run: its body leads here, or a `main` that no code of it calls."""
        while frame.caller is not None:
            frame = frame.caller
        return frame is self.machine.module_frame or (frame.name == "main" and frame.receiver is None)

    def _passed(self, store: Store, holder: Holder) -> PassedBy | None:
        return next(iter(self.lifetimes.passing_by(store, holder).values()), None)

    def _record(
        self,
        site: Site,
        store: Store,
        kept: list[Tensor],
        graph: bool,
        holder: Holder,
        growing: list[Loop],
        repeats: list[Loop],
        made_from: list[Any],
    ) -> Retention:
        """All that a rule needs of a value that stays."""
        lifetimes = self.lifetimes
        chain = "sum" if store.summed < NEVER else "carry" if store.carried < NEVER else ""
        calls = [label for label in made_from if label[0] == "module"]
        weight = max([tensor.weight for tensor in kept] + [obj.weight for obj in store.objects])
        if graph and weight == 1 and any(is_differentiated(self.machine, tensor) for tensor in kept):
            weight = 2  # whatever computed it, it has a graph
        if graph and weight == 1 and self.runs.cut_off.intersection((store.node, *(tensor.node for tensor in kept))):
            weight = 2
        if weight == 1 and any(label[1] in self.runs.models for label in calls):
            weight = 2  # whatever it is called, it is trained
        if weight == 1 and not graph and any(tensor.node in self.runs.fed for tensor in kept):
            weight = 2
        if store.grad == DEPENDS:
            weight = min(weight, 2)
        spent = is_spent(self.machine, store, kept)
        released = lifetimes.is_released(store) or lifetimes.may_be_let_go(holder, store.frame.name, growing)
        return Retention(
            site=site,
            store=store.site,
            graph=graph,
            how=store.how,
            chain=chain if growing and not is_of_one_item(store, growing) else "",
            growing=bool(growing),
            loops=tuple(growing or repeats),
            holder=holder,
            function=store.frame.name,
            hook=store.hook,
            spent=spent,
            outdated=any(loop.backward for loop in growing) and self.runs.are_trained(calls),
            training=self._trains(store, growing or repeats, graph and holder.kind == "local" and not spent)
            or (store.hook and holder.kind == "local" and filled_in_training(self.machine, store)),
            evaluating=self.runs.in_eval_mode(calls),
            named=self._says_evaluation(store),
            inward=bool(chain) and holder.kind == "local" and stays_inside(self.machine, store),
            escaped=self.demand.escapes(store),
            handed_on=lifetimes.handed_on(store),
            consumed=not lifetimes.readers(store).isdisjoint(lifetimes.released_in(store)),
            summed_up=any(name.endswith("epoch_end") for name in lifetimes.readers(store)),
            released=released,
            emptier=released and store.hook and lifetimes.has_emptier(store, holder),
            late=is_let_go_late(store.frame, lambda: lifetimes.letting_go(store, holder))
            or (store.hook and lifetimes.stays_beyond_a_step(store)),
            closed=any(name in knowledge.CLOSERS for name in lifetimes.released_in(store)),
            wide=any(is_wide(self.machine, tensor) for tensor in kept),
            threaded=store.thread or any(label[2] in self.runs.threaded for label in calls),
            origins=tuple(made_from),
            small=not store.objects and all(tensor.size in (SCALAR, FEW) for tensor in kept),
            remade=any(loop.kind in _REPEATS for loop in kept_since(store.owner, store.birth)),
            weight=weight,
            related=_trail_notes(store),
            store_event=store,
        )

    def _trains(self, store: Store, loops: list[Loop], variable: bool) -> bool:
        """Whether a backward pass in these loops trains something. Where no step follows, one that keeps a graph for
        others, `out.backward(create_graph=self.enabled)`, is how a function computes what they may differentiate."""
        derivation = self.machine.derivation
        if any(loop.computes for loop in loops) and not derivation.gradients.isdisjoint(
            derivation.ancestors(store.node)
        ):
            return True  # nobody can go back through a gradient that was computed without a graph
        trained = [loop for loop in loops if loop.backward]
        if not trained or not variable or any(loop.steps for loop in trained):
            return bool(trained)
        passes = [one for one in self.machine.backwards if any(loop in trained for loop in one.loops)]
        return not passes or not all(one.more for one in passes)

    def _says_evaluation(self, store: Store) -> bool:
        frame: Frame | None = store.frame
        while frame is not None:
            if evaluates_by_name(frame):
                return True
            frame = frame.caller
        return False


def _of_slots(store: Store, loops: list[Loop], chained: list[Loop], graph: bool) -> list[Loop]:
    """Without the loops that come again to the same slots of a list, `for i, v in enumerate(values): self.last[i] = v`
    inside them: an index replaces what was there, unless the new value is made of it, `kept[i] = kept[i] + v`."""
    if store.how != "keyed" or not isinstance(store.owner, Obj) or store.owner.kind != "list":
        return loops
    body = store.frame.facts.body
    put = next((one for one in statements(body) if one[1] == store.site and one[0] == m.ASSIGN), None)
    keys = {target[2] for target in (put[2] if put is not None else ()) if target[0] == m.ITEM}
    counting = [one for one in statements(body) if one[0] == m.FOR and not keys.isdisjoint(targets(one))]
    if not keys or not keys <= {target for one in counting for target in targets(one)}:
        return loops
    if graph and any(_is_picked(store, key, one) for key in keys for one in counting):
        return loops
    sums = put is not None and any(target in nodes(put[3]) for target in put[2])
    sites = {one[1] for one in counting if is_count(one[3]) or last_name(one[3]) == "enumerate"}
    inner = next((at for at, loop in enumerate(store.loops) if loop.site in sites), 0)
    around = (*store.frame.loops, *store.loops[:inner])
    return [loop for loop in loops if loop not in around or (sums and loop in chained)]


def _is_picked(store: Store, key: Expr, loop: Stmt) -> bool:
    """`for i, error in zip(indices, errors)`: other slots each time, those that whoever calls has drawn."""
    if last_name(loop[3]) != "zip" or loop[3][0] != m.CALL or loop[2][0] != m.NEW:
        return False
    given = {(m.NAME, param.name) for param in store.frame.facts.params}
    return any(place == key and source in given for place, source in zip(loop[2][3], loop[3][3], strict=False))


def _rank(retention: Retention) -> tuple[bool, int, bool, bool, int, bool, bool]:
    return (
        retention.growing,
        retention.weight,
        bool(retention.chain),
        retention.training,
        len(retention.loops),
        retention.store_event.key_kind in (FRESH, IDENTITY),
        any(loop.kind == "loop" for loop in retention.loops),
    )


def _trail_notes(store: Store) -> tuple[tuple[Site, str], ...]:
    return tuple((site, "called from here") for site in reversed(store.trail))
