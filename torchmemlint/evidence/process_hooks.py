"""Hooks that the interpreter has one of, `sys.excepthook = self.tell`: whoever sets one is kept until the next comes,
or for good if that keeps the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Program
from ..facts.walk import expressions_of, last_name, nodes, statements
from ..interpreter.callbacks import held_by
from .memo import made_once

if TYPE_CHECKING:
    from ..interpreter.events import Plain
    from ..interpreter.machine import Machine


class Hooked(NamedTuple):
    site: Site
    hook: str  # `sys.excepthook`
    what: str
    weight: int
    chained: bool  # each keeps the one before


def process_hooks(machine: Machine, program: Program) -> Iterator[Hooked]:
    """The hooks that are set again and again for something heavy, and not put back."""
    said = set[Site]()
    for note in machine.plain:
        if note.kind != "process-hook" or note.site in said or not machine.is_home(note.site):
            continue
        set_here = next((one for one in statements(note.frame.facts.body) if one[1] == note.site), None)
        if set_here is None or set_here[0] != m.ASSIGN or made_once(note.frame):
            continue
        hook = next((one for one in set_here[2] if one[0] == m.ATTR), None)
        if hook is None or _is_put_back(program, hook, set_here):
            continue
        held = next((one for one in held_by(machine, note) if one.again and one.heavy), None)
        if held is not None:
            said.add(note.site)
            yield Hooked(note.site, program.dotted(hook), held.what, held.weight, _is_chained(note, hook))


def _is_put_back(program: Program, hook: Expr, set_here: Stmt) -> bool:
    """Whether something else is bound there which the file does not define: what was there before, or the default; and
    not by a method that nobody in the file speaks of, which makes the objects."""
    own = {function.name for function in program.facts.functions}
    return any(
        one[0] == m.ASSIGN and one is not set_here and hook in one[2] and last_name(one[3]) not in own
        for place in program.places
        for one in statements(place.facts.body)
        if not place.cls or place.facts.name.startswith("__") or _is_spoken_of(program, place.facts.name)
    )


def _is_spoken_of(program: Program, method: str) -> bool:
    if method in program.called:
        return True
    everything = (
        part for place in program.places for one in statements(place.facts.body) for part in expressions_of(one)
    )
    return any(part[0] == m.ATTR and part[2] == method for part in everything)


def _is_chained(note: Plain, hook: Expr) -> bool:
    """`self.before = sys.excepthook`"""
    return any(hook in nodes(one[3]) for one in statements(note.frame.facts.body) if one[0] == m.ASSIGN)
