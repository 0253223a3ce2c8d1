"""The facts of a file in plain words, for what is judged by the text alone.

The same may be said in many ways: an attribute gets a short name first, a value gets a name before it is handed over, a
line stands in a function of its own. Here such ways become one. Functions that need nothing of the kind stay the very
objects that they were; sites stay those of the statements that the words are put into.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.walk import calls, expressions_of, heads, last_name, names_of, nodes, root_of, statements
from .step_values import is_figure

Block = tuple[Stmt, ...]

_SIMPLE = frozenset((m.EXPR, m.ASSIGN, m.AUGMENT, m.RETURN))
_BARE = frozenset((m.DEF, m.CLASS, m.IMPORT, m.FROM, m.GLOBAL, m.NONLOCAL, m.JUMP))  # without expressions
_WITH_SUITES = frozenset((m.FOR, m.WHILE, m.IF, m.WITH, m.TRY))
_MADE = (m.CALL, m.NEW, m.DICT, m.ARITH)
_UNMOVED = frozenset((m.LAMBDA, m.COMP, m.AWAIT, m.YIELD, m.YIELD_FROM, m.WALRUS, m.STAR))


class Words(NamedTuple):
    """A file in plain words, and whose words its statements have."""

    facts: FileFacts
    led: dict[Site, set[Site]]  # statement -> the statements whose words are in it
    stands: dict[Site, Stmt]  # statement -> the line of a helper that it calls, which is all that it does


def plain(facts: FileFacts, *, names_only: bool = False) -> Words:
    """The facts in plain words; the very facts where nothing is to do. `names_only`: each statement stays what it is,
    but for short names and partials."""
    helpers = {} if names_only else {function.name: function for function in _one_liners(facts)}
    words = Words(facts, {}, {})
    functions = tuple(
        _singly(function) if function.name == "<module>" else _Speaker(function, helpers, words, names_only).said()
        for function in facts.functions
    )
    if all(new is old for new, old in zip(functions, facts.functions, strict=True)):
        return words
    return words._replace(facts=facts._replace(functions=functions))


def _one_liners(facts: FileFacts) -> Iterator[FunctionFacts]:
    """Functions and methods of one simple statement that only the file itself can mean by their name."""
    count = Counter(function.name for function in facts.functions)
    for function in facts.functions:
        if count[function.name] > 1 or function.generator or function.decorators or function.inner:
            continue
        if len(function.body) != 1 or function.name[:1] == "<" or function.name[:2] == "__":
            continue
        one = function.body[0]
        if one[0] not in _SIMPLE or (one[0] == m.RETURN and (one[2] is None or one[2][0] not in _MADE)):
            continue  # what a test asks its name says better: `is_main_process()`
        parts = expressions_of(one)
        places = one[2] if one[0] == m.ASSIGN else one[2:3] if one[0] == m.AUGMENT else ()
        does = bool(places) or any(node[0] == m.CALL and node[2][-1] not in knowledge.BUILTINS for node in parts)
        plain_ones = all(place[0] in (m.ATTR, m.ITEM) for place in places)
        odd = any(p.kind or p.default for p in function.params) or any(node[0] in _UNMOVED for node in parts)
        if does and plain_ones and not odd:
            yield function


# -- changing expressions -------------------------------------------------------------------------


def _changed(expr: Any, change: Callable[[Expr], Expr] | None) -> Any:
    """An expression, or anything of expressions, in which `change` has had its say of each part, the inner ones
    first."""
    if (
        change is None
        or type(expr) is not tuple
        or not expr
        or (type(expr[0]) is int and expr[0] in (m.CONST, m.LAMBDA))
    ):
        return expr
    parts = tuple([_changed(part, change) if type(part) is tuple else part for part in expr])
    if parts == expr:
        parts = expr  # and of what is the same nothing is made anew
    return change(parts) if type(expr[0]) is int else parts


def _made_over(one: Stmt, change: Callable[[Expr], Expr] | None, put: Callable[[Block], Block]) -> Stmt:
    """A statement of other expressions and suites; the same if they are."""
    op = one[0]
    if op in _BARE or (change is None and op not in _WITH_SUITES):
        return one
    if op == m.FOR:
        parts = [*(_changed(part, change) for part in one[2:4]), *map(put, one[4:6])]
    elif op in (m.WHILE, m.IF):
        parts = [_changed(one[2], change), *map(put, one[3:5])]
    elif op == m.WITH:
        parts = [_changed(one[2], change), put(one[3])]
    elif op == m.TRY:
        handlers = tuple((_changed(kind, change), name, put(body)) for kind, name, body in one[3])
        same = all(new[2] is old[2] and new[0] is old[0] for new, old in zip(handlers, one[3], strict=True))
        parts = [put(one[2]), one[3] if same else handlers, *map(put, one[4:6])]
    else:
        parts = [_changed(part, change) for part in one[2:]]
    return one if all(new is old for new, old in zip(parts, one[2:], strict=True)) else (*one[:2], *parts)


def _is_path(expr: Expr) -> bool:
    """Whether an expression is a name, or an attribute of an attribute of one."""
    while expr[0] == m.ATTR:
        expr = expr[1]
    return bool(expr[0] == m.NAME)


def _is_one(given: tuple[Expr, ...]) -> bool:
    """Whether what is handed over is one list of one value: `[row]`."""
    return len(given) == 1 and given[0][0] == m.NEW and len(given[0][3]) == 1 and given[0][3][0][0] != m.STAR


def _singly(module: FunctionFacts) -> FunctionFacts:
    """The body of a module, which binds one name at a time: `tables, count = {}, 0`."""
    body = tuple(part for one in module.body for part in _one_by_one(one))
    return module if len(body) == len(module.body) else module._replace(body=body)


def _one_by_one(one: Stmt) -> Sequence[Stmt]:
    """`a, b = x, y` as `a = x; b = y`, where none of the values is of a name that is bound."""
    if one[0] != m.ASSIGN or len(one[2]) != 1 or one[2][0][0] != m.NEW or one[3][0] != m.NEW:
        return (one,)
    places, values = one[2][0][3], one[3][3]
    starred = any(part[0] == m.STAR for part in (*places, *values))
    if starred or len(places) != len(values) or any(place in nodes(value) for place in places for value in values):
        return (one,)
    return [(m.ASSIGN, one[1], (place,), value) for place, value in zip(places, values, strict=True)]


def _appended(one: Stmt) -> Stmt:
    """`rows.append(x)` for `rows += [x]`."""
    if one[0] != m.AUGMENT or one[3] != "Add" or one[4][0] != m.NEW or one[4][2] != "list" or not _is_one((one[4],)):
        return one
    return (m.EXPR, one[1], (m.CALL, one[1], (m.ATTR, one[2], "append"), one[4][3], ()))


def _places(one: Stmt) -> Iterator[Expr]:
    """The places that a statement binds anew or deletes."""
    if one[0] in (m.ASSIGN, m.DELETE):
        places: tuple[Expr, ...] = one[2]
    elif one[0] in (m.AUGMENT, m.ANNOTATE, m.FOR):
        places = (one[2],)
    else:
        places = tuple(target for _, target in one[2] if target is not None) if one[0] == m.WITH else ()
    for place in places:
        yield from place[3] if place[0] == m.NEW else (place,)


def _hands(one: Stmt, name: Expr, value: Expr) -> bool:
    """Whether a statement does no more with a name than to keep, return or give away its value; or, of an attribute,
    than to call it or a method of it."""
    if one[0] != m.EXPR or one[2][0] != m.CALL:
        return bool(one[-1] == name)
    callee = one[2][2]
    return (callee[0] == m.ATTR and name in one[2][3]) or (value[0] == m.ATTR and root_of(callee) == name)


# -- one function ---------------------------------------------------------------------------------


class _Speaker:
    """Says what a function does in plain words."""

    def __init__(
        self,
        function: FunctionFacts,
        helpers: Mapping[str, FunctionFacts],
        words: Words,
        names_only: bool,
    ) -> None:
        self.function, self.names_only = function, names_only
        self.facts, self.led, self.stands = words
        self.flags = function.flags
        self.helpers = {} if helpers.keys().isdisjoint(function.calls) else helpers
        self.statement: Stmt = (m.JUMP, function.site, False)  # the one that is being said
        told = self.helpers or self._short or not {"", "partial", "extend"}.isdisjoint(function.calls)
        self.change = self._expression if told else None

    def said(self) -> FunctionFacts:
        body = self._block(self.function.body)
        if body is self.function.body:
            return self.function
        # what it called by its first words it calls still
        called = {*self.function.calls, *(last_name(call[2]) for call in calls(body))}
        return self.function._replace(body=body, calls=tuple(sorted(called)), flags=self.flags)

    def _block(self, block: Block) -> Block:
        found: list[Stmt] = []
        for one in block:
            op = one[0]
            if op in _BARE:
                found.append(one)
                continue
            if op == m.ASSIGN and one[2][0][0] == m.NAME and one[2][0][1] in self._short:
                continue
            one = self.statement = self._uncounted(one) if op == m.FOR else one
            said = one if self.change is None and op in _SIMPLE else _made_over(one, self.change, self._block)
            for part in self._simply(said) if op in _SIMPLE else (said,):
                handed = part if self.names_only or not found else self._handed_on(part, found[-1])
                if handed is not part:
                    before = found.pop()[1]
                    self.led.setdefault(part[1], set()).update({before} | self.led.get(before, set()))
                found.append(handed)
        same = len(found) == len(block) and all(new is old for new, old in zip(found, block, strict=True))
        return block if same else tuple(found)

    def _uncounted(self, loop: Stmt) -> Stmt:
        """`for x in xs` for `for i, x in enumerate(xs)`, where nobody reads that number."""
        target, over = loop[2:4]
        counts = over[0] == m.CALL and over[2] == (m.NAME, "enumerate") and len(over[3]) == 1 and target[0] == m.NEW
        if not counts or len(target[3]) != 2 or target[3][0][0] != m.NAME or self._mentions[target[3][0][1]] != 1:
            return loop
        return (*loop[:2], target[3][1], over[3][0], *loop[4:])

    def _expression(self, expr: Expr) -> Expr:
        """What an expression says, whose parts are said in plain words."""
        if expr[0] == m.NAME:
            return self._short.get(expr[1], expr)
        if expr[0] != m.CALL:
            return expr
        callee = expr[2]
        if callee[0] == m.ATTR and callee[2] == "extend" and _is_one(expr[3]):
            return (m.CALL, expr[1], (*callee[:2], "append"), expr[3][0][3], ())
        if callee[0] == m.CALL and last_name(callee[2]) == "partial" and callee[3]:
            call = (m.CALL, callee[1], callee[3][0], (*callee[3][1:], *expr[3]), (*callee[4], *expr[4]))
            return self._expression(call)
        if callee[0] == m.LAMBDA and not expr[3] and not expr[4]:
            inner = self.facts.functions[callee[1]]
            value: Expr = inner.body[0][2]
            return expr if inner.params or inner.inner else value
        made = self._line(expr)
        return made[2] if made is not None and made[0] == m.RETURN else expr

    # -- names ------------------------------------------------------------------------------------

    @functools.cached_property
    def _bound(self) -> Counter[str]:
        """The names that the function binds, each as often as it does."""
        found = Counter(param.name for param in self.function.params)
        for one in statements(self.function.body):
            found.update(place[1] for place in _places(one) if place[0] == m.NAME)
            if one[0] == m.TRY:
                found.update(name for _, name, _ in one[3] if name)
            elif one[0] in (m.GLOBAL, m.NONLOCAL):
                found.update(one[2] * 2)
            for head in heads(one):
                for node in nodes(head):
                    if node[0] == m.COMP:
                        found.update(part[1] for bound, *_ in node[5] for part in nodes(bound) if part[0] == m.NAME)
                    elif node[0] == m.WALRUS:
                        found[node[1][1]] += 1
        return found

    @functools.cached_property
    def _mentions(self) -> Counter[str]:
        """How often each name is bound or read; those in functions inside count for many."""
        parts = (node for one in statements(self.function.body) for node in expressions_of(one))
        found = Counter(node[1] for node in parts if node[0] == m.NAME)
        found.update([*self._inside] * 3)
        return found

    @functools.cached_property
    def _inside(self) -> set[str]:
        """The names in the functions inside."""
        inner = [*self.function.inner]
        for index in inner:
            inner += self.facts.functions[index].inner
        return {name for index in inner for name in names_of(self.facts.functions[index].body)}

    @functools.cached_property
    def _short(self) -> Mapping[str, Expr]:
        """`rows` of `rows = self.rows; rows.append(x)`, `put` of `put = self.rows.append; put(x)`.

        Only what is called, or put into, is in need of its whole name: a value that is merely read is what it is.
        """
        candidates = {
            one[2][0][1]: one[3]
            for one in statements(self.function.body)
            if one[0] == m.ASSIGN and len(one[2]) == 1 and one[2][0][0] == m.NAME and _is_path(one[3])
        }
        if not candidates:
            return {}
        places = [place for one in statements(self.function.body) for place in _places(one)]
        acted_on = {root_of(call[2]) for call in calls(self.function.body)}
        acted_on.update(root_of(place) for place in places if place[0] == m.ITEM)
        short: dict[str, Expr] = {}
        if acted_on.isdisjoint((m.NAME, name) for name in candidates):
            return short
        for name, path in candidates.items():
            path = short.get(path[1], path) if path[0] == m.NAME else path
            root = root_of(path)[1]
            fixed = self._bound[name] == 1 and self._bound[root] <= 1 and root != name and name not in self._inside
            fixed = fixed and not any(place[0] == m.ATTR and place in nodes(path) for place in places)
            if fixed and (m.NAME, name) in acted_on and (path[0] == m.ATTR or self._is_defined(root)):
                short[name] = path
        return short

    def _is_defined(self, name: str) -> bool:
        """Whether a name is that of a function or class of the file."""
        classes, functions = self.facts.classes, self.facts.functions
        return any(one.name == name for one in classes) or any(one.name == name for one in functions)

    # -- statements -------------------------------------------------------------------------------

    def _handed_on(self, one: Stmt, before: Stmt) -> Stmt:
        """A statement that only hands on what the one before has bound, with the value itself in it: `row = f(x);
        rows.append(row)` as `rows.append(f(x))`."""
        if one[0] not in _SIMPLE or before[0] != m.ASSIGN or len(before[2]) != 1 or before[2][0][0] != m.NAME:
            return one
        name, value = before[2][0], before[3]
        if value[0] not in (*_MADE, m.ATTR, m.ITEM, m.COMP) or not _hands(one, name, value) or is_figure(name[1]):
            return one  # a name that says what the value is stays
        if value[0] == m.CALL and last_name(value) == "load":
            return one  # likewise: `loader_state = torch.load(path)`
        if self._mentions[name[1]] != 2 or self._bound[name[1]] != 1:
            return one
        return _made_over(one, lambda expr: value if expr == name else expr, lambda block: block)

    def _simply(self, one: Stmt) -> Sequence[Stmt]:
        """What a simple statement says, one thing at a time."""
        one = _appended(self._without_walrus(one))
        if self.helpers:
            one = self._instead(one)
        return _one_by_one(one)

    def _without_walrus(self, one: Stmt) -> Stmt:
        """`rows.append(x)` for `rows.append(row := x)`, where nobody reads that name."""
        given = one[2][3] if one[0] == m.EXPR and one[2][0] == m.CALL else one[-1:]
        idle = [part for part in given if part and part[0] == m.WALRUS and self._mentions[part[1][1]] == 1]
        return _made_over(one, lambda expr: expr[2] if expr in idle else expr, lambda block: block) if idle else one

    # -- functions of one line --------------------------------------------------------------------

    def _instead(self, one: Stmt) -> Stmt:
        """The line of the helper that a statement calls, and else the statement: `self.keep(x)` as
        `self.kept.append(x)`."""
        made = self._line(one[2]) if one[0] == m.EXPR and one[2][0] == m.CALL else None
        if made is None:
            return one
        helper = self._meant(one[2][2])
        if helper is not None and made[0] != m.RETURN:
            self.stands[one[1]] = helper.body[0]
        return (made[0], one[1], *made[2:])

    @functools.cached_property
    def _tried(self) -> set[Site]:
        """The calls in a `try` with clauses: what is caught has the frames of the helpers that it came through."""
        return {
            call[1] for one in statements(self.function.body) if one[0] == m.TRY and one[3] for call in calls(one[2])
        }

    def _line(self, call: Expr) -> Stmt | None:
        """What stands for a call of a helper here."""
        helper = self._meant(call[2])
        given = None if helper is None or call[1] in self._tried else _arguments(call, helper)
        if helper is None or given is None:
            return None
        one = helper.body[0]
        free = {node[1] for node in expressions_of(one) if node[0] == m.NAME} - given.keys()
        if not free.isdisjoint(self._bound) and not any(
            helper is self.facts.functions[index] for index in self.function.inner
        ):
            return None  # a name of the module that is another one's here

        def change(expr: Expr) -> Expr:
            if expr[0] == m.NAME:
                return given.get(expr[1], expr)
            return (m.CALL, call[1], *expr[2:]) if expr[0] == m.CALL else expr

        self.led.setdefault(self.statement[1], set()).add(one[1])
        self.flags |= helper.flags
        return _made_over(one, change, lambda block: block)

    def _meant(self, callee: Expr) -> FunctionFacts | None:
        """The helper that a call means: a function by its name, a method of the same class by `self`."""
        helper = self.helpers.get(callee[-1]) if callee[0] in (m.NAME, m.ATTR) else None
        if helper is None or helper is self.function:
            return None
        if callee[0] == m.NAME:
            return helper if helper.owner < 0 else None
        own = callee[1] == (m.NAME, "self") and self.function.owner >= 0 and helper.owner == self.function.owner
        return helper if own and helper.params and helper.params[0].name == "self" else None


def _arguments(call: Expr, helper: FunctionFacts) -> dict[str, Expr] | None:
    """What each parameter gets; None where that is not plain to see, or would be said twice."""
    params = [param.name for param in helper.params if not param.keyword]
    positional = ((m.NAME, "self"), *call[3]) if helper.owner >= 0 else call[3]
    if len(positional) > len(params) or any(not key for key, _ in call[4]):
        return None
    given = dict(zip(params, positional, strict=False)) | dict(call[4])
    if given.keys() != {param.name for param in helper.params}:
        return None
    uses = Counter(node[1] for node in expressions_of(helper.body[0]) if node[0] == m.NAME)
    once = all(_is_path(value) or value[0] == m.CONST or uses[name] == 1 for name, value in given.items())
    moved = any(node[0] in _UNMOVED for value in given.values() for node in nodes(value))
    return given if once and not moved else None
