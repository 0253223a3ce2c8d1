"""Checkpoints that helpers load and give back: `state = load_checkpoint(path)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.walk import statements
from ..interpreter.machine import Machine
from ..lexical.checkpoints import Load


def given_back(machine: Machine) -> Iterator[tuple[FunctionFacts, Load]]:
    """The functions of the home file that bind what a helper, of whatever file, has loaded for them."""
    seen: set[Site] = set()
    for note in machine.plain:
        frame, site = note.frame, note.site
        while note.kind == "load" and frame.caller is not None and _returns(frame.facts, site):
            frame, site = frame.caller, frame.call_site
            bound = next((one for one in statements(frame.facts.body) if _binds(one, site)), None)
            if bound is not None and machine.is_home(site) and site not in seen:
                seen.add(site)
                yield frame.facts, Load(bound[1], bound[3], bound[2][0], True)


def _returns(function: FunctionFacts, site: Site) -> bool:
    """Whether a function returns what the call at a site gives, by itself or under a name."""
    names = [one[2][0] for one in statements(function.body) if _binds(one, site)]
    given = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    return any(value in names or (value[0] == m.CALL and value[1] == site) for value in given)


def _binds(statement: m.Stmt, site: Site) -> bool:
    """`name = call(...)` with the call at a site."""
    if statement[0] != m.ASSIGN or len(statement[2]) != 1:
        return False
    value = statement[3]
    return bool(value[0] == m.CALL and len(value) == 5 and value[1] == site and statement[2][0][0] == m.NAME)
