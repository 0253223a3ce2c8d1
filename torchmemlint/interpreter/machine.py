"""The state of an abstract run over a file's facts, and how it branches and joins.

The run executes the facts on abstract values: functions are entered at their calls with the values
that reach them, loops are gone round twice, the arms of a branch start from the same state and are
joined. Every write goes through `put`, which keeps a journal, so an arm can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.outline import Outline
from .events import NEVER, Backward, ModuleCall, Plain, Reset, Store
from .holders import heavy_objects, made_in
from .linking import Project, Unit, link, module_name
from .values import (
    ASSUMED,
    ATTACHED,
    CONTAINERS,
    FREE,
    LIGHT,
    MAYBE,
    OFF,
    ON,
    UNKNOWN,
    VEILED,
    Bound,
    Class,
    Derivation,
    Function,
    Imported,
    Obj,
    Opaque,
    Partial,
    Tensor,
    Value,
    is_light,
    join,
    same_kind,
)

_OLD = (0, None)
_CALLABLE = (Function, Bound, Partial)
_DEEPEST_CALL = 12
_STEPS_PER_STATEMENT = 12
_STEPS_AWAY_PER_STATEMENT = 1.5  # of the home file

RETURNED = 1  # how a block ended before its end
JUMPED = 2


def skip() -> None:
    """The arm of a branch in which nothing is done."""


Journal = list[tuple[dict[Any, Value], Any, "Value | None"]]


class Loop:
    """One loop, or the repeated calls of a public function ("call")."""

    __slots__ = ("backward", "conditions", "first_node", "kind", "name", "runs", "site", "started", "steps", "twice")

    def __init__(self, kind: str, site: Site, conditions: int, name: str = "") -> None:
        self.kind = kind
        self.site = site
        self.conditions = conditions
        self.name = name
        self.backward = False  # a backward pass runs in it
        self.first_node = 0  # of the derivation, in its current round
        self.started = 0  # when its current round began
        self.steps = False  # it takes optimizer steps, or goes over a loader
        self.runs = False  # a model runs in it
        self.twice = False  # it has been gone round twice


class Frame:
    """One activation of a function; kept per call site, so a loop meets the same objects again."""

    __slots__ = (
        "allocs",
        "births",
        "call_site",
        "caller",
        "children",
        "dead",
        "facts",
        "first_node",
        "function",
        "loops",
        "on_yield",
        "outer",
        "parent",
        "receiver",
        "returned_at",
        "returns",
        "unit",
        "vars",
        "yields",
    )  # fmt: skip

    def __init__(
        self, facts: FunctionFacts, parent: Frame | None, caller: Frame | None, call_site: Site, unit: Unit
    ) -> None:
        self.facts = facts
        self.unit = unit  # the file that it is in
        self.parent = parent  # lexically enclosing
        self.caller = caller
        self.call_site = call_site
        self.function: Function | None = None
        self.receiver: Any = None
        self.vars: dict[str, Value] = {}
        self.births: dict[str, tuple[Loop, ...]] = {}
        self.allocs: dict[Any, Obj] = {}
        self.children: dict[Any, Frame] = {}
        self.loops: tuple[Loop, ...] = ()
        self.returns: Value = UNKNOWN
        self.returned_at: Site = -1  # the last statement that returned something heavy
        self.yields: Value = UNKNOWN
        self.dead = 0
        self.first_node = 0  # of the derivation, in its current activation
        self.on_yield: Callable[[Value], None] | None = None
        self.outer: dict[str, Frame] = {}  # names declared global or nonlocal

    @property
    def name(self) -> str:
        return self.facts.name

    def trail(self) -> tuple[Site, ...]:
        sites: list[Site] = []
        frame: Frame | None = self
        while frame is not None and frame.call_site >= 0:
            sites.append(frame.call_site)
            frame = frame.caller
        return tuple(reversed(sites))


_IMPORTED: dict[str, Any] = {  # a module body that is run begins with this
    "loops": (), "grad": ON, "journal": None, "conditions": 0, "module_depth": 0, "in_hook": 0, "threads": 0,
    "bare": -1, "context": None,
}  # fmt: skip
_MOMENT = (*_IMPORTED, "stack", "site", "statement")


def _is_in(atom: Any, owner: Obj | Frame) -> bool:
    """Whether an object is what an earlier round put into the same container: what it has got since then is no news
    of this store."""
    return type(atom) is Obj and atom.kind == "instance" and atom.home is not None and atom.home[0] is owner


_Written = dict[tuple[int, Any], tuple[dict[Any, Value], Any, "Value | None"]]  # place -> where, key, value


def _is_building(frame: Frame) -> bool:
    """Whether a module's constructor runs: the parts that its loops make differ in size, not in kind."""
    return frame.name == "__init__" and type(frame.receiver) is Obj and frame.receiver.kind == "module"


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
        self.most_steps_away = facts.statements * _STEPS_AWAY_PER_STATEMENT + 500
        self.module_depth = 0
        self.site: Site = 0  # what is being run: a statement, or a call in it
        self.statement: Site = 0
        self.home = self.add_unit(outline, path)
        self.module_frame = self.home.frame
        self.instances: dict[int, list[Obj]] = {}  # those that the file makes, by class
        self.reads: dict[tuple[int, str], set[str]] = {}  # which functions read an attribute
        self.reached: set[int] = set()
        self.recorded: set[int] = set()  # those of them that were entered while gradients may be recorded
        self.used_as_modules: set[str] = set()  # names that the file calls methods of modules on
        self.serial = 0
        self.clock = 0  # counts writes and rounds of loops
        self.in_hook = 0
        self.again = 0  # how many of the loops around are in their second round
        self.threads = 0
        self.generating = -1  # how many loops run around the generator that runs, if one does
        self.shown: dict[Site, Value] = {}  # what expressions that stand alone in the module's body give
        self.context: Any = None  # contexts.Context: in which worker or thread this runs
        self.stores: list[Store] = []
        self.veiled_stores: list[tuple[Store, tuple[int, ...]]] = []  # of what unknown code made: its nodes
        self.later: list[Store] = []  # of objects that may come to hold something heavy
        self.resets: list[Reset] = []
        self.backwards: list[Backward] = []
        self.losses: set[int] = set()  # nodes of what steps return to a framework that differentiates it
        self.module_calls: list[ModuleCall] = []
        self.plain: list[Plain] = []
        self.innocent: set[Site] = set()
        self.entered: set[Site] = set()  # grad modes that were entered, or handed to somebody who may
        self.moves: list[tuple[int, tuple[Loop, ...]]] = []  # nodes that went to the host, and when
        self.asked: dict[Obj, set[str]] = {}  # the methods that others call, or hand on, of an instance
        self.given_away: set[Obj] = set()  # instances that code which is not seen was given
        self.settable: set[str] = set()  # names of properties that have a setter
        self.asked_unseen: set[str] = set()  # those that are called, for their effect, of something that is not seen
        self._made: dict[int, tuple[int, Any]] = {}  # serial number and fields of each object, by these' identity
        self.key_kind = ""  # of the element that is being bound
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
    keep: Callable[..., None]  # contexts.keep

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
        return {**{name: state[name] for name in _MOMENT}, "stack": [*self.stack], "journal": None}

    @contextmanager
    def at(self, moment: dict[str, Any]) -> Iterator[None]:
        """Run something as it would have run at another moment. What it writes, no branch takes back."""
        state = self.__dict__
        before = {name: state[name] for name in _MOMENT}
        state.update(moment)
        try:
            yield
        finally:
            state.update(before)

    @contextmanager
    def apart(self, frame: Frame) -> Iterator[None]:
        """A state of its own for a part of a module body, which runs when it is imported."""
        self.import_depth += 1
        try:
            with self.at({**_IMPORTED, "stack": [frame], "site": self.site, "statement": self.statement}):
                yield
        finally:
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

    def may_enter(self, unit: Unit) -> bool:
        """Whether there is time left for a function of this file."""
        return not self.exhausted and (unit is self.home or self.steps_away <= self.most_steps_away)

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

    def branch(
        self, frame: Frame, arms: Sequence[Callable[[], None]], conditional: bool = True, modes_hold: bool = False
    ) -> bool:
        """Run each arm from the same state, then join their ends.

        Modes of modules are those at the end of the first arm if `modes_hold`: a loop over the parameters of a module
        goes round. Returns whether anything that was there before has changed.
        """
        outer, since = self.journal, self.serial
        ends: list[tuple[_Written, int]] = []
        before: _Written = {}
        self.conditions += conditional
        for arm in arms:
            if arm is skip:
                ends.append(({}, 0))
                continue
            journal: Journal = []
            self.journal = journal
            frame.dead = 0
            arm()
            written: _Written = {}
            for where, key, old in reversed(journal):  # the last write comes first, the state before comes last
                place = (id(where), key)
                if place not in written:
                    written[place] = (where, key, where.get(key))
                before[place] = (where, key, old)
                if old is None:
                    where.pop(key, None)
                else:
                    where[key] = old
            ends.append((written, frame.dead))
        self.conditions -= conditional
        self.journal = outer
        alive = [end for end in ends if not end[1]]
        frame.dead = 0 if alive else min((end[1] for end in ends), default=0)
        return self._merge(frame, before, ends, bool(alive), modes_hold, since) if before else False

    def _merge(
        self,
        frame: Frame,
        before: _Written,
        ends: list[tuple[_Written, int]],
        any_alive: bool,
        modes_hold: bool,
        since: int,
    ) -> bool:
        changed = False
        own, derivation = frame.vars, self.derivation
        for place, (where, key, old) in before.items():
            merged: Value = UNKNOWN
            local = where is own
            for written, dead in ends:
                # A returned arm's locals are gone; what it wrote elsewhere stays.
                if local and dead == RETURNED and any_alive:
                    continue
                entry = written.get(place)
                value = old if entry is None or entry[2] is None else entry[2]
                if value is not None:
                    merged = join(merged, value, derivation)
            if key == "$mode" or key == "$frozen":
                said = ends[:1] if modes_hold else ends
                kept = {written[place][2] if place in written else old for written, _ in said}
                merged = kept.pop() or UNKNOWN if len(kept) == 1 else UNKNOWN
            if merged is old:
                continue
            if old is not None:
                changed = changed or not same_kind(old, merged)
            elif not local and not is_light(merged) and self._made.get(id(where), _OLD)[0] <= since:
                changed = True  # something that was there before has a part that it had not
            self.put(where, key, merged)
        return changed

    def loop_at(self, frame: Frame, site: Any, kind: str = "loop") -> Loop:
        """The loop that stands at this place in this activation."""
        loop: Any = frame.allocs.get(("loop", site))
        if loop is None:
            loop = Loop(kind, site, self.conditions)
            frame.allocs[("loop", site)] = loop
        loop.conditions = self.conditions
        return loop  # type: ignore[no-any-return]

    def begin_round(self, loop: Loop) -> None:
        self.clock += 1
        loop.started = self.clock
        loop.first_node = len(self.derivation.parents)

    def go_round(self, frame: Frame, loop: Loop, body: Callable[[], Any]) -> None:
        """Run a loop's body: once, and again if that changed what was there before."""
        outer = self.loops
        self.loops = (*outer, loop)

        def once() -> None:
            self.begin_round(loop)
            body()
            if frame.dead == JUMPED:
                frame.dead = 0

        layers = loop.kind == "layers"
        changed = self.branch(frame, [once, skip], conditional=False, modes_hold=layers)
        # in a second round of a loop around it, a second one of this loop would show nothing new
        if changed and not self.exhausted and not _is_building(frame) and not (self.again and loop.twice):
            loop.twice = True
            self.again += 1
            self.branch(frame, [once, skip], conditional=False)
            self.again -= 1
        self.loops = outer

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
            self._made[id(obj.fields)] = (self.serial, obj.fields)
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

    def reach(self, value: Value, depth: int = 3) -> list[Tensor]:
        """The tensors that a value keeps alive: itself, or inside containers and instances."""
        found: list[Tensor] = []
        self._reach(value, depth, found, set())
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

    def _reach(self, value: Value, depth: int, found: list[Tensor], seen: set[int]) -> None:
        for atom in value:
            kind = type(atom)
            if kind is Tensor:
                found.append(atom)
            elif kind is Obj and depth and id(atom) not in seen and atom.kind not in ("module", "optimizer"):
                seen.add(id(atom))
                for key, part in atom.fields.items():
                    if part and key[:1] != "$":
                        self._reach(part, depth - 1, found, seen)

    def store(self, frame: Frame, owner: Obj | Frame, key: str, value: Value, how: str, site: Site) -> Value:
        """Note that `value` goes to a place; returns the value as it is read from there later."""
        if self.context is not None:
            self.keep(frame, owner, key, value, how, site)
        if not value:
            return value
        if is_light(value):
            self.innocent.add(site)
            self.innocent.update(frame.trail())
            return value
        if how in ("grow", "keyed") and any(type(atom) in _CALLABLE for atom in value):
            self.note("listener", site, frame, (owner, key, value))
        new = value if how == "set" else tuple(atom for atom in value if not _is_in(atom, owner))
        reached = self._news(new)
        objects = () if reached else heavy_objects(value)
        instances = self._new_instances(new, how) if not reached and not objects else ()
        attached = [tensor.node for tensor in reached if tensor.graph == ATTACHED]
        veiled = self._veiled_in(new, reached) if self.grad != OFF and not attached else []
        seen = reached or objects or instances
        if not seen and not veiled:
            return value
        if reached and all(tensor.graph == FREE for tensor in reached):
            self.innocent.add(site)
            self.innocent.update(frame.trail())
        self.clock += 1
        # without a graph only what a loop adds to by concatenation is of interest
        traced = attached or veiled or (how == "set" and self.grad == OFF and self.loops and type(owner) is Frame)
        label = ("write", owner, key, self.clock) if traced else None
        node = self.derivation.node(tuple({*veiled, *(tensor.node for tensor in reached)}), label)
        if reached:
            self.derivation.write(node, *(tensor.node for tensor in reached))
        summed = carried = NEVER
        if how != "grow" and self.loops:
            for start in self._alternatives(attached or veiled, owner, key):
                summed = min(summed, self._written_before(start, owner, key, through_modules=False))
                carried = min(carried, self._written_before(start, owner, key, through_modules=True))
        parts: list[tuple[int, int]] = []
        place = (owner, key) if how == "set" else None
        own = None if len(reached) == 1 and not veiled else label
        changed = reached or veiled
        written = tuple(self._as_written(atom, node, own, place, parts) for atom in value) if changed else value
        store = Store(
            site=site,
            trail=frame.trail(),
            owner=owner,
            key=key,
            how=how,
            tensors=tuple(reached),
            node=node,
            summed=summed,
            carried=carried,
            loops=self.loops,
            starts=tuple(loop.started for loop in self.loops),
            conditions=self.conditions,
            frame=frame,
            grad=self.grad,
            hook=bool(self.in_hook),
            thread=bool(self.threads),
            inside=bool(self.module_depth),
            objects=objects,
            fresh=any(made_in(obj, self.loops) for obj in objects),
            key_kind=self.key_kind if how == "keyed" else "",
            instances=instances,
            parts=tuple(parts),
        )
        if seen:
            (self.later if instances else self.stores).append(store)
        if veiled:
            self.veiled_stores.append((store, tuple(veiled)))
        return written

    def _veiled_in(self, value: Value, reached: list[Tensor]) -> list[int]:
        """The nodes of what may have a graph, and was computed: a backward pass may say so later."""
        maybe = (tensor.node for tensor in reached if tensor.graph == MAYBE)
        return [node for node in (*self.veiled(value), *maybe) if self.derivation.parents[node]]

    def made_again(self, obj: Obj) -> None:
        """An expression makes another object, which is empty yet; `obj` stands for it and for those made before."""
        obj.earlier = frozenset(tensor.node for tensor in self.reach((obj,)))

    def _news(self, value: Value) -> list[Tensor]:
        """The tensors of a value, without those that only the objects made before by the same expression have."""
        earlier = {node for atom in value if type(atom) is Obj for node in atom.earlier}
        return [tensor for tensor in self.reach(value) if tensor.node not in earlier]

    def _new_instances(self, value: Value, how: str) -> tuple[Obj, ...]:
        """The objects of this round that a container gets before anything heavy has been put on them."""
        if how not in ("grow", "keyed"):
            return ()
        instances = (atom for atom in value if type(atom) is Obj and atom.kind == "instance")
        return tuple(atom for atom in instances if made_in(atom, self.loops))

    def _as_written(
        self,
        atom: Any,
        node: int,
        label: Any,
        place: tuple[Obj | Frame, str] | None,
        parts: list[tuple[int, int]],
        depth: int = 3,
    ) -> Any:
        """A value as it is read from the place that it was written to; `parts` gets the node of each tensor in it."""
        if type(atom) is Tensor:
            if label is not None:  # one of several: what is asked of it is not asked of the others
                node = self.derivation.node((atom.node,), label)
                self.derivation.write(node, atom.node)
                parts.append((atom.graph, node))
            return atom._replace(node=node)
        if type(atom) is Opaque and label is not None:
            node = self.derivation.node((atom.node,), label)
            self.derivation.write(node, atom.node)
            parts.append((VEILED, node))
            return atom._replace(node=node)
        if type(atom) is Obj and depth and _is_tuple(atom):  # immutable: a copy with the write noted will do
            view = Obj(atom.kind, atom.cls, atom.birth, atom.site, atom.weight)
            view.serial, view.home = atom.serial, atom.home
            view.fields = {
                key: tuple(self._as_written(part, node, label, place, parts, depth - 1) for part in value)
                for key, value in atom.fields.items()
            }
            return view
        if type(atom) is Obj and atom.kind in ("dict", "list") and depth and place and _is_made_for(atom, place):
            for key, value in list(atom.fields.items()):
                if key[:1] != "$" and value:
                    made = tuple(self._as_written(part, node, label, place, parts, depth - 1) for part in value)
                    self.put(atom.fields, key, made)
        return atom

    def _alternatives(self, nodes: list[int], owner: Obj | Frame, key: str) -> Iterator[int]:
        """What a value may be, but for what the place holds already: `best = loss if loss < best else best`."""
        derivation = self.derivation
        seen = set(nodes)
        for node in (queue := list(nodes)):
            label = derivation.labels.get(node)
            if label is not None and label[0] == "write" and label[1] is owner and label[2] == key:
                continue
            if node not in derivation.written:
                yield node
            for other in derivation.written.get(node, ()):
                if other not in seen:
                    seen.add(other)
                    queue.append(other)

    def _written_before(self, start: int, owner: Obj | Frame, key: str, through_modules: bool) -> int:
        """The earliest write to a place that a value derives from; `NEVER` if there is none."""
        derivation = self.derivation
        found = NEVER
        seen = {start}
        for node in (queue := [start]):
            if len(queue) > 400:
                break
            label = derivation.labels.get(node)
            if label is not None:
                if label[0] == "write" and label[1] is owner and label[2] == key:
                    found = min(found, label[3])
                elif label[0] == "module" and not through_modules:
                    continue
            for parent in derivation.parents[node]:
                if parent not in seen:
                    seen.add(parent)
                    queue.append(parent)
        return found

    def statement_call(self, site: Site) -> bool:
        """Whether this call stands alone as a statement."""
        return site == self.bare

    def reset(self, frame: Frame, owner: Obj | Frame, key: str, how: str, item: Value = UNKNOWN) -> None:
        worker = self.context is not None
        self.resets.append(Reset(owner, key, how, self.statement, self.loops, self.conditions, frame, worker, item))

    def note(self, kind: str, site: Site, frame: Frame, detail: Any = None) -> None:
        self.plain.append(Plain(kind, site, frame, detail, frame.trail(), self.loops))

    def escape(self, value: Value, marks: set[int] | None = None) -> None:
        """A value is handed to code that is not seen. What is in a container and was made by unknown code says nothing
        of what it was made from."""
        marks = self.derivation.escaped if marks is None else marks
        inside = set(self.veiled(value)).difference(atom.node for atom in value if type(atom) is Opaque)
        for node in self.nodes(value):
            if node not in inside:
                self.derivation.spread(marks, node)
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
        found = self.veiled(value, depth)
        found += [tensor.node for tensor in self.reach(value, depth)]
        for atom in value:
            if type(atom) is Obj:
                found += [part.node for part in atom.fields.get("$node", ())]
        return found


def _is_made_for(obj: Obj, place: tuple[Obj | Frame, str]) -> bool:
    """Whether a container has no other place: a display, a comprehension, or the variable of a call that made it."""
    home = obj.home
    return home is None or home == place or (type(home[0]) is Frame and home[0].function is not None)


def _is_tuple(obj: Obj) -> bool:
    """Whether an object is a tuple, or of a class that is one with names."""
    return obj.kind == "tuple" or (obj.kind == "instance" and isinstance(obj.cls, Class) and obj.cls.is_named_tuple)


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
