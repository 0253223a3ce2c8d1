"""Containers that are emptied only when all is over: by `stop()`, or after the loop that serves requests.

`while not self.stopped: ...; self.tasks.append(task)`, and in a `finally`, or in `close()`, `self.tasks.clear()`: as
long as it serves, nothing is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.cancelled import AT_THE_END
from ..facts.emptying import BOUND, BUILDERS, emptyings
from ..facts.model import CALLS_PER_STATEMENT, FunctionFacts, Site
from ..facts.program import Program
from ..facts.walk import calls, calls_of, last_name, loops, statements
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import Obj
from ..lexical.endless import until_told

_TAKES = ("pop", "remove", "discard")


def emptied_at_the_end(machine: Machine, program: Program, frame: Frame, site: Site, container: Obj, name: str) -> bool:
    """Whether a container that a service adds to, at this site, is emptied when the service is over, and only then."""
    serving = _serving(frame, site)
    if serving is None or any(_is_handed(program, function, name) for function in program.facts.functions):
        return False
    function, over = serving
    letting_go = {
        place.facts.name: place.facts
        for place in program.places
        for one in emptyings(place.facts, name)
        if one.how != BOUND or place.facts.name not in BUILDERS
    }
    own = letting_go.pop(function.name, None)
    if own is not None and any(one.statement[1] <= over for one in emptyings(own, name)):
        return False
    if any(_takes_one(one, name) for one in letting_go.values()):
        return False
    if not all(_comes_at_the_end(program, one, function, over) for one in letting_go):
        return False
    known = {function.name, *letting_go, *BUILDERS}
    return all(reset.frame.name in known for reset in machine.resets if reset.owner is container)


def _serving(frame: Frame | None, site: Site) -> tuple[FunctionFacts, Site] | None:
    """The function that goes round until it is told to stop, on the way to a site, and where its loop ends; or one that
    is called for each request."""
    while frame is not None:
        if answers_requests(frame.facts):
            return frame.facts, max(one[1] for one in statements(frame.facts.body))
        place = site - site % CALLS_PER_STATEMENT
        for loop, inside in loops(frame.facts.body):
            if loop[0] == m.WHILE and until_told(loop[2]) and any(one[1] == place for one in inside):
                return frame.facts, max(one[1] for one in inside)
        site, frame = frame.call_site, frame.caller
    return None


def _is_handed(program: Program, function: FunctionFacts, name: str) -> bool:
    """Whether a function of the file gets the container, which may take something out: `prune(self.tasks)`."""
    return any(
        last_name(call[2]) in program.by_name and any(last_name(given) == name for given in call[3])
        for call in calls(function.body)
    )


def _takes_one(function: FunctionFacts, name: str) -> bool:
    """Whether a function takes out what it is told, `cleanup_request(request_id)`: one of many, while others go on."""
    told = {(m.NAME, param.name) for param in function.params}
    for one in statements(function.body):
        dropped = one[2] if one[0] == m.DELETE else ()
        if any(place[0] == m.ITEM and last_name(place[1]) == name and place[2] in told for place in dropped):
            return True
        for call in calls_of(one):
            takes = call[2][0] == m.ATTR and call[2][2] in _TAKES and last_name(call[2][1]) == name
            if takes and call[3] and call[3][0] in told:
                return True
    return False


def _comes_at_the_end(program: Program, name: str, serving: FunctionFacts, over: Site, depth: int = 2) -> bool:
    """Whether a function is there for the end, by its name, or is called only by such, or after the loop."""
    if not AT_THE_END.isdisjoint(name.strip("_").split("_")):
        return True
    users = list(_users(program, name))
    return bool(users) and all(
        (user is serving and site > over)
        or (user is not serving and depth > 0 and _comes_at_the_end(program, user.name, serving, over, depth - 1))
        for user, site in users
    )


def _users(program: Program, name: str) -> Iterator[tuple[FunctionFacts, Site]]:
    for place in program.places:
        for one in statements(place.facts.body) if name in place.facts.calls else ():
            if any(last_name(call[2]) == name for call in calls_of(one)):
                yield place.facts, one[1]
