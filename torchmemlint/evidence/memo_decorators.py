"""Decorators of a project that keep the results of what they are put around, in a dictionary without a limit.

The dictionary is the decorator's own, or one for each object whose method it is: `self._results`, an entry of
`self.__dict__`, or one of a table with weak keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.walk import calls, calls_of, heads, last_name, nodes, statements
from ..interpreter.values import Class

_DICTIONARIES = ("dict", "OrderedDict", "defaultdict")
_WEAK = ("WeakKeyDictionary",)
_STEPS = 4


def keeps_results(decorator: Any) -> str:
    """Whether a decorator of the project, or what it makes, keeps results in a dictionary of its "own", whose size it
    never asks for and which it never empties; or in one of the "object" whose method it is."""
    facts = decorator.frame.unit.facts
    if type(decorator) is Class:
        functions = [facts.functions[index] for index in decorator.facts.methods.values()]
    else:
        functions = [decorator.facts]
        for function in functions:
            functions += [facts.functions[index] for index in function.inner]
    made = {table: function for function in functions for table in _tables(function)}
    if not made:
        return ""
    given = {param.name for function in functions for param in function.params}
    filled = {
        table
        for function in functions
        for place, value in _filled(function)
        if (table := _table_of(function, place, set(made))) is not None
        if made[table] is not function or _is_of_each(function, table)
        if _is_result(value, function, given)
    }
    if not filled or any(_lets_go(function, filled) for function in functions):
        return ""
    return "object" if all(_is_of_each(made[table], table) for table in filled) else "own"


def _tables(function: FunctionFacts) -> Iterator[Expr]:
    """The places that a function binds to an empty dictionary, `results`, `self.results`, `inner.results`; and what
    gives the one that an object has, `self.__dict__.setdefault("results", {})`."""
    for statement in statements(function.body):
        if statement[0] == m.ASSIGN:
            places, value = statement[2], statement[3]
        elif statement[0] == m.ANNOTATE and statement[4] is not None:
            places, value = (statement[2],), statement[4]
        else:
            continue
        if _is_dictionary(value):
            yield from (place for place in places if place[0] in (m.NAME, m.ATTR))
    yield from filter(_is_entry_of_object, calls(function.body))


def _table_of(function: FunctionFacts, place: Expr, tables: set[Expr]) -> Expr | None:
    """The table that a place is, by another name, `results = self.results`, or which it is a table in,
    `tables[self]`."""
    for _ in range(_STEPS):
        if place in tables:
            return place
        bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and place in one[2]]
        if place[0] == m.NAME and len(bound) == 1:
            place = bound[0]
        elif place[0] == m.ITEM:
            place = place[1]
        elif place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2] in ("setdefault", "get"):
            place = place[2][1]
        else:
            return None
    return None


def _is_of_each(function: FunctionFacts, table: Expr) -> bool:
    """Whether each object has a table of its own: one that is made only if there is none yet, `if not hasattr(self,
    "results"): self.results = {}`, also by another name, `results = self.results = {}`; or it has weak keys."""
    if table[0] == m.CALL:
        return True
    body = list(statements(function.body))
    made = [one for one in body if one[0] == m.ASSIGN and table in one[2] and _is_dictionary(one[3])]
    weak = all(last_name(one[3]) in _WEAK for one in made)
    handed = any(_is_given_to_object(one, table) for one in body)
    own = all(one not in function.body and (handed or any(map(_is_of_object, one[2]))) for one in made)
    return bool(made) and (weak or own)


def _is_of_object(place: Expr) -> bool:
    return bool(place[0] == m.ATTR and place[1][0] == m.NAME)


def _is_given_to_object(statement: Stmt, table: Expr) -> bool:
    """`setattr(self, slot, results)`, `self.__dict__[slot] = results`"""
    if statement[0] == m.ASSIGN and table in (statement[3], *statement[2]):
        return any(target[0] == m.ITEM and _is_attributes(target[1]) for target in statement[2])
    return any(call[2] == (m.NAME, "setattr") and call[3][2:] == (table,) for call in calls_of(statement))


def _is_entry_of_object(call: Expr) -> bool:
    """`self.__dict__.setdefault("results", {})`, `vars(self).setdefault(name, {})`"""
    if call[2][0] != m.ATTR or call[2][2] != "setdefault" or len(call[3]) != 2:
        return False
    return _is_attributes(call[2][1]) and _is_dictionary(call[3][1])


def _is_attributes(expr: Expr) -> bool:
    if expr[0] == m.CALL:
        return bool(expr[2] == (m.NAME, "vars") and expr[3])
    return bool(expr[0] == m.ATTR and expr[2] == "__dict__")


def _is_dictionary(value: Expr) -> bool:
    """`{}`, `defaultdict(list)`"""
    return bool(value[0] == m.DICT or (value[0] == m.CALL and last_name(value) in (*_DICTIONARIES, *_WEAK)))


def _filled(function: FunctionFacts) -> Iterator[tuple[Expr, Expr]]:
    """The places that a function puts elements into, and these: `results[key] = value`, `results.setdefault(key,
    value)`."""
    for statement in statements(function.body):
        for target in statement[2] if statement[0] == m.ASSIGN else ():
            if target[0] == m.ITEM:
                yield target[1], statement[3]
        for call in calls_of(statement):
            if call[2][0] == m.ATTR and call[2][2] == "setdefault" and call[3]:
                yield call[2][1], call[3][-1]


def _is_result(value: Expr, function: FunctionFacts, given: set[str]) -> bool:
    """Whether a value is what a call of something that the decorator was given has returned: `fn(*args)`."""
    bound = [s[3] for s in statements(function.body) if s[0] == m.ASSIGN and value in s[2]]
    return any(
        node[0] == m.CALL and len(node) == 5 and node[2][0] in (m.NAME, m.ATTR) and node[2][-1].lstrip("_") in given
        for one in (value, *bound)
        for node in nodes(one)
    )


def _lets_go(function: FunctionFacts, tables: set[Expr]) -> bool:
    """Whether a function takes anything out of one of the tables, or asks for its size."""
    for statement in statements(function.body):
        if statement[0] == m.DELETE and any(
            target[0] == m.ITEM and _table_of(function, target[1], tables) for target in statement[2]
        ):
            return True
        for head in heads(statement):
            for node in nodes(head):
                takes = node[0] == m.ATTR and node[2] in ("pop", "popitem", "clear")
                counts = node[0] == m.CALL and node[2] == (m.NAME, "len") and node[3]
                asked = node[1] if takes else node[3][0] if counts else None
                if asked is not None and _table_of(function, asked, tables):
                    return True
    return False
