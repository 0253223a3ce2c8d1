"""How long a place keeps what reaches it: who empties it, who reads it, and in which rounds of the loops around."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.file_releases import LETS_GO
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, statement_of
from ..facts.outline import Outline
from ..facts.passed_by import PassedBy
from ..facts.program import Program
from ..facts.releases import Releases
from ..facts.served import set_up_by
from ..facts.walk import blocks, calls, expressions_of, last_name, nodes, statements
from ..interpreter.contexts import is_module_level
from ..interpreter.events import NEVER, Loops, Reset, Store, Trail
from ..interpreter.frames import Frame, Loop, birth_of, kept_since
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Class, Function, Obj
from .broken_off import not_told
from .entries_that_end import ends_of_entry
from .first_times import begins_with, is_first_time, parting
from .let_go import made_at
from .one_for_many import one_for_many
from .only_differentiated import only_differentiated
from .other_keys import under_other_keys
from .places import Holder, holder_of, last_part
from .unreleased import methods_of


class Lifetimes:
    """The resets of one file's run, and what its text says about who lets go."""

    def __init__(self, machine: Machine, program: Program, words: Outline | None = None) -> None:
        """`words`: the file that the run started in, in plain words."""
        self.machine = machine
        self.program = program
        self._words = words
        self._passing_by: dict[tuple[int, str], dict[str, PassedBy]] = {}

    @functools.cached_property
    def releases(self) -> Releases:
        """Who lets go of what, by the text of the files in the run."""
        return Releases(self._outlines())

    def _outlines(self) -> list[Outline]:
        home = self.machine.home
        own = [home.outline if self._words is None else self._words]
        return own + [unit.outline for unit in self.machine.units.values() if unit is not home]

    @functools.cached_property
    def _resets(self) -> dict[tuple[int, str], list[Reset]]:
        table: dict[tuple[int, str], list[Reset]] = {}
        outlines = self._outlines()
        idle = frozenset().union(*(outline.moves.takes | outline.set_on_bare for outline in outlines))
        for reset in self.machine.resets:
            if statement_of(reset.site) in idle:
                continue  # it only moves an entry, or there is none yet
            table.setdefault((_identity(reset.owner), reset.key), []).append(reset)
        return table

    @functools.cached_property
    def moving(self) -> frozenset[int]:
        """The statements that put back what was in their place before, by number."""
        return frozenset().union(*(outline.moves.puts for outline in self._outlines()))

    def _of(self, owner: Obj | Frame, key: str) -> Sequence[Reset]:
        return self._resets.get((_identity(owner), key), ())

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

    def covered(self, store: Store, loop: Loop, graph: bool) -> bool:
        """Whether each round of the loop empties the place, or may do so in what was not run."""
        if self._may_be_emptied_unseen(store):
            return True
        for depth, (owner, key) in enumerate(self._places(store)):
            for reset in self._of(owner, key):
                if loop not in reset.loops or reset.site == store.site:
                    continue
                if reset.how == "replace" and statement_of(reset.site) in self._made_when_missing:
                    continue  # there was nothing
                if reset.how == "pop" and self.releases.is_debugging(reset.frame.name):
                    continue
                if self._is_of_another(reset, store):
                    continue
                if graph and store.carried < NEVER and parting(reset, store) is not None:
                    continue  # `if done: del self.states[key] else: self.states[key] = state`: it goes on until then
                holder = holder_of(self.machine, store)
                cls = holder.owner if holder.kind == "attribute" else ""
                if reset.frame.name in self.releases.misjudging(last_part(holder.text), cls, made_at(store.owner)):
                    continue
                if reset.frame.name in self.passing_by(store, holder):
                    continue
                if reset.how in ("pop", "trim"):
                    return True
                if reset.conditions <= loop.conditions:
                    return True
                if reset.conditions <= store.conditions and depth == 0 and not self._is_first_time(reset, store):
                    return True
                if not graph or _is_at_an_optimizer_step(reset):
                    return True
        ends = () if graph else ends_of_entry(self.machine, store, self.readers(store), self._of)
        return any(loop in reset.loops for reset in ends)

    def _may_be_emptied_unseen(self, store: Store) -> bool:
        """Whether a function of another file lets the place go by its text that was called, and for which the run had
        no time."""
        if not self._not_run:
            return False
        others = self._not_run - {"forward", "__init__", store.frame.facts.name}  # which many have by the same name
        return not others.isdisjoint(self.releases.of(last_part(holder_of(self.machine, store).text)))

    @functools.cached_property
    def _not_run(self) -> frozenset[str]:
        """The names of the functions that were called and not run, and of those that they call."""
        names = {facts.name for facts in self.machine.not_run.values()}
        if names:
            every = [function for file in self._files() for function in file.functions]
            for _ in range(3):
                names |= {called for function in every if function.name in names for called in function.calls}
        return frozenset(names)

    def passing_by(self, store: Store, holder: Holder) -> dict[str, PassedBy]:
        """The functions that take out of an attribute, but not all that comes there."""
        place, few = last_part(holder.text), self._by_what_comes(store)
        if holder.kind not in ("attribute", "global", "class"):
            return few
        key = (_identity(store.owner), holder.text)
        found = self._passing_by.get(key)
        if found is None:
            told = not_told(self.machine, self.releases, store, place)
            resets = [reset for owner, part in self._places(store) for reset in self._of(owner, part)]
            found = {**self.releases.passing_by(place), **told, **under_other_keys(store, resets)}
            self._passing_by[key] = found
        return {**found, **few}

    def _by_what_comes(self, store: Store) -> dict[str, PassedBy]:
        """Those that let go of too few, or of none, of what this store puts there."""
        resets = [reset for owner, part in self._places(store) for reset in self._of(owner, part)]
        if not resets:
            return {}
        few = one_for_many(store, resets, last_part(holder_of(self.machine, store).text))
        return few or only_differentiated(self.machine, store, resets)

    def takes_others(self, store: Store) -> set[str]:
        """The functions that take out of the place, as far as the run shows, only what others have put there."""
        resets = [reset for owner, key in self._places(store) for reset in self._of(owner, key)]
        others = {reset.frame.name for reset in resets if self._is_of_another(reset, store)}
        # which list of several it is under the same keys the run cannot always tell
        every = (reset for reset in self.machine.resets if reset.frame.name in others)
        return others - {reset.frame.name for reset in every if not self._is_of_another(reset, store)}

    def _is_of_another(self, reset: Reset, store: Store) -> bool:
        """`self.handlers.remove(handler)` of another handler than the store puts there."""
        if not reset.item or not all(type(atom) in (Function, Bound) for atom in reset.item):
            return False
        put = self._listeners.get((store.site, store.trail), set())
        return bool(put) and put.isdisjoint(map(_function_of, reset.item))

    @functools.cached_property
    def _listeners(self) -> dict[tuple[Site, Trail], set[object]]:
        """The functions that a statement puts away, by the calls that lead to it."""
        found: dict[tuple[Site, Trail], set[object]] = {}
        for note in self.machine.plain:
            if note.kind == "listener":
                found.setdefault((note.site, note.trail), set()).update(map(_function_of, note.detail[2]))
        return found

    def pops_in(self, store: Store, loops: Sequence[Loop]) -> bool:
        """Whether rounds of one of the loops take single entries out of the place, `del self.tails[key]`."""
        return any(
            reset.how == "pop" and any(loop in reset.loops for loop in loops)
            for owner, key in self._places(store)
            for reset in self._of(owner, key)
        )

    def emptied_in(self, store: Store, loop: Loop) -> bool:
        """Whether anything takes out of the place in rounds of the loop, if only in some."""
        return any(
            loop in reset.loops and reset.site != store.site and not self._is_first_time(reset, store)
            for owner, key in self._places(store)
            for reset in self._of(owner, key)
        )

    def _is_first_time(self, reset: Reset, store: Store) -> bool:
        if reset.frame is not store.frame or store.summed >= NEVER:
            return False
        return is_first_time(reset, store, self._files())

    def begins_with(self, store: Store) -> bool:
        """Whether the store is the first one of its place, which has held nothing by then."""
        return begins_with(store, self._files())

    def _files(self) -> list[FileFacts]:
        return [outline.whole for outline in self._outlines()]

    def kept_since(self, store: Store) -> Loops:
        """The loops that were running when what gets a value was made: of what one round alone makes, because it is
        not there yet, those of what holds it."""
        for owner in store.owner.holders if isinstance(store.owner, Obj) else ():
            if not isinstance(owner, Obj):
                break
            if statement_of(owner.site) in self._made_when_missing:
                return kept_since(store.owner, store.birth)
            if owner.home is None or len(birth_of(*owner.home)) > len(owner.birth):
                break
        return store.birth

    @functools.cached_property
    def _made_when_missing(self) -> frozenset[int]:
        return frozenset().union(*(outline.made_when_missing for outline in self._outlines()))

    def readers(self, store: Store) -> set[str]:
        """The functions that read the place. Who comes by the module that has it, `model.norm.weight`, does not."""
        reads, names = self.machine.reads, set[str]()
        for owner, key in self._places(store):
            if isinstance(owner, Obj):
                names |= reads.get((owner.serial, key), set())
                if owner.kind == "module" and key != "*":
                    return names | reads.get((owner.serial, "*"), set())
        return names

    def handed_on(self, store: Store) -> bool:
        """Whether another function reads the place than the storing one, and those that call it on the same object."""
        others = self.readers(store) - {frame.name for frame in store.frame.methods_around(store.owner)}
        if not isinstance(store.owner, Obj) or not isinstance(store.owner.cls, Class):
            return bool(others)
        place = (m.ATTR, (m.NAME, "self"), store.key)
        methods = methods_of(store.owner.cls)
        if any(name not in methods or _does_more_than_refill(methods[name], place) for name in others):
            return True
        return any(  # by a loss that was not run: it needs the graph
            "loss" in name.lower() and id(facts) not in self.machine.reached and _does_more_than_refill(facts, place)
            for name, facts in methods.items()
        )

    def released_in(self, store: Store) -> set[str]:
        """The functions that empty the place."""
        places = list(self._places(store))
        return {
            reset.frame.name
            for depth, (owner, key) in enumerate(places)
            for reset in self._of(owner, key)
            if not self._is_first_time(reset, store) and not _begins_once(reset, store)
            if not _takes_itself_off(reset, [inner for inner, _ in places[:depth]])
        } - {"__init__"}

    def is_released(self, store: Store) -> bool:
        released = self.released_in(store)
        return bool(released) and bool(released - self._by_what_comes(store).keys())

    def letting_go(self, store: Store, holder: Holder) -> set[str]:
        """The functions that let the place go, in the run or by their text."""
        return (self.released_in(store) | self.releases.of(last_part(holder.text))) - {"__init__"}

    def has_emptier(self, store: Store, holder: Holder) -> bool:
        """Whether a function whose name says so is there to empty the place: `clear`, `reset_records`."""
        return any(word in name for name in self.letting_go(store, holder) for word in LETS_GO)

    def stays_beyond_a_step(self, store: Store) -> bool:
        """Whether something that is there before some training loop is not emptied in its rounds."""
        emptied = [loop for owner, key in self._places(store) for reset in self._of(owner, key) for loop in reset.loops]
        return any(loop not in store.birth and loop not in emptied for loop in self._training)

    @functools.cached_property
    def _training(self) -> set[Loop]:
        """The loops in whose rounds a module runs and is differentiated."""
        runs = self.machine.module_calls
        return {loop for call in runs for loop in call.loops if loop.kind == "loop" and loop.backward}

    def may_be_let_go(self, holder: Holder, storing: str, growing: list[Loop]) -> bool:
        """Whether another method lets the attribute go, perhaps of another instance, or another function the global,
        and something calls it, or those who call what fills it are not seen either."""
        if holder.kind not in ("attribute", "global") or any(loop.kind != "call" for loop in growing):
            return False
        names = self.releases.of(last_part(holder.text)) - {"__init__", "<module>", storing}
        return bool(names) if growing else not names.isdisjoint(self.program.called)

    def resets_of(self, store: Store) -> Sequence[Reset]:
        """What empties the very place of a store."""
        return self._of(store.owner, store.key)


