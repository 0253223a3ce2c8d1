"""What an abstract run notes down: stores, resets, backward passes, module calls.

Events are raw; the modules of `evidence/` turn them into the records that rules judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .values import ATTACHED, Obj

if TYPE_CHECKING:
    from ..facts.model import Site
    from .frames import Frame, Loop
    from .values import Tensor, Value

NEVER = 1 << 60
Loops = tuple["Loop", ...]
Trail = tuple[int, ...]  # call sites, outermost first


class Store(NamedTuple):
    """A heavy value reaches a place that may outlive it."""

    site: Site
    trail: Trail
    owner: Obj | Frame
    key: str  # "*" for the elements of a container
    how: str  # "grow" (append, add, keyed), "set", "augment", "inplace"
    tensors: tuple[Tensor, ...]
    node: int  # derives from all that is stored; what is read from the place later derives from one of `parts`
    summed: int  # when the place was written that this value was computed from (`NEVER` if not)
    carried: int  # likewise, where the way leads through a module
    loops: Loops
    starts: tuple[int, ...]  # when the current round of each loop began
    conditions: int
    frame: Frame
    grad: int
    hook: bool
    thread: bool  # in a thread that was started under no_grad
    inside: bool  # while a module runs
    objects: tuple[Obj, ...] = ()  # modules and optimizers that it keeps, where it keeps no tensor
    fresh: bool = False  # they were made in the innermost round, or in another one that the place is older than
    key_kind: str = ""  # of `container[key] = value`, see holders.py
    instances: tuple[Obj, ...] = ()  # objects made in the innermost round, where they keep nothing heavy yet
    parts: tuple[tuple[int, int], ...] = ()  # each tensor of a value with several: how it stands to a graph, its node
    by_default: bool = False  # a `defaultdict` makes the entry, and this is added to it
    nesting: int = -1  # how many containers are around the tensors of a value that is nothing else, see stores.py

    @property
    def nodes(self) -> tuple[int, ...]:
        """What is read from the place later derives from one of these."""
        return (self.node, *(node for _, node in self.parts))

    @property
    def with_graph(self) -> tuple[int, ...]:
        """Those of them that carry a graph."""
        return tuple(node for graph, node in self.parts if graph == ATTACHED) or (self.node,)

    @property
    def birth(self) -> Loops:
        """The loops that were running when the place was made."""
        return self.owner.birth if isinstance(self.owner, Obj) else self.owner.births.get(self.key, ())


class Reset(NamedTuple):
    """A place is emptied or replaced. `how`: "clear", "replace", "pop", "trim"."""

    owner: Obj | Frame
    key: str
    how: str
    site: Site  # the statement
    loops: Loops
    conditions: int
    frame: Frame
    threaded: bool = False  # while a thread, or a worker, runs
    item: Value = ()  # what `remove(item)` takes out; empty where it may be anything


class Backward(NamedTuple):
    site: Site
    trail: Trail
    nodes: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    method: bool  # `.backward()`, not `autograd.grad`
    retain: bool
    create: bool
    outside: bool  # it goes through a graph that was there before this round of the loop
    loops: Loops
    frame: Frame
    inputs: frozenset[int]  # the nodes of what it is a gradient of: there it ends
    more: bool  # it may record a graph of its own


class ModuleCall(NamedTuple):
    """A module is run with autograd recording."""

    site: Site
    trail: Trail
    module: Obj
    node: int
    evaluating: bool  # the module is in eval mode
    loops: Loops
    frame: Frame
    frames: tuple[Frame, ...]
    grad: int
    attached_inputs: tuple[int, ...]  # the nodes of those inputs that carry a graph
    weight: int
    thread: bool  # in a thread that was started under no_grad
    through: bool  # by something that unknown code made from the module
    fed: bool  # with a tensor that was made in sight
    yielding: bool = False  # in a loop of a generator: each item that it gives may come from another run


class Plain(NamedTuple):
    """A statement or call that a rule speaks about on its own: kind, place, and details."""

    kind: str
    site: Site
    frame: Frame
    detail: Any = None
    trail: Trail = ()
    loops: Loops = ()
