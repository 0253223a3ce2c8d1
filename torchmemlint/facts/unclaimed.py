"""Releases that hang on somebody coming for the entry: whoever does not leaves it there.

`get(key)` drops an entry that has expired when its key is asked for again, and a visitor that does not return never
asks. `wait(key)` takes out the answer that it was waiting for, unless it gives up before that: the answer comes all the
same, and nobody fetches it. And who takes out a ticket to put the answer in its place takes nothing out for good.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .exhausted import is_asked_until
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .program import Block
from .walk import blocks, calls, last_name, names_of, nodes, root_of, statements, with_tests
from .ways import lets_go, puts, taken

_OF_AGE = frozenset(
    "ttl age expire expires expired expiry expiration stale lifetime timeout deadline outdated fresh until".split()
)
_WAITS = ("wait", "acquire", "wait_for")
_CLOCKS = frozenset(("time", "monotonic", "perf_counter"))
_OVER = ("TimeoutError", "Exception")
_LEAVES = (m.RETURN, m.RAISE)
_ASKS = ("In", "NotIn")


def when_asked_again(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes the entry that it is asked for out of a table if that has expired, and gives it out if it
    has not."""
    takes = [one for one in statements(function.body) if lets_go(one, table)]
    given = {param.name for param in function.params} - {"self", "cls"}
    keys = {key for one in takes for place, key in taken(one) if place == table}
    if len(keys) != 1 or len(takes) != 1 or any(puts(one, table) for one in statements(function.body)):
        return None
    key = keys.pop()
    if key[0] != m.NAME or key[1] not in given or not _is_dropped_for_age(takes[0], function.body):
        return None
    found: set[Expr] = set()
    for one in statements(function.body):
        if one[0] == m.ASSIGN and any(part == table or part in found for part in nodes(one[3])):
            found.update(part for target in one[2] for part in nodes(target))  # `since, state = entry`
    given_out = (one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None)
    hit = any(part in found or part == (m.ITEM, table, key) for value in given_out for part in nodes(value))
    site: Site = takes[0][1]
    return site if hit else None


def when_waited_for(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes out of a table what another one puts there while it waits, if it may give up before."""
    takes = [(one, key) for one in statements(function.body) for place, key in taken(one) if place == table]
    if len(takes) != 1 or any(puts(one, table) and one[1] > takes[0][0][1] for one in statements(function.body)):
        return None
    others = [other for other in facts.functions if other is not function and not _asks_first(other, table)]
    if not any(puts_anyway(other, table) for other in others):
        return None
    take, key = takes[0]
    if any(one[0] == m.TRY and key[-1] in names_of(one[5]) for one in statements(function.body)):
        return None  # it sees to it in the end, whatever happens
    site: Site = take[1]
    before = (suite for suite in _given_up(function.body, table, key) if suite[0][1] < site)
    for suite in (*before, *_after_polling(facts, function, take, key)):
        told = _tells_of(suite, key) and not _has_it(function.body, suite, (m.ITEM, table, key))
        if not told and not any(lets_go(one, table) for one in suite):
            return site
    return None


def to_put_another(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where all that a function takes out of a table makes room for what it then puts there under the same key."""
    takes = [(one, key) for one in statements(function.body) for place, key in taken(one) if place == table]
    if not takes or len(takes) != sum(lets_go(one, table) for one in statements(function.body)):
        return None
    site: Site = takes[0][0][1]
    return site if all(_is_replaced(function.body, take, (m.ITEM, table, key)) for take, key in takes) else None


def _is_replaced(block: Block, take: Stmt, entry: Expr) -> bool:
    """Whether a block comes from a statement that takes an entry out to one that puts one there, whatever happens."""
    for at, one in enumerate(block):
        if one is take or any(inner is take for inner in statements((one,))):
            if any(_is_replaced(suite, take, entry) for suite in blocks(one)):
                return True
            if any(suite and suite[-1][0] in m.LEAVES and take in statements(suite) for suite in blocks(one)):
                return False
            return any(_puts_surely(after, entry) for after in block[at + 1 :])
    return False


def _puts_surely(statement: Stmt, entry: Expr) -> bool:
    if statement[0] == m.WITH:
        return any(_puts_surely(one, entry) for one in statement[3])
    return bool(statement[0] == m.ASSIGN and entry in statement[2])


def _is_dropped_for_age(wanted: Stmt, block: Block) -> bool:
    """Whether a statement stands in an `if` that asks for the age of something."""
    for one in block:
        for suite in blocks(one):
            if any(inner is wanted for inner in statements(suite)):
                return (one[0] == m.IF and _says_old(one[2])) or _is_dropped_for_age(wanted, suite)
    return False


def _says_old(test: Expr) -> bool:
    words = (node[-1].lower().split("_") for node in nodes(test) if node[0] in (m.NAME, m.ATTR))
    return any(not _OF_AGE.isdisjoint(found) for found in words)


def puts_anyway(function: FunctionFacts, table: Expr) -> bool:
    """Whether a function puts something into a table without asking whether there is who waits for it."""
    return any(
        puts(one, table)
        and not any(node[0] == m.COMPARE and node[1] in _ASKS for test in tests for node in nodes(test))
        for one, tests in with_tests(function.body)
    )


def _asks_first(function: FunctionFacts, table: Expr) -> bool:
    """Whether a function leaves, or goes on to the next one, before it puts anything there for which nobody waits."""
    first = min((one[1] for one in statements(function.body) if puts(one, table)), default=-1)
    leaving = (one for one in statements(function.body) if one[0] == m.IF and one[3] and one[3][-1][0] in m.LEAVES)
    return any(one[1] < first and _finds_nobody(function.body, one[2]) for one in leaving)


def _finds_nobody(body: Block, test: Expr) -> bool:
    """`event = waiting.get(key)`, and then `if event is None: continue`; or `if key not in waiting: return`."""
    if test[0] == m.COMPARE and test[1] == "NotIn":
        return True
    name = test[1] if test[0] == m.NOT else test[2] if test[:2] == (m.COMPARE, "Is") else test
    looked_up = (one[3] for one in statements(body) if one[0] == m.ASSIGN and one[2] == (name,))
    return any(value[0] == m.CALL and last_name(value[2]) in ("get", "pop") and value[3] for value in looked_up)


def _given_up(body: Block, table: Expr, key: Expr) -> Iterator[Block]:
    """What is done where the waiting ends without an answer: `if left <= 0: raise` in `while key not in table`, `if not
    event.wait(timeout): return None`, or where the time limit of a `try` is over."""
    for one in statements(body):
        if one[0] == m.WHILE and one[2][:4] == (m.COMPARE, "NotIn", key, table):
            yield from (inner[3] for inner in statements(one[3]) if inner[0] == m.IF and inner[3][-1][0] in _LEAVES)
        elif one[0] == m.IF and one[3] and one[3][-1][0] in _LEAVES and one[2][0] == m.NOT:
            waited = _as_bound(body, one[2][1], one[1])
            if waited[0] == m.CALL and last_name(waited[2]) in _WAITS and (waited[3] or waited[4]):
                yield one[3]
        elif one[0] == m.TRY and any(last_name(call[2]) == "wait_for" for call in calls(one[2])):
            yield from (clause for kind, _, clause in one[3] if clause[-1][0] in _LEAVES and _is_over(kind))


def _as_bound(body: Block, name: Expr, before: Site) -> Expr:
    """What a name was bound to: `came = event.wait(timeout)`."""
    bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and one[2] == (name,) and one[1] < before]
    return bound[0] if len(bound) == 1 and name[0] == m.NAME else name


