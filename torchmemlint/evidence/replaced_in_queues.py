"""Queues with the newest item only: who puts one takes out the one before, if nobody has come for it.

if not self.frames.empty():
    try:
        self.frames.get_nowait()
    except queue.Empty:
        pass
self.frames.put(frame)
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import calls, calls_of, nodes, with_tests
from ..interpreter.frames import Frame

_TAKES = ("get_nowait", "popleft")


def takes_the_one_before(frame: Frame, site: Site) -> bool:
    """Whether the function that puts something into a queue at a site has taken from it before, whatever else is so:
    only the queue itself is asked whether there is anything."""
    body = frame.facts.body
    put = next((call for call in calls(body) if call[1] == site and call[2][0] == m.ATTR), None)
    if put is None:
        return False
    queue: Expr = put[2][1]
    return any(
        call[1] < site and call[2][0] == m.ATTR and call[2][2] in _TAKES and call[2][1] == queue
        for statement, tests in with_tests(body)
        if all(queue in nodes(test) for test in tests)
        for call in calls_of(statement)
    )
