"""`except` clauses: what they do while the exception, and with it every frame of the failed call, is alive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import Program, keyword
from ..facts.walk import blocks, calls, calls_of, last_name, loops, nodes, root_of, statements
from .at_work import reaches_work

_MEMORY = ("OutOfMemory", "MemoryError")
_BROAD = ("RuntimeError", "Exception", "BaseException", "")
_LETS_GO = frozenset(("with_traceback", "clear_frames"))
_LIGHT = (
    knowledge.REPORTERS | knowledge.BUILTINS | {"append", "get", "join", "format", "empty_cache", "collect", "sleep"}
)
_OF_TEXT = frozenset(dir(str))
_CONTAINERS = ("list", "dict", "set", "deque", "defaultdict")
_ADDS = ("append", "add", "appendleft", "insert", "put", "put_nowait")
Keeping = dict[str, list[tuple[str, bool]]]  # class -> its constructor's parameters, and whether it keeps them


class Retry(NamedTuple):
    """The work of a `try` done again in its `except` clause."""

    site: Site
    callee: str
    called: Expr
    function: str
    certain: bool  # the clause is about memory, in so many words


class Kept(NamedTuple):
    """A caught exception that is put away."""

    site: Site
    holder: str
    root: str  # the name at the root of the holder
    grows: bool
    function: FunctionFacts
    names: frozenset[str]  # what is called in the `try`
    process_wide: bool = False  # a global: it keeps the frames of whoever called as well
    certain: bool = False  # the clause is about memory, in so many words
    rounds: bool = False  # a local of the function that gains one in each round of a loop
    stored: Site = -1  # where a helper that is given it puts it away
    by_parts: bool = False  # what is kept comes from `sys.exc_info()`: it has no methods of an exception


def tries(function: FunctionFacts) -> list[Stmt]:
    """The `try` statements of a function."""
    if not function.flags & m.TRIES:
        return []
    return [statement for statement, _ in statements(function.body) if statement[0] == m.TRY]


def retries(function: FunctionFacts, tried_in: Sequence[Stmt]) -> Iterator[Retry]:
    """Work that is tried again while the traceback of the first try keeps its frames."""
    for statement in tried_in:
        tried = {last_name(call[2]) for call in calls(statement[2])} | {function.name}
        tried -= _LIGHT | _OF_TEXT
        for caught, _, body in statement[3]:
            certain = _about_memory(caught, body)
            if not certain and not _empties_cache(body):
                continue
            if not set(_type_names(caught)) & set(_BROAD) and not certain:
                continue
            if any(last_name(call[2]) in _LETS_GO for call in calls(body)):
                continue
            raised = {one[2] for one, _ in statements(body) if one[0] == m.RAISE}
            for call in calls(body):
                name = last_name(call[2])
                if call in raised or _on_the_cpu(call):
                    continue
                if name in tried and len(name) > 2:
                    yield Retry(call[1], name, call[2], function.name, certain)
                    break


def _on_the_cpu(call: Expr) -> bool:
    """`Merger(shape, device="cpu")`: what the device is short of is not needed there."""
    given = (*call[3], *(value for _, value in call[4]))
    return any(part == (m.CONST, "cpu") for value in given for part in nodes(value))


def emptied_in_clauses(program: Program, function: FunctionFacts) -> Iterator[Site]:
    """Where a clause empties a device cache before the next round of its loop tries again."""
    for _, inside in loops(function.body):
        clauses = [(tried, clause) for tried in inside if tried[0] == m.TRY for clause in tried[3]]
        for tried, (caught, _, body) in clauses:
            names = {last_name(call[2]) for call in calls(tried[2])} - _LIGHT - _OF_TEXT
            memory = _about_memory(caught, body)
            if not names or not (memory or set(_type_names(caught)) & set(_BROAD)) or _lets_go(body):
                continue
            own = {id(one) for _, clause in clauses for one, _ in statements(clause[2])}
            if any(_empties_cache((one,)) for one in inside if id(one) not in own and not any(blocks(one))):
                continue  # once more in each round, when the exception is gone
            for at in _before_the_next(body):
                if memory or not names <= program.by_name.keys() or reaches_work(program, names):
                    yield at


def _before_the_next(body: tuple[Stmt, ...], on: bool = True) -> Iterator[Site]:
    """The calls that empty a cache on the ways through a clause that lead to the next round; `on`: whether the end of
    the block does."""
    last = body[-1] if body else None
    if last is not None and last[0] in (m.RETURN, m.RAISE, m.JUMP):
        on = last[0] == m.JUMP and not last[2]
    for statement in body:
        if statement[0] in (m.IF, m.WITH):
            for suite in blocks(statement):
                yield from _before_the_next(suite, on)
        elif on:
            yield from (call[1] for call in calls_of(statement) if last_name(call[2]) == "empty_cache")


def kept(program: Program, function: FunctionFacts, tried_in: Sequence[Stmt], keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that a clause puts into an attribute, a global or a container, or hands to a helper that does."""
    for statement in tried_in:
        called = frozenset(last_name(call[2]) for call in calls(statement[2]))
        for caught, name, body in statement[3]:
            if _lets_go(body):
                continue
            names = set() if name is None else {name}
            certain = any(word in one for one in _type_names(caught) for word in _MEMORY)
            put = [*_put_away(function, body, names, called, keeping)]
            put += _handed_over(program, function, body, names, called, keeping)
            put += _returned(program, function, body, names, called, keeping)
            for one in put:
                yield one._replace(certain=certain)


