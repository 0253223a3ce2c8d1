"""Caught exceptions that travel: a helper returns them as a part of a record, and who called it keeps that part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, keyword
from ..facts.walk import calls, last_name
from .caught import lets_go, tries
from .handlers import Kept, text_of
from .keepers import ADDS, Keeping
from .kept_places import kept_place

_DEPTH = 3  # helpers of helpers
_READS = ("get", "pop")
_SELF = (m.NAME, "self")


class Origin(NamedTuple):
    """Where an exception was caught."""

    function: FunctionFacts
    called: frozenset[str]  # what is called in the `try`
    record: Site = -1  # the `return` that it has travelled by


Parts = Mapping[str | int | None, Origin]
"""Which parts of a value are a caught exception or its traceback: by key, name or position; `None` is the value."""
_NOTHING: Parts = {}
_NOTHING_GIVEN: Mapping[str, Parts] = {}
_BOOKS = ("dict", "OrderedDict", "UserDict", "SimpleNamespace", "AttrDict", "EasyDict")


class Travels:
    """The exceptions of one file that functions return as a part of something."""

    def __init__(self, program: Program, keeping: Keeping) -> None:
        self.program = program
        self.keeping = keeping
        self.carriers = set[str]()  # functions that may return one, or call one that does
        self.records: dict[str, Parts] = {}  # classes whose objects bring one with them, when they are returned
        self.books = {*_BOOKS, *(c.name for c in program.facts.classes if {last_name(b) for b in c.bases} & {*_BOOKS})}

    def kept(self) -> Iterator[Kept]:
        """The stores of what has come back from a call in places that stay."""
        trying = {id(place.facts): place.facts for place in self.program.places if tries(place.facts)}
        unique = (one for one in trying.values() if self._is_unique(one.name))
        self.carriers |= {one.name for one in unique if _Walk(self, one).gives()}
        for _ in range(_DEPTH - 1 if self.carriers else 0):
            passing = (one.facts.name for one in self.program.places if not self.carriers.isdisjoint(one.facts.calls))
            self.carriers |= {name for name in passing if self._is_unique(name)}
        seen = set[tuple[Site, str]]()
        for place in self.program.places:
            given = self._typed(place.facts) if self.records else _NOTHING_GIVEN
            if given or id(place.facts) in trying or not self.carriers.isdisjoint(place.facts.calls):
                for one in _Walk(self, place.facts, given).stores():
                    if (one.site, one.part) not in seen:
                        seen.add((one.site, one.part))
                        yield one

    def _typed(self, function: FunctionFacts) -> Mapping[str, Parts]:
        """What parameters bring that are records by their annotation: who calls may not be in sight."""
        hints = ((one.name, last_name(one.hint)) for one in function.params if one.hint is not None)
        return {name: self.records[hint] for name, hint in hints if hint in self.records}

    def _is_unique(self, name: str) -> bool:
        return len(self.program.by_name[name]) == 1


class _Walk:
    """One pass over a function, in the order of its text, with what its parameters bring along."""

    def __init__(
        self,
        travels: Travels,
        function: FunctionFacts,
        given: Mapping[str, Parts] = _NOTHING_GIVEN,
        clause: Origin | None = None,
        depth: int = 0,
    ) -> None:
        self.travels = travels
        self.function = function
        self.names: dict[str, dict[str | int | None, Origin]] = {name: dict(parts) for name, parts in given.items()}
        self.clause = clause
        self.depth = depth
        self.returned: dict[str | int | None, Origin] = {}
        self.made: dict[str, str] = {}  # local -> the class of the file that it is an object of
        self.found: list[Kept] = []

    def stores(self) -> list[Kept]:
        self._block(self.function.body)
        return self.found

    def gives(self) -> Parts:
        self._block(self.function.body)
        return self.returned

    def _block(self, block: tuple[Stmt, ...]) -> None:
        for statement in block:
            self._statement(statement)
            if statement[0] == m.TRY:
                self._try(statement)
            elif statement[0] in (m.IF, m.WHILE):
                self._block(statement[3])
                self._block(statement[4])
            elif statement[0] == m.FOR:
                self._block(statement[4])
                self._block(statement[5])
            elif statement[0] == m.WITH:
                self._block(statement[3])

    def _try(self, statement: Stmt) -> None:
        self._block(statement[2])
        outer = self.clause
        called = frozenset(last_name(call[2]) for call in calls(statement[2]))
        for _, name, body in statement[3]:
            self.clause = None if lets_go(body) else Origin(self.function, called)
            if name is not None:
                self.names[name] = {} if self.clause is None else {None: self.clause}
            self._block(body)
        self.clause = outer
        self._block(statement[4])
        self._block(statement[5])

    def _statement(self, statement: Stmt) -> None:
        if statement[0] == m.ASSIGN:
            parts = self._parts(statement[3])
            for target in statement[2]:
                self._bind(target, parts, statement[1])
                if target[0] == m.NAME:
                    self.made[target[1]] = self._class_of(statement[3])
        elif statement[0] == m.RETURN and statement[2] is not None:
            for key, origin in self._parts(statement[2]).items():
                self.returned[key] = origin if origin.record >= 0 else origin._replace(record=statement[1])
            cls = self._class_of(statement[2])
            if cls and self.returned and not self.depth:
                self.travels.records[cls] = self.returned
        elif statement[0] == m.EXPR and statement[2][0] == m.CALL:
            call = statement[2]
            if call[2][0] == m.ATTR and call[2][2] in ADDS and call[3]:
                self._store((m.ITEM, call[2][1], (m.NAME, "")), self._parts(call[3][-1]), statement[1])
            elif self.depth < _DEPTH:
                inner = self._entered(call)
                self.found += inner.stores() if inner is not None else ()

    def _bind(self, target: Expr, parts: Parts, site: Site) -> None:
        if target[0] == m.NAME:
            self.names[target[1]] = {**self.names.get(target[1], {}), **parts}
        elif target[0] == m.NEW:
            for position, item in enumerate(target[3]):
                self._bind(item, {None: parts[position]} if position in parts else {}, site)
        elif parts:
            local = target[1]
            if target[0] == m.ITEM and local[0] == m.NAME and target[2][0] == m.CONST and None in parts:
                self.names.setdefault(local[1], {})[target[2][1]] = parts[None]
            stored = self._store(target, parts, site)
            if not stored and target[0] == m.ATTR and (self.made.get(local[-1]) or local == _SELF):
                self.names.setdefault(local[-1], {})[target[2]] = next(iter(parts.values()))

    def _store(self, target: Expr, parts: Parts, site: Site) -> bool:
        """Note what goes to a place that stays, if it has come back from a call; whether it does."""
        origin = next((one for one in parts.values() if one.record >= 0), None)
        if origin is None or target[0] not in (m.ATTR, m.ITEM) or lets_go(self.function.body):
            return False
        place = kept_place(self.travels.program, self.function, target)
        if place is None or (None not in parts and not place.grows):
            return False
        self.found.append(
            Kept(
                site,
                text_of(place.holder),
                last_name(place.root),
                place.grows,
                origin.function,
                origin.called,
                by_parts=True,
                record=origin.record,
                put_by=self.function.name,
                part=target[2] if target[0] == m.ATTR else "",
            )
        )
        return True

    def _class_of(self, value: Expr) -> str:
        """The class of the file that a value is an object of, as far as the text shows; "" if it does not."""
        if value[0] == m.NAME:
            return self.made.get(value[1], "")
        own = value[0] == m.CALL and value[2][0] == m.NAME and value[2][1] in self.travels.keeping
        return value[2][1] if own else ""

    def _parts(self, value: Expr) -> Parts:
        """Which parts of a value are a caught exception."""
        op = value[0]
        if op == m.NAME:
            return self.names.get(value[1], _NOTHING)
        if op == m.ATTR or op == m.ITEM:
            return self._part_of(value)
        if op == m.AWAIT:
            return self._parts(value[1])
        if op == m.COND:
            return {**self._parts(value[2]), **self._parts(value[3])}
        if op == m.NEW:
            inner = ((position, self._parts(item)) for position, item in enumerate(value[3]))
            return {position: parts[None] for position, parts in inner if None in parts}
        if op == m.DICT:
            return self._keyed((key[1], item) for key, item in value[2] if key is not None and key[0] == m.CONST)
        return self._called(value) if op == m.CALL else _NOTHING

    def _part_of(self, value: Expr) -> Parts:
        whole = self._parts(value[1])
        if value[0] == m.ATTR:
            key = None if value[2] == "__traceback__" else value[2]
        else:
            key = value[2][1] if value[2][0] == m.CONST else ""
        return {None: whole[key]} if key in whole else _NOTHING

    def _keyed(self, items: Iterator[tuple[str | int | None, Expr]]) -> Parts:
        inner = ((key, self._parts(item)) for key, item in items)
        return {key: parts[None] for key, parts in inner if None in parts}

    def _called(self, call: Expr) -> Parts:
        name = last_name(call[2])
        if name == "exc_info":
            return _NOTHING if self.clause is None else {1: self.clause, 2: self.clause}
        if call[2][0] == m.ATTR and name in _READS and call[3]:
            return self._part_of((m.ITEM, call[2][1], call[3][0]))
        if name in self.travels.books:
            return self._keyed(iter(call[4]))
        if name in self.travels.keeping and call[2][0] == m.NAME:
            declared = self.travels.keeping[name]
            given = [(kept[0], item) for kept, item in zip(declared, call[3], strict=False)] + list(call[4])
            keeps = {part for part, stays in declared if stays}
            return self._keyed((part, item) for part, item in given if part in keeps)
        if self.depth >= _DEPTH:
            return _NOTHING
        inner = self._entered(call)
        return _NOTHING if inner is None else inner.gives()

    def _entered(self, call: Expr) -> _Walk | None:
        """The walk over a function of the file with what a call gives it."""
        helpers = self.travels.program.by_name.get(last_name(call[2]), ())
        if len(helpers) != 1 or helpers[0].facts is self.function or lets_go(helpers[0].facts.body):
            return None
        helper = helpers[0].facts
        bound = helper.owner >= 0 and call[2][0] == m.ATTR
        given = ((param.name, keyword(call, param.name, i - bound)) for i, param in enumerate(helper.params))
        brought = {name: parts for name, value in given if value is not None and (parts := self._parts(value))}
        asks = self.clause is not None and "exc_info" in helper.calls  # it finds out by itself what is being handled
        if not brought and not asks and helper.name not in self.travels.carriers:
            return None
        return _Walk(self.travels, helper, brought, self.clause, self.depth + 1)
