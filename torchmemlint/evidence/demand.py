"""Who will still differentiate what a place keeps: then it has to be there, unless it stays when that is done."""

from __future__ import annotations

import functools

from ..facts import model as m
from ..facts.guarded import own_reads
from ..facts.model import CALLS_PER_STATEMENT, FunctionFacts, Site
from ..facts.walk import blocks, calls, last_name, loops, nodes, statements
from ..interpreter.events import Backward, Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.keys import FRESH, IDENTITY
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, FREE, Class, Obj
from .left_on_items import is_left_on_item
from .lifetimes import Lifetimes, older
from .places import describe, holder_of, is_pass
from .statistics import is_statistic
from .unreleased import methods_of


class Asked:
    """What of the stores of a file is asked for: nodes, and the places and statements that had them."""

    def __init__(self, machine: Machine, stores: list[Store], nodes: set[int]) -> None:
        wanted = [store for store in stores if not nodes.isdisjoint(store.with_graph)]
        self.nodes = nodes
        self.places = {(id(store.owner), store.key) for store in wanted}
        # what a statement, reached in one way, stores for a later round to differentiate: it does so each time
        self.rounds = {(store.owner, store.key, store.frame, store.site) for store in wanted}
        # statements that fill a local for some caller to differentiate, whatever others do with what they get
        self.sites = {
            store.site
            for store in stores
            if (id(store.owner), store.key) in self.places and describe(store.owner, store.key, machine).kind == "local"
        }


class Demand:
    """What backward passes ask of the stores of one file."""

    def __init__(self, machine: Machine, stores: list[Store], lifetimes: Lifetimes) -> None:
        self.machine = machine
        self.stores = stores
        self.lifetimes = lifetimes

    def demanded(self, store: Store) -> bool:
        """Whether a backward pass goes through what was read from the place."""
        asked = self._of_graphs if any(tensor.graph == ATTACHED for tensor in store.tensors) else self._of_values
        if not asked.nodes.isdisjoint(store.with_graph):
            return True
        if isinstance(store.owner, Obj) and describe(store.owner, store.key, self.machine).kind != "local":
            # A statistic that the storing function itself reads, in another branch, is not kept for that.
            if (store.owner, store.key, store.frame, store.site) in asked.rounds:
                return True
            return self.lifetimes.handed_on(store) and (id(store.owner), store.key) in asked.places
        return (id(store.owner), store.key) in asked.places or store.site in asked.sites

    def stays_anyway(self, store: Store) -> bool:
        """Whether it stays when it has been differentiated, or is differentiated again and again."""
        on_items = any(is_left_on_item(store, loop) for loop in store.loops)
        return on_items or self._retained_for(store) or self._never_emptied(store) or self._kept_by_itself(store)

    def taken_without_gradients(self, store: Store) -> bool:
        """Whether all that reads what a hook leaves on its object does so with gradients off, as the pass before."""
        owner = store.owner
        if not store.hook or not isinstance(owner, Obj) or not isinstance(owner.cls, Class):
            return False
        reads = [off for one in methods_of(owner.cls).values() for name, off in own_reads(one) if name == store.key]
        return bool(reads) and all(reads)

    def led_to(self, store: Store) -> bool:
        """Whether a hook leaves a value on its object, or in a slot that it has there, for a method of the object to
        differentiate with respect to: `autograd.grad(loss, self.outputs)`, which the value without its graph would
        not be a part of."""
        owner, name = store.owner, store.key
        if store.how == "keyed" and isinstance(owner, Obj) and owner.kind == "list" and owner.home is not None:
            owner, name = owner.home
        elif store.how != "set":
            return False
        if not store.hook or not isinstance(owner, Obj) or not isinstance(owner.cls, Class):
            return False
        return any(_leads_to(one, name) for one in methods_of(owner.cls).values())

    def escapes(self, store: Store) -> bool:
        """Whether something that was read from the place is handed out. Who has got it can differentiate no graph
        that it was computed without."""
        attached = any(tensor.graph == ATTACHED for tensor in store.tensors)
        places = self._escaped_graphs if attached else self._escaped
        return (id(store.owner), store.key) in places and not is_statistic(store)

    @functools.cached_property
    def _of_graphs(self) -> Asked:
        """What backward passes come to: they do not go through what was computed with gradients off."""
        derivation = self.machine.derivation
        found = set(derivation.gone_through)
        for node in self.machine.losses:  # and what a framework differentiates
            derivation.spread(found, node, frozenset(derivation.cut | derivation.unrecorded))
        return Asked(self.machine, self.stores, found)

    @functools.cached_property
    def _of_values(self) -> Asked:
        """What the numbers are wanted for that a backward pass starts from."""
        return Asked(self.machine, self.stores, self.machine.derivation.demanded)

    @functools.cached_property
    def _escaped(self) -> set[tuple[int, str]]:
        """Places that something handed out was read from."""
        derivation = self.machine.derivation
        return self._read_from(derivation.escaped | derivation.passed)

    @functools.cached_property
    def _escaped_graphs(self) -> set[tuple[int, str]]:
        """Those whose graphs may be differentiated with it."""
        derivation = self.machine.derivation
        stop = frozenset(derivation.cut | derivation.unrecorded)
        found: set[int] = set()
        for node in derivation.handed:
            derivation.spread(found, node, stop)
        return self._read_from(found | derivation.foreign & (derivation.escaped | derivation.passed))

    def _read_from(self, handed: set[int]) -> set[tuple[int, str]]:
        stored = self.machine.derivation.stored
        return {
            (id(store.owner), store.key)
            for store in self.stores
            if any(node in handed or (node in stored and isinstance(store.owner, Frame)) for node in store.nodes)
        }

    def _never_emptied(self, store: Store) -> bool:
        """A container that is differentiated in a loop but never emptied there: a second pass through what is left
        would fail, so only a part of it is used and the rest stays."""
        if store.how != "grow" and (store.how != "keyed" or store.key_kind not in (FRESH, IDENTITY)):
            return False
        if store.hook and self.lifetimes.stays_beyond_a_step(store):
            return True
        trained = [one for one in store.loops if one.kind == "loop" and one.backward and one not in store.birth]
        return (
            bool(trained)
            and not (self.lifetimes.is_released(store) and self._may_be_emptied(store, trained))
            and (holder_of(self.machine, store).kind != "local" or _differentiates_one(store))
        )

    def _may_be_emptied(self, store: Store, trained: list[Loop]) -> bool:
        """Whether a release of a place may come in rounds of these loops: by a function that something calls."""
        if any(self.lifetimes.emptied_in(store, loop) for loop in trained):
            return True
        released = self.lifetimes.released_in(store)
        every = (function for unit in self.machine.units.values() for function in unit.facts.functions)
        return any(not released.isdisjoint(function.calls) for function in every)

    def _kept_by_itself(self, store: Store) -> bool:
        """An attribute that only the storing function reads: what is differentiated is this call's value, and
        the attribute keeps it for nobody."""
        return (
            isinstance(store.owner, Obj)
            and store.owner.kind == "module"
            and store.how in ("set", "inplace", "fill")
            and any(map(is_pass, store.frame.methods_around(store.owner)))
            and not self.lifetimes.handed_on(store)
        )

    def _retained_for(self, store: Store) -> bool:
        """Whether a backward pass in the loop goes through what earlier rounds left in the place: possible only with
        `retain_graph=True`, and each step then goes through all earlier ones. So does `grad(..., create_graph=True)`,
        if no other pass wants that graph."""
        retaining = [backward for backward in self.machine.backwards if backward.retain or backward.create]
        if not retaining:
            return False
        since = min(store.summed, store.carried)
        written = {
            node
            for other in self.machine.stores
            if other.owner is store.owner and other.key == store.key
            for node in other.nodes
        }
        return any(
            self._goes_through(backward, written)
            for backward in retaining
            if any(loop in backward.loops for loop in older(store, since)) and not self._starts_over(store, backward)
        )

    def _goes_through(self, backward: Backward, written: set[int]) -> bool:
        derivation = self.machine.derivation
        if backward.retain:
            return any(not written.isdisjoint(derivation.ancestors(node)) for node in backward.nodes)

        def differentiated(one: Backward) -> set[int]:
            gone = set[int]()
            for node in one.nodes:
                derivation.spread(gone, node, one.inputs)
            return gone

        if written.isdisjoint(differentiated(backward)):
            return False
        others = (one for one in self.machine.backwards if not one.create)
        return all(written.isdisjoint(differentiated(one)) for one in others)

    def _starts_over(self, store: Store, backward: Backward) -> bool:
        """Whether a place is emptied beside a backward pass, whenever that comes: `loss.backward(retain_graph=True)`,
        `loss = 0` at the end of each window. What the next pass goes through, it has not left there."""
        emptied = {reset.site for reset in self.lifetimes.resets_of(store) if reset.frame is backward.frame}
        place = store.owner, store.key, "set", backward.frame
        again = [one for one in self.machine.stores if (one.owner, one.key, one.how, one.frame) == place]
        with_graph = {one.site for one in again if any(tensor.graph != FREE for tensor in one.tensors)}
        emptied |= {one.site for one in again}  # `loss = torch.zeros(())`
        emptied -= {store.site, *with_graph}
        body = backward.frame.facts.body
        suites = (body, *(suite for one in statements(body) for suite in blocks(one))) if emptied else ()
        passed = backward.site - backward.site % CALLS_PER_STATEMENT
        together = ({one[1] for one in suite} for suite in suites)
        return any(passed in sites and not emptied.isdisjoint(sites) for sites in together)


