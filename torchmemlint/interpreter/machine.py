"""The state of an abstract run over a file's facts.

The run executes the facts on abstract values: functions are entered at their calls with the values
that reach them, loops are gone round twice, the arms of a branch start from the same state and are
joined (`branching.py`). Every write goes through `put`, which keeps a journal, so an arm can be taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.outline import Outline
from ..facts.walk import statements
from .derivation import Derivation
from .events import Backward, ModuleCall, Plain, Reset, Store
from .frames import Frame, Loop
from .joining import join
from .linking import Project, Unit, link, module_name
from .values import (
    ASSUMED,
    CONTAINERS,
    LIGHT,
    OFF,
    ON,
    UNKNOWN,
    Caught,
    Class,
    Function,
    Imported,
    Obj,
    Opaque,
    Tensor,
    Value,
)

OWN_STATE: Final = ("module", "optimizer")  # what these keep is their own
_DEEPEST_CALL = 12
_STEPS_PER_STATEMENT = 12
_STEPS_AWAY_PER_STATEMENT = 0.6  # of the home file
_SHORT = 8  # statements
_TINY = 2  # likewise
_OFTEN, _OFTEN_QUIET = 12, 4  # runs of a function, and of one in which nothing was ever noted

Journal = list[tuple[dict[Any, Value], Any, "Value | None"]]

_IMPORTED: dict[str, Any] = {  # a module body that is run begins with this
    "loops": (), "grad": ON, "journal": None, "conditions": 0, "module_depth": 0, "in_hook": 0, "threads": 0,
    "bare": -1, "context": None,
}  # fmt: skip
_MOMENT = (*_IMPORTED, "stack", "site", "statement", "made_by")
_LEFT_FOR_IMPORT = (*_MOMENT, "set_up")
_BEFORE_IMPORT = itemgetter(*_LEFT_FOR_IMPORT)


class Machine:
    """An abstract run over one file, its home, and what that uses of others."""

    def __init__(self, outline: Outline, path: str = "", project: Project | None = None) -> None:
        self.facts = facts = outline.facts
        self.project = project
        self.units: dict[str, Unit] = {}
        self.links: dict[Imported, Value] = {}
        self.import_depth = 0
        self.answers: dict[Any, Value] = {}  # of other files' helpers, by what they were asked
        self.derivation = Derivation()
        self.loops: tuple[Loop, ...] = ()
        self.grad = ASSUMED
        self.conditions = 0
        self.journal: Journal | None = None
        self.stack: list[Frame] = []
        self.steps = self.steps_away = 0  # in the home file, in others
        self.most_steps = facts.statements * _STEPS_PER_STATEMENT + 3000
        self.most_steps_away = facts.statements * _STEPS_AWAY_PER_STATEMENT + 80
        self.patience = facts.statements * 2 + 500  # the steps after which what has run often runs no more
        self.runs: Counter[int] = Counter()  # of the home file's functions, by the identity of their facts
        self.telling: set[int] = set()  # those in which something was noted
        self.results: dict[tuple[int, int], Value] = {}  # what each has returned last, by the grad mode as well
        self.short_ones = facts.statements // 60 + 10
        self.not_run: dict[int, FunctionFacts] = {}  # of other files, when the time for those was over
        self.set_up: object = None  # what nobody was seen to make, while its constructor runs ...
        self.set_up_for = 0  # ... and how many steps it may take before it leaves out what others of them have run
        self.run_to_set_up: set[int] = set()  # by the identity of a function's facts
        self.module_depth = 0
        self.sequences: list[Obj] = []  # those that run: one may hold itself, where a helper calls itself
        self.site: Site = 0  # what is being run: a statement, or a call in it
        self.given_nothing: Site = -1  # the last call without arguments
        self.statement: Site = 0
        self.home = self.add_unit(outline, path)
        self.module_frame = self.home.frame
        self.instances: dict[int, list[Obj]] = {}  # those that the file makes, by class
        self.reads: dict[tuple[int, str], set[str]] = {}  # which functions read an attribute
        self.reached: set[int] = set()
        self.recorded: set[int] = set()  # those of them that were entered while gradients may be recorded
        self.unrecorded: set[int] = set()  # and those while they were off
        self.watches = any("finalize" in function.calls for function in facts.functions)
        self.used_as_modules: set[str] = set()  # names that the file calls methods of modules on
        self.serial = 0
        self.made_by: int | None = None  # the serial number of the moment that runs belatedly
        self.clock = 0  # counts writes and rounds of loops
        self.in_hook = 0
        self.again = 0  # how many of the loops around are in their second round
        self.first_filled = ""  # an attribute whose container was empty before the branch or round that has just ended
        self.threads = 0
        self.generating = -1  # how many loops run around the generator that runs, if one does
        self.shown: dict[Site, Value] = {}  # what expressions that stand alone in the module's body give
        self.context: Any = None  # contexts.Context: in which worker or thread this runs
        self.going_on: Callable[[], None] | None = None  # runs the work of the current thread once more
        self.waiting: dict[int, Callable[[], None]] = {}  # such threads, by the queue that they take from
        self.made_over: set[int] = set()  # queues whose items a thread binds again, to what it makes of them
        self.stores: list[Store] = []
        self.veiled_stores: list[tuple[Store, tuple[int, ...]]] = []  # of what unknown code made: its nodes
        self.filled_by_hooks: list[Obj] = []
        self.later: list[Store] = []  # of objects that may come to hold something heavy
        self.opened: dict[tuple[int, Frame], tuple[Obj, str]] = {}  # entry that a table starts, and in which function
        self.resets: list[Reset] = []  #                                ... -> the table, and what sort of key it has
        self.backwards: list[Backward] = []
        self.losses: set[int] = set()  # nodes of what steps return to a framework that differentiates it
        self.module_calls: list[ModuleCall] = []
        self.inner_runs: list[tuple[Obj, int]] = []  # of modules, in passes of others or of their own: and their nodes
        self.plain: list[Plain] = []
        self.tried: dict[Site, Stmt] = {}  # each `try` of which a clause has named what it caught
        self.frames_asked_for: set[Site] = set()  # where frames were, by `inspect.stack()`: as if they were caught
        self.errors: list[tuple[Store, Caught]] = []  # where such an exception was put
        self.log_handlers: dict[Obj, None] = {}  # those of the project that a logger was given
        self.innocent: set[Site] = set()
        self.turned_on: tuple[Site, Frame] | None = None  # where a callee ended the `no_grad` around what runs
        self.entered: set[Site] = set()  # grad modes that were entered, or handed to somebody who may
        self.moves: list[tuple[int, tuple[Loop, ...]]] = []  # nodes that went to the host, and when
        self.asked: dict[Obj, dict[str, set[Frame]]] = {}  # the methods that others call, or hand on, of an instance
        self.routes: list[Function] = []  # inner functions that run for each request
        self.applications: list[Obj] = []  # of web frameworks, see `web_apps.py`
        self.given_away: set[Obj] = set()  # instances that code which is not seen was given
        self.makers: dict[Obj, tuple[Frame, Site]] = {}  # where an instance was made
        self.settable: set[str] = set()  # names of properties that have a setter
        self.described: set[str] = set()  # names that classes bind to descriptors
        self.asked_unseen: set[str] = set()  # those that are called, for their effect, of something that is not seen
        self.freezes = False  # whether any module has been frozen
        self.followed: dict[Obj, set[Obj]] = {}  # modules that get weights from others, see followed.py
        self.trained: set[Obj] = set()  # modules whose optimizer takes steps
        self.placed: dict[int, tuple[Obj, str]] = {}  # nodes of tensors that were put into a place of an object
        self.under_weak_keys: dict[Obj, Value] = {}  # containers that are the values of weak keys
        self.made: dict[int, tuple[int, Any, Obj]] = {}  # serial number and fields of each object, by these' identity
        self.unanswered: set[tuple[int, str, int]] = set()  # what a `__getattr__` gave nothing for, and what there was
        self.looked_at: set[str] = set()  # the attributes that were asked for since a method was entered
        self.entering: dict[int, tuple[m.FunctionFacts, bool]] = {}  # see registries.py, by the function's identity
        self.making: list[Class] = []  # classes whose metaclass is making an object
        self.unset: list[Obj] = []  # objects whose constructor has not run yet
        self.key_kind = ""  # of the element that is being bound
        self.signals: dict[Any, tuple[list[Any], list[Any]]] = {}  # who is connected, and what was emitted: slots.py
        self.bare: Site = -1  # the call that is the whole of the statement being run

    # -- what other modules of this package do; they put it here when they are imported ---------------

    call: Callable[..., Value]  # calls.call
    call_method: Callable[..., Value]
    call_function: Callable[..., Value]
    instance_of: Callable[..., Value]
    iterate: Callable[..., Value]
    elements: Callable[..., Value]
    assign: Callable[..., None]
    grow: Callable[..., None]

    # -- running ----------------------------------------------------------------------------------

    def add_unit(self, outline: Outline, path: str) -> Unit:
        """Take a file into the run; nothing of it is executed yet."""
        unit = Unit(outline, path)
        unit.frame = Frame(unit.facts.functions[0], None, None, -1, unit)
        self.units[path] = unit
        return unit

    def moment(self) -> dict[str, Any]:
        """What a statement that runs now finds, apart from the values of names."""
        state = self.__dict__
        made_by = self.serial if self.made_by is None else self.made_by
        return {**{name: state[name] for name in _MOMENT}, "stack": [*self.stack], "journal": None, "made_by": made_by}

    @contextmanager
    def at(self, moment: dict[str, Any]) -> Iterator[None]:
        """Run something as it would have run at another moment. What it writes, no branch takes back."""
        state = self.__dict__
        before = {name: state[name] for name in (*_MOMENT, *moment)}
        state.update(moment)
        try:
            yield
        finally:
            state.update(before)

    def apart(self, frame: Frame, work: Callable[[], None]) -> None:
        """Do a part of a module body, in a state of its own: it runs when the module is imported."""
        state = self.__dict__
        before = _BEFORE_IMPORT(state)
        self.import_depth += 1
        state.update(_IMPORTED)
        self.stack, self.set_up = [frame], None
        try:
            work()
        finally:
            state.update(zip(_LEFT_FOR_IMPORT, before, strict=True))
            self.import_depth -= 1
            frame.dead = 0

    def is_home(self, site: Site) -> bool:
        return m.file_of(site) == self.facts.number

    def eval(self, frame: Frame, expr: Expr) -> Value:
        return EVALUATE[expr[0]](self, frame, expr)

    def block(self, frame: Frame, statements: Sequence[Stmt]) -> None:
        """Run statements until one of them returns or jumps."""
        away = frame.unit is not self.home
        for statement in statements:
            if away:
                self.steps_away += 1
            else:
                self.steps += 1
            self.site = self.statement = statement[1]
            EXECUTE[statement[0]](self, frame, statement)
            if frame.dead:
                return

    @property
    def exhausted(self) -> bool:
        return self.steps > self.most_steps

    def stands_back(self, facts: m.FunctionFacts) -> bool:
        """Whether one more run of a function of the home file would show nothing new: in a file that takes many steps,
        the block that every stage of a model calls, or the helper of thirty parsers, has shown it by then."""
        ident = id(facts)
        if len(facts.body) <= _TINY:
            return False  # `return self.key`, of whichever object
        self.runs[ident] += 1
        most = _OFTEN if ident in self.telling else _OFTEN_QUIET
        return self.steps > self.patience and self.runs[ident] > most and (ident, self.grad) in self.results

    def noted(self) -> int:
        """How much of what rules judge has been noted so far."""
        stored = len(self.stores) + len(self.later) + len(self.resets)
        return stored + len(self.backwards) + len(self.module_calls) + len(self.plain)

    def is_over(self, unit: Unit) -> bool:
        """Whether the time that there is for a file's functions is over."""
        return self.exhausted if unit is self.home else self.steps_away > self.most_steps_away

    def may_enter(self, function: Function, receiver: object, *, seen: bool = False) -> bool:
        """Whether there is time left for a function of its file. When that of other files is over, a few short ones
        still run: the meter that a loop calls after the code of a data set. `seen`: this very call was run before, so
        what it does is known."""
        if self.exhausted or (self.set_up is not None and self._is_left_out(function, receiver)):
            return False
        if function.frame.unit is self.home or self.steps_away <= self.most_steps_away:
            return True
        if not self.short_ones or len(list(islice(statements(function.facts.body), _SHORT + 1))) > _SHORT:
            if not seen:
                self.not_run[id(function.facts)] = function.facts
            return False
        self.short_ones -= 1
        return True

    def _is_left_out(self, function: Function, receiver: object) -> bool:
        """Whether a long constructor of an object that nobody was seen to make leaves a function to those before it:
        thirty data sets of a file read their corpora by the same helpers. What constructs, and what is the object's
        own, says what its attributes are."""
        seen = id(function.facts) in self.run_to_set_up
        self.run_to_set_up.add(id(function.facts))
        too_long = self.steps + self.steps_away > self.set_up_for
        return seen and too_long and receiver is not self.set_up and function.facts.name != "__init__"

    @property
    def too_deep(self) -> bool:
        return len(self.stack) >= _DEEPEST_CALL

    # -- state ------------------------------------------------------------------------------------

    def put(self, where: dict[Any, Value], key: Any, value: Value) -> None:
        if self.journal is not None:
            self.journal.append((where, key, where.get(key)))
        where[key] = value

    def forget_locals(self, frame: Frame, journal: Journal | None, since: int) -> None:
        """Take a finished call's own variables out of the journal: no branch around it will look at them."""
        if journal is not None and journal is self.journal:
            local = frame.vars
            journal[since:] = [entry for entry in journal[since:] if entry[0] is not local]

    def join(self, a: Value, b: Value) -> Value:
        if not a:  # as at the first of several
            return b
        return join(a, b, self.derivation)

    # -- scopes -----------------------------------------------------------------------------------

    def look_up(self, frame: Frame, name: str) -> Value | None:
        current: Frame | None = frame.outer.get(name, frame)
        while current is not None:
            value = current.vars.get(name)
            if value is not None:
                if value and (type(value[0]) is Imported or (len(value) > 1 and type(value[1]) is Imported)):
                    value = current.vars[name] = link(self, value)
                return value
            if current.parent is None:
                return module_name(self, current, name)
            current = current.parent
        return None

    def scope_of(self, frame: Frame, name: str) -> Frame:
        """The frame that an assignment to `name` writes to."""
        return frame.outer.get(name, frame)

    # -- events -----------------------------------------------------------------------------------

    def allocate(self, frame: Frame, ident: Any, kind: str, cls: Class | str | None = None, weight: int = 3) -> Obj:
        """The object that this expression makes in this activation (always the same one)."""
        obj = frame.allocs.get(ident)
        if obj is None:
            obj = Obj(kind, cls, self.loops, self.site, weight)
            self.serial += 1
            obj.serial = self.serial
            # what an import makes is there before anything that uses it, however late that is looked up
            age = 0 if self.import_depth else self.serial if self.made_by is None else self.made_by
            self.made[id(obj.fields)] = (age, obj.fields, obj)
            frame.allocs[ident] = obj
        return obj

    def generate_later(self, frame: Frame, ident: Any, run: Callable[[], Value]) -> Obj:
        """A generator that is made under `no_grad`, whose body `run` runs when somebody looks at what it gives."""
        made = self.allocate(frame, ("begun", ident), "generator")
        moment = self.moment()

        def begin() -> None:
            with self.at({**moment, "grad": self.grad}):
                for atom in run():
                    if type(atom) is Obj:
                        made.fields.update(atom.fields)

        if not made.is_put_off:
            made.put_off(begin)
        return made

    def reach(self, value: Value, depth: int = 3, without: tuple[str, ...] = OWN_STATE) -> list[Tensor]:
        """The tensors that a value keeps alive: itself, or inside containers and instances, `without` objects of these
        kinds."""
        found: list[Tensor] = []
        if len(value) == 1 and type(value[0]) is not Obj:  # as most are
            return [value[0]] if type(value[0]) is Tensor else found
        self._reach(value, depth, found, set(), without)
        return found

    def veiled(self, value: Value, depth: int = 3) -> list[int]:
        """The nodes of what unknown code made, in a value or in containers that it is."""
        found: list[int] = []
        for atom in value:
            if type(atom) is Opaque:
                found.append(atom.node)
            elif type(atom) is Obj and depth and atom.kind in CONTAINERS and not atom.is_put_off:
                for key, part in atom.fields.items():
                    if part and key[:1] != "$":
                        found += self.veiled(part, depth - 1)
        return found

    def _reach(self, value: Value, depth: int, found: list[Tensor], seen: set[int], without: tuple[str, ...]) -> None:
        for atom in value:
            kind = type(atom)
            if kind is Tensor:
                found.append(atom)
            elif kind is Obj and depth and id(atom) not in seen and atom.kind not in without:
                seen.add(id(atom))
                for key, part in atom.fields.items():
                    if part and key[:1] != "$":
                        self._reach(part, depth - 1, found, seen, without)

    def statement_call(self, site: Site) -> bool:
        """Whether this call stands alone as a statement."""
        return site == self.bare

    def reset(self, frame: Frame, owner: Obj | Frame, key: str, how: str, item: Value = UNKNOWN) -> None:
        worker = self.context is not None
        self.resets.append(Reset(owner, key, how, self.statement, self.loops, self.conditions, frame, worker, item))

    def note(self, kind: str, site: Site, frame: Frame, detail: Any = None) -> None:
        self.plain.append(Plain(kind, site, frame, detail, frame.trail(), self.loops))

    def caught(self, frame: Frame, site: Site) -> Caught:
        """An exception that is asked for, of a future or by `sys.exc_info()`."""
        self.tried.setdefault(site, (m.TRY, site, (), (), (), ()))
        return Caught(site, frame)

    def escape(self, value: Value, marks: set[int] | None = None) -> None:
        """A value is handed to code that is not seen. What is in a container and was made by unknown code says nothing
        of what it was made from."""
        marks = self.derivation.escaped if marks is None else marks
        inside = set(self.veiled(value)).difference(atom.node for atom in value if type(atom) is Opaque)
        for node in self.nodes(value):
            if node not in inside:
                self.derivation.spread(marks, node)
                self.derivation.handed.add(node)
        marks |= inside

    def unknown_node(self, parents: tuple[int, ...]) -> int:
        """The node of what code that is not seen made of these."""
        node = self.derivation.node(parents)
        self.derivation.foreign.add(node)
        if self.grad == OFF:
            self.derivation.unrecorded.add(node)
        return node

    def nodes(self, value: Value, depth: int = 3) -> list[int]:
        """The nodes of everything in a value that a backward pass could start from."""
        if len(value) == 1 and type(value[0]) is not Obj:  # as most are
            return [value[0].node] if type(value[0]) in (Tensor, Opaque) else []
        found = self.veiled(value, depth)
        found += [tensor.node for tensor in self.reach(value, depth)]
        for atom in value:
            if type(atom) is Obj:
                found += [part.node for part in atom.fields.get("$node", ())]
        return found


def _unsupported(machine: Machine, frame: Frame, node: Any) -> Any:
    return LIGHT


EVALUATE: list[Callable[[Machine, Frame, Expr], Value]] = [_unsupported] * m.EXPRESSIONS
EXECUTE: list[Callable[[Machine, Frame, Stmt], None]] = [_unsupported] * m.STATEMENTS


def evaluates(operation: int) -> Callable[[Any], Any]:
    """Register the evaluation of one kind of expression."""

    def register(function: Any) -> Any:
        EVALUATE[operation] = function
        return function

    return register


def executes(operation: int) -> Callable[[Any], Any]:
    """Register the execution of one kind of statement."""

    def register(function: Any) -> Any:
        EXECUTE[operation] = function
        return function

    return register
