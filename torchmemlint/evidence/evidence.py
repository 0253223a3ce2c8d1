"""What rules judge: retentions, module runs and single statements, made from an abstract run."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol, TypeVar

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site
from ..facts.outline import Outline
from ..facts.program import Program
from ..facts.releases import Releases
from ..facts.walk import call_at, last_name
from ..interpreter.events import Backward, Plain, Store
from ..interpreter.frames import Frame
from ..interpreter.linking import module_member
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Module, Obj, Value
from ..lexical.handlers import Kept, modules_given_errors
from ..lexical.kept_gathers import modules_that_gather
from ..lexical.plain import Words, plain
from .demand import Demand
from .guarded_elsewhere import Unguarded, guarded_elsewhere
from .handed_over import Handed, handed_over, shares_by_name
from .joined import Reaching, joined
from .kept_errors import kept_errors
from .kept_frames import KeptFrames, kept_frames
from .last_passes import is_certainly_last
from .lifetimes import Lifetimes
from .listeners import Listening, kept_as_listeners
from .origins import origins
from .places import is_test_file
from .recordings import Recording, in_evaluation, recordings
from .rerooted import Rerooted, rerooted
from .retentions import Retention, Retentions
from .shared_graphs import differentiated_again, meets_others, meets_others_in_loss
from .spoken import PlainFunctions
from .statistics import of_inputs
from .veiled import unveiled
from .views import View, kept

_OF_ALL = frozenset(("__init__", "__call__", "forward"))  # by their names nobody can tell which is called
_LEVELS = 4  # helpers of helpers


class _Placed(Protocol):
    @property
    def site(self) -> Site: ...


_Found = TypeVar("_Found", bound=_Placed)


class Evidence:
    """Everything the rules may ask about a file."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.facts = machine.facts
        # the file as it stands, for rules about the order and form of statements
        self.program = Program(self.facts, self._imported, self._elsewhere)
        self.displays: frozenset[Site] = frozenset()  # expressions that end a notebook's cell: their value is shown
        self._lifetimes = Lifetimes(machine, self.program)
        self._refuted = set[int]()
        for node in machine.derivation.refuted:
            machine.derivation.spread(self._refuted, node)

    def _imported(self, callee: Expr) -> FunctionFacts | None:
        """The function of another file that `name` or `module.name` stands for."""
        return next((atom.facts for atom in self._brought(callee) if type(atom) is Function), None)

    def made_elsewhere(self, name: Expr) -> Site | None:
        """Where another file makes the object that `name` or `module.name` stands for."""
        return next((atom.site for atom in self._brought(name) if type(atom) is Obj and atom.kind == "instance"), None)

    def class_of_imported(self, name: str) -> tuple[Program, ClassFacts] | None:
        """The class of the object that an imported name stands for, and the file of that class."""
        found = (atom.cls for atom in self._brought((m.NAME, name)) if type(atom) is Obj)
        return next(((cls.frame.unit.outline.program, cls.facts) for cls in found if type(cls) is Class), None)

    def _brought(self, callee: Expr) -> Value:
        """What `name` or `module.name` of another file stands for."""
        name, owner = (callee[2], callee[1]) if callee[0] == m.ATTR else (callee[1], None)
        found = self.machine.look_up(self.machine.module_frame, name if owner is None else last_name(owner)) or ()
        if owner is not None:
            units = [atom.unit for atom in found if type(atom) is Module] if owner[0] == m.NAME else []
            found = tuple(atom for unit in units for atom in module_member(self.machine, unit, name) or ())
        return found

    def _elsewhere(self, name: str) -> bool:
        """Whether other files call a class, a function or a method of this one in a loop."""
        machine = self.machine
        return machine.project is not None and machine.project.repeated(machine.home.path, name) is not None

    def in_plain_words(self, *, names_only: bool = False) -> InPlainWords | None:
        """The text in plain words; None where it says nothing in others."""
        words = plain(self.facts, names_only=names_only)
        return None if words.facts is self.facts else InPlainWords(self, words)

    def as_written(self) -> Evidence:
        """The text as it is written, without what the run shows."""
        return InPlainWords(self, Words(self.facts, {}, {}))

    @functools.cached_property
    def in_tests(self) -> bool:
        """Whether the file holds tests: what is made in one goes with it."""
        return is_test_file(self.machine.home)

    @functools.cached_property
    def whole(self) -> Program:
        """The file with what it imports from the project."""
        return joined(self.machine, self.program) or self.program

    @functools.cached_property
    def reaching(self) -> Program:
        """The file, with the names that it lacks looked for in what it imports."""
        return Reaching(self.program, self._others, lambda: self.whole) if self._others else self.program

    @functools.cached_property
    def _others(self) -> list[Outline]:
        """The other files that the run has come to, or that have what is called here."""
        asked = self.program.called | modules_that_gather(self.program) | modules_given_errors(self.facts)
        for name in self.program.imports.keys() & asked if self.machine.project is not None else ():
            self.machine.look_up(self.machine.module_frame, name)
        return [unit.outline for unit in self.machine.units.values() if unit is not self.machine.home]

    def imported_tables(self) -> set[str]:
        """The names of dictionaries that another file of the project has in a name of its module."""
        if self.machine.project is None:
            return set()
        found = {name: self.machine.look_up(self.machine.module_frame, name) or () for name in self.program.imports}
        return {name for name, value in found.items() if any(type(a) is Obj and a.kind == "dict" for a in value)}

    @property
    def brings_errors(self) -> bool:
        """Whether a function of another file returns an exception that it has caught."""
        return any(other.returns_errors for other in self._others)

    def across(
        self, read: Callable[[Program], Iterable[_Found]], *calls: str, own: tuple[str, ...] = (), levels: int = _LEVELS
    ) -> Iterator[_Found]:
        """What a pass over the text finds in the file, and what more where it sees what the file imports: if that leads
        to a call of one of these names, by so many helpers, or the file itself calls one of its `own`."""
        said: set[Site] = set()
        for found in read(self.program):
            said.add(found.site)
            yield found
        asked = self._leads_to(set(calls), levels) or (bool(self._others) and not self.program.called.isdisjoint(own))
        asked = asked or self._has_heirs_of(calls)
        if not asked or self.whole is self.program:
            return
        for found in read(self.whole):
            if self.machine.is_home(found.site) and found.site not in said:
                yield found

    def comes_by(self, name: str) -> bool:
        """Whether the file calls something of this name, or what does so in another file."""
        return name in self.program.called or self._leads_to({name}, 1)

    def _has_heirs_of(self, names: Collection[str]) -> bool:
        """Whether the file makes, or inherits from, a class of another file that inherits from one of these."""
        heirs = {heir for name in names for heir in self._heirs_there.get(name, ())}
        made = not heirs.isdisjoint(self.program.called)
        return made or (bool(heirs) and any(_inherits(cls, heirs) for cls in self.facts.classes))

    @functools.cached_property
    def _heirs_there(self) -> dict[str, set[str]]:
        """The classes of other files, by what they inherit from."""
        found: dict[str, set[str]] = {}
        for cls in (cls for other in self._others for cls in other.whole.classes):
            for base in cls.bases:
                found.setdefault(last_name(base), set()).add(cls.name)
        return found

    def _leads_to(self, names: set[str], levels: int) -> bool:
        """Whether the file calls what, by its name, calls one of these in another file, or calls what does."""
        for _ in range(levels):
            if all(map(names.isdisjoint, self._called_there)):
                return False
            found = {name for other in self._others for name in other.callers(names)} - _OF_ALL
            if not found.isdisjoint(self.program.called):
                return True
            if found <= names:
                return False
            names = names | found
        return False

    @functools.cached_property
    def _called_there(self) -> list[frozenset[str]]:
        """What each of the other files calls, by name."""
        return [other.program.called for other in self._others]

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

    def led_to(self, kind: str) -> Iterator[Plain]:
        """What other files do with what the home file gives them: `on_exit(self.close)`, each said of that call."""
        seen: set[Site] = set()
        for note in self.machine.plain:
            if note.kind == kind and not self.machine.is_home(note.site):
                site = next((site for site in reversed(note.trail) if self.machine.is_home(site)), None)
                if site is not None and site not in seen and self._gives_own(note.frame, site):
                    seen.add(site)
                    yield note._replace(site=site)

    def _gives_own(self, frame: Frame, site: Site) -> bool:
        """Whether the call at this place of the home file is given an object's own method, or the object, as the
        constructor of a base class is: `super().__init__()` of an object that is made in sight."""
        own = (m.NAME, "self")
        made = type(frame.receiver) is Obj and not frame.receiver.unknown
        while frame.caller is not None and frame.call_site != site:
            frame = frame.caller
        call = None if frame.caller is None else call_at(frame.caller.facts.body, site)
        if call is None:
            return False
        if made and call[2][0] == m.ATTR and last_name(call[2][1]) == "super":
            return True
        return any(value == own or value[:2] == (m.ATTR, own) or value[0] == m.LAMBDA for value in call[3])

    @property
    def releases(self) -> Releases:
        """Who lets go of what, by the text of the files in the run."""
        return self._lifetimes.releases

    def released_in(self, store: Store) -> set[str]:
        """The functions that empty the place."""
        return self._lifetimes.released_in(store)

    def takes_others(self, store: Store) -> set[str]:
        """The functions that take out of the place only what others have put there."""
        return self._lifetimes.takes_others(store)

    # -- retentions -------------------------------------------------------------------------------

    @property
    def stores(self) -> list[Store]:
        """What the run put into places, in the words that the evidence has for it."""
        return self.machine.stores

    @functools.cached_property
    def _stores(self) -> list[Store]:
        return [*self.machine.stores, *unveiled(self.machine), *of_inputs(self.machine)]

    @functools.cached_property
    def _demand(self) -> Demand:
        return Demand(self.machine, self._stores, self._lifetimes)

    @functools.cached_property
    def retentions(self) -> list[Retention]:
        """One a place and store, those with the most evidence."""
        judge = Retentions(self.machine, self._stores, self._lifetimes, self._demand, self._refuted, self.in_tests)
        return judge.found()

    def wanted(self, retention: Retention) -> bool:
        """Whether a backward pass goes through what was read from the place: without its graph it would not."""
        return self._demand.demanded(retention.store_event)

    def keeps_results_of(self, retention: Retention, site: Site) -> bool:
        """Whether what is stored there, in any round, was computed from the module run at `site`."""
        return any(
            label[0] == "module" and label[2] == site
            for store in self.machine.stores
            if store.site == retention.store
            for label in origins(self.machine, store.node)
        )

    @functools.cached_property
    def listening(self) -> list[Listening]:
        """Objects that a list of listeners keeps by their methods."""
        return list(kept_as_listeners(self.machine, self.releases, self.program))

    def handed_over(self) -> Iterator[Handed]:
        """What loops collect of the tensors that they get from other processes or send to them."""
        return handed_over(self.machine, self._lifetimes, by_name=shares_by_name(self.program))

    def views(self) -> Iterator[View]:
        """Places that keep parts of larger tensors."""
        return kept(self.machine, self._lifetimes)

    def kept_errors(self) -> Iterator[tuple[Kept, bool]]:
        """Caught exceptions that a container gains, as the run shows them, and whether their frames have tensors."""
        return kept_errors(self.machine, self._lifetimes)

    def kept_frames(self) -> list[KeptFrames]:
        """Frames of running functions that a container gains."""
        return kept_frames(self.machine, self._lifetimes)

    def rerooted(self) -> Iterator[Rerooted]:
        """Trees of which a part is to stay, and all does."""
        return rerooted(self.machine, self._lifetimes)

    # -- modules that record ----------------------------------------------------------------------

    @functools.cached_property
    def recordings(self) -> list[Recording]:
        """Module runs under a grad mode that records."""
        return recordings(self.machine, self._refuted)

    @functools.cached_property
    def guarded_elsewhere(self) -> list[Unguarded]:
        """Calls of helpers that run a model with gradients on, and that others make with gradients off."""
        return list(guarded_elsewhere(self.machine, self.program))

    def in_evaluation(self, recording: Recording) -> Recording:
        """The same, said of the evaluation that leads to it, where training goes through the same line as well."""
        return in_evaluation(self.machine, self.recordings, recording)

    def differentiated_again(self, backward: Backward) -> bool:
        """Whether another pass goes through the same graph later in the step."""
        return differentiated_again(self.machine, backward)

    def is_certainly_last(self, backward: Backward) -> bool:
        """Whether no other pass, seen or not, goes through the same graph."""
        return is_certainly_last(self.machine, backward)

    def meets_others(self, recording: Recording) -> bool:
        """Whether a backward pass goes through this run together with the run of another module."""
        return meets_others(self.machine, recording)

    def meets_others_in_loss(self, recording: Recording) -> bool:
        """Whether a loss that is handed out, for others to differentiate, is made of this run and of another
        module's."""
        return meets_others_in_loss(self.machine, recording)


def _inherits(cls: ClassFacts, names: Collection[str]) -> bool:
    return any(last_name(base) in names for base in cls.bases)


class InPlainWords(Evidence):
    """The same run, with the text in plain words. What the run shows is said already, whatever the words are, but for
    what stays by functions that have other words now."""

    def __init__(self, written: Evidence, words: Words) -> None:
        machine = copy.copy(written.machine)
        machine.facts = facts = words.facts
        super().__init__(machine)
        self.words = words
        self.facts, self.program = facts, Program(facts, self._imported, self._elsewhere)
        self.displays = written.displays
        self.recordings = []
        lasting = (one.store_event for one in written.retentions if one.growing and one.weight > 1)
        self._stores = list(PlainFunctions(self.machine.home, facts, words.led).stores(lasting))
        if self._stores:
            self._lifetimes = Lifetimes(self.machine, self.program, Outline(facts))

    @property
    def stores(self) -> list[Store]:
        return self._stores

    def plain(self, kind: str) -> Iterator[Plain]:
        return iter(())

    def led_to(self, kind: str) -> Iterator[Plain]:
        return iter(())