def _after_polling(facts: FileFacts, function: FunctionFacts, take: Stmt, key: Expr) -> Iterator[Block]:
    """What comes after a loop that looks for an answer until its time is over, if nobody in sight asks once more."""
    given = {(m.NAME, param.name) for param in function.params}
    if root_of(key) in given and not is_asked_until(facts, function.name):
        after = _out_of_time(function.body, take)
        if after is not None:
            yield after


def _out_of_time(block: Block, take: Stmt) -> Block | None:
    """What is done where the time is over in which a loop looks for the answer again and again: `while time.time() <
    deadline: if key in table: return table.pop(key)`, and after it `return None`, or nothing."""
    for at, one in enumerate(block):
        if not any(inner is take for inner in statements((one,))):
            continue
        if one[0] == m.WHILE:
            returns = any(inner[0] == m.RETURN and inner[1] >= take[1] for inner in statements(one[3]))
            return block[at + 1 :] if _asks_the_time(one[2]) and returns else None
        for suite in blocks(one):
            found = _out_of_time(suite, take)
            if found is not None:
                return found
    return None


def _asks_the_time(test: Expr) -> bool:
    return any(node[0] == m.CALL and last_name(node[2]) in _CLOCKS for node in nodes(test))


def _is_over(kind: Expr | None) -> bool:
    kinds = kind[3] if kind is not None and kind[0] == m.NEW else (kind,)
    return any(one is None or last_name(one) in _OVER for one in kinds)


def _has_it(body: Block, suite: Block, entry: Expr) -> bool:
    """Whether a function has looked the entry up before it comes to a suite: then it is there already, whoever is told
    that nobody waits for it."""
    before = (one for one in statements(body) if one[0] == m.ASSIGN and one[1] < suite[0][1])
    return any(one[3] == entry for one in before)


def _tells_of(suite: Block, key: Expr) -> bool:
    """Whether the key is noted somewhere, for who would put the answer there; an error only names it."""
    told = tuple(one for one in suite if one[0] != m.RAISE)
    return key[0] == m.NAME and key[1] in names_of(told) and any(calls(told))
