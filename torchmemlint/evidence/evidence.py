"""What rules judge: retentions, module runs and single statements, made from an abstract run.

A *retention* is a heavy value that reached a place which outlives it, with everything a rule needs:
who holds it, since when, how often, what lets go, who will still differentiate it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import BACKWARD, Expr, FileFacts, FunctionFacts, Site
from ..facts.program import Program
from ..facts.releases import Releases, fills_up
from ..facts.walk import blocks, calls, heads, last_name, nodes, statements
from ..interpreter.events import NEVER, Backward, Loops, Plain, Reset, Store
from ..interpreter.frames import Frame, Loop
from ..interpreter.holders import FRESH, IDENTITY, KNOWN, called_back, heavy_objects, made_in
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, DEPENDS, FEW, FREE, SCALAR, Class, Obj, Tensor
from .places import Holder, describe, in_test, is_pass, is_test_file, last_part
from .rates import is_let_go_late
from .recordings import Recording, evaluates_by_name, in_evaluation, recordings
from .unreleased import methods_of
from .veiled import unveiled
from .ways_out import LeftBehind, left_behind

_NEAR = 30  # steps of a derivation that are gone back
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
    training: bool  # a backward pass runs in a loop that it outlives
    evaluating: bool  # it comes from a module in eval mode
    named: bool  # a function on the way says that it evaluates
    inward: bool  # a local state, and nothing that is computed with it is handed out
    escaped: bool
    handed_on: bool  # another function reads the place
    consumed: bool  # a function that empties it has read it
    summed_up: bool  # what a framework calls at the end of an epoch reads it
    released: bool  # something empties the place, though not in time
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


class Evidence:
    """Everything the rules may ask about a file."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.facts: FileFacts = machine.facts
        self.displays: frozenset[Site] = frozenset()  # expressions that end a notebook's cell: their value is shown
        self._refuted = set[int]()
        for node in machine.derivation.refuted:
            machine.derivation.spread(self._refuted, node)

    @functools.cached_property
    def program(self) -> Program:
        """The file as it stands, for rules about the order and form of statements."""
        return Program(self.facts)

    @functools.cached_property
    def in_tests(self) -> bool:
        """Whether the file holds tests: what is made in one goes with it."""
        return is_test_file(self.machine.home)

    @property
    def backwards(self) -> list[Backward]:
        return self.machine.backwards

    def plain(self, kind: str) -> Iterator[Plain]:
        """Noted statements of one kind, each place once."""
        seen: set[Site] = set()
        for note in self.machine.plain:
            if note.kind == kind and note.site not in seen and self.machine.is_home(note.site):
                seen.add(note.site)
                yield note

    # -- retentions -------------------------------------------------------------------------------

    @functools.cached_property
    def retentions(self) -> list[Retention]:
        """One a place and store, those with the most evidence."""
        best: dict[tuple[Site, str, bool], Retention] = {}
        for store in (*self._stores, *self._filled_later()):
            for retention in self._judge(store):
                key = (retention.site, retention.holder.text, retention.graph)
                known = best.get(key)
                if known is None or _rank(retention) > _rank(known):
                    best[key] = retention
        return sorted(best.values(), key=lambda retention: (retention.site, retention.holder.text))

    @functools.cached_property
    def _stores(self) -> list[Store]:
        return [*self.machine.stores, *unveiled(self.machine)]

    def _filled_later(self) -> Iterator[Store]:
        """Stores of objects that got their tensors or models when they were in the container already."""
        for store in self.machine.later:
            held = (*store.instances, *called_back(store.instances))
            tensors = tuple(tensor._replace(graph=FREE) for tensor in self.machine.reach(held))
            objects = () if tensors else heavy_objects(store.instances)
            if tensors or objects:
                yield store._replace(
                    tensors=tensors, objects=objects, fresh=any(made_in(obj, store.loops) for obj in objects)
                )

    @functools.cached_property
    def _resets(self) -> dict[tuple[int, str], list[Reset]]:
        table: dict[tuple[int, str], list[Reset]] = {}
        for reset in self.machine.resets:
            table.setdefault((id(reset.owner), reset.key), []).append(reset)
        return table

    def _judge(self, store: Store) -> Iterator[Retention]:
        kept_on = self._retained_for(store) or self._never_emptied(store) or self._kept_by_itself(store)
        if self._demanded(store) and not kept_on:
            return
        attached = [t for t in store.tensors if t.graph == ATTACHED and t.node not in self._refuted]
        free = [tensor for tensor in store.tensors if tensor.graph != ATTACHED]
        if attached:
            yield from self._retention(store, attached, True)
        if (free or store.objects) and store.how in ("grow", "keyed"):
            yield from self._retention(store, free, False)

    @functools.cached_property
    def _marks(self) -> tuple[set[tuple[int, str]], set[tuple[int, str]]]:
        """Places that something back-propagated, or handed out, was read from."""
        derivation = self.machine.derivation
        demanded: set[tuple[int, str]] = set()
        escaped: set[tuple[int, str]] = set()
        for store in self._stores:
            place = (id(store.owner), store.key)
            if not derivation.demanded.isdisjoint(store.with_graph):
                demanded.add(place)
            if any(
                node in derivation.escaped
                or node in derivation.passed
                or (node in derivation.stored and isinstance(store.owner, Frame))
                for node in store.nodes
            ):
                escaped.add(place)
        return demanded, escaped

    @functools.cached_property
    def _demanded_rounds(self) -> set[tuple[Obj | Frame, str, Frame, Site]]:
        """What a statement, reached in one way, stores for a later round to differentiate: it does so each time."""
        demanded = self.machine.derivation.demanded
        return {
            (store.owner, store.key, store.frame, store.site)
            for store in self._stores
            if not demanded.isdisjoint(store.with_graph)
        }

    def _demanded(self, store: Store) -> bool:
        if not self.machine.derivation.demanded.isdisjoint(store.with_graph):
            return True
        if isinstance(store.owner, Obj) and describe(store.owner, store.key, self.machine).kind != "local":
            # A statistic that the storing function itself reads, in another branch, is not kept for that.
            if (store.owner, store.key, store.frame, store.site) in self._demanded_rounds:
                return True
            return self._handed_on(store) and (id(store.owner), store.key) in self._marks[0]
        return (id(store.owner), store.key) in self._marks[0]

    def wanted(self, retention: Retention) -> bool:
        """Whether a backward pass goes through what was read from the place: without its graph it would not."""
        return self._demanded(retention.store_event)

    def _never_emptied(self, store: Store) -> bool:
        """A container that is differentiated in a loop but never emptied: a second pass through what is left
        would fail, so only a part of it is used and the rest stays."""
        return (
            (store.how == "grow" or (store.how == "keyed" and store.key_kind in (FRESH, IDENTITY)))
            and any(loop.backward and loop not in store.birth for loop in store.loops if loop.kind == "loop")
            and self._holder(store).kind != "local"
            and not self._released(store)
        )

    def _kept_by_itself(self, store: Store) -> bool:
        """An attribute that only the storing function reads: what is differentiated is this call's value, and
        the attribute keeps it for nobody."""
        return (
            isinstance(store.owner, Obj)
            and store.owner.kind == "module"
            and store.how in ("set", "inplace", "fill")
            and is_pass(store.frame)
            and not self._handed_on(store)
        )

    def _retained_for(self, store: Store) -> bool:
        """Whether a backward pass in the loop goes through what earlier rounds left in the place: possible
        only with `retain_graph=True`, and each step then goes through all earlier ones."""
        retaining = [backward for backward in self.machine.backwards if backward.retain]
        if not retaining:
            return False
        since = min(store.summed, store.carried)
        ancestors = self.machine.derivation.ancestors
        written = {
            node
            for other in self.machine.stores
            if other.owner is store.owner and other.key == store.key
            for node in other.nodes
        }
        return any(
            not written.isdisjoint(ancestors(node))
            for backward in retaining
            if any(loop in backward.loops for loop in _older(store, since))
            for node in backward.nodes
        )

    def _retention(self, store: Store, kept: list[Tensor], graph: bool) -> Iterator[Retention]:
        holder = self._holder(store)
        if isinstance(store.owner, Obj) and store.owner.bounded and not (graph and store.owner.roomy):
            return
        if (holder.kind == "local" and in_test(store.frame)) or (
            holder.kind in ("local", "attribute") and self.in_tests
        ):
            return  # it goes with the test
        born = store.birth
        repeats = [loop for loop in store.loops if loop not in born and loop.kind in _REPEATS]
        since = min(store.summed, store.carried)
        if store.how not in ("grow", "keyed") or (graph and store.key_kind == KNOWN):
            growing = [loop for loop in repeats if loop in _older(store, since)]
        else:
            growing = repeats
        resets = self._resets.get((id(store.owner), store.key), ())
        left = left_behind(self.machine, self.releases, store, resets) if resets and growing else None
        uncovered = [loop for loop in growing if left or not self._covered(store, loop, graph)]
        filled = uncovered and store.how == "grow" and fills_up(store.frame.facts, last_part(holder.text))
        if filled and store.frame.name not in self.releases.switched_off(last_part(holder.text), holder.owner):
            return
        growing = _beyond_a_step(store, uncovered, repeats)
        if uncovered and not growing:
            return  # it is there for one step
        origins = self._origins(store.node)
        if graph and holder.kind == "local" and store.how in ("grow", "keyed"):
            growing = self._with_new_graphs(growing, origins)
        if not growing and (holder.kind == "local" or not graph or not repeats):
            return
        if not growing and any(self._covered(store, loop, graph) for loop in repeats):
            return
        chain = "sum" if store.summed < NEVER else "carry" if store.carried < NEVER else ""
        calls = [label for label in origins if label[0] == "module"]
        weight = max([tensor.weight for tensor in kept] + [obj.weight for obj in store.objects])
        if graph and weight == 1 and any(self._is_differentiated(tensor) for tensor in kept):
            weight = 2  # whatever computed it, it has a graph
        if store.grad == DEPENDS:
            weight = min(weight, 2)
        training = any(loop.backward for loop in growing or repeats)
        anchor = self._anchor(store)
        if anchor is None:
            return
        yield Retention(
            site=anchor,
            store=store.site,
            graph=graph,
            how=store.how,
            chain=chain if growing else "",
            growing=bool(growing),
            loops=tuple(growing or repeats),
            holder=holder,
            function=store.frame.name,
            hook=store.hook,
            spent=self._is_spent(store, kept),
            training=training,
            evaluating=self._in_eval_mode(calls),
            named=self._says_evaluation(store),
            inward=bool(chain) and holder.kind == "local" and self._stays_inside(store),
            escaped=(id(store.owner), store.key) in self._marks[1],
            handed_on=self._handed_on(store),
            consumed=not self._readers(store).isdisjoint(self.released_in(store)),
            summed_up=any(name.endswith("epoch_end") for name in self._readers(store)),
            released=self._released(store) or self._may_be_let_go(holder, store.frame.name, growing),
            late=is_let_go_late(store.frame, lambda: self._letting_go(store, holder)),
            closed=any(name in knowledge.CLOSERS for name in self.released_in(store)),
            wide=any(self._is_wide(tensor) for tensor in kept),
            threaded=store.thread or any(label[2] in self._threaded for label in calls),
            origins=tuple(origins),
            small=not store.objects and all(tensor.size in (SCALAR, FEW) for tensor in kept),
            remade=any(loop.kind in _REPEATS for loop in _kept_since(store.owner, born)),
            weight=weight,
            related=_trail_notes(store),
            store_event=store,
            left=left,
        )

    def _stays_inside(self, store: Store) -> bool:
        """Whether nothing that a state was computed with is returned or passed on with its graph."""
        derivation = self.machine.derivation
        made = derivation.ancestors(store.node)
        return derivation.escaped.isdisjoint(made) and derivation.passed.isdisjoint(made)

    def _with_new_graphs(self, loops: list[Loop], origins: list[Any]) -> list[Loop]:
        """The loops that run a module: `[loss * w for w in weights]` collects parts of one graph, which is there
        anyway."""
        runs = [label[2] for label in origins if label[0] == "module" and label[2] in self._run_in]
        if not runs:  # those of a model's parts are within its own
            return loops
        if any(label[0] not in ("module", "loss", "wide-loss") for label in origins):
            return loops
        if not self._yielding.isdisjoint(runs):
            return loops
        return [loop for loop in loops if any(loop in self._run_in[site] for site in runs)]

    @functools.cached_property
    def _yielding(self) -> set[Site]:
        """The runs that a generator makes for its items."""
        return {call.site for call in self.machine.module_calls if call.yielding}

    @functools.cached_property
    def _run_in(self) -> dict[Site, set[Loop]]:
        """The loops in which the modules are run, by the place."""
        found: dict[Site, set[Loop]] = {}
        for call in self.machine.module_calls:
            found.setdefault(call.site, set()).update(call.loops)
        return found

    def _holder(self, store: Store) -> Holder:
        holder = describe(store.owner, store.key, self.machine)
        if holder.kind != "local":
            return holder
        owner: Obj | Frame | None = store.owner
        for _ in range(6):
            if isinstance(owner, Obj):
                owner = None if owner.home is None else owner.home[0]
        inner, caller = store.frame.parent, store.frame.caller
        while inner is not None and inner is not owner:
            inner = inner.parent
        while caller is not None and caller is not owner:
            caller = caller.caller
        # a variable of a function that has returned: what it defined keeps it
        closed = inner is not None and caller is None and isinstance(owner, Frame) and owner.function is not None
        return holder._replace(kind="closure") if closed else holder

    @functools.cached_property
    def releases(self) -> Releases:
        """Who lets go of what, by the text of the files in the run."""
        return Releases(unit.outline for unit in self.machine.units.values())

    def _places(self, store: Store) -> Iterator[tuple[Obj | Frame, str]]:
        """The place of a store and the places that hold it: emptying one of them releases the value."""
        place: tuple[Obj | Frame, str] | None = (store.owner, store.key)
        for _ in range(5):
            if place is None:
                return
            yield place
            owner, key = place
            if isinstance(owner, Obj) and key != "*":
                yield owner, "*"
            place = owner.home if isinstance(owner, Obj) else None

    def _covered(self, store: Store, loop: Loop, graph: bool) -> bool:
        """Whether each round of the loop empties the place."""
        for depth, (owner, key) in enumerate(self._places(store)):
            for reset in self._resets.get((id(owner), key), ()):
                if loop not in reset.loops or reset.site == store.site:
                    continue
                if reset.how == "pop" and self.releases.is_debugging(reset.frame.name):
                    continue
                holder = self._holder(store)
                cls = holder.owner if holder.kind == "attribute" else ""
                if reset.frame.name in self.releases.misjudging(last_part(holder.text), cls):
                    continue
                if reset.how in ("pop", "trim"):
                    return True
                if reset.conditions <= loop.conditions or (reset.conditions <= store.conditions and depth == 0):
                    return True
                if not graph or _is_at_an_optimizer_step(reset):
                    return True
        return False

    def _readers(self, store: Store) -> set[str]:
        """The functions that read the place."""
        reads = self.machine.reads
        places = ((owner.serial, key) for owner, key in self._places(store) if isinstance(owner, Obj))
        return {name for place in places for name in reads.get(place, ())}

    def _handed_on(self, store: Store) -> bool:
        if self._readers(store) - {store.frame.name}:
            return True
        if not isinstance(store.owner, Obj) or not isinstance(store.owner.cls, Class):
            return False
        place = (m.ATTR, (m.NAME, "self"), store.key)
        return any(  # by a loss that was not run: it needs the graph
            "loss" in name.lower()
            and id(facts) not in self.machine.reached
            and any(place in nodes(head) for head in _heads_but_refills(facts, place))
            for name, facts in methods_of(store.owner.cls).items()
        )

    def released_in(self, store: Store) -> set[str]:
        """The functions that empty the place."""
        return {
            reset.frame.name for owner, key in self._places(store) for reset in self._resets.get((id(owner), key), ())
        } - {"__init__"}

    def _released(self, store: Store) -> bool:
        return bool(self.released_in(store))

    def _letting_go(self, store: Store, holder: Holder) -> set[str]:
        """The functions that let the place go, in the run or by their text."""
        return (self.released_in(store) | self.releases.of(last_part(holder.text))) - {"__init__"}

    def _may_be_let_go(self, holder: Holder, storing: str, growing: list[Loop]) -> bool:
        """Whether another method lets the attribute go, perhaps of another instance, and something calls it, or those
        who call what fills it are not seen either."""
        if holder.kind != "attribute" or any(loop.kind != "call" for loop in growing):
            return False
        names = self.releases.of(last_part(holder.text)) - {"__init__", storing}
        return bool(names) if growing else not names.isdisjoint(self.program.called)

    def _is_spent(self, store: Store, kept: list[Tensor]) -> bool:
        """Whether a backward pass has gone through all that a value was made from."""
        derivation = self.machine.derivation
        if any(tensor.node in derivation.spent for tensor in kept):
            return True
        made = [
            node
            for node in derivation.ancestors(store.node)
            if node in derivation.labels
            and derivation.labels[node][0] in ("module", "loss", "wide-loss", "differentiated", "step")
        ]
        return bool(made) and all(node in derivation.spent for node in made)

    @functools.cached_property
    def _threaded(self) -> set[Site]:
        return {call.site for call in self.machine.module_calls if call.thread}

    def _is_differentiated(self, tensor: Tensor) -> bool:
        """Whether a backward pass goes through a tensor, or what it was computed from since a module ran. Of the parts
        of a module's output another one may be meant."""
        derivation = self.machine.derivation
        pending, seen = [tensor.node], set[int]()
        while pending and len(seen) < _NEAR:
            node = pending.pop()
            label, above = derivation.labels.get(node, ("",)), derivation.parents[node]
            if node in seen:
                continue
            seen.add(node)
            if label[0] == "module":
                returned = derivation.returned.get(above[0], {}) if above else {}
                if returned and self._is_term(above[1], returned):
                    return True  # of a pass in sight one knows which part is meant
            elif node in derivation.demanded:
                return True
            else:
                pending.extend(above)
        return False

    def _is_term(self, part: int, returned: dict[int, int]) -> bool:
        """Whether a backward pass goes through a tensor that a pass has returned, itself or in what it returned."""
        derivation = self.machine.derivation
        wanted = (inner for inner, outer in returned.items() if outer in derivation.demanded)
        return any(part in derivation.ancestors(inner, _NEAR) for inner in wanted)

    def _is_wide(self, tensor: Tensor) -> bool:
        label = self.machine.derivation.labels.get(tensor.node)
        return tensor.graph == FREE and label is not None and label[0] in ("wide", "wide-loss")

    def _origins(self, node: int) -> list[Any]:
        derivation = self.machine.derivation
        labels = (derivation.labels.get(ancestor) for ancestor in derivation.ancestors(node))
        return [label for label in labels if label is not None and label[0] != "write"]

    def _in_eval_mode(self, calls: list[Any]) -> bool:
        sites = {label[2] for label in calls}
        return any(call.evaluating and call.site in sites for call in self.machine.module_calls)

    def _says_evaluation(self, store: Store) -> bool:
        frame: Frame | None = store.frame
        while frame is not None:
            if evaluates_by_name(frame):
                return True
            frame = frame.caller
        return False

    def _anchor(self, store: Store) -> Site | None:
        """The store, or, where others store innocent values there, the call through which the bad one came.

        Always in the home file: what another file keeps is said of the line that hands it over. None if no line
        does: then it is the other file's affair.
        """
        if not self.machine.is_home(store.site):
            if store.instances:  # nothing heavy was handed over then: what made the object and put it there is
                return next((site for site in reversed(store.trail) if self.machine.is_home(site)), None)
            if self._differentiated_there(store):
                return None
            handed = [label[1] for label in self._origins(store.node) if label[0] == "handed over"]
            here = [site for site in reversed(store.trail) if self.machine.is_home(site)]
            place = (store.owner, store.key)
            leading = {site for one in self.machine.stores if (one.owner, one.key) == place for site in one.trail}
            returned = any(site % m.CALLS_PER_STATEMENT == 0 for site in handed)
            if not handed or returned or not leading.isdisjoint(handed) or not here:
                return handed[0] if handed else None
            return here[0]  # what was handed to another function comes here in a container
        for site in (store.site, *reversed(store.trail)):
            if site not in self.machine.innocent and self.machine.is_home(site):
                return site
        return store.site

    def _differentiated_there(self, store: Store) -> bool:
        """Whether the function that stores a value back-propagates it, too: then its own file says all of it."""
        made = set(self.machine.derivation.ancestors(store.node))
        facts = store.frame.facts
        return any(one.frame.facts is facts and not made.isdisjoint(one.nodes) for one in self.machine.backwards)

    # -- modules that record ----------------------------------------------------------------------

    @functools.cached_property
    def recordings(self) -> list[Recording]:
        """Module runs under a grad mode that records."""
        return recordings(self.machine, self._refuted)

    def in_evaluation(self, recording: Recording) -> Recording:
        """The same, said of the evaluation that leads to it, where training goes through the same line as well."""
        return in_evaluation(self.machine, self.recordings, recording)

    def differentiated_again(self, backward: Backward) -> bool:
        """Whether another pass goes through the same graph later in the step."""
        own = self._graph_of(backward)
        if not backward.method and not own.isdisjoint(self.machine.derivation.escaped):
            return True  # for a weight of a loss that is handed out, and goes through the same graph
        for other in self.backwards:
            if other.site == backward.site or other.loops[: len(backward.loops)] != backward.loops[: len(other.loops)]:
                continue
            if other.site < backward.site and other.frame is backward.frame:
                continue
            if self._is_foreign(other) or own & self._graph_of(other):
                return True
            if self._unseen(backward) and self._unseen(other):
                return True  # nothing says that they do not share a graph
        return False

    def _unseen(self, backward: Backward) -> bool:
        labels = self.machine.derivation.labels
        return all(labels[node][0] == "differentiated" for node in self._graph_of(backward))

    def _is_foreign(self, backward: Backward) -> bool:
        """Whether a backward pass goes through what unknown code made: then not all of its graph is seen."""
        derivation = self.machine.derivation
        ancestors = {node for start in backward.nodes for node in derivation.ancestors(start)}
        return not backward.nodes or not derivation.foreign.isdisjoint(ancestors)

    def _graph_of(self, backward: Backward) -> set[int]:
        derivation = self.machine.derivation
        labels = derivation.labels
        return {
            node
            for start in backward.nodes
            for node in derivation.ancestors(start)
            if node in labels and labels[node][0] in ("module", "loss", "differentiated", "cat", "hook")
        }

    def meets_others(self, recording: Recording) -> bool:
        """Whether a backward pass goes through this run together with the run of another module."""
        return any(self._meet(recording, start) for backward in self.backwards for start in backward.nodes)

    def meets_others_in_loss(self, recording: Recording) -> bool:
        """Whether a loss that is handed out, for others to differentiate, is made of this run and of another
        module's."""
        derivation = self.machine.derivation
        losses = (node for node, label in derivation.labels.items() if label[0] in ("loss", "wide-loss"))
        return any(node in derivation.escaped and self._meet(recording, node) for node in losses)

    def _meet(self, recording: Recording, start: int) -> bool:
        derivation = self.machine.derivation
        labels = [derivation.labels.get(node) for node in derivation.ancestors(start)]
        modules = {_whole(label[1]) for label in labels if label is not None and label[0] == "module"}
        return _whole(recording.call.module) in modules and len(modules) > 1

    def keeps_results_of(self, retention: Retention, site: Site) -> bool:
        """Whether what is stored there, in any round, was computed from the module run at `site`."""
        return any(
            label[0] == "module" and label[2] == site
            for store in self.machine.stores
            if store.site == retention.store
            for label in self._origins(store.node)
        )


