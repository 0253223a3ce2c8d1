"""Releases of entries that are not come to where the entry says that its request has failed, and who catches that.

def results(self, key):                    def on_done(self, key):
    request = self.pending[key]                try:
    if request.error is not None:                  self.show(client.results(key))
        raise Refused(request.error)           except Refused:
    del self.pending[key]                          self.failed += 1
    return request.outputs

Somebody else gives the entry its error, and whoever asks for the answer goes on: each failed request stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .program import Block, targets
from .raised import entries_of
from .walk import calls, calls_of, last_name, loops, root_of, statements, with_conditions
from .ways import lets_go, taken

_FAILED = frozenset(
    """error errored err exception exc failure failed expired timedout aborted cancelled canceled rejected
    refused""".split()
)
_STATES = _FAILED | {"timeout"}  # what a status may be; of an entry it would be its limit
_QUEUED = frozenset(("queued", "pending", "waiting", "retry", "retrying", "new"))
_SET = {"IsNot": True, "NotEqual": True, "Is": False, "Equal": False}
_BUILDERS = ("__init__", "__post_init__", "__new__")
_BROAD = frozenset(("Exception", "BaseException"))
_OF_MANY = frozenset("get pop result results wait join read recv fetch run step call take next".split())
_ENDS = ("exit", "_exit", "abort")
_AGAIN = ("retry", "requeue", "resubmit", "reschedule", "again")
_ONCE = ("main", "<module>")
_LEVELS = 3  # of callers, up to the one that catches what is raised


def after_told(facts: FileFacts, function: FunctionFacts, table: Expr) -> Site | None:
    """Where a function takes an entry out of a table, if it raises before that what the entry says of its failure, and
    some caller in the file catches it and goes on."""
    if not any(one[0] == m.RAISE for one in statements(function.body)):
        return None
    keys = {key for one in statements(function.body) for place, key in taken(one) if place == table}
    turns = {target for one in statements(function.body) if one[0] == m.FOR for target in targets(one)}
    if not keys or any(root_of(key)[0] != m.NAME or root_of(key) in turns for key in keys):
        return None
    entries = entries_of(function, table, keys)
    takes = [(one, tests) for one, tests in with_conditions(function.body) if lets_go(one, table)]
    for raising, tests in with_conditions(function.body):
        if raising[0] != m.RAISE or _is_guarded(function.body, raising):
            continue
        for flag, failed in _said(tests, entries):
            if not failed or any((flag, False) not in _said(others, entries) for _, others in takes):
                continue
            if _is_set_by_others(facts, function, flag) and _is_caught(facts, function, last_name(raising[2])):
                return int(takes[0][0][1])
    return None


def _said(tests: tuple[tuple[Expr, bool], ...], entries: set[Expr]) -> set[tuple[str, bool]]:
    """What conditions say of an entry, by the name of its field: whether it has failed."""
    return {said for one, holds in tests for said in _says(one, holds, entries)}


def _says(test: Expr, holds: bool, entries: set[Expr]) -> Iterator[tuple[str, bool]]:
    """`entry.error is not None`, `entry["failed"]`, `entry.status == "failed"`, `isinstance(entry.answer, Error)`"""
    if test[0] == m.NOT:
        yield from _says(test[1], not holds, entries)
    elif test[0] == m.BOOL:
        parts = [one for one in test[2] if not _is_there(one, entries)] if test[1] == "and" else test[2]
        for operand in parts if (test[1] == "and") == holds or len(parts) == 1 else ():
            yield from _says(operand, holds, entries)
    elif test[0] == m.COMPARE and test[1] in _SET:
        if test[3] == (m.CONST, None):
            yield from _says(test[2], holds == _SET[test[1]], entries)
        elif not _STATES.isdisjoint(_words(test[3])) and (field := _field(test[2], entries)):
            yield field, holds != _SET[test[1]]
    elif test[0] == m.COMPARE and test[1] == "In" and test[3][0] == m.NEW:
        if all(not _STATES.isdisjoint(_words(one)) for one in test[3][3]) and (field := _field(test[2], entries)):
            yield field, holds
    elif test[0] == m.CALL and last_name(test[2]) == "isinstance" and len(test[3]) == 2:
        field = _field(test[3][0], entries)
        if field and last_name(test[3][1]).endswith(("Exception", "Error")):
            yield field, holds
    elif (field := _field(test, entries)) and not _FAILED.isdisjoint(_split(field)):
        yield field, holds


def _is_there(test: Expr, entries: set[Expr]) -> bool:
    """`entry`, `entry is not None`"""
    return test in entries or (test[0] == m.COMPARE and test[1] == "IsNot" and test[2] in entries)


def _field(place: Expr, entries: set[Expr]) -> str:
    """`error` of `entry.error` and `entry["error"]`"""
    if place[0] == m.ATTR and place[1] in entries:
        return str(place[2])
    if place[0] == m.ITEM and place[1] in entries and place[2][0] == m.CONST and isinstance(place[2][1], str):
        return str(place[2][1])
    return ""


def _words(value: Expr) -> set[str]:
    """`failed` of `"failed"` and `Status.FAILED`"""
    if value[0] == m.CONST:
        return _split(value[1]) if isinstance(value[1], str) else set()
    return _split(value[-1]) if value[0] in (m.ATTR, m.NAME) else set()


def _split(name: str) -> set[str]:
    words = name.lower().replace("-", "_").split("_")
    return {*words, "".join(words)}  # `timed_out`


def _is_guarded(body: Block, raising: Stmt) -> bool:
    """Whether a statement stands in a `try`, or in a `with` block of what was given something."""
    return any(
        (one[0] == m.TRY or (one[0] == m.WITH and any(item[0] == m.CALL and item[3] for item, _ in one[2])))
        and any(inner is raising for inner in statements((one,)))
        for one in statements(body)
    )


def _is_set_by_others(facts: FileFacts, function: FunctionFacts, field: str) -> bool:
    """Whether another function gives an entry its failure, and none takes that back to try once more."""
    given = [
        one[3]
        for other in facts.functions
        if other.name not in _BUILDERS and other is not function
        for one in statements(other.body)
        if one[0] == m.ASSIGN and any(_is_field(target, field) for target in one[2])
    ]
    if any(value in ((m.CONST, None), (m.CONST, False)) or not _QUEUED.isdisjoint(_words(value)) for value in given):
        return False
    if _FAILED.isdisjoint(_split(field)):  # a status, or an answer
        return any(value[0] in (m.NAME, m.CALL) or not _STATES.isdisjoint(_words(value)) for value in given)
    return bool(given)


def _is_field(target: Expr, field: str) -> bool:
    return bool(target[0] in (m.ATTR, m.ITEM) and target[2] in (field, (m.CONST, field)))


# -- who catches it -------------------------------------------------------------------------------


def _is_caught(facts: FileFacts, function: FunctionFacts, raised: str, levels: int = _LEVELS) -> bool:
    """Whether a caller in the file, or a caller of that, catches what a function raises and goes on."""
    if sum(one.name == function.name for one in facts.functions) > 1:
        return False  # no telling which one is called
    for caller in facts.functions:
        if function.name not in caller.calls or caller is function:
            continue
        around = [one for one in statements(caller.body) if one[0] == m.TRY and _calls(one[2], function.name)]
        clauses = [(one, clause) for one in around for clause in one[3] if _catches(facts, clause[0], function, raised)]
        if any(_goes_on(facts, caller, one, clause[2], function.name) for one, clause in clauses):
            return True
        if not clauses and levels and _is_caught(facts, caller, raised, levels - 1):
            return True
    return False


def _calls(block: Block, name: str) -> bool:
    return any(last_name(call[2]) == name for call in calls(block))


def _catches(facts: FileFacts, kind: Expr | None, function: FunctionFacts, raised: str) -> bool:
    """Whether an `except` clause is for what is raised; a broad one is not sure to be, where others have a function of
    this name as well."""
    caught = {last_name(one) for one in (kind[3] if kind is not None and kind[0] == m.NEW else (kind,)) if one}
    bases = {klass.name: set(map(last_name, klass.bases)) for klass in facts.classes}
    if function.name not in _OF_MANY and (not caught or caught & _BROAD):
        return True
    if not raised[:1].isupper():  # `raise entry.error`
        return not caught.isdisjoint((*bases, "RuntimeError"))
    above = {raised}
    for _ in range(_LEVELS):
        above |= {base for name in above for base in bases.get(name, ())}
    return not caught.isdisjoint(above - _BROAD)


def _goes_on(facts: FileFacts, caller: FunctionFacts, tried: Stmt, clause: Block, name: str) -> bool:
    """Whether others are asked for after a clause: in the next round of a loop, or the next time the caller is called.
    Not so where it raises, breaks off, ends the program or tries once more."""
    for one in statements(clause):
        if one[0] == m.RAISE or (one[0] == m.JUMP and one[2]):
            return False
        for call in calls_of(one):
            called = last_name(call[2])
            if called in (*_ENDS, name) or any(word in called.lower() for word in _AGAIN):
                return False
    returns = any(one[0] == m.RETURN for one in statements(clause))
    if not returns and any(tried in inside for _, inside in loops(caller.body)):
        return True
    in_its_loop = any(_calls(tuple(inside), name) for _, inside in loops(tried[2]))
    return not in_its_loop and _is_repeated(facts, caller)


def _is_repeated(facts: FileFacts, function: FunctionFacts, levels: int = _LEVELS) -> bool:
    """Whether a function is called in a loop, is handed on to be called, or is for others to call."""
    if function.name in _ONCE:
        return False
    callers = [one for one in facts.functions if function.name in one.calls and one is not function]
    if not callers:
        return True
    if any(_calls(tuple(inside), function.name) for one in callers for _, inside in loops(one.body)):
        return True
    return levels > 0 and any(_is_repeated(facts, one, levels - 1) for one in callers)
