"""Qt threads that go on waiting for events when their work is done: nothing tells them to quit."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Site
from ..facts.program import Place, Program, expressions, keyword, targets, text
from ..facts.walk import calls, last_name, statements
from .allocations import is_called_in_loop

_ENDS = ("quit", "exit", "terminate", "requestInterruption")
# whose `quit` ends the application or a loop of its own
_OTHERS = frozenset(
    "app application loop event_loop qapp self qapplication qcoreapplication instance qeventloop".split()
)
_ADDS = ("append", "add", "insert", "appendleft")
_ONCE = ("__init__", "main", "setup", "setUp", "init")


def never_quit(program: Program) -> Iterator[Site]:
    """Where a method starts another `QThread` each time, which it keeps and has moved an object to: such a thread runs
    an event loop, until somebody calls its `quit` [docs of Qt: QThread.run]."""
    if "moveToThread" not in program.called or "QThread" not in program.called or _tells_one_to_quit(program):
        return
    for place in program.places:
        if "moveToThread" in place.facts.calls and _comes_again(program, place):
            yield from (site for name, site in _made(program, place) if _is_moved_to(place, name))


def _comes_again(program: Program, place: Place) -> bool:
    """Whether a function is there to be called each time, as a method other than one that sets up is."""
    once = place.facts.name in _ONCE or place.facts.name.startswith(("setup_", "init_", "_setup", "_init", "create_"))
    return not once and (bool(place.cls) or is_called_in_loop(program, place))


def _made(program: Program, place: Place) -> Iterator[tuple[str, Site]]:
    """The threads that a function makes and keeps beside those before, by their names, and where it starts them."""
    for one in statements(place.facts.body):
        made = one[3] if one[0] == m.ASSIGN and one[3][0] == m.CALL else None
        names = {text(target) for target in targets(one)} if made is not None else set()
        if made is None or not program.dotted(made[2]).endswith("QThread") or "" in names:
            continue
        local = {name for name in names if "." not in name}
        parent = keyword(made, "parent", 0)
        if not local or not ((parent is not None and parent != (m.CONST, None)) or _is_put_away(place, local)):
            continue  # the one before is replaced, which Qt answers by ending the program
        for call in calls(place.facts.body):
            if call[2][0] == m.ATTR and call[2][2] == "start" and text(call[2][1]) in names:
                yield min(local), call[1]
                break


def _is_put_away(place: Place, names: set[str]) -> bool:
    """Whether a thread goes into a container, alone or in a tuple: `self.running.append((thread, worker))`."""
    given = [part for call in calls(place.facts.body) if last_name(call[2]) in _ADDS for part in call[3]]
    given += [
        one[3]
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN and any(target[0] == m.ITEM for target in one[2])
    ]
    parts = (part for value in given for part in (value[3] if value[0] == m.NEW else (value,)))
    return any(part[0] == m.NAME and part[1] in names for part in parts)


def _is_moved_to(place: Place, name: str) -> bool:
    moves = (call for call in calls(place.facts.body) if call[2][0] == m.ATTR and call[2][2] == "moveToThread")
    return any((m.NAME, name) in call[3] for call in moves)


def _tells_one_to_quit(program: Program) -> bool:
    """Whether anything in the file may end a thread: `worker.done.connect(thread.quit)`."""
    return any(
        part[0] == m.ATTR and part[2] in _ENDS and last_name(part[1]).lower() not in _OTHERS
        for place in program.places
        for part in expressions(place.facts.body)
    )
