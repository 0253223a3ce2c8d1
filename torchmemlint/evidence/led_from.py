"""Which line of the file that is judged is told of what a run has come to in another file."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import calls, nodes, root_of
from ..interpreter.events import Loops
from ..interpreter.machine import Machine


def line_of_home(machine: Machine, *way: Site, loops: Loops) -> Site | None:
    """The first place on a way, from what is told of outwards, that is in the home file. None where that is a call
    which gives the other file nothing, in no loop of the home: `main()` of a script that starts what is elsewhere. What
    comes of it is the other file's affair, and told there."""
    found = next(filter(machine.is_home, way), None)
    if found is None or found == way[0] or not _only_starts(machine, found):
        return found
    repeated = any(type(loop.site) is int and machine.is_home(loop.site) for loop in loops)
    return found if repeated else None


def _only_starts(machine: Machine, site: Site) -> bool:
    """Whether a place is a call of what the file imports, `main()` or `cli.main()`, with nothing but constants."""
    found = (call for function in machine.facts.functions for call in calls(function.body) if call[1] == site)
    call: Expr | None = next(found, None)
    given = () if call is None else (*call[3], *(value for _, value in call[4]))
    if call is None or any(node[0] not in (m.CONST, m.NEW) for value in given for node in nodes(value)):
        return False
    root = root_of(call[2])
    return root[0] == m.NAME and root[1] in machine.home.outline.program.imports
