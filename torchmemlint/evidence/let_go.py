"""Whether a place is let go of: what empties it, or a container that it is in, and who asks how long that is."""

from __future__ import annotations

from collections.abc import Container

from ..facts import model as m
from ..facts.emptying import BUILDERS
from ..facts.idle import is_idle
from ..facts.model import FunctionFacts, Site, statement_of
from ..facts.program import targets
from ..facts.too_few import only_waits
from ..facts.walk import last_name, nodes, statements
from ..interpreter.events import Reset, Store
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, functions_behind
from .places import last_part


def emptied(
    machine: Machine,
    owner: Obj | Frame,
    key: str,
    but: Site = -1,
    passing: Container[str] = frozenset(),
    *,
    there: bool = False,
) -> bool:
    """Whether anything ever empties or replaces a place, or a container that it is in; the store at `but` does not,
    nor do the functions that entries pass by, nor, if it must be done `there`, in a worker, those that none calls."""
    places: list[tuple[Obj | Frame, str]] = []
    current: Obj | Frame = owner
    for _ in range(5):
        places.append((current, key))
        if isinstance(current, Frame):
            break
        places.append((current, "*"))
        if current.home is None:
            break
        current, key = current.home
    setups = _setups(machine)
    return any(
        reset.frame.name not in BUILDERS
        and reset.frame.name not in passing
        and (id(reset.frame.facts) not in setups or reset.loops != reset.frame.loops)
        and reset.site != but
        and not (there and _is_called_by_nobody(reset))
        and any(reset.owner is one and reset.key in (name, "*") for one, name in places)
        and not _fills_what_is_missing(reset)
        for reset in machine.resets
    )


def only_moves_its_own(machine: Machine, store: Store) -> Obj | None:
    """The object that is made anew in each round, and only moves what its maker gave it, once for each entry, from one
    container of it to another, `del self.running[key]; self.finished[key] = x`: it has as much as it began with."""
    whole = store.owner.home[0] if isinstance(store.owner, Obj) and store.owner.home is not None else None
    if not isinstance(whole, Obj) or not whole.made or whole.home is None or not isinstance(whole.home[0], Frame):
        return None
    left = {
        id(reset.owner)
        for reset in machine.resets
        if reset.frame is store.frame and reset.how == "pop" and isinstance(reset.owner, Obj)
        if reset.owner is not store.owner and reset.owner.home is not None and reset.owner.home[0] is whole
    }
    filling = [one.frame.facts for one in machine.stores if id(one.owner) in left] if left else []
    return whole if filling and all(facts is whole.home[0].facts for facts in filling) else None


def made_at(container: Obj | Frame) -> Site | None:
    """Where the object is made that has a container as its attribute; None if that is not seen."""
    owner = container.home[0] if isinstance(container, Obj) and container.home is not None else None
    return owner.site if isinstance(owner, Obj) and not owner.unknown else None


def gives_up_its_models(machine: Machine, store: Store) -> bool:
    """Whether rounds of the loop that fills a container take the models out of what is in it, and leave the rest:
    `for adapter in self.adapters: adapter.detach()`, whose `detach` says `self.model = None`."""
    inside = store.owner.fields.get("*", ()) if isinstance(store.owner, Obj) else ()
    return any(
        note.kind == "dropped-part"
        and note.detail[0] in inside
        and any(loop in store.loops for loop in note.loops if loop.kind == "loop" and loop not in store.birth)
        for note in machine.plain
    )


def _fills_what_is_missing(reset: Reset) -> bool:
    """`if not hasattr(self, "rows"): self.rows = {}`: there was nothing to replace."""
    number = statement_of(reset.site)
    return reset.how == "replace" and number in reset.frame.unit.outline.made_when_missing


def _is_called_by_nobody(reset: Reset) -> bool:
    """Whether a function that empties something is there for others: they do it for their own process."""
    own = reset.frame.facts
    return not reset.threaded and not any(
        own.name in one.calls for one in reset.frame.unit.facts.functions if one is not own
    )


def _setups(machine: Machine) -> set[int]:
    """The functions, by identity of their facts, that each worker of a pool runs once, before its first task."""
    return {
        id(function)
        for note in machine.plain
        if note.kind == "worker" and note.detail[0].initial
        for function in functions_behind(note.detail[1])
    }


def measured(frame: Frame, holder: str) -> bool:
    """Whether a test asks how long the container is, in the function that fills it or in one that calls it."""
    last = last_part(holder)
    current: Frame | None = frame
    while current is not None:
        if _asks_length(current.facts, last) or _starts_groups_anew(current.facts, last):
            return True
        current = current.caller
    return False


def _asks_length(facts: FunctionFacts, name: str) -> bool:
    for statement in statements(facts.body):
        if statement[0] not in (m.IF, m.WHILE) or is_idle(statement):
            continue
        for expr in nodes(statement[2]):
            if expr[0] != m.CALL or expr[2] != (m.NAME, "len") or not expr[3]:
                continue
            asked = expr[3][0]
            if (asked[-1] == name or asked == (m.NAME, "self")) and not only_waits(facts, statement, asked):
                return True
    return False


def _starts_groups_anew(facts: FunctionFacts, name: str) -> bool:
    """`if len(self.waiting[0]) == self.size: self.waiting[0] = []`: a group that is complete
    goes. Where nothing asks for its length, an empty list is what a new key begins with."""
    return any(
        target[0] == m.ITEM and last_name(target[1]) == name and statement[3][0] == m.NEW and not statement[3][3]
        for statement in statements(facts.body)
        if statement[0] == m.ASSIGN
        for target in targets(statement)
    ) and any(
        expr[0] == m.CALL
        and expr[2] == (m.NAME, "len")
        and expr[3]
        and expr[3][0][0] == m.ITEM
        and last_name(expr[3][0][1]) == name
        for statement in statements(facts.body)
        if statement[0] in (m.IF, m.WHILE)
        for expr in nodes(statement[2])
    )