def _whole(module: Obj) -> Obj:
    """The model that a module is a part of, where that is not seen."""
    while module.home is not None and isinstance(module.home[0], Obj) and module.home[0].kind == "module":
        if isinstance(module.home[0].cls, Class):
            break
        module = module.home[0]
    return module


def _heads_but_refills(facts: FunctionFacts, place: Expr) -> Iterator[Expr]:
    """The expressions of a function's statements, without those that only fill a place anew, `self.total.zero_()`."""
    for statement, _ in statements(facts.body):
        call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
        refill = call and call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in knowledge.IN_PLACE_LIGHT
        if not refill:
            yield from heads(statement)


def _kept_since(owner: Obj | Frame, born: Loops) -> Loops:
    """The loops that were running when the place was made, or whatever has held it longest: what goes into an
    older container does not go with the round that it was made in."""
    current: Obj | Frame | None = owner
    for _ in range(6):
        if not isinstance(current, Obj) or current.home is None:
            break
        holder, key = current.home
        since = holder.birth if isinstance(holder, Obj) else holder.births.get(key, ())
        if len(since) < len(born):
            born = since
        current = holder
    return born


def _older(store: Store, since: int) -> list[Loop]:
    """The loops whose current round began after the place was first written."""
    return [loop for loop, start in zip(store.loops, store.starts, strict=True) if start > since]


