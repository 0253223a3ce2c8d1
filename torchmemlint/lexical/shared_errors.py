"""One exception object that is raised again and again: its traceback gets longer with each raise."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Block, Place, Program, targets, text
from ..facts.walk import last_name, statements
from .at_work import is_called_at_work

_ENDINGS = ("Error", "Exception")
_REMEMBERING = ("cache", "lru_cache", "cached_property")


Imported = Callable[[Expr], Site | None]  # where another file makes the object that a name stands for


class SharedError(NamedTuple):
    """A `raise` of an exception that was made once."""

    site: Site
    name: str
    made: Site


def raised_again_and_again(program: Program, imported: Imported, whole: Callable[[], Program]) -> Iterator[SharedError]:
    """`raise NOT_READY`, where a module has bound `NOT_READY = ServiceError("not ready")`, or the body of a class, a
    table of the module, a default of a parameter, a function that remembers its results; from where tensors are at
    hand. Raising puts the frames in front of those that the object has [Python: The raise statement, `__traceback__`].
    """
    shared = _Shared(program, imported, whole)
    found = [
        (place.facts, SharedError(one[1], _spoken(one[2]), made))
        for place in program.places
        for one in statements(place.facts.body)
        if one[0] == m.RAISE and one[2] is not None and place.facts.name != "<module>"
        if (made := shared.made_for(place, one[2])) is not None
    ]
    if found and not takes_tracebacks_off(program):
        yield from (one for function, one in found if is_called_at_work(program, function))


def takes_tracebacks_off(program: Program) -> bool:
    """`error.with_traceback(None)`, `error.__traceback__ = None`, wherever that is done."""
    if "with_traceback" in program.called:
        return True
    bound = (one for place in program.places for one in statements(place.facts.body) if one[0] == m.ASSIGN)
    return any(target[0] == m.ATTR and target[2] == "__traceback__" for one in bound for target in one[2])


class _Shared:
    """The exception objects that are made once, and what they go by."""

    def __init__(self, program: Program, imported: Imported, whole: Callable[[], Program]) -> None:
        self._program = program
        self._imported = imported
        self._whole = whole

    @functools.cached_property
    def _of_module(self) -> dict[str, Site]:
        return dict(_bound_to(self._program.facts.functions[0].body, self._is_one))

    @functools.cached_property
    def _of_tables(self) -> dict[str, Site]:
        return dict(_bound_to(self._program.facts.functions[0].body, self._is_table))

    def made_for(self, place: Place, raised: Expr) -> Site | None:
        """Where the object was made that a function raises, if it is one of those."""
        raised = _meant(place.facts, raised)
        if raised[0] == m.NAME:
            return self._default(place.facts, raised[1]) or self._global(place.facts, self._of_module, raised)
        if raised[0] == m.ITEM:
            return self._global(place.facts, self._of_tables, raised[1])
        if raised[0] == m.CALL and raised[2][0] == m.ATTR and raised[2][2] == "get":  # `ERRORS.get(code)`
            return self._global(place.facts, self._of_tables, raised[2][1])
        if raised[0] == m.CALL:
            return self._remembered(raised[2])
        return self._attribute(place, raised) if raised[0] == m.ATTR else None

    def _global(self, function: FunctionFacts, known: dict[str, Site], name: Expr) -> Site | None:
        if name[0] != m.NAME or any(param.name == name[1] for param in function.params) or _binds(function, name):
            return None
        return known.get(name[1]) or (self._imported(name) if name[1] in self._program.imports else None)

    def _default(self, function: FunctionFacts, name: str) -> Site | None:
        """`def ready(self, error=NotReady()): ... raise error`: who gives none gets the same each time."""
        given = next((param.default for param in function.params if param.name == name), None)
        if given is None or not self._is_one(name, given) or _binds(function, (m.NAME, name)):
            return None
        return function.site

    def _attribute(self, place: Place, raised: Expr) -> Site | None:
        """`self.not_ready`, `Table.not_ready`, which the body of the class has bound and no object binds anew."""
        owner, name = raised[1], raised[2]
        of_class = bool(place.cls) and (
            text(owner) in ("self", "cls", "self.__class__") or (owner[0] == m.CALL and owner[2] == (m.NAME, "type"))
        )
        if owner[0] == m.NAME and owner[1] in self._program.imports:
            made = self._imported(raised)  # of a module
            if made is not None:
                return made
        for program in (self._program, self._whole()) if of_class or owner[0] == m.NAME else ():
            for body in _bodies(program, place.cls if of_class else owner[1]):
                made = dict(_bound_to(body, self._is_one)).get(name)
                if made is not None:
                    return None if _is_set(program, name) else made
        return self._remembered(raised) if owner == (m.NAME, "self") else None

    def _remembered(self, called: Expr) -> Site | None:
        """`@functools.cache def not_ready(): return NotReady()`"""
        helpers = self._program.by_name.get(last_name(called), ())
        if len(helpers) != 1 or not any(last_name(one) in _REMEMBERING for one in helpers[0].facts.decorators):
            return None
        returned = (one for one in statements(helpers[0].facts.body) if one[0] == m.RETURN and one[2] is not None)
        return next((int(one[1]) for one in returned if self._is_one("", one[2])), None)

    def _is_one(self, name: str, value: Expr) -> bool:
        """Whether a value that is raised is an object: a call of a class does not give another class."""
        if is_made_exception(self._program, value):
            return True
        made = value[0] == m.CALL and value[2][0] in (m.NAME, m.ATTR) and value[2][-1][:1].isupper()
        return made and not (name[:1].isupper() and not name.isupper())  # `NotReady = Declared("NotReady")`

    def _is_table(self, name: str, value: Expr) -> bool:
        entries = [one for _, one in value[2]] if value[0] == m.DICT else value[3] if value[0] == m.NEW else ()
        return bool(entries) and all(self._is_one("", entry) for entry in entries)


def _bodies(program: Program, name: str) -> Iterator[Block]:
    """Those of a class and of the classes that it inherits from, the nearest first."""
    pending, seen = [name], set[str]()
    while pending:
        name = pending.pop(0)
        for cls in (cls for cls in program.facts.classes if cls.name == name and name not in seen):
            yield program.facts.functions[cls.body].body if cls.body else ()
            pending += map(last_name, cls.bases)
        seen.add(name)


def _is_set(program: Program, name: str) -> bool:
    """Whether anything binds an attribute of this name: an object may have one of its own."""
    bound = (target for place in program.places for one in statements(place.facts.body) for target in targets(one))
    return any(target[0] == m.ATTR and target[2] == name for target in bound)


def _binds(function: FunctionFacts, name: Expr) -> bool:
    return any(name in targets(one) for one in statements(function.body))


def _bound_to(body: Block, wanted: Callable[[str, Expr], bool]) -> Iterator[tuple[str, Site]]:
    """The names that a body binds to what is wanted."""
    for one in statements(body):
        value = one[3] if one[0] == m.ASSIGN else one[4] if one[0] == m.ANNOTATE else None
        named = [target[1] for target in targets(one) if target[0] == m.NAME] if value is not None else ()
        yield from ((name, one[1]) for name in named if value is not None and wanted(name, value))


def _meant(function: FunctionFacts, raised: Expr) -> Expr:
    """What a local stands for that is bound in one place: `error = self.not_ready`."""
    bound = [one for one in statements(function.body) if raised in targets(one)] if raised[0] == m.NAME else []
    alone = len(bound) == 1 and bound[0][0] == m.ASSIGN and bound[0][2] == (raised,)
    return bound[0][3] if alone else raised


def _spoken(raised: Expr) -> str:
    """`self.not_ready`, `ERRORS` of `ERRORS[code]` and `ERRORS.get(code)`, `not_ready()`."""
    if raised[0] == m.CALL:
        return text(raised[2][1]) if raised[2][-1] == "get" else f"{text(raised[2])}()"
    return text(raised[1] if raised[0] == m.ITEM else raised) or last_name(raised)


def is_made_exception(program: Program, value: Expr) -> bool:
    return bool(value[0] == m.CALL) and is_exception_class(program, last_name(value[2]))


def is_exception_class(program: Program, name: str) -> bool:
    """By its name, or by that of a base, in this file."""
    pending, seen = [name], set[str]()
    while pending:
        name = pending.pop()
        if name.endswith(_ENDINGS):
            return True
        seen.add(name)
        bases = (base for cls in program.facts.classes if cls.name == name for base in cls.bases)
        pending += [one for one in map(last_name, bases) if one not in seen]
    return False