def _lets_go(body: tuple[Stmt, ...]) -> bool:
    """Whether a clause takes the frames off: `error.__traceback__ = None`, `traceback.clear_frames(...)`."""
    if any(last_name(call[2]) in _LETS_GO for call in calls(body)):
        return True
    return any(target[0] == m.ATTR and target[2] == "__traceback__" for target in _targets(body))


def kept_on_exit(facts: FileFacts, cls: ClassFacts, keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that the `__exit__` of a class puts where they stay when the block is left: on the class, in a
    global, or on an object that is entered again and again."""
    for name in ("__exit__", "__aexit__"):
        if name not in cls.methods:
            continue
        function = facts.functions[cls.methods[name]]
        given = {param.name for param in function.params[2:4] if not param.kind}
        own = {t[1] for t in _targets(facts.functions[cls.body].body) if t[0] == m.NAME}
        called, anew = _entered(facts, cls.name)
        for one in _put_away(function, function.body, given, called, keeping):
            of_instance = one.root == "self" and one.holder.split(".")[1] not in own
            if called and not (of_instance and anew):
                yield one


def lingering(function: FunctionFacts, keeping: Keeping) -> Iterator[Kept]:
    """Exceptions that a local keeps while the next round of the loop tries again."""
    for loop, inside in loops(function.body):
        cleared = {
            target[1]
            for one in inside
            if one[0] == m.ASSIGN and one[3] == (m.CONST, None)
            for target in one[2]
            if target[0] == m.NAME
        }
        for statement in loop[-2]:
            if statement[0] != m.TRY:
                continue
            called = frozenset(last_name(call[2]) for call in calls(statement[2]))
            for _, name, body in statement[3]:
                if name is None or not body or body[-1][0] in (m.RETURN, m.RAISE):
                    continue
                if body[-1][0] == m.JUMP and body[-1][2]:
                    continue
                for inner in body:
                    if inner[0] != m.ASSIGN or not _is_exception(inner[3], {name}, keeping):
                        continue
                    for target in inner[2]:
                        if target[0] == m.NAME and target[1] not in cleared:
                            yield Kept(inner[1], target[1], target[1], False, function, called)


def _put_away(
    function: FunctionFacts, body: tuple[Stmt, ...], names: set[str], called: frozenset[str], keeping: Keeping
) -> Iterator[Kept]:
    names = set(names)
    declared = {name for one, _ in statements(function.body) if one[0] == m.GLOBAL for name in one[2]}
    by_parts = any(last_name(call[2]) == "exc_info" for call in calls(body))
    for inner, _ in statements(body):
        if inner[0] == m.ASSIGN and _is_exception(inner[3], names, keeping):
            bound = {part[1] for target in inner[2] for part in _parts(target, inner[3]) if part[0] == m.NAME}
            names |= bound
            for name in sorted(bound & declared):
                yield Kept(inner[1], name, name, False, function, called, True, by_parts=by_parts)
        place = _place_of(inner, names, keeping)
        if place is None:
            continue
        holder, grows = place
        if root_of(holder)[0] == m.NAME and root_of(holder)[1] not in ("self", "cls"):
            filed = _filed_in(function, root_of(holder))  # `row["error"] = error`, and the row goes into a table
            holder, grows = (holder, grows) if filed is None else (filed, True)
        rounds = grows and _in_rounds(function, root_of(holder), inner)
        root = last_name(root_of(holder))
        yield Kept(inner[1], _text(holder), root, grows, function, called, rounds=rounds, by_parts=by_parts)


def _parts(target: Expr, value: Expr) -> tuple[Expr, ...]:
    """What refers to the exception in `kind, error, trace = sys.exc_info()`: all but the type."""
    if target[0] != m.NEW:
        return (target,)
    return tuple(target[3][1:]) if value[0] == m.CALL else ()


def _in_rounds(function: FunctionFacts, local: Expr, put: Stmt) -> bool:
    """Whether a container that was made before a loop gains one in each of many rounds."""
    made = [value for one, _ in statements(function.body) for value in _made(one, local)]
    if not made or any(one[0] not in (m.NEW, m.DICT) and last_name(one) not in _CONTAINERS for one in made):
        return False
    for loop, inside in loops(function.body):
        if put in inside and not any(local in one[2] for one in inside if one[0] == m.ASSIGN):
            return not (loop[0] == m.FOR and _is_short(loop[3]))
    return False


def _made(statement: Stmt, local: Expr) -> Iterator[Expr]:
    """What a statement binds a local to: `failed = {}`, `failed: list[Exception] = []`, `passed, failed = {}, {}`."""
    if statement[0] == m.ANNOTATE and statement[2] == local and statement[4] is not None:
        yield statement[4]
    for target in statement[2] if statement[0] == m.ASSIGN else ():
        value = statement[3]
        if target == local:
            yield value
        elif target[0] == m.NEW and local in target[3]:
            paired = value[0] == m.NEW and len(value[3]) == len(target[3])
            yield value[3][target[3].index(local)] if paired else value


def _says_attempts(number: Expr) -> bool:
    return any(word in last_name(number) for word in ("tries", "attempts", "retry"))


def _is_short(iterated: Expr) -> bool:
    """`range(3)`, `("cuda", "cpu")`: a few attempts at one thing."""
    if iterated[0] == m.CALL and last_name(iterated) == "range":
        return all(argument[0] == m.CONST for argument in iterated[3]) or _says_attempts(iterated[3][-1])
    return iterated[0] in (m.NEW, m.DICT)


def _handed_over(
    program: Program,
    function: FunctionFacts,
    body: tuple[Stmt, ...],
    names: set[str],
    called: frozenset[str],
    keeping: Keeping,
) -> Iterator[Kept]:
    """Exceptions that are given to a function of the file which puts its parameter away: `report.failed(error)`."""
    for call in calls(body):
        name = last_name(call[2])
        helpers = program.by_name.get(name, ())
        if len(helpers) != 1 or name == function.name or (name in _ADDS and len(call[3]) < 2):
            continue
        helper = helpers[0].facts
        bound = helper.owner >= 0 and call[2][0] == m.ATTR
        given = ((param.name, keyword(call, param.name, i - bound)) for i, param in enumerate(helper.params))
        taken = {param for param, value in given if value is not None and _is_exception(value, names, keeping)}
        if not taken or _lets_go(helper.body):
            continue
        for put in _put_away(helper, helper.body, taken, called, keeping):
            if put.root == "self" or put.process_wide or put.root not in _own_names(helper):
                yield put._replace(site=call[1], stored=put.site, function=function)
                break


def _returned(
    program: Program,
    function: FunctionFacts,
    body: tuple[Stmt, ...],
    names: set[str],
    called: frozenset[str],
    keeping: Keeping,
) -> Iterator[Kept]:
    """Exceptions that a clause returns as a part of what the calling function adds to a container, round by round:
    `return Outcome(error=error)`, and `self.outcomes.append(self.run_one(number))` there."""
    back = [s for s, _ in statements(body) if s[0] == m.RETURN and s[2] is not None]
    back = [s for s in back if s[2][0] != m.NAME and _is_exception(s[2], names, keeping)]
    if not back or len(program.by_name.get(function.name, ())) != 1:
        return
    for place in program.places:
        if function.name not in place.facts.calls:
            continue
        results = {call for call in calls(place.facts.body) if last_name(call[2]) == function.name}
        given = [(s[2], s[3]) for s, _ in statements(place.facts.body) if s[0] == m.ASSIGN]
        bound = {t[1] for targets, value in given if value in results for t in targets if t[0] == m.NAME}
        for statement, _ in statements(place.facts.body):
            added = _place_of(_with_names(statement, results), bound | {_RESULT[1]}, {})
            if added is not None and added[1]:
                holder, root = added[0], root_of(added[0])
                rounds = _in_rounds(place.facts, root, statement)
                yield Kept(
                    back[0][1],
                    _text(holder),
                    last_name(root),
                    True,
                    function,
                    called,
                    False,
                    False,
                    rounds,
                    statement[1],
                )
                return


_RESULT: Expr = (m.NAME, "(result)")


def _with_names(part: Any, results: set[Expr]) -> Any:
    """A statement with a name in the place of some of its calls."""
    if type(part) is not tuple:
        return part
    return _RESULT if part in results else tuple(_with_names(inner, results) for inner in part)


def _own_names(function: FunctionFacts) -> set[str]:
    """The parameters and variables of a function."""
    bound = {t[1] for s, _ in statements(function.body) if s[0] == m.ASSIGN for t in s[2] if t[0] == m.NAME}
    return (bound | {param.name for param in function.params}) - {"cls"}


def _filed_in(function: FunctionFacts, local: Expr) -> Expr | None:
    """The attribute or global that a function adds a local container to."""
    for statement, _ in statements(function.body):
        place = _place_of(statement, {local[1]}, {})
        if place is not None and place[1] and root_of(place[0]) != local:
            return place[0]
    return None


def _entered(facts: FileFacts, cls: str) -> tuple[frozenset[str], bool]:
    """What is called in the `with` blocks of a class, and whether each makes an object of its own."""
    called, anew = set[str](), True
    for function in facts.functions:
        made = {
            target
            for statement, _ in statements(function.body)
            if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and last_name(statement[3]) == cls
            for target in statement[2]
        }
        for statement, _ in statements(function.body):
            for context, _ in statement[2] if statement[0] == m.WITH else ():
                fresh = context[0] == m.CALL and last_name(context) == cls
                if fresh or context in made:
                    anew = anew and fresh
                    called |= {last_name(call[2]) for call in calls(statement[3])}
    return frozenset(called), anew


def _targets(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    for statement in body:
        if statement[0] == m.ASSIGN:
            yield from statement[2]
        elif statement[0] == m.ANNOTATE:
            yield statement[2]


def keeping_classes(facts: FileFacts) -> Keeping:
    """The classes of a file whose objects keep what they are made with: dataclasses and the like, and those whose
    constructor puts a parameter on the object."""
    return {cls.name: kept_parts(facts, cls) for cls in facts.classes}


def kept_parts(facts: FileFacts, cls: ClassFacts) -> list[tuple[str, bool]]:
    """What the objects of a class are made with, and whether they keep it."""
    init = cls.methods.get("__init__")
    if init is None:
        declared = [s for s in facts.functions[cls.body].body if s[0] == m.ANNOTATE and s[2][0] == m.NAME]
        return [(s[2][1], s[3] != (m.NAME, "str")) for s in declared]
    function = facts.functions[init]
    put = {
        s[3][1]
        for s, _ in statements(function.body)
        if s[0] == m.ASSIGN and s[3][0] == m.NAME and any(target[0] == m.ATTR for target in s[2])
    }
    return [(param.name, param.name in put) for param in function.params[1:]]


def called_in_clauses(facts: FileFacts) -> set[str]:
    """The names that `except` clauses call."""
    clauses = (clause for function in facts.functions for one in tries(function) for _, _, clause in one[3])
    return {call[2][1] for clause in clauses for call in calls(clause) if call[2][0] == m.NAME}


def raised_again(program: Program, kept: Kept) -> bool:
    """Whether the function that puts an exception away, or one that calls it, raises it again the next time: each time
    it adds the frames on its way to those that the exception has already."""
    own = kept.function
    for place in program.places:
        if place.facts is not own and own.name not in place.facts.calls:
            continue
        stands_for: dict[Expr, Expr] = {
            target: one[3]
            for one, _ in statements(place.facts.body)
            if one[0] == m.ASSIGN and one[3][0] in (m.ATTR, m.ITEM, m.CALL)
            for target in one[2]
        }
        for one, _ in statements(place.facts.body):
            raised: Expr = one[2] if one[0] == m.RAISE and one[2] is not None else (m.TEXT,)
            if _stored_in(stands_for.get(raised, raised)) == kept.holder:
                return True
    return False


def _stored_in(value: Expr) -> str:
    """`self.errors` of `self.errors[key]` and `self.errors.get(key)`."""
    looked_up = value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "get"
    place = value[2][1] if looked_up else value
    return _text(place) if place[0] in (m.ATTR, m.ITEM, m.NAME) else ""


def _type_names(caught: Expr | None) -> list[str]:
    if caught is None:
        return [""]
    if caught[0] == m.NEW:
        return [last_name(item) for item in caught[3]]
    return [last_name(caught)]


def _about_memory(caught: Expr | None, body: tuple[Stmt, ...]) -> bool:
    if any(word in name for name in _type_names(caught) for word in _MEMORY):
        return True
    for statement, tests in statements(body):
        for expr in tests:
            for node in nodes(expr):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
        for call in calls_of(statement):
            name = last_name(call[2]).lower()
            if "oom" in name or "out_of_memory" in name:
                return True
        if statement[0] == m.IF:
            for node in nodes(statement[2]):
                if node[0] == m.CONST and isinstance(node[1], str) and "out of memory" in node[1].lower():
                    return True
                if node[0] == m.CALL and "oom" in last_name(node[2]).lower():
                    return True
    return False


def _empties_cache(body: tuple[Stmt, ...]) -> bool:
    return any(last_name(call[2]) == "empty_cache" for call in calls(body))


_UPDATES = ("update", m.DICT)  # `failed.update({size: error})`


def _place_of(statement: Stmt, names: set[str], keeping: Keeping) -> tuple[Expr, bool] | None:
    """Where a statement puts the exception, and whether that place grows."""
    if statement[0] == m.ASSIGN and _is_exception(statement[3], names, keeping):
        for target in statement[2]:
            if target[0] in (m.ATTR, m.ITEM):
                return target, target[0] == m.ITEM and target[2][0] != m.CONST
    if (
        statement[0] == m.AUGMENT
        and statement[2][0] in (m.ATTR, m.NAME)
        and _is_exception(statement[4], names, keeping)
    ):
        return statement[2], True
    if statement[0] == m.EXPR and statement[2][0] == m.CALL:
        call = statement[2]
        adds = call[2][0] == m.ATTR and call[3] and (call[2][2] in _ADDS or (call[2][2], call[3][0][0]) == _UPDATES)
        if adds and _is_exception(call[3][-1], names, keeping):
            place = call[2][1]
            if place[0] == m.CALL and last_name(place) == "setdefault" and place[2][0] == m.ATTR:
                place = place[2][1]
            return place, True
    return None


def _is_exception(value: Expr, names: set[str], keeping: Keeping) -> bool:
    """Whether a value is the exception or keeps it: in a display, or as a part of an object of the file."""
    if value[0] == m.NAME:
        return value[1] in names
    if value[0] == m.NEW:
        return any(_is_exception(item, names, keeping) for item in value[3])
    if value[0] == m.DICT:
        return any(_is_exception(item, names, keeping) for _, item in value[2])
    if value[0] == m.ITEM:  # `sys.exc_info()[2]`: the value and the traceback keep the frames, the type does not
        return value[2] != (m.CONST, 0) and value[1][0] == m.CALL and _is_exception(value[1], names, keeping)
    if value[0] != m.CALL:
        return False
    if value[2][0] == m.ATTR and value[2][2] == "exc_info":
        return True
    parts = keeping.get(last_name(value[2]), []) if value[2][0] == m.NAME else []
    given = [(item, name) for item, (name, _) in zip(value[3], parts, strict=False)]
    given += [(item, name) for name, item in value[4]]
    kept = {name for name, keeps in parts if keeps}
    return any(name in kept and _is_exception(item, names, keeping) for item, name in given)


def _text(place: Expr) -> str:
    if place[0] == m.ATTR:
        return f"{_text(place[1])}.{place[2]}"
    if place[0] == m.ITEM:
        return _text(place[1])
    return str(place[-1]) if place[0] == m.NAME else "..."
