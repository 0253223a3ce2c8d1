"""Tensors that a loop hands to few slow workers, faster than they may be done: what is submitted waits in the queue of
the executor or pool, which has no limit.

`for frame in frames: pool.submit(store, model(frame))`, where `store` compresses what it gets. Whether workers keep up
is not in the text; so this is said only where they do what takes long for each item, are four at most, and the loop
goes over a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.batches import THROUGH, is_loader
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, keyword, targets
from ..facts.walk import call_at, calls, calls_of, last_name, loops, nodes, statements, with_tests
from ..interpreter.contexts import Submitted
from ..interpreter.events import Plain
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.values import functions_behind
from ..interpreter.weights import heavy
from .led_from import line_of_home
from .queues import waits

_HANDS_OVER = ("submit", "apply_async")
_POOLS = {"ThreadPoolExecutor": "max_workers", "ProcessPoolExecutor": "max_workers"}
_SLOW = frozenset(
    """compress compressobj savez_compressed encode_png write_png write_video savefig zoom interpolate resample
    resample_poly""".split()
)
_ASKS = frozenset("ready done qsize full running len sleep wait as_completed".split())
_PARTS = re.compile(r"part|patch|tile|chunk|crop|window|slice|piece|split|block|row|level|scale|layer|head")
_SAYS_SO = re.compile(r"wait|throttl|limit|drain|flush|acquire|pressure|slot|block")
_FEW = 4  # workers


class Backlog(NamedTuple):
    """A loop that hands over more than may be done by then."""

    site: Site
    work: str
    slow: str  # what each item takes long for


def backlogs(machine: Machine, program: Program) -> Iterator[Backlog]:
    """Each place that submits such work, once."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "submitted" or note.site in seen or not _is_heavy(machine, note):
            continue
        work, slow = next(_slow_work(note.detail), ("", ""))
        if not work or not _has_few_workers(machine, note.detail) or not _is_ahead(program, note):
            continue
        anchor = line_of_home(machine, note.site, *reversed(note.trail), loops=note.loops)
        if anchor is not None and anchor not in seen:
            seen.update((anchor, note.site))
            yield Backlog(anchor, work, slow)


def _is_heavy(machine: Machine, note: Plain) -> bool:
    """Whether a loop that the pool outlives hands over a tensor in each round."""
    handed: Submitted = note.detail
    call = call_at(note.frame.facts.body, note.site)
    if handed.pool is None or call is None or last_name(call[2]) not in _HANDS_OVER:
        return False
    if not any(loop.kind == "loop" and loop not in handed.pool.birth for loop in note.loops):
        return False
    found = (heavy(machine, value) for value in handed.given)
    return any(what in ("tensor", "array") and weight > 1 for what, weight in found)


def _slow_work(handed: Submitted) -> Iterator[tuple[str, str]]:
    for function in functions_behind(handed.target):
        yield from ((function.name, name) for call in calls(function.body) if (name := last_name(call[2])) in _SLOW)


# -- how many work ------------------------------------------------------------------------------------


def _has_few_workers(machine: Machine, handed: Submitted) -> bool:
    """Whether the pool is made with a small number of workers, as the text has it."""
    site = -1 if handed.pool is None else handed.pool.site
    for unit in machine.units.values():
        for function in unit.facts.functions:
            made = call_at(function.body, site)
            if made is not None:
                count = keyword(made, _POOLS.get(last_name(made), "processes"), 0)
                return count is not None and 0 < _number(unit.facts.functions[0], function, count) <= _FEW
    return False


def _number(module: FunctionFacts, function: FunctionFacts, count: Expr) -> int:
    """`2`, `WORKERS`, and what a parameter is unless somebody says otherwise."""
    if count[0] == m.NAME:
        known = [one.default for one in function.params if one.name == count[1]]
        known += [one[3] for one in statements(module.body) if one[0] == m.ASSIGN and count in one[2]]
        count = next((one for one in known if one is not None), count)
    return count[1] if count[0] == m.CONST and type(count[1]) is int else 0


# -- what holds the loop back ---------------------------------------------------------------------------


def _is_ahead(program: Program, note: Plain) -> bool:
    """Whether a loop over a stream makes one item after the other and hands it over whatever happens: nothing on the
    way waits, or asks how much is still to be done."""
    frame: Frame | None = note.frame
    site = note.site
    while frame is not None:
        body = frame.facts.body
        call = call_at(body, site)
        place = site - site % m.CALLS_PER_STATEMENT
        around = [loop for loop, inside in loops(body) if any(one[1] == place for one in inside)]
        inside = around[0][4 if around[0][0] == m.FOR else 3] if around else body
        if call is None or _holds_back(program, inside) or _is_conditional(inside, place):
            return False
        if around:
            return len(around) == 1 and _is_stream(program, frame.facts, around[0]) and _is_made(around[0], call)
        site, frame = frame.call_site, frame.caller
    return False


def _holds_back(program: Program, block: tuple[Stmt, ...], depth: int = 1) -> bool:
    for call in calls(block):
        name = last_name(call[2])
        joins_texts = name == "join" and any(one[0] != m.CONST for one in call[3])  # `os.path.join(folder, name)`
        if (waits(call) and not joins_texts) or name in _ASKS or _SAYS_SO.search(name):
            return True
        helpers = program.by_name.get(name, ()) if depth else ()
        if any(_holds_back(program, one.facts.body, depth - 1) for one in helpers):
            return True
    return any(one[0] == m.WHILE for one in statements(block))


def _is_conditional(block: tuple[Stmt, ...], place: Site) -> bool:
    """Whether it is handed over now and then, or as long as there is room."""
    return any(one[1] == place and tests for one, tests in with_tests(block))


def _is_stream(program: Program, function: FunctionFacts, loop: Stmt) -> bool:
    """Whether a loop goes over what others give it, of which nobody says that it is a part of something."""
    over: Expr = loop[3] if loop[0] == m.FOR else (m.CONST, None)
    while over[0] == m.CALL and last_name(over[2]) in THROUGH and over[3]:
        over = over[3][0]
    if over[0] == m.CALL and over[2][0] == m.NAME:
        return any(one.facts.generator for one in program.by_name.get(over[2][1], ()))
    given = over[0] == m.NAME and any(over[1] == one.name for one in function.params)
    return (given or is_loader(over)) and not _PARTS.search(last_name(over))


def _is_made(loop: Stmt, call: Expr) -> bool:
    """Whether what is handed over was made in this round: `logits = self.predict(volume)`."""
    given = [part for value in (*call[3], *(value for _, value in call[4])) for part in nodes(value)]
    names = {part for part in given if part[0] == m.NAME}
    return any(
        one[0] == m.ASSIGN and not names.isdisjoint(targets(one)) and any(calls_of(one)) for one in statements(loop[4])
    )
