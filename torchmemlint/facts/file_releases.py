"""What the text of one file says of releases: which functions empty, replace or measure which places."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from . import knowledge
from . import model as m
from .beside import bounded_beside
from .filled_together import fetched_or_broken_off, forgotten_beside
from .idle import is_idle
from .left_off import UNSET, must_be_set
from .lengthened import adds_to, joining
from .model import Expr, FileFacts, FunctionFacts, Site, Stmt
from .one_rank import emptied_by_one
from .passed_by import PassedBy, passed_by
from .program import targets
from .rooms import is_length, other_lengths, sized, tests_of_loops, waived
from .served import set_up_by
from .set_by_name import may_let_go
from .starting_over import starts_over
from .too_few import only_waits
from .unfetched import unfetched
from .until_full import until_full
from .walk import (
    calls,
    expressions_of,
    heads,
    last_name,
    nodes,
    once,
    places_with_values,
    root_of,
    statements,
    with_tests,
)
from .wrappers import called_in_wrappers

_RELEASERS = knowledge.TAKES_OUT | {"get_nowait", "resize_", "truncate", "trim", "prune"}
HANDED_OVER = "__handed_over__"  # a method that empties a place, for others to call
_POPPERS = ("heappop", "heappushpop", "heapreplace")
_CONTAINERS = ("list", "dict", "set", "deque", "defaultdict", "OrderedDict")
_FIRST = frozenset(
    "__init__ __post_init__ __attrs_post_init__ __new__ __setstate__ <module> startup on_startup lifespan".split()
)
LETS_GO = ("clear", "reset", "flush", "release", "drain", "prune", "evict", "trim", "purge", "empty", "free")
_OWN_ATTRIBUTES = (m.ATTR, (m.NAME, "self"), "__dict__")


class FileReleases:
    """What one file lets go of."""

    def __init__(self, facts: FileFacts, put_back: frozenset[int] = frozenset()) -> None:
        self.released: dict[str, dict[str, set[str]]] = {}  # place -> function -> the classes whose own it is, or ""
        self.made: set[tuple[str, str]] = set()  # attributes that a class makes itself,
        self.taken: set[tuple[str, str]] = set()  # ... or is given
        self.parted: dict[str, set[str]] = {}  # place -> who takes something out of what it has under a key
        self.sound: dict[str, set[str]] = {}  # likewise, but for what hangs on the length of something else
        self.measured: dict[str, dict[str, set[str]]] = {}  # likewise
        self.mentioned: set[str] = set()
        self.called: dict[str, bool] = {}  # whether all its calls are for debugging
        self.wholesale: set[tuple[str, str]] = set()  # classes, "" for any, and functions
        self.bases = {cls.name: {last_name(base) for base in cls.bases} for cls in facts.classes}
        self.replacing: dict[str, set[str]] = {}  # method -> the classes that have one that calls none of its name
        self._first = {id(facts.functions[cls.methods[name]]) for cls in facts.classes for name in set_up_by(cls)}
        self._owners = {id(facts.functions[one]): cls.name for cls in facts.classes for one in cls.methods.values()}
        self.limited: dict[tuple[str, str], dict[str, str]] = {}  # class and place -> function -> what must be set
        self._sizes = {  # class -> the attributes whose length `len(self)` is
            cls.name: {
                last_name(node[3][0])
                for one in statements(facts.functions[cls.methods["__len__"]].body)
                for node in nodes(one[2])
                if one[0] == m.RETURN and one[2] is not None and is_length(node)
            }
            for cls in facts.classes
            if "__len__" in cls.methods
        }
        self.off_by_default: dict[tuple[str, str], tuple[str, int]] = {}  # class and attribute -> parameter, its place
        self.makings: dict[str, list[Expr]] = {}  # class -> the calls that make one
        self.rebound: dict[str, set[str]] = {}  # attributes that are set later, or by others, and the functions
        self.facts = facts
        self._put_back = put_back  # the statements that only move an entry
        self._helpers: set[str] = set()  # the own methods that are called if the current test holds
        self._tests: tuple[Expr, ...] = ()  # that the current statement stands under
        self._loop_tests: dict[Site, tuple[Expr, ...]] = {}  # of the current function, by statement
        self._judged: tuple[Expr, ...] = ()  # tests, and whether what they guard
        self._debugging = False  # it is there for debugging only
        self._lengths: dict[str, set[str]] = {}  # the other places whose length a release hangs on
        self._at: dict[str, dict[str, set[Site]]] = {}  # place -> function -> the statements that release it
        self._site = -1  # of the current statement
        self._entries: dict[Expr, Expr] = {}  # what loops of the current function call the entries of places
        self._parts: dict[Expr, str] = {}  # names for what a place has under a key, in the current function
        for cls in facts.classes:
            for name, index in cls.methods.items():
                if name not in facts.functions[index].calls:
                    self.replacing.setdefault(name, set()).add(cls.name)
            if "__init__" in cls.methods:
                self._defaults(cls.name, facts.functions[cls.methods["__init__"]])
                continue
            fields = [one for one in facts.functions[cls.body].body if one[0] == m.ANNOTATE and one[2][0] == m.NAME]
            for place, one in enumerate(fields):  # of a data class
                if one[4] in UNSET:
                    self.off_by_default[cls.name, one[2][1]] = (one[2][1], place)
        for function in facts.functions:
            self._entries, self._parts = {}, {}
            self._loop_tests = tests_of_loops(function) if self.off_by_default else {}
            for statement, self._tests in with_tests(function.body):
                self._site = statement[1]
                self._statement(function, statement, self._tests)

    @functools.cached_property
    def passed_by(self) -> dict[str, dict[str, PassedBy]]:
        """Gone through when somebody asks, which is where the run says that a table is emptied."""
        found = passed_by(self.facts)
        for name, functions in emptied_by_one(self.facts, self._at):
            found[name] = {**functions, **found.get(name, {})}
        ways = (*forgotten_beside(self.facts), *fetched_or_broken_off(self.facts), *unfetched(self.facts))
        for name, way in (*ways, *until_full(self.facts)):
            found.setdefault(name, {}).setdefault(way.function, way)
        return found

    @functools.cached_property
    def in_wrappers(self) -> frozenset[str]:
        """What functions call that only pass something on."""
        return called_in_wrappers(self.facts)

    @functools.cached_property
    def bounded(self) -> dict[str, dict[str, set[str]]]:
        """The places that functions fill up to a bound that stands beside them; likewise."""
        found: dict[str, dict[str, set[str]]] = {}
        for function in self.facts.functions:
            for place in bounded_beside(function, self.released, self.rebound):
                found.setdefault(last_name(place), {}).setdefault(function.name, set()).add(
                    self._owner(place, function)
                )
        return found

    def passes(self, name: str, function: str) -> bool:
        """Whether no function of this name lets go of a place in a way that all entries come to."""
        if function not in self.released.get(name, {}):
            return True
        return function in self.passed_by.get(name, {})

    def starting_over(self, name: str, filler: str) -> set[str]:
        """The functions that empty a place and then begin what fills it."""
        emptied = self._at.get(name, {})
        return {function for function, sites in emptied.items() if starts_over(self.facts, function, sites, filler)}

    def _defaults(self, cls: str, init: FunctionFacts) -> None:
        """The parameters that are None or 0 by default and that become attributes."""
        unset = {p.name: i for i, p in enumerate(init.params[1:]) if p.default in UNSET}
        for one in init.body if unset else ():
            for target, value in _bindings(one):
                own = target[0] == m.ATTR and target[1] == (m.NAME, "self")
                if own and value[0] == m.NAME and value[1] in unset:
                    self.off_by_default[cls, target[2]] = (value[1], unset[value[1]])

    def _note(self, place: Expr | None, function: FunctionFacts, by: str = "") -> None:
        name = last_name(place)
        if name and m.statement_of(self._site) not in self._put_back:
            by = by or function.name
            functions = self.released.setdefault(name, {})
            functions.setdefault(by, set()).add(self._owner(place, function))
            self._at.setdefault(name, {}).setdefault(by, set()).add(self._site)
            others = {other for test in self._tests for other in other_lengths(test, name)}
            if name in self._sizes.get(self._owners.get(id(function), ""), ()):
                others.discard("self")
            self._note_limit(self._owner(place, function), name, by)
            if others:
                self._lengths.setdefault(name, set()).update(others)
            else:
                self.sound.setdefault(name, set()).add(by)

    def _note_part(self, taken: Expr, function: FunctionFacts) -> None:
        """`rows = self.table.get(key)`, then `rows.pop()`: the table keeps its key, and one thing less under it."""
        name = self._parts.get(taken)
        if name:
            self.parted.setdefault(name, set()).add(function.name)

    def _note_limit(self, cls: str, name: str, function: str) -> None:
        """Of a release: the limit that must be set for it, "" if it needs none."""
        if self.off_by_default:
            tests = (*self._tests, *self._loop_tests.get(self._site, ()))
            limit = next((one for test in tests for one in _attributes(test) if (cls, one) in self.off_by_default), "")
            functions = self.limited.setdefault((cls, name), {})
            functions[function] = limit if functions.get(function, limit) == limit else ""

    def _owner(self, place: Expr | None, function: FunctionFacts) -> str:
        """The class whose `self.x`, or part of it, a place is; `decorate()`, the function whose variable it is, if that
        makes the container itself; "" for all else."""
        while place is not None and place[0] == m.ITEM:
            place = place[1]
        if place is not None and place[0] == m.NAME:
            return self._maker(place, function)
        own = place is not None and place[0] == m.ATTR and place[1] == (m.NAME, "self")
        return self._owners.get(id(function), "") if own else ""

    def _maker(self, name: Expr, function: FunctionFacts) -> str:
        """The function, this one or one around it, that binds a name to a container of its own and to nothing else."""
        around: FunctionFacts | None = function
        while around is not None and around is not self.facts.functions[0]:
            if any(param.name == name[1] for param in around.params):
                return ""
            binding = [one for one in statements(around.body) if name in targets(one)]
            if binding and not reaches_outside(around, name[1]):
                made = {
                    id(one)
                    for one in binding
                    for target, value in _bindings(one)
                    if target == name and _is_fresh(value)
                }
                if len(made) < len(binding):
                    return ""
                self.made.add((variable_of(around.name), name[1]))
                return variable_of(around.name)
            around = self._around.get(id(around))
        return ""

    @functools.cached_property
    def _around(self) -> dict[int, FunctionFacts]:
        """The function that another one is defined in, by identity."""
        functions = self.facts.functions
        return {id(functions[index]): outer for outer in functions for index in outer.inner}

    def misjudges(self, name: str) -> bool:
        """Whether a release hangs on the lengths of places that no function changes together with this one."""
        others = self._lengths.get(name, set())
        return bool(others) and not any(
            name in _names(function) and not others.isdisjoint(_changed(function))
            for function in self.facts.functions
            if function.name not in _FIRST
        )

    def _statement(self, function: FunctionFacts, statement: Stmt, tests: tuple[Expr, ...]) -> None:
        op = statement[0]
        if op == m.ASSIGN:
            for target in statement[2]:
                self._assigned(function, target, statement[3], tests)
                if target[0] == m.NAME:
                    self._parts[target] = last_name(_under_a_key(statement[3]))
        elif op == m.ANNOTATE and statement[4] is not None:
            self._assigned(function, statement[2], statement[4], tests)
        elif op == m.DELETE:
            for target in statement[2]:
                self._note(target, function)
                if target[0] == m.ITEM:
                    self._note_part(target[1], function)
        elif op == m.FOR:
            self._entries.update(_entries_of(statement[2], statement[3]))
        elif op == m.IF and any(inner[0] == m.RETURN for inner in statement[3]):
            self._there_already(function, statement[2])
        if tests is not self._judged:  # those of another block
            self._judged, self._debugging = tests, any(map(_is_debugging, tests))
        debugging = self._debugging
        body = statement[3] if op == m.IF else ()
        self._helpers = {call[2][2] for call in calls(body) if call[2][0] == m.ATTR and call[2][1] == (m.NAME, "self")}
        idle = is_idle(statement)
        made_up = waived(statement[2]) if op == m.IF else ()
        mention = self.mentioned.add
        for head in heads(statement):
            for node in nodes(head):
                kind = node[0]
                if kind == m.NAME:
                    mention(node[1])
                elif kind == m.ATTR:
                    mention(node[2])
                    if node[2] in _RELEASERS:
                        self._note(node[1], function)
                        if node[2] == "clear":  # a container in a container
                            self._note(self._entries.get(node[1]), function)
                elif kind == m.CALL and len(node) == 5:
                    self._call(function, node)
                    name = last_name(node[2])
                    self.called[name] = debugging and self.called.get(name, True)
                elif kind == m.COMPARE and not idle and node not in made_up:
                    self._compared(function, node, statement)

    def _assigned(self, function: FunctionFacts, target: Expr, value: Expr, tests: tuple[Expr, ...]) -> None:
        if value == _OWN_ATTRIBUTES:  # a name for all of them
            self._replaces(function)
        begins = function.name in _FIRST or id(function) in self._first
        if target[0] == m.ATTR and (target[1] != (m.NAME, "self") or not begins):
            self.rebound.setdefault(target[2], set()).add(function.name)
        if target[0] == m.ATTR and target[1] == (m.NAME, "self"):
            fresh = _is_fresh(value)
            if fresh or (value[0] != m.CONST and target not in nodes(value)):
                (self.made if fresh else self.taken).add((self._owners.get(id(function), ""), target[2]))
        if target[0] == m.NEW:
            paired = value[0] == m.NEW and len(value[3]) == len(target[3])
            for item, part in zip(target[3], value[3] if paired else [(m.TEXT,)] * len(target[3]), strict=True):
                self._assigned(function, item, part, tests)
        elif target[0] == m.ITEM and (target[2][0] == m.SLICE or _is_thinned(target, value)):
            self._note(target[1], function)
        elif target[0] in (m.ATTR, m.NAME) and not begins:
            if target[0] == m.NAME and not reaches_outside(function, target[1]):
                return
            if target[0] == m.ATTR and target[1][0] == m.NAME and self._is_inner(function, target[1][1]):
                return  # `wrapper.failures = []`: what a decorator makes has none before that
            if target[0] == m.ATTR and target[1][0] == m.ATTR and root_of(target)[-1] in _made_here(function):
                return  # `app = FastAPI()`, `app.state.results = {}`: likewise
            if not adds_to(target, value, joining(function)) and not any(_is_missing(target, test) for test in tests):
                self._note(target, function)

    def _is_inner(self, function: FunctionFacts, name: str) -> bool:
        return any(self.facts.functions[index].name == name for index in function.inner)

    def _call(self, function: FunctionFacts, call: Expr) -> None:
        callee, arguments = call[2], call[3]
        name = callee[-1] if callee[0] in (m.NAME, m.ATTR) else ""
        owner = callee[1] if callee[0] == m.ATTR else ()
        for given in (*arguments, *[value for _, value in call[4]]):
            if given[0] == m.ATTR and given[2] in _RELEASERS:  # `weakref.finalize(self, _entries.pop, key)`
                self._note(given[1], function, HANDED_OVER)
        if name == "iter" and len(arguments) == 2 and arguments[0][0] == m.ATTR:
            self._note(arguments[0][1], function)  # `iter(queue.get, None)`
        if name in _RELEASERS and owner in self._parts and not _of_a_record(arguments):
            self._note_part(owner, function)
        if name[:1].isupper():
            self.makings.setdefault(name, []).append(call)
        if name == "setattr" and may_let_go(function, call):
            self._replaces(function, own=arguments[:1] == ((m.NAME, "self"),))
        elif (name == "__init__" and owner == (m.NAME, "self")) or (name == "update" and owner == _OWN_ATTRIBUTES):
            self._replaces(function)
        elif _lets_go(name) or name in _POPPERS:
            for place in arguments:
                self._note(place, function)

    def _replaces(self, function: FunctionFacts, *, own: bool = True) -> None:
        if function.name not in _FIRST:
            self.wholesale.add((self._owners.get(id(function), "") if own else "", function.name))

    def _there_already(self, function: FunctionFacts, test: Expr) -> None:
        """`if self.batches: return`, `if len(self.batches): return`: what follows fills the place once."""
        if test[0] == m.CALL and test[2] == (m.NAME, "len") and test[3]:
            test = test[3][0]
        if test[0] in (m.NAME, m.ATTR):
            self._note_measured(test, function)

    def _compared(self, function: FunctionFacts, comparison: Expr, statement: Stmt) -> None:
        places = list(sized(comparison))
        if (m.NAME, "self") in places:
            own = self._sizes.get(self._owners.get(id(function), ""), ())
            places += [(m.ATTR, (m.NAME, "self"), name) for name in sorted(own)]
        for place in places:
            if comparison is statement[2] and only_waits(function, statement, place):
                continue
            self._note_measured(place, function)
            for name in self._helpers:  # `if length > self.table.size(1): self.extend(length)`
                self._note_measured(place, function, name)

    def _note_measured(self, place: Expr, function: FunctionFacts, name: str = "") -> None:
        owners = self.measured.setdefault(last_name(place), {})
        owners.setdefault(name or function.name, set()).add(self._owner(place, function))


def variable_of(function: str) -> str:
    """How the owner of a function's variable is told from a class."""
    return f"{function}()"


