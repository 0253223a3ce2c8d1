"""Lists that get an entry with each pass, and of which nobody asks for more than the newest: what hooks have seen,
`self.seen.append(output)` and `return self.seen[-1]`. A list that is gone through in the end is there to be filled.
Tables that get an entry with each frame, and are only asked for those a few before: `state.tracked[t] = found` and
`state.tracked.get(t - back)`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Stmt
from ..facts.program import targets
from ..facts.walk import expressions_of, is_count, nodes, places_with_values, statements

Kinds = tuple[int, ...]
_EITHER: Kinds = (m.NAME, m.ATTR)


def asks_for_the_newest(facts: FileFacts, name: str, kinds: Kinds = _EITHER) -> bool:
    """Whether a file reads the last entries of what goes by a name, of a variable or an attribute, and does nothing
    else with it but add to it and ask for its length."""
    place = _Place(name, kinds)
    asked = False
    for function in facts.functions:
        for statement in statements(function.body):
            if any(map(place.is_it, targets(statement))):
                continue  # made here
            parts = expressions_of(statement)
            every = sum(map(place.is_it, parts))
            if not every:
                continue
            read = sum(map(place.is_asked_from_the_end, parts))
            if every != read + sum(map(place.is_plainly_used, (*parts, *_tests(statement)))):
                return False
            asked = asked or read > 0
    return asked


def asks_for_a_few_before(facts: FileFacts, name: str) -> bool:
    """Whether a file asks a table that goes by the name of an attribute for entries under keys that are counted back,
    `t - 1`, and does nothing else with it but put one there and look at it."""
    place = _Place(name, (m.ATTR,))
    before = False
    for function in facts.functions:
        keys = None
        for statement in statements(function.body):
            parts = expressions_of(statement)
            every = sum(map(place.is_it, parts))
            if not every:
                continue
            keys = _Keys(function, place) if keys is None else keys
            put = targets(statement)
            known = sum(target in put and (place.is_it(target) or place.is_entry(target)) for target in parts)
            for key in (key for part in parts if part not in put for key in place.asked(part)):
                known += key is None or keys.is_put(key) or keys.is_before(key)
                before = before or (key is not None and keys.is_before(key))
            if every != known:
                return False
    return before


def _tests(statement: Stmt) -> Iterator[Expr]:
    """`if seen:`, `while not seen:`, as a comparison of the length would be written."""
    if statement[0] in (m.IF, m.WHILE):
        test = statement[2]
        yield (m.CALL, 0, (m.NAME, "len"), (test[1] if test[0] == m.NOT else test,), ())


class _Place:
    """A list or table, by the last part of its name."""

    def __init__(self, name: str, kinds: Kinds) -> None:
        self.name = name
        self.kinds = kinds

    def is_it(self, node: Expr) -> bool:
        return bool(node[0] in self.kinds and node[-1] == self.name)

    def is_entry(self, node: Expr) -> bool:
        return bool(node[0] == m.ITEM and self.is_it(node[1]))

    def is_plainly_used(self, node: Expr) -> bool:
        """`seen.append(x)`, `len(seen)`"""
        if node[0] != m.CALL:
            return False
        callee = node[2]
        adds = callee[0] == m.ATTR and callee[2] == "append" and self.is_it(callee[1])
        return bool(adds or (callee == (m.NAME, "len") and len(node[3]) == 1 and self.is_it(node[3][0])))

    def is_asked_from_the_end(self, node: Expr) -> bool:
        """`seen[-1]`, `seen[-self.window:]`"""
        if not self.is_entry(node):
            return False
        key = node[2]
        tail = key[0] == m.SLICE and key[1] is not None and key[2] is None
        key = key[1] if tail else key
        return bool((key[0] == m.CONST and type(key[1]) is int and key[1] < 0) or (tail and key[0] == m.UNARY))

    def asked(self, part: Expr) -> Iterator[Expr | None]:
        """`table[key]`, `table.get(key)`, `key in table`, and `len(table)`, which has none."""
        if self.is_entry(part) or (part[0] == m.COMPARE and part[1] in ("In", "NotIn") and self.is_it(part[3])):
            yield part[2]
        elif part[0] == m.CALL and len(part) == 5 and part[3]:
            if part[2][0] == m.ATTR and part[2][2] == "get" and self.is_it(part[2][1]):
                yield part[3][0]
            elif part[2] == (m.NAME, "len") and self.is_it(part[3][0]):
                yield None


class _Keys:
    """What a function asks of a table under."""

    def __init__(self, function: FunctionFacts, table: _Place) -> None:
        every = list(statements(function.body))
        self.bound = [pair for one in every if one[0] == m.ASSIGN for pair in places_with_values(one)]
        self.put = {place[2] for place, _ in self.bound if table.is_entry(place)}
        self.rounds = [(one[2], one[3]) for one in every if one[0] == m.FOR]
        self.rounds += [one[:2] for part in map(expressions_of, every) for e in part if e[0] == m.COMP for one in e[5]]

    def is_put(self, key: Expr) -> bool:
        """Whether it is the key of what the function itself has put there, or always the same."""
        return key in self.put or key[0] == m.CONST

    def is_before(self, key: Expr) -> bool:
        """Whether it is counted back by a few: `t - 1`, `t - back` where `back` is counted without `t`, or one of
        `range(t - 6, t)`."""
        values = [value for place, value in self.bound if place == key]
        if values:
            return all(map(self.is_before, values))
        over = next((over for target, over in self.rounds if target == key), None)
        if over is not None:
            return is_count(over) and len(over[3]) > 1 and any(map(self._is_less, nodes(over[3][0])))
        return self._is_less(key)

    def _is_less(self, value: Expr) -> bool:
        if value[0] != m.ARITH or value[1] != "Subtract":
            return False
        whole = {part for part in nodes(value[2]) if part[0] == m.NAME}
        over = [over for target, over in self.rounds if target in set(nodes(value[3]))]
        return bool(whole) and not any(part in whole for one in over for part in nodes(one))