def _is_at_an_optimizer_step(reset: Reset) -> bool:
    """`if (i + 1) % accumulate == 0: optimizer.step(); running = 0`: what a few batches of one step add up."""
    for statement, _ in statements(reset.frame.facts.body):
        for suite in blocks(statement) if statement[0] == m.IF else ():
            if any(one[1] == reset.site for one in suite):
                return any(last_name(call[2]) == "step" for call in calls(suite))
    return False


def _beyond_a_step(store: Store, growing: list[Loop], repeats: list[Loop]) -> list[Loop]:
    """Without the loops of one training step, where each step empties the place, or makes the object that has it:
    those go through time, and what they leave is there for one step. So do the batches of one optimizer step."""
    growing = [loop for loop in growing if loop.name != "accumulation"]
    steps = [store.loops.index(loop) for loop in repeats if loop.backward and loop not in growing]
    if store.how == "set" and isinstance(store.owner, Obj) and _differentiates(store.frame):
        steps += [number for number, loop in enumerate(store.loops) if loop.backward and loop in store.birth]
    return [loop for loop in growing if loop.backward or not any(step < store.loops.index(loop) for step in steps)]


def _differentiates(frame: Frame | None) -> bool:
    """Whether a function, or one that it was called from, has a backward pass of its own."""
    while frame is not None:
        if frame.facts.flags & BACKWARD:
            return True
        frame = frame.caller
    return False


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