def _is_fresh(value: Expr) -> bool:
    """`{}`, `[]`, `OrderedDict()`"""
    return value[0] in (m.NEW, m.DICT, m.COMP) or (value[0] == m.CALL and last_name(value) in _CONTAINERS)


def _bindings(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What a statement binds, and to what: `self.size, self.limit = size, limit` are two."""
    if statement[0] == m.ANNOTATE and statement[4] is not None:
        yield statement[2], statement[4]
    if statement[0] == m.ASSIGN:
        yield from places_with_values(statement)


@functools.lru_cache(4096)
def _lets_go(name: str) -> bool:
    return any(word in name for word in LETS_GO)


def _under_a_key(value: Expr) -> Expr | None:
    """The place of `place[key]`, `place.get(key)`, `place.setdefault(key, [])`."""
    if value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in ("get", "setdefault") and value[3]:
        return tuple(value[2][1])
    return tuple(value[1]) if value[0] == m.ITEM else None


def _of_a_record(arguments: tuple[Expr, ...]) -> bool:
    """`row.pop("note")`: a field of a record, which is there once."""
    return bool(arguments) and arguments[0][0] == m.CONST and type(arguments[0][1]) is str


def _is_thinned(place: Expr, value: Expr) -> bool:
    """`self.handlers[event] = [one for one in self.handlers[event] if one is not handler]`"""
    return value[0] == m.COMP and any(iterated == place and tests for _, iterated, tests in value[5])


def _entries_of(target: Expr, iterated: Expr) -> Iterator[tuple[Expr, Expr]]:
    """`for rows in self.tables`, `for rows in self.tables.values()`, `for name, rows in self.tables.items()`"""
    table = iterated[2][1] if iterated[0] == m.CALL and iterated[2][0] == m.ATTR and not iterated[3] else iterated
    if table is not iterated and iterated[2][2] == "items" and target[0] == m.NEW and len(target[3]) == 2:
        yield target[3][1], table
    elif target[0] == m.NAME and (table is iterated or iterated[2][2] == "values"):
        yield target, table


def _attributes(test: Expr) -> list[str]:
    return [place[2] for place in must_be_set(test) if place[0] == m.ATTR]


def _names(function: FunctionFacts) -> set[str]:
    every = (node for s in statements(function.body) for node in expressions_of(s))
    return {node[-1] for node in every if node[0] in (m.NAME, m.ATTR)}


def _changed(function: FunctionFacts) -> set[str]:
    """The places that a function puts something into, takes something out of, or binds."""
    found = set[str]()
    for statement in statements(function.body):
        if statement[0] in (m.ASSIGN, m.DELETE):
            found |= {last_name(target) for target in statement[2]}
        elif statement[0] in (m.AUGMENT, m.ANNOTATE):
            found.add(last_name(statement[2]))
        for call in (node for node in expressions_of(statement) if node[0] == m.CALL):
            if call[2][0] == m.ATTR:
                found.add(last_name(call[2][1]))
    return found


def _is_debugging(test: Expr) -> bool:
    return test[0] != m.NOT and any(node[0] in (m.NAME, m.ATTR) and "debug" in node[-1].lower() for node in nodes(test))


def reaches_outside(function: FunctionFacts, name: str) -> bool:
    """Whether a function says that a name is not its own."""
    return name in _names_outside(function)


@once
def _made_here(function: FunctionFacts) -> frozenset[str]:
    """The variables that a function binds to new objects: `app = FastAPI()`."""
    return frozenset(
        target[1]
        for one in statements(function.body)
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3][2])[:1].isupper()
        for target in one[2]
        if target[0] == m.NAME
    )


@once
def _names_outside(function: FunctionFacts) -> frozenset[str]:
    return frozenset(name for one in function.body if one[0] in (m.GLOBAL, m.NONLOCAL) for name in one[2])


def _is_missing(target: Expr, test: Expr) -> bool:
    """A test for the place not being there yet: what follows makes it for the first time."""
    if test[0] == m.COMPARE and test[1] == "Is":
        return bool(test[2] == target)
    if test[0] == m.NOT:
        inner = test[1]
        return bool(inner == target) or (inner[0] == m.CALL and inner[2] == (m.NAME, "hasattr"))
    if test[0] == m.BOOL:
        return any(_is_missing(target, operand) for operand in test[2])
    return False
