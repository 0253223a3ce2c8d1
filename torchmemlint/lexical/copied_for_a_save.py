"""Copies of all weights that an object makes for a file, and still has when the file is written.

`self._states = deepcopy(model.state_dict())`, and `torch.save(self._states, path)`, with nobody else who reads it: a
local of the method would do, and the copy stays through the training until the next file is due.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, nodes, statements
from .set_aside import FIRST, NEUTRAL, copies_taken, is_read_outside, reads

_SELF = (m.NAME, "self")
_WRITES = ("save", "save_file", "dump")
_HOOKS = ("on_", "after_")


class SavedCopy(NamedTuple):
    """`self._states = deepcopy(net.state_dict())`, of a class that does no more with it than to write it."""

    site: Site
    attribute: str
    cls: str
    taken: str  # the method that copies
    saved: str  # the one that writes


def copied_for_a_save(program: Program) -> Iterator[SavedCopy]:
    """Those of the classes of a file that trains, where the one method that writes makes the copy, or has it made."""
    if program.called.isdisjoint(_WRITES) or program.called.isdisjoint(("clone", "deepcopy")):
        return
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for taken in methods.keys() - FIRST - NEUTRAL:
            for site, attribute in copies_taken(methods[taken]):
                readers = {name for name, one in methods.items() if reads(one, attribute)}
                if len(readers) != 1 or is_read_outside(program, set(map(id, methods.values())), attribute):
                    continue
                saved = readers.pop()
                known = attribute.startswith("_") or cls.name in program.called  # who reads it is seen here
                trains = "backward" in program.called or saved.startswith(_HOOKS)
                made = site if taken == saved else _made(methods[saved], taken)
                if known and trains and made and _writes_only(methods[saved], attribute, made):
                    yield SavedCopy(site, attribute, cls.name, taken, saved)


def _made(method: FunctionFacts, taken: str) -> Site | None:
    """Where a method has the copy made: `self.collect()`."""
    return next((one[1] for one in calls(method.body) if one[2] == (m.ATTR, _SELF, taken)), None)


def _writes_only(method: FunctionFacts, attribute: str, made: Site) -> bool:
    """Whether all that a method does with the copy is to write it to a file, by itself or in a dictionary."""
    place = (m.ATTR, _SELF, attribute)
    written, rest = 0, 0
    names: set[Expr] = set()
    for statement in statements(method.body):
        has = any(place in nodes(one) for one in expressions_of(statement))
        if statement[1] == made and has and any(one == place for one in targets(statement)):
            continue
        if any(_has(call, {place} | names) for call in calls_of(statement) if last_name(call[2]) in _WRITES):
            written += statement[1] > made
            continue
        if has and statement[0] == m.ASSIGN and statement[3][0] == m.DICT:
            names |= {one for one in statement[2] if one[0] == m.NAME}
            continue
        rest += has or any(one in names for one in expressions_of(statement))
    return written > 0 and not rest


def _has(call: Expr, places: set[Expr]) -> bool:
    return any(one in places for value in call[3] for one in nodes(value))
