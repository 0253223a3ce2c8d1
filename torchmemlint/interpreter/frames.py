"""Where a run stands: the activations of functions, and the loops that go round in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..facts.model import FunctionFacts, Site, Stmt, statement_of
from .linking import Unit
from .values import UNKNOWN, Function, Obj, Value

RETURNED = 1  # how a block ended before its end
JUMPED = 2
NEVER_RUN = 3  # an arm that nothing can get to


class Loop:
    """One loop, or the repeated calls of a public function ("call")."""

    __slots__ = (
        "backward",
        "computes",
        "conditions",
        "drawn",
        "first_node",
        "generated",
        "held_out",
        "kind",
        "name",
        "part_of",
        "runs",
        "site",
        "started",
        "steps",
        "twice",
    )

    def __init__(self, kind: str, site: Site, conditions: int, name: str = "") -> None:
        self.kind = kind
        self.site = site
        self.conditions = conditions
        self.name = name
        self.backward = False  # a backward pass runs in it
        self.computes = False  # one runs in it for what its rounds compute, see `tensors.backward`
        self.first_node = 0  # of the derivation, in its current round
        self.part_of: Loop | None = None  # it goes over what a round of that one has made, row by row
        self.generated = False  # a generator of the project gives what it goes over
        self.started = 0  # when its current round began
        self.steps = False  # it takes optimizer steps, or goes over a loader
        self.runs = False  # a model runs in it
        self.held_out = False  # it goes over a loader that is named for what no training sees
        self.drawn: set[Obj] = set()  # what was there before, another one in each round
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
        "handles",
        "leaves_mode",
        "loops",
        "on_yield",
        "outer",
        "parent",
        "receiver",
        "returned_at",
        "returns",
        "unit",
        "vars",
        "yielded_in",
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
        self.yielded_in: tuple[Loop, ...] = ()  # the loops around the last `yield`
        self.dead = 0
        self.handles: Stmt | None = None  # the `try` whose clause runs
        self.first_node = 0  # of the derivation, in its current activation
        # the grad mode that it leaves to its caller, under how many tests, and where it is set
        self.leaves_mode: tuple[int, int, tuple[Site, Frame]] | None = None
        self.on_yield: Callable[[Value], None] | None = None
        self.outer: dict[str, Frame] = {}  # names declared global or nonlocal

    @property
    def name(self) -> str:
        return self.facts.name

    def acting(self, obj: Obj) -> Frame:
        """Whose part the function does: the method of the object that it was called from, for a helper that is none;
        otherwise its own."""
        frame: Frame | None = self
        while frame is not None and frame.receiver is not obj:
            if frame.receiver is not None:
                return self
            frame = frame.caller
        return self if frame is None else frame

    def methods_around(self, place: Obj | Frame) -> Iterator[Frame]:
        """The function, and the methods of the object with the place that it was called from, one by another."""
        owners: list[Obj | Frame] = [place]
        while isinstance(owners[-1], Obj) and owners[-1].home is not None and len(owners) < 6:  # parts have their whole
            owners.append(owners[-1].home[0])
        yield self
        frame: Frame | None = self
        while frame is not None and (frame.receiver is None or any(frame.receiver is owner for owner in owners)):
            if frame.receiver is not None:
                yield frame
            frame = frame.caller

    def trail(self) -> tuple[Site, ...]:
        sites: list[Site] = []
        frame: Frame | None = self
        while frame is not None and frame.call_site >= 0:
            sites.append(frame.call_site)
            frame = frame.caller
        return tuple(reversed(sites))


def settles(frame: Frame, obj: Obj) -> bool:
    """Whether the place that gets an object is what it lives in: nothing has it yet but, at most, a variable of the
    function that made it because the place was empty, `if one is None: one = self.made[key] = Made()`."""
    if obj.home is None:
        return True
    of_function = isinstance(obj.home[0], Frame) and obj.home[0].function is not None
    return of_function and statement_of(obj.site) in frame.unit.outline.made_when_missing


def birth_of(owner: Obj | Frame, key: str) -> tuple[Loop, ...]:
    """The loops that were running when a place was made."""
    return owner.birth if isinstance(owner, Obj) else owner.births.get(key, ())


def kept_since(owner: Obj | Frame, born: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops that were running when the place was made, or whatever has held it longest: what goes into an
    older container does not go with the round that it was made in."""
    current: Obj | Frame | None = owner
    for _ in range(6):
        if not isinstance(current, Obj) or current.home is None:
            break
        holder, key = current.home
        since = birth_of(holder, key)
        if len(since) < len(born):
            born = since
        current = holder
    return born
