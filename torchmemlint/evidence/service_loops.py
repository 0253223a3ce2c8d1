"""Lists that a loop which waits for work fills with results or tasks, and that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.program import targets
from ..facts.walk import ALWAYS, calls, calls_of, expressions_of, last_name, loops, names_of, statements
from ..interpreter.contexts import Kept
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.values import Obj
from .retentions import Retention

_WAITS = frozenset("get recv wait accept poll receive brpop blpop readline get_nowait recv_multipart".split())
_GIVES_TASKS = ("get", "recv")
_ADDS = ("append", "extend", "appendleft", "add")
_ENDS = ("cancel", "cancelled", "done")
_STREAMS = frozenset(
    """socket sock websocket ws stream reader messages message events requests listen connection conn consumer
    subscriber subscription pubsub channel receiver iter_messages iter_requests""".split()
)


def filled_by_waiting(retentions: Iterable[Retention]) -> Iterator[Retention]:
    """The local containers that gain a tensor for each item that a worker or server waits for, `done.append(out)`, and
    that are named nowhere else: they grow as long as it serves."""
    for kept in retentions:
        facts = kept.store_event.frame.facts
        plain = kept.growing and not kept.graph and not kept.escaped and not kept.released and not kept.small
        if not plain or kept.holder.kind != "local" or not kept.holder.container or facts.inner:
            continue
        if _waits(facts, kept) and _is_only_filled(facts, (m.NAME, kept.holder.text)):
            yield kept


def _waits(facts: FunctionFacts, kept: Retention) -> bool:
    """Whether the innermost `while` loop around the store takes its items from somebody who has it wait."""
    place = kept.store - kept.store % CALLS_PER_STATEMENT
    around = [loop for loop, inside in loops(facts.body) if any(one[1] == place for one in inside)]
    return bool(around) and around[-1][0] == m.WHILE and any(last_name(c[2]) in _WAITS for c in calls(around[-1][3]))


def _is_only_filled(facts: FunctionFacts, name: Expr, *, ending: bool = False) -> bool:
    every = list(statements(facts.body))
    named = sum(node == name for one in every for node in expressions_of(one))
    bound = sum(name in targets(one) for one in every if one[0] in (m.ASSIGN, m.ANNOTATE))
    filled = sum(_adds(one, name) for one in every)  # none of what a helper fills by another name
    ended = _ended_or_counted(facts, name) if ending else 0
    return bool(filled) and named == bound + filled + ended


def _adds(statement: Stmt, name: Expr) -> bool:
    value: Expr = statement[2] if statement[0] == m.EXPR else ()
    return bool(value) and value[0] == m.CALL and value[2][0] == m.ATTR and value[2][1] == name and value[2][2] in _ADDS


# -- tasks and threads of a program that goes on and on -------------------------------------------


def piles_up_while_serving(frame: Frame, site: Site, holder: str, *, steps: bool = False) -> bool:
    """Whether a function, or the script itself, adds to a variable of its own in a loop that goes on for as long as it
    is asked something, or for so many steps, and does nothing else with it than to cancel what is in it."""
    facts = frame.facts
    place = site - site % CALLS_PER_STATEMENT
    around = [loop for loop, inside in loops(facts.body) if any(one[1] == place for one in inside)]
    if not any(_goes_on(loop) or (steps and loop[0] == m.FOR and last_name(loop[3]) == "range") for loop in around):
        return False
    others = [one for one in frame.unit.facts.functions if one is not facts]
    inside = others if facts.name == "<module>" else [frame.unit.facts.functions[index] for index in facts.inner]
    if any(holder in names_of(one.body) for one in inside):
        return False
    return _is_only_filled(facts, (m.NAME, holder), ending=True)


def while_serving(note: Plain, kept: Kept) -> bool:
    """Whether a worker adds to what it has from before in a loop that waits for its tasks, itself or by a function that
    the loop calls: `while True: path = tasks.get(); reader.load(path)`."""
    frame: Frame | None = note.frame
    born = {loop.site for loop in kept.owner.birth} if isinstance(kept.owner, Obj) else set()
    site = note.site
    while frame is not None:
        for loop, inside in loops(frame.facts.body):
            here = any(statement_of(one[1]) == statement_of(site) for one in inside)
            if here and loop[1] not in born and _takes_tasks(loop, inside):
                return True
        site, frame = frame.call_site, None if frame.call_site == kept.context.site else frame.caller
    return False


def _takes_tasks(loop: Stmt, inside: list[Stmt]) -> bool:
    if loop[0] == m.FOR:
        return bool(loop[3][0] == m.CALL and loop[3][2] == (m.NAME, "iter") and len(loop[3][3]) == 2)
    found = (call for one in (loop, *inside) for call in calls_of(one))
    return any(call[2][0] == m.ATTR and call[2][2] in _GIVES_TASKS and not call[3] for call in found)


def _goes_on(loop: Stmt) -> bool:
    """`while True:`, `async for message in self.socket:`"""
    if loop[0] == m.WHILE:
        return loop[2] in ALWAYS
    return last_name(loop[3]).strip("_") in _STREAMS


def _ended_or_counted(facts: FunctionFacts, name: Expr) -> int:
    """How often no more is asked than how many there are, or that what is there ends: `for task in tasks:
    task.cancel()`."""
    found: int = sum(call[2] == (m.NAME, "len") and call[3] == (name,) for call in calls(facts.body))
    for loop, inside in loops(facts.body):
        if loop[0] == m.FOR and name in (loop[3], *(loop[3][3] if loop[3][0] == m.CALL else ())):
            used = [node for one in inside for node in expressions_of(one)]
            asked = sum(node[0] == m.ATTR and node[1] == loop[2] and node[2] in _ENDS for node in used)
            found += sum(node == loop[2] for node in used) == asked
    return found