def _takes_itself_off(reset: Reset, inside: list[Obj | Frame]) -> bool:
    """`stack.pop()` in the `__exit__` of what put itself there: what that has gained in the `with` block stays until it
    is over."""
    return reset.frame.name in ("__exit__", "__aexit__") and any(reset.frame.receiver is one for one in inside)


def _begins_once(reset: Reset, store: Store) -> bool:
    """`global server; server = Server()` of a program that then goes into its loop: what binds the global once, in no
    loop at all, empties nothing in time of what a loop adds. Nor does what a model server calls before all else."""
    receiver = reset.frame.receiver
    cls = receiver.cls if isinstance(receiver, Obj) and reset.how == "replace" else None
    if isinstance(cls, Class) and any(reset.frame.name in set_up_by(entry.facts) for entry in cls.mro):
        return True
    once = reset.how == "replace" and not reset.loops and isinstance(reset.owner, Frame) and not reset.threaded
    return once and is_module_level(reset.owner) and any(loop.kind == "loop" for loop in store.loops)


def _function_of(atom: Any) -> object:
    """What tells a function from others: its text, or the object that it is a method of."""
    return atom.facts.place if type(atom) is Function else id(atom.receiver) if type(atom) is Bound else None


def _identity(owner: Obj | Frame) -> int:
    """What tells a place from others: of an object, the number that each view of it has, too."""
    return -owner.serial if isinstance(owner, Obj) and owner.serial else id(owner)


def _does_more_than_refill(facts: FunctionFacts, place: Expr) -> bool:
    """Whether a function reads a place, and does more with it than to fill it anew, `self.total.zero_()`,
    `self.total[:2] = 1.0`."""
    for statement in statements(facts.body):
        call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
        refill = call and call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in knowledge.IN_PLACE_LIGHT
        if statement[0] == m.ASSIGN:
            refill = all(one == place or (one[0] == m.ITEM and one[1] == place) for one in statement[2])
            refill = refill and place not in nodes(statement[3])
        if not refill and place in expressions_of(statement):
            return True
    return False


def _is_at_an_optimizer_step(reset: Reset) -> bool:
    """`if (i + 1) % accumulate == 0: optimizer.step(); running = 0`: what a few batches of one step add up."""
    for statement in statements(reset.frame.facts.body):
        for suite in blocks(statement) if statement[0] == m.IF else ():
            if any(one[1] == reset.site for one in suite):
                return any(last_name(call[2]) == "step" for call in calls(suite))
    return False


def older(store: Store, since: int) -> list[Loop]:
    """The loops whose current round began after the place was first written."""
    return [loop for loop, start in zip(store.loops, store.starts, strict=True) if start > since]
