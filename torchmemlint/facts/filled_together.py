"""Tables of one object, or of a module, that are filled together: what goes from one should go from the other.

def finish(self, request):                 def abort(self, rid):
    self.running.remove(request)               self.running = [r for r in self.running if r.rid != rid]
    self.states.pop(request.rid)

`abort` ends a request as `finish` does, and forgets one of the two tables. So it does where only who waits for the
answer takes that out, `wait(rid)`, and who has gone calls `abort(rid)` instead. And where nothing is ever taken out of
a table, its keys come and go if those of the table beside it do: that they are called names makes them no few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt, statement_of
from .passed_by import PassedBy
from .program import Block, targets
from .walk import blocks, calls_of, expressions_of, heads, last_name, nodes, root_of, statements
from .ways import TAKES, lets_go

_FILLS = ("append", "appendleft", "add", "extend", "update", "setdefault", "put", "put_nowait", "insert", "heappush")
_FIRST = ("__init__", "__post_init__", "__new__", "__setstate__")
_FOR_A_WHILE = frozenset("pause preempt suspend swap park move requeue defer postpone transfer".split())
BREAKS_OFF = frozenset("abort aborted cancel cancelled drop discard disconnect disconnected evict forget kill".split())
_LEAVES = (m.RETURN, m.RAISE, m.JUMP)
_OTHERS = ("NotEqual", "NotIn", "IsNot")
_SELF = (m.NAME, "self")


def forgotten_beside(facts: FileFacts) -> Iterator[tuple[str, PassedBy]]:
    """The tables, by their last names, whose only release is in a function that empties another one with it, where a
    second function ends entries of that other one alone."""
    for cls in facts.classes:
        methods = [facts.functions[index] for name, index in cls.methods.items() if name not in _FIRST]
        taking = [(method, taken) for method in methods if (taken := dict(taken_of_its_own(method)))]
        if len(taking) < 2:
            continue
        for method, taken in taking:
            for table, (site, key) in taken.items():
                beside = {other for other, (_, its) in taken.items() if other != table and root_of(its) == root_of(key)}
                if not beside or any(empties(one, table) for one in methods if one is not method):
                    continue
                for other, its in taking:
                    if not beside.isdisjoint(its) and _ends(other, its) and not _with(facts, methods, other, method):
                        yield last_name(table), PassedBy(site, method.name, "apart")


def fetched_or_broken_off(facts: FileFacts) -> Iterator[tuple[str, PassedBy]]:
    """The tables, by their last names, that only who comes for an entry takes it out of, where somebody calls a method
    instead that breaks it off, and that takes it out of the table beside this one alone."""
    for cls in facts.classes:
        methods = [facts.functions[index] for name, index in cls.methods.items() if name not in _FIRST]
        breaking = [one for one in methods if not BREAKS_OFF.isdisjoint(one.name.lower().split("_"))]
        for method in methods if breaking else ():
            given = {param.name for param in method.params[1:]}
            for table, (site, key) in dict(taken_of_its_own(method)).items():
                if root_of(key)[1] not in given or any(empties(one, table) for one in methods if one is not method):
                    continue
                beside = _filled_beside(methods, table)
                for other in breaking:
                    its = dict(taken_of_its_own(other))
                    alone = not beside.isdisjoint(its) and _ends(other, its, _unread(methods, other))
                    if alone and not _with(facts, methods, other, method) and _instead(facts, other, method):
                        yield last_name(table), PassedBy(site, method.name, "apart")


def _filled_beside(methods: list[FunctionFacts], table: Expr) -> set[Expr]:
    """The tables that get something under a key of the name that this one's keys have: `self.sizes[rid] = size`,
    `self.outputs[output.rid] = output`."""
    statements_of = (one for method in methods for one in statements(method.body) if one[0] == m.ASSIGN)
    filled = [target for one in statements_of for target in one[2] if target[0] == m.ITEM]
    keys = {last_name(target[2]) for target in filled if target[1] == table} - {""}
    return {target[1] for target in filled if last_name(target[2]) in keys and target[1] != table}


def _unread(methods: list[FunctionFacts], method: FunctionFacts) -> set[Expr]:
    """The attributes of its object that a method of the class alone speaks of: what it notes there is for nobody."""
    others = {
        node
        for one in methods
        if one is not method
        for statement in statements(one.body)
        for node in expressions_of(statement)
        if node[0] == m.ATTR
    }
    own = {call[2][1] for one in statements(method.body) for call in calls_of(one) if call[2][0] == m.ATTR}
    return {place for place in own if place[0] == m.ATTR and place[1] == _SELF} - others


def _instead(facts: FileFacts, other: FunctionFacts, method: FunctionFacts) -> bool:
    """Whether a function calls the one and leaves, where it else comes to the other."""
    both = {other.name, method.name}
    return any(
        suite[-1][0] in _LEAVES and other.name in {last_name(call[2]) for one in suite for call in calls_of(one)}
        for function in facts.functions
        if both <= set(function.calls)
        for suite in _suites(function.body)
        if suite is not function.body and suite
    )


def goes_from_another(facts: FileFacts, function: FunctionFacts, site: Site, *, used: bool = False) -> bool:
    """Whether a function stores, at this site, under a key that another table has as well, and that is taken out of
    that one again; `used`: by who also uses what is under that key here."""
    number = statement_of(site)
    stored = next((one for one in statements(function.body) if statement_of(one[1]) == number), None)
    places = [target for target in targets(stored) if target[0] == m.ITEM] if stored is not None else []
    keys = {part for place in places for part in _parts(place[2])}
    if not keys:
        return False
    tables = {place[1] for place in places}
    siblings = [one for one in facts.functions[1:] if one.owner == function.owner]
    filled = {
        target[1]
        for one in siblings
        for statement in statements(one.body)
        if statement[0] == m.ASSIGN
        for target in statement[2]
        if target[0] == m.ITEM and target[2] in keys
    }
    beside = {table for table in filled - tables if any(_like(table, one) for one in tables)}
    return bool(beside) and any(
        table in beside and not (used and tables.isdisjoint(_read_under(one, key)))
        for one in siblings
        for statement in statements(one.body)
        for table, key in _taken(statement)
    )


def is_listed_in_turn(facts: FileFacts, function: FunctionFacts, site: Site) -> bool:
    """Whether a function stores, at this site, under a key that also goes into a list of the object, whose first ones
    leave when it is long: `self.order.append(name)`, `while len(self.order) > most: self.order.pop(0)`. What is meant
    to be few is not few then."""
    number = statement_of(site)
    body = list(statements(function.body))
    stored = next((one for one in body if statement_of(one[1]) == number), None)
    keys = {target[2] for target in targets(stored) if target[0] == m.ITEM} if stored is not None else set()
    added = (call for one in body if keys for call in calls_of(one) if call[2][0] == m.ATTR and call[3])
    lists = {call[2][1] for call in added if call[2][2] == "append" and call[3][0] in keys}
    siblings = [one for one in facts.functions[1:] if one.owner == function.owner]
    return any(place in lists for one in (siblings if lists else ()) for place in _cut(one))


def _cut(function: FunctionFacts) -> Iterator[Expr]:
    """The lists whose first entry a function takes out where they have got too long."""
    for test in statements(function.body):
        for suite in blocks(test) if test[0] in (m.IF, m.WHILE) else ():
            for call in (call for one in statements(suite) for call in calls_of(one) if call[2][0] == m.ATTR):
                first = call[2][2] == "popleft" or (call[2][2] == "pop" and call[3] == ((m.CONST, 0),))
                length = (node[3] for node in nodes(test[2]) if node[0] == m.CALL and node[2] == (m.NAME, "len"))
                if first and (call[2][1],) in length:
                    yield call[2][1]


def _read_under(function: FunctionFacts, key: Expr) -> set[Expr]:
    """The tables that a function reads under a key."""
    parts = (node for one in statements(function.body) for head in heads(one) for node in nodes(head))
    return {node[1] for node in parts if node[0] == m.ITEM and node[2] == key}


def is_taken_from_another(function: FunctionFacts, site: Site) -> bool:
    """Whether a function stores, at this site, what it takes out of another table of the object, under the key that it
    had there: `self.done[number] = self.running.pop(number)`. Such keys come and go."""
    number = statement_of(site)
    stored = next((one for one in statements(function.body) if statement_of(one[1]) == number), None)
    places = [target for target in targets(stored) if target[0] == m.ITEM] if stored is not None else []
    return bool(places) and any(
        key == place[2] and table != place[1] and _like(table, place[1])
        for statement in statements(function.body)
        for table, key in _taken(statement)
        for place in places
    )


def _parts(key: Expr) -> tuple[Expr, ...]:
    """The names that a key is made of: itself, or those of a tuple."""
    return tuple(part for part in (key[3] if key[0] == m.NEW else (key,)) if part[0] == m.NAME)


def _like(table: Expr, other: Expr) -> bool:
    """Whether both are of the same object, or of the module."""
    return bool(table[0] == other[0] and (table[0] == m.NAME or table[1:2] == other[1:2]))


def _taken(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """The table and the key of what a statement takes out."""
    for target in statement[2] if statement[0] == m.DELETE else ():
        if target[0] == m.ITEM:
            yield target[1], target[2]
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in TAKES and call[3]:
            yield call[2][1], call[3][0]


def taken_of_its_own(method: FunctionFacts) -> Iterator[tuple[Expr, tuple[Site, Expr]]]:
    """The attributes of its object that a method takes an entry out of, which one, and where."""
    for statement in statements(method.body):
        for table, key in (*_taken(statement), *_without(statement)):
            if table[0] == m.ATTR and table[1] == _SELF and root_of(key)[0] == m.NAME:
                yield table, (statement[1], key)


def _without(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """`self.running = [r for r in self.running if r.rid != rid]`"""
    table = statement[2][0] if statement[0] == m.ASSIGN else ()
    for part in nodes(statement[3]) if table[:1] == (m.ATTR,) else ():
        if part[0] == m.COMP and len(part[5]) == 1 and table in nodes(part[5][0][1]):
            for test in part[5][0][2]:
                if test[0] == m.COMPARE and test[1] in _OTHERS:
                    yield table, test[3]


def empties(function: FunctionFacts, table: Expr) -> bool:
    return any(lets_go(statement, table) for statement in statements(function.body))


def breaks_off_others(function: FunctionFacts) -> bool:
    """Whether a method breaks off what it is told of, by its name, and takes that out of tables of its object."""
    named = not BREAKS_OFF.isdisjoint(function.name.lower().split("_"))
    return named and _ends(function, dict(taken_of_its_own(function)))


def _ends(function: FunctionFacts, taken: dict[Expr, tuple[Site, Expr]], unread: Collection[Expr] = ()) -> bool:
    """Whether a function takes an entry that it is told of out for good: it puts nothing anywhere, and hands nothing
    back."""
    given = {param.name for param in function.params[1:]}
    given |= {
        place[1]
        for one in statements(function.body)
        if one[0] == m.FOR and last_name(one[3]) in given
        for place in targets(one)
        if place[0] == m.NAME
    }
    if not any(root_of(key)[1] in given for _, key in taken.values()):
        return False
    if not _FOR_A_WHILE.isdisjoint(function.name.split("_")):
        return False
    for statement in statements(function.body):
        if statement[0] == m.RETURN and statement[2] is not None and statement[2][0] != m.CONST:
            return False
        if any(target[0] == m.ITEM for target in targets(statement) if statement[0] == m.ASSIGN):
            return False
        if any(last_name(call[2]) in _FILLS and call[2][1] not in unread for call in calls_of(statement)):
            return False
    return True


def _with(facts: FileFacts, methods: list[FunctionFacts], other: FunctionFacts, method: FunctionFacts) -> bool:
    """Whether one of the two functions leads to the other, or somebody calls both for the same entry."""
    if other is method or other.name in method.calls or method.name in other.calls:
        return True
    if any(one.name in other.calls and method.name in one.calls for one in methods):
        return True
    both = {other.name, method.name}
    return any(
        both <= {last_name(call[2]) for one in block for call in calls_of(one)}
        for function in facts.functions
        if both <= set(function.calls)
        for block in _suites(function.body)
    )


def _suites(body: Block) -> Iterator[Block]:
    yield body
    for statement in body:
        for suite in blocks(statement):
            yield from _suites(suite)