def _leads_to(method: FunctionFacts, name: str) -> bool:
    """Whether a method computes gradients with respect to an attribute, also by another name."""
    if "grad" not in method.calls:
        return False
    place = (m.ATTR, (m.NAME, "self"), name)
    names = {place}
    for one in statements(method.body):
        if one[0] == m.ASSIGN and one[2][0][0] == m.NAME and any(node == place for node in nodes(one[3])):
            names.add(one[2][0])
    return any(
        last_name(call[2]) == "grad" and len(call[3]) > 1 and any(node in names for node in nodes(call[3][1]))
        for call in calls(method.body)
    )


def _differentiates_one(store: Store) -> bool:
    """Whether all that the function differentiates of a variable is one entry each time: `losses[-1].backward()`, and
    in the loop that puts one in `losses[step - 1].backward()`."""
    whole, entries = 0, 0
    names = {(m.NAME, name) for name, value in store.frame.vars.items() if store.owner in value}
    for call in calls(store.frame.facts.body):
        if last_name(call[2]) not in ("backward", "manual_backward"):
            continue
        for node in nodes(call):
            if node in names:
                whole += 1
            elif node[0] == m.ITEM and node[1] in names and node[2][0] != m.SLICE:
                entries += node[2][0] == m.CONST or _beside(store, call[1])
    return entries > 0 and entries == whole


def _beside(store: Store, site: Site) -> bool:
    """Whether a call stands in the innermost loop around what is stored."""
    stored = store.site - store.site % CALLS_PER_STATEMENT
    around = (inner for _, inner in loops(store.frame.facts.body) if any(one[1] == stored for one in inner))
    called = site - site % CALLS_PER_STATEMENT
    return any(one[1] == called for one in next(around, ()))
