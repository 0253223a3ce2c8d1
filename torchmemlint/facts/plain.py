"""The facts of a file in plain words, for what is judged by the text alone.

The same may be said in many ways: an attribute gets a short name first, a value gets a name before it is handed over, a
line stands in a function of its own. Here such ways become one. Functions that need nothing of the kind stay the very
objects that they were; sites stay those of the statements that the words are put into.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import knowledge
from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .walk import blocks, calls, heads, last_name, nodes, root_of, statements

Block = tuple[Stmt, ...]
Inlined = Mapping[int, int]  # site of a call -> site of the statement that stands for it here

_FILLS = frozenset("append appendleft add insert extend put put_nowait".split())
_SIMPLE = (m.EXPR, m.ASSIGN, m.AUGMENT, m.RETURN)
_MADE = (m.CALL, m.NEW, m.DICT, m.ARITH)
_NAMES = (m.NAME, m.ATTR)
_UNMOVED = frozenset((m.LAMBDA, m.COMP, m.AWAIT, m.YIELD, m.YIELD_FROM, m.WALRUS, m.STAR))


def plain(facts: FileFacts) -> tuple[FileFacts, Inlined]:
    """The facts in plain words, and which calls were replaced by what they do."""
    helpers = {function.name: function for function in _one_liners(facts)}
    inlined: dict[int, int] = {}
    functions = []
    for function in facts.functions:
        inside = [facts.functions[index] for index in function.inner]
        function = _with_lines_of_helpers(function, inside, helpers, inlined)
        functions.append(_without_passing_names(_without_short_names(function, facts), facts))
    if all(new is old for new, old in zip(functions, facts.functions, strict=True)):
        return facts, inlined
    return facts._replace(functions=tuple(functions)), inlined


def _with_body(function: FunctionFacts, body: Block) -> FunctionFacts:
    """The function in other words: what it called by its first ones it calls still."""
    return function._replace(body=body, calls=tuple(sorted({*function.calls, *(last_name(c[2]) for c in calls(body))})))


# -- changing expressions -------------------------------------------------------------------------


def _changed(expr: Any, change: Callable[[Expr], Expr | None]) -> Any:
    """An expression, or anything of expressions, in which `change` has had its say of each part, the whole first."""
    if type(expr) is not tuple or not expr:
        return expr
    if type(expr[0]) is int:
        if expr[0] == m.CONST:
            return expr
        new = change(expr)
        if new is not None:
            return new
    parts = tuple(_changed(part, change) if type(part) is tuple else part for part in expr)
    return expr if all(new is old for new, old in zip(parts, expr, strict=True)) else parts


def _rewritten(block: Block, change: Callable[[Expr], Expr | None], drop: Callable[[Stmt], bool]) -> Block:
    """A block in which `change` has had its say of each expression, without the statements to be dropped."""
    found = []
    for one in block:
        if drop(one):
            continue
        op = one[0]
        if op in (m.DEF, m.CLASS, m.IMPORT, m.FROM, m.GLOBAL, m.NONLOCAL, m.JUMP):
            found.append(one)
        elif op == m.FOR:
            suites = (_rewritten(suite, change, drop) for suite in one[4:6])
            found.append((*one[:2], *(_changed(part, change) for part in one[2:4]), *suites))
        elif op in (m.WHILE, m.IF):
            found.append((*one[:2], _changed(one[2], change), *(_rewritten(suite, change, drop) for suite in one[3:5])))
        elif op == m.WITH:
            found.append((*one[:2], _changed(one[2], change), _rewritten(one[3], change, drop)))
        elif op == m.TRY:
            handlers = tuple(
                (_changed(kind, change), name, _rewritten(body, change, drop)) for kind, name, body in one[3]
            )
            suites = (_rewritten(suite, change, drop) for suite in one[4:6])
            found.append((*one[:2], _rewritten(one[2], change, drop), handlers, *suites))
        else:
            found.append((*one[:2], *(_changed(part, change) for part in one[2:])))
    return tuple(found)


# -- short names ----------------------------------------------------------------------------------


def _without_short_names(function: FunctionFacts, facts: FileFacts) -> FunctionFacts:
    """`rows = self.rows; rows.append(x)` as `self.rows.append(x)`, `put = self.rows.append; put(x)` likewise."""
    if function.name == "<module>":
        return function
    candidates = {
        one[2][0][1]: one
        for one in statements(function.body)
        if one[0] == m.ASSIGN and one[3][0] in _NAMES and len(one[2]) == 1 and one[2][0][0] == m.NAME
        if _is_path(one[3])
    }
    # only what is called, or put into, is in need of its whole name: a value that is merely read is what it is
    acted_on = {root_of(call[2]) for call in calls(function.body)} if candidates else set()
    acted_on |= {root_of(place) for one in statements(function.body) for place in _set(one) if place[0] == m.ITEM}
    candidates = {name: one for name, one in candidates.items() if (m.NAME, name) in acted_on}
    if not candidates:
        return function
    bound = Counter(_bound(function))
    inner = {name for index in function.inner for name in _names(facts, index)}
    paths = {place for one in statements(function.body) for place in _set(one) if place[0] == m.ATTR}
    short: dict[str, Expr] = {}
    for name, one in candidates.items():
        path = one[3]
        while path[0] == m.NAME and path[1] in short:
            path = short[path[1]]
        root = root_of(path)[1]
        prefixes = set(_prefixes(path))
        fixed = bound[name] == 1 and name not in inner and bound[root] <= 1 and prefixes.isdisjoint(paths)
        if fixed and root != name and (path[0] == m.ATTR or _is_defined(facts, root)):
            short[name] = path
    if not short:
        return function
    gone = {id(candidates[name]) for name in short}

    def change(expr: Expr) -> Expr | None:
        return short.get(expr[1]) if expr[0] == m.NAME else None

    body = _rewritten(function.body, change, lambda one: id(one) in gone)
    return _with_body(function, body)


def _is_path(expr: Expr) -> bool:
    """Whether an expression is a name, or an attribute of an attribute of one."""
    while expr[0] == m.ATTR:
        expr = expr[1]
    return bool(expr[0] == m.NAME)


def _is_defined(facts: FileFacts, name: str) -> bool:
    """Whether a name is that of a function or class of the file."""
    return any(one.name == name for one in facts.classes) or any(
        one.name == name and one.owner < 0 for one in facts.functions
    )


def _prefixes(path: Expr) -> Iterator[Expr]:
    while path[0] == m.ATTR:
        yield path
        path = path[1]


def _set(one: Stmt) -> Iterator[Expr]:
    """The places that a statement binds anew or deletes."""
    if one[0] in (m.ASSIGN, m.DELETE):
        places: tuple[Expr, ...] = one[2]
    elif one[0] in (m.AUGMENT, m.ANNOTATE, m.FOR):
        places = (one[2],)
    elif one[0] == m.WITH:
        places = tuple(target for _, target in one[2] if target is not None)
    else:
        return
    for place in places:
        if place[0] == m.NEW:
            yield from place[3]
        else:
            yield place


def _bound(function: FunctionFacts) -> Iterator[str]:
    """The names that a function binds, each as often as it does."""
    yield from (param.name for param in function.params if param.name not in ("self", "cls"))
    for one in statements(function.body):
        yield from (place[1] for place in _set(one) if place[0] == m.NAME)
        if one[0] == m.TRY:
            yield from (name for _, name, _ in one[3] if name)
        elif one[0] in (m.GLOBAL, m.NONLOCAL):
            yield from (name for name in one[2] for _ in range(2))
        for head in heads(one):
            for node in nodes(head):
                if node[0] == m.COMP:
                    yield from (part[1] for target, *_ in node[5] for part in nodes(target) if part[0] == m.NAME)
                elif node[0] == m.WALRUS:
                    yield node[1][1]


def _names(facts: FileFacts, index: int) -> set[str]:
    """The names in a function and in those inside of it."""
    function = facts.functions[index]
    found = {
        node[1] for one in statements(function.body) for head in heads(one) for node in nodes(head) if node[0] == m.NAME
    }
    return found.union(*(_names(facts, inner) for inner in function.inner))


# -- passing names --------------------------------------------------------------------------------


def _without_passing_names(function: FunctionFacts, facts: FileFacts) -> FunctionFacts:
    """`row = f(x); rows.append(row)` as `rows.append(f(x))` if that is all that the name is for, and each assignment
    of several values as several."""
    if function.name == "<module>" or not _has_passing(function.body):
        return function
    seen: Counter[str] | None = None

    def passing(name: str) -> bool:
        nonlocal seen
        if seen is None:
            parts = (node for one in statements(function.body) for head in heads(one) for node in nodes(head))
            seen = Counter(node[1] for node in parts if node[0] == m.NAME) + Counter(_bound(function))
            for index in function.inner:
                seen.update(3 * [*_names(facts, index)])
        return seen[name] == 3  # bound once, which is a mention, and read once

    def put(block: Block) -> Block:
        found: list[Stmt] = []
        for one in block:
            before = found[-1] if found else None
            if before is not None and before[0] == m.ASSIGN and len(before[2]) == 1 and before[2][0][0] == m.NAME:
                put_in = _handed_on(one, before)
                if put_in is not None and passing(before[2][0][1]):
                    found[-1] = put_in
                    continue
            found += _one_by_one(_in_usual_words(one))
        same = len(found) == len(block) and all(new is old for new, old in zip(found, block, strict=True))
        return block if same else tuple(found)

    body = _blockwise(function.body, put)
    return function if body is function.body else _with_body(function, body)


def _has_passing(body: Block) -> bool:
    """Whether it is worth a closer look: most functions say nothing of the kind."""
    before: Stmt = (m.JUMP, 0)
    for one in statements(body):
        op = one[0]
        if op == m.ASSIGN and one[3][0] == m.NEW and one[2][0][0] == m.NEW:
            return True
        if op in (m.AUGMENT, m.EXPR) and _in_usual_words(one) is not one:
            return True
        if op in _SIMPLE and before[0] == m.ASSIGN and before[2][0][0] == m.NAME and _handed_on(one, before):
            return True
        before = one
    return False


def _handed_on(one: Stmt, before: Stmt) -> Stmt | None:
    """A statement that only hands on what the one before has bound, with the value itself in it."""
    name, value = before[2][0], before[3]
    if value[0] in (m.AWAIT, m.YIELD, m.YIELD_FROM, m.CONST, m.NAME):
        return None
    if one[0] == m.RETURN and one[2] == name:
        return (m.RETURN, one[1], value)
    if one[0] == m.ASSIGN and one[3] == name and all(target[0] != m.ITEM or target[2] != name for target in one[2]):
        return (*one[:3], value)
    call = one[2] if one[0] == m.EXPR else None
    if call is None or call[0] != m.CALL or call[2][0] != m.ATTR or call[2][2] not in _FILLS or name not in call[3]:
        return None
    given = tuple(value if part == name else part for part in call[3])
    return (m.EXPR, one[1], (*call[:3], given, call[4]))


def _in_usual_words(one: Stmt) -> Stmt:
    """`rows += [x]` and `rows.extend([x])` as `rows.append(x)`, `table.update({key: x})` as `table[key] = x`."""
    if one[0] == m.AUGMENT and one[4][0] in (m.NEW, m.DICT):
        place, given, fills = one[2], one[4], one[3] in ("Add", "BitOr")
    elif one[0] == m.EXPR and one[2][0] == m.CALL and one[2][2][0] == m.ATTR and len(one[2][3]) == 1 and not one[2][4]:
        place, given, fills = one[2][2][1], one[2][3][0], one[2][2][2] in ("extend", "update")
    else:
        return one
    if fills and given[0] == m.NEW and given[2] == "list" and len(given[3]) == 1 and given[3][0][0] != m.STAR:
        site = one[2][1] if one[0] == m.EXPR else one[1]
        return (m.EXPR, one[1], (m.CALL, site, (m.ATTR, place, "append"), given[3], ()))
    if fills and given[0] == m.DICT and len(given[2]) == 1:
        key, value = given[2][0]
        if key is not None and key[0] != m.CONST:
            return (m.ASSIGN, one[1], ((m.ITEM, place, key),), value)
    return one


def _one_by_one(one: Stmt) -> list[Stmt]:
    """`a, b = x, y` as `a = x; b = y`, where none of the values is of a name that is bound."""
    if one[0] != m.ASSIGN or len(one[2]) != 1 or one[2][0][0] != m.NEW or one[3][0] != m.NEW:
        return [one]
    places, values = one[2][0][3], one[3][3]
    starred = any(part[0] == m.STAR for part in (*places, *values))
    if starred or len(places) != len(values) or any(place in nodes(value) for place in places for value in values):
        return [one]
    return [(m.ASSIGN, one[1], (place,), value) for place, value in zip(places, values, strict=True)]


# -- one-line functions ---------------------------------------------------------------------------


def _one_liners(facts: FileFacts) -> Iterator[FunctionFacts]:
    """Functions and methods of one simple statement that only the file itself can mean by their name."""
    count = Counter(function.name for function in facts.functions)
    for index, function in enumerate(facts.functions):
        if not index or count[function.name] > 1 or function.generator or function.decorators or function.inner:
            continue
        if len(function.body) != 1 or function.name[:2] == "__" or any(p.kind or p.default for p in function.params):
            continue
        one = function.body[0]
        if one[0] not in _SIMPLE or (one[0] == m.RETURN and (one[2] is None or one[2][0] not in _MADE)):
            continue  # what a test asks its name says better: `is_main_process()`
        places = list(_set(one))
        if any(place[0] not in (m.ATTR, m.ITEM) for place in places):
            continue
        parts = [node for head in heads(one) for node in nodes(head)]
        does = bool(places) or any(node[0] == m.CALL and not _is_builtin(node[2]) for node in parts)
        if does and not any(node[0] in _UNMOVED for node in parts):
            yield function


def _is_builtin(callee: Expr) -> bool:
    return bool(callee[0] == m.NAME and callee[1] in knowledge.BUILTINS)


def _with_lines_of_helpers(
    function: FunctionFacts,
    inside: list[FunctionFacts],
    helpers: Mapping[str, FunctionFacts],
    inlined: dict[int, int],
) -> FunctionFacts:
    """`self.keep(x)` as `self.kept.append(x)`, where that is all that `keep` does."""
    if helpers.keys().isdisjoint(function.calls):
        return function
    bound = set(_bound(function))
    # what is caught has the frames of the helpers that it came through
    tried = {call[1] for one in statements(function.body) if one[0] == m.TRY and one[3] for call in calls(one[2])}
    used: list[FunctionFacts] = []

    def line(call: Expr) -> Stmt | None:
        """What stands for a call of a helper here."""
        helper = _meant(call, function, helpers)
        given = None if helper is None or call[1] in tried else _arguments(call, helper)
        if helper is None or given is None:
            return None
        one = helper.body[0]
        free = {node[1] for head in heads(one) for node in nodes(head) if node[0] == m.NAME} - given.keys()
        if not free.isdisjoint(bound) and not any(helper is one for one in inside):
            return None  # a name of the module that is another one's here

        def change(expr: Expr) -> Expr | None:
            if expr[0] == m.NAME:
                return given.get(expr[1])
            if expr[0] == m.CALL:
                return (m.CALL, call[1], *(_changed(part, change) for part in expr[2:]))
            return None

        used.append(helper)
        inlined[call[1]] = one[1]
        return (*one[:2], *(_changed(part, change) for part in one[2:]))

    def change(expr: Expr) -> Expr | None:
        made = line(expr) if expr[0] == m.CALL else None
        return made[2] if made is not None and made[0] == m.RETURN else None

    def put(block: Block) -> Block:
        found: list[Stmt] = []
        for one in block:
            made = line(one[2]) if one[0] == m.EXPR and one[2][0] == m.CALL else None
            if made is not None:
                found.append((m.EXPR if made[0] == m.RETURN else made[0], one[1], *made[2:]))
            else:
                found.append(one)
        return tuple(found)

    body = _blockwise(_rewritten(function.body, change, lambda one: False), put)
    return _with_body(function, body) if used else function


def _blockwise(block: Block, put: Callable[[Block], Block]) -> Block:
    """A block in which `put` has replaced each suite, the inner ones first; the same if it has changed nothing."""
    found = []
    for one in block:
        inner = tuple(_blockwise(suite, put) for suite in blocks(one))
        if any(new is not old for new, old in zip(inner, blocks(one), strict=True)):
            one = _with_suites(one, inner)
        found.append(one)
    same = all(new is old for new, old in zip(found, block, strict=True))
    return put(block if same else tuple(found))


def _with_suites(one: Stmt, suites: tuple[Block, ...]) -> Stmt:
    """A compound statement with other suites, in the order of `blocks`."""
    if one[0] == m.FOR:
        return (*one[:4], *suites)
    if one[0] != m.TRY:
        return (*one[:3], *suites)
    handlers = tuple((*handler[:2], body) for handler, body in zip(one[3], suites[1:-2], strict=True))
    return (*one[:2], suites[0], handlers, *suites[-2:])


def _meant(call: Expr, function: FunctionFacts, helpers: Mapping[str, FunctionFacts]) -> FunctionFacts | None:
    """The helper that a call means: a function by its name, a method of the same class by `self`."""
    callee = call[2]
    if callee[0] == m.NAME:
        helper = helpers.get(callee[1])
        return helper if helper is not None and helper.owner < 0 and helper is not function else None
    if callee[0] == m.ATTR and callee[1] == (m.NAME, "self") and function.owner >= 0:
        helper = helpers.get(callee[2])
        same = helper is not None and helper.owner == function.owner and helper is not function
        return helper if same and helper.params and helper.params[0].name == "self" else None  # type: ignore[union-attr]
    return None


def _arguments(call: Expr, helper: FunctionFacts) -> dict[str, Expr] | None:
    """What each parameter gets; None where that is not plain to see, or would be said twice."""
    params = [param.name for param in helper.params if not param.keyword]
    positional = ((m.NAME, "self"), *call[3]) if helper.owner >= 0 else call[3]
    if len(positional) > len(params) or any(not key for key, _ in call[4]):
        return None
    given = dict(zip(params, positional, strict=False)) | dict(call[4])
    if given.keys() != {param.name for param in helper.params}:
        return None
    uses = Counter(node[1] for head in heads(helper.body[0]) for node in nodes(head) if node[0] == m.NAME)
    plain_only = all(_is_path(value) or value[0] == m.CONST or uses[name] == 1 for name, value in given.items())
    moved = any(node[0] in _UNMOVED for value in given.values() for node in nodes(value))
    return given if plain_only and not moved else None
