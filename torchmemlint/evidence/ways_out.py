"""Entries of a table that one way through a function takes out, and another leaves behind.

`self.jobs[key] = x; self.run(key); self.jobs.pop(key)` lets go of what it has put there, unless the `run` fails and an
`except` clause goes on without the entry's `pop`. By the run alone the table is emptied; this asks on which ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.program import expressions, targets
from ..facts.walk import calls_of, last_name, loops, nodes, root_of, statements
from ..facts.ways import THERE, LeftBehind, Ways, mentions
from ..interpreter.arguments import argument, call_of
from ..lexical.early_exit import returned_before
from .places import describe, last_part

if TYPE_CHECKING:
    from ..facts.releases import Releases
    from ..interpreter.events import Reset, Store
    from ..interpreter.frames import Frame
    from ..interpreter.machine import Machine

_ADDS = ("append", "add", "appendleft")
_TAKES_OUT = ("pop", "remove", "discard")
_EXITS = {"__enter__": "__exit__", "__aenter__": "__aexit__"}
_SOCKETS, _RECEIVES = ("ws", "websocket"), ("receive", "recv")
_STREAMS, _READS = ("StreamReader", "StreamWriter"), ("read", "drain")
_BROAD = frozenset(("Exception", "BaseException", "RuntimeError", ""))


def left_behind(machine: Machine, releases: Releases, store: Store, resets: Sequence[Reset]) -> LeftBehind | None:
    """The way out on which what was put into a table stays there, where the others take out the very same entry, and
    nothing else empties the table."""
    key = _element(_statement_at(store.frame.facts, store.site))
    takers = [reset for reset in resets if reset.frame.name not in ("__init__", "__post_init__")]
    if key is None or not takers or any(reset.how != "pop" for reset in takers):
        return None
    if store.frame.name in _EXITS:
        return _left_by_exit(releases, store, key, takers, last_part(describe(store.owner, store.key, machine).text))
    frame = common_frame(store.frame, takers[0].frame)
    if frame is None or any(common_frame(store.frame, reset.frame) is not frame for reset in takers):
        return None
    holder = describe(store.owner, store.key, machine)
    name = last_part(holder.text)
    if not releases.of(name, holder.owner) - {"__init__"} <= {reset.frame.name for reset in takers}:
        return None
    if any(_at_the_front(reset) is not None for reset in takers) and _is_rebuilt(store, name):
        return None
    put = climbed_to(key, store.frame, frame)
    if put is None or any(key_taken_in(reset, frame) != put for reset in takers):
        return None
    failing = {below(r.frame, r.site, frame) for r in takers if _may_raise_before(r, frame, name)}
    takes = {below(reset.frame, reset.site, frame) for reset in takers}
    in_turn = {below(r.frame, r.site, frame) for r in takers if r.frame is not frame and _at_the_front(r) is not None}
    ways = Ways(name, below(store.frame, store.site, frame), takes, failing=failing, unsure=in_turn)
    ways.through_function(frame.facts.body)
    for way in ways.found:
        if way.failed or _is_for_nobody(machine, frame, store, name):
            return way
    goes_on = ways.unguarded >= 0 and (_is_caught(frame) or _serves_a_socket(frame))
    return LeftBehind(ways.unguarded, True) if goes_on else None


def _left_by_exit(releases: Releases, store: Store, key: Expr, takers: Sequence[Reset], name: str) -> LeftBehind | None:
    """The `return` of an `__exit__` before it takes out the entry that `__enter__` of the same class has put there."""
    leave, leaving = takers[0].frame, _EXITS[store.frame.name]
    taking = [_statement_at(reset.frame.facts, reset.site) for reset in takers]
    if any(one.frame.name != leaving or one.frame.facts.owner != store.frame.facts.owner for one in takers):
        return None
    if any(_taken(one) != key for one in taking) or not releases.of(name) - {"__init__"} <= {leaving}:
        return None
    found = returned_before([store.frame.facts], leave.facts, [one for one in taking if one is not None])
    return None if found is None else LeftBehind(found[0], False)


def _is_caught(frame: Frame) -> bool:
    """Whether a caller in sight goes on to the next one when a call has failed."""
    for inner in chain(frame):
        if inner.caller is None:
            return False
        number = statement_of(inner.call_site)
        tried = (one for _, inside in loops(inner.caller.facts.body) for one in inside if one[0] == m.TRY)
        for statement in tried:
            called = any(statement_of(one[1]) == number for one in statements(statement[2]))
            if called and any(_goes_on(caught, clause) for caught, _, clause in statement[3]):
                return True
    return False


def _serves_a_socket(frame: Frame) -> bool:
    """Whether nobody in sight calls a function that waits for what comes over a web socket which it is given, or over
    the two streams that `asyncio.start_server` gives: when that breaks off, the wait raises, and the framework goes on
    to the next one."""
    params = frame.facts.params
    kinds = {param.name: last_name(param.hint) if param.hint is not None else "" for param in params}
    sockets = {(m.NAME, name) for name in kinds if name in _SOCKETS or kinds[name].startswith("WebSocket")}
    streams = {(m.NAME, name) for name in kinds if kinds[name] in _STREAMS}
    if kinds.keys() >= {"reader", "writer"}:
        streams |= {(m.NAME, "reader"), (m.NAME, "writer")}
    return frame.caller is None and any(
        node[0] == m.AWAIT
        and node[1][0] == m.CALL
        and node[1][2][0] == m.ATTR
        and (
            (node[1][2][1] in sockets and node[1][2][2].startswith(_RECEIVES))
            or (node[1][2][1] in streams and node[1][2][2].startswith(_READS))
        )
        for node in expressions(frame.facts.body)
    )


def _goes_on(caught: Expr | None, clause: Sequence[Stmt]) -> bool:
    named = [last_name(one) for one in caught[3]] if caught is not None and caught[0] == m.NEW else [last_name(caught)]
    leaves = clause[-1][0] in (m.RETURN, m.RAISE) or (clause[-1][0] == m.JUMP and clause[-1][2])
    return not leaves and not _BROAD.isdisjoint(named)


# -- which entry ----------------------------------------------------------------------------------


def _statement_at(facts: FunctionFacts, site: Site) -> Stmt | None:
    number = statement_of(site)
    return next((one for one in statements(facts.body) if statement_of(one[1]) == number), None)


def _element(statement: Stmt | None) -> Expr | None:
    """What tells an entry from others when it is put there: its key, or itself."""
    if statement is None:
        return None
    for target in targets(statement):
        if target[0] == m.ITEM:
            key: Expr = target[2]
            return key if target[1][0] in (m.ATTR, m.NAME) else None
    added = (
        call[3][-1]
        for call in calls_of(statement)
        if (call[2][0] == m.ATTR and call[2][2] in _ADDS and len(call[3]) == 1)
        or (last_name(call[2]) == "heappush" and len(call[3]) == 2)
    )
    return next(added, None)


def _taken(statement: Stmt | None) -> Expr | None:
    """... and when it is taken out."""
    if statement is None:
        return None
    if statement[0] == m.DELETE:
        return next((target[2] for target in statement[2] if target[0] == m.ITEM), None)
    taken = (call[3] for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][2] in _TAKES_OUT)
    return next((given[0] for given in taken if given and given[0] != (m.CONST, 0)), None)


def key_in(store: Store, outer: Frame) -> Expr | None:
    """Under which key of a table an entry is put there, or something into the entry, in the words of the outer
    function."""
    statement = _statement_at(store.frame.facts, store.site)
    return None if statement is None else climbed_to(_table_key(statement), store.frame, outer)


def _table_key(statement: Stmt) -> Expr | None:
    """`key` of `table[key] = x`, `table[key][part] = x`, `table[key].append(x)`, `table.setdefault(key, []).add(x)`."""
    places = [target for target in targets(statement) if target[0] == m.ITEM]
    if not places:
        places = [call[2][1] for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][2] in _ADDS]
    for place in places[:1]:
        while place[0] == m.ITEM and place[1][0] == m.ITEM:
            place = place[1]
        if place[0] == m.CALL and last_name(place[2]) == "setdefault" and place[3]:
            key: Expr = place[3][0]
            return key
        return place[2] if place[0] == m.ITEM else None
    return None


def key_taken_in(reset: Reset, outer: Frame) -> Expr | None:
    """Which entry is taken out, in the words of the outer function."""
    key = _taken(_statement_at(reset.frame.facts, reset.site))
    if key is not None:
        return climbed_to(key, reset.frame, outer)
    front = _at_the_front(reset)
    climbed = None if front is None else climbed_to(front, reset.frame, outer)
    return None if climbed is None else root_of(climbed)


def _is_rebuilt(store: Store, name: str) -> bool:
    """`self.queues[name] = [one for one in self.queues[name] if one is not gone]`: an entry goes before its turn."""
    return any(
        statement[0] == m.ASSIGN
        and any(target[0] == m.ITEM and last_name(target[1]) == name for target in statement[2])
        for function in store.frame.unit.facts.functions
        for statement in statements(function.body)
    )


def _at_the_front(reset: Reset) -> Expr | None:
    """`if queue[0].number == number: queue.popleft()`: what tells the entry that is taken out when its turn comes."""
    tests = (
        test
        for statement in statements(reset.frame.facts.body)
        if statement[0] == m.IF and any(one[1] == reset.site for one in statement[3])
        for test in nodes(statement[2])
        if test[0] == m.COMPARE and test[1] in ("Equal", "Is")
    )
    sides = (side for test in tests for side in ((test[2], test[3]), (test[3], test[2])))
    return next((other for front, other in sides if any(map(_is_first, nodes(front)))), None)


def _is_first(expr: Expr) -> bool:
    return bool(expr[0] == m.ITEM and expr[2] == (m.CONST, 0))


def climbed_to(expr: Expr | None, inner: Frame, outer: Frame) -> Expr | None:
    """What a parameter of an inner call is in the outer function."""
    while expr is not None and inner is not outer:
        if inner.caller is None:
            return None
        expr, inner = _in_caller(expr, inner), inner.caller
    return expr if expr is not None and expr[0] in (m.NAME, m.ATTR, m.ITEM) else None


def _in_caller(expr: Expr, frame: Frame) -> Expr | None:
    """What the caller of a function calls one of its parameters, or an attribute of one."""
    if expr[0] == m.ATTR:
        owner = _in_caller(expr[1], frame)
        return None if owner is None else (m.ATTR, owner, expr[2])
    if expr[0] != m.NAME:
        return None
    if expr[1] == "self":
        call = call_of(frame)
        return call[2][1] if call is not None and call[2][0] == m.ATTR else None
    return argument(frame, expr[1]) or _as_returned(expr, frame)


def _as_returned(expr: Expr, frame: Frame) -> Expr | None:
    """What the caller of a function calls what that returns: `session = self.open()`."""
    returned = [one[2] for one in statements(frame.facts.body) if one[0] == m.RETURN]
    if frame.caller is None or not returned or any(value != expr for value in returned):
        return None
    bound = _statement_at(frame.caller.facts, frame.call_site)
    if bound is None or bound[0] != m.ASSIGN or len(bound[2]) != 1 or bound[2][0][0] != m.NAME:
        return None
    value = bound[3][1] if bound[3][0] == m.AWAIT else bound[3]
    name: Expr = bound[2][0]
    return name if value[0] == m.CALL and value[1] == frame.call_site else None


def _may_raise_before(reset: Reset, outer: Frame, name: str) -> bool:
    """Whether one of the functions on the way to where an entry is taken out may raise an error before it comes to
    that, for another reason than that there is no such entry."""
    frame, site = reset.frame, reset.site
    while frame is not outer and frame.caller is not None:
        ways = Ways(name, -1, {statement_of(site)})
        ways.through_function(frame.facts.body, THERE)
        asked = {
            one[1]
            for statement in statements(frame.facts.body)
            if statement[0] == m.IF and mentions(statement, name)
            for suite in statement[3:5]
            for one in suite
        }
        raising = {one[1] for one in statements(frame.facts.body) if one[0] == m.RAISE} - asked
        if any(way.site in raising for way in ways.found):
            return True
        site, frame = frame.call_site, frame.caller
    return False


def chain(frame: Frame | None) -> Iterator[Frame]:
    while frame is not None:
        yield frame
        frame = frame.caller


def common_frame(one: Frame, other: Frame) -> Frame | None:
    above = list(chain(one))
    return next((frame for frame in chain(other) if frame in above), None)


def below(frame: Frame, site: Site, outer: Frame) -> int:
    """The number of the statement of the outer function that leads to a site in an inner one."""
    while frame is not outer and frame.caller is not None:
        site, frame = frame.call_site, frame.caller
    return statement_of(site)


def _is_for_nobody(machine: Machine, frame: Frame, store: Store, name: str) -> bool:
    """Whether no other function reads the table, and this one only what it has just put there."""
    concerned = {id(frame.facts), id(store.frame.facts)}
    for unit in machine.units.values():
        for function in unit.facts.functions:
            if function.name in ("__init__", "__post_init__", "<module>"):
                continue
            for statement in statements(function.body):
                mentioned = mentions(statement, name)
                if mentioned and id(function) not in concerned:
                    return False
                if mentioned and statement[1] < store.site - store.site % CALLS_PER_STATEMENT:
                    return False
    put = _statement_at(store.frame.facts, store.site)
    return store.how == "keyed" and put is not None and put[0] == m.ASSIGN and not mentions((m.EXPR, 0, put[3]), name)
