"""Trees whose root is replaced by a node below it that still refers to it: none of the old trees goes.

A search tree keeps the part below the move that was played, `self.root = self.root.children[move]`, and drops the
rest. As long as the new root has a `parent`, that has the old one, with all its children.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import FileFacts, Site, Stmt, statement_of
from ..facts.program import targets
from ..facts.walk import calls_of, last_name, places_with_values, statements
from ..interpreter.events import Reset, Store
from ..interpreter.machine import Machine
from ..interpreter.new_roots import new_roots
from ..interpreter.values import CONTAINERS, Class, Function, Obj, Tensor
from .lifetimes import Lifetimes
from .places import holder_of
from .ways_out import below

_MADE = ("__init__", "__new__", "__post_init__", "__setstate__")


class Rerooted(NamedTuple):
    """A place that gets a node whose link to the former one is not cut."""

    site: Site
    holder: str
    cls: str  # that has the place
    back: str


def rerooted(machine: Machine, lifetimes: Lifetimes) -> Iterator[Rerooted]:
    said = set[Site]()
    for store, (node, back) in new_roots(machine):
        loops = [loop for loop in store.loops if loop.kind in ("loop", "call") and loop not in store.birth]
        resets = [reset for reset in lifetimes.resets_of(store) if not _is_otherwise(store, reset)]
        growing = [loop for loop in loops if not any(loop in reset.loops for reset in resets)]
        if not growing or store.site in said or not machine.is_home(store.site):
            continue
        files = [unit.facts for unit in machine.units.values()]
        if any(_cuts(file, back) or _goes_back(file, store.key, back) for file in files):
            continue
        if _has_tensors(node) and _refers_as_given(node, back):
            said.add(store.site)
            holder = holder_of(machine, store)
            yield Rerooted(store.site, holder.text, holder.owner, back)


def _is_otherwise(store: Store, reset: Reset) -> bool:
    """Whether the place gets another tree where there is no such node: `if move in self.root.children`, or `else`."""
    puts, other = statement_of(store.site), below(reset.frame, reset.site, store.frame)
    return puts == other or any(
        puts in arm and other not in arm and (other in taken or (leaves and other > puts))
        for one in statements(store.frame.facts.body)
        for arm, taken, leaves in _arms(one)
    )


def _arms(statement: Stmt) -> Iterator[tuple[set[int], set[int], bool]]:
    """The statements of each arm of a branch, those of the others, and whether the arm leaves."""
    if statement[0] not in (m.IF, m.TRY):
        return
    suites = statement[3:5] if statement[0] == m.IF else (statement[2], *(clause for *_, clause in statement[3]))
    arms = [{statement_of(one[1]) for one in statements(suite)} for suite in suites]
    for suite, arm in zip(suites, arms, strict=True):
        if suite:
            yield arm, set().union(*arms) - arm, suite[-1][0] in m.LEAVES


def _has_tensors(node: Obj) -> bool:
    """Whether a node has a tensor of its own, other than a number."""
    own = [*node.fields.values()]
    own += [part for value in own for atom in value if type(atom) is Obj and atom.kind in CONTAINERS
            for part in atom.fields.values()]  # fmt: skip
    return any(type(atom) is Tensor and atom.weight > 1 and atom.size != "scalar" for value in own for atom in value)


def _refers_as_given(node: Obj, back: str) -> bool:
    """Whether the constructor puts what it is given on the node as it is, and no weak reference to it."""
    init = node.cls.find("__init__") if isinstance(node.cls, Class) else None
    made = [atom.facts for atom in init or () if type(atom) is Function]
    bound = (one for function in made for one in statements(function.body) if one[0] == m.ASSIGN)
    pairs = [pair for one in bound for pair in places_with_values(one)]
    return not made or any(at[0] == m.ATTR and at[2] == back and value[0] == m.NAME for at, value in pairs)


def _cuts(file: FileFacts, back: str) -> bool:
    """Whether anything but a constructor sets the link, or takes it off."""
    return any(
        any(target[0] == m.ATTR and target[2] == back for target in _bound(one)) or _sets_by_name(one, back)
        for function in file.functions
        if function.name not in _MADE
        for one in statements(function.body)
    )


def _goes_back(file: FileFacts, place: str, back: str) -> bool:
    """Whether the links above the root are wanted: `self.root = self.root.parent`, or a function begins there and only
    goes up. What goes down to a leaf comes back by them, and that far alone."""
    for function in file.functions:
        bound = [pair for one in statements(function.body) if one[0] == m.ASSIGN for pair in places_with_values(one)]
        ups = [target for target, value in bound if value[0] == m.ATTR and value[2] == back]
        for target in ups:
            froms = {value[2] if value[0] == m.ATTR else "" for at, value in bound if at == target}
            if froms == {place, back} or (target[0] == m.ATTR and target[2] == place):
                return True
    return False


def _bound(statement: Stmt) -> tuple[m.Expr, ...]:
    return tuple(statement[2]) if statement[0] == m.DELETE else targets(statement)


def _sets_by_name(statement: Stmt, back: str) -> bool:
    by_name = (call for call in calls_of(statement) if last_name(call[2]) in ("setattr", "delattr", "__setattr__"))
    return any((m.CONST, back) in call[3] for call in by_name)
