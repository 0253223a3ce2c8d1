"""What the facts of a file say before anything is run; worked out once, however many runs use the file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from . import model as m
from .bare import set_on_bare_objects
from .effects import calls_for_effect
from .exports import exported
from .file_releases import FileReleases
from .guarded import own_calls
from .members import members
from .model import ClassFacts, Expr, FileFacts, FunctionFacts, Stmt
from .plain_hints import is_plain_hint, names_of_plain_hints
from .program import Program
from .put_back import Moves, moves
from .relevance import acting, loud_constructors, releasing, worth_running
from .walk import blocks, names_of, nodes, statements
from .when_missing import made_when_missing

Stars = tuple[tuple[int, str], ...]  # level and module of star imports


class Outline:
    """The facts of a file with what follows from them alone. Not to be changed: runs share it."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts  # as runs see them
        self.whole = facts
        self._named: dict[int, frozenset[str]] = {}
        self._members: dict[int, dict[str, list[Stmt]]] = {}
        self._own_callers: dict[int, dict[str, list[tuple[str, bool]]]] = {}
        self._methods: dict[int, tuple[frozenset[str], frozenset[str]]] = {}

    @cached_property
    def worth(self) -> set[int]:
        """The functions that a rule could speak about, by index."""
        return worth_running(self.whole)

    def is_plain(self, hint: Expr) -> bool:
        """Whether an annotation promises numbers and text only, also under a name that the file gives to it."""
        return is_plain_hint(hint, self.plain_names)

    @cached_property
    def plain_names(self) -> frozenset[str]:
        return names_of_plain_hints(self.whole)

    @cached_property
    def releasing(self) -> set[int]:
        """The functions that are run only for what they let go."""
        return releasing(self.whole, self.worth)

    @cached_property
    def running(self) -> set[int]:
        """Both, by the identity of their facts."""
        return {id(self.whole.functions[index]) for index in self.worth | self.releasing}

    @cached_property
    def acting(self) -> set[int]:
        """The functions that do something to others, whatever they are given, by the identity of their facts."""
        return {id(self.whole.functions[index]) for index in acting(self.whole)}

    @cached_property
    def loud(self) -> set[int]:
        """The constructors that do more than to make the parts of the object, by index."""
        return loud_constructors(self.whole)

    @cached_property
    def calls_for_effect(self) -> dict[int, tuple[Expr, ...]]:
        """What the methods of a class, by its index, call of other files for what that does."""
        return calls_for_effect(self.whole)

    @cached_property
    def made_when_missing(self) -> frozenset[int]:
        """The statements that bind what is not there yet, by number."""
        return made_when_missing(self.whole) | self.set_on_bare

    @cached_property
    def set_on_bare(self) -> frozenset[int]:
        """The statements that set the first attributes of an object that has no constructor, by number."""
        return set_on_bare_objects(self.whole)

    @cached_property
    def moves(self) -> Moves:
        """The statements that only move the entries of a place."""
        return moves(self.whole)

    @cached_property
    def program(self) -> Program:
        """The file as it stands."""
        return Program(self.whole)

    @cached_property
    def returns_errors(self) -> bool:
        """Whether a function returns an exception that it has caught."""
        bodies = [function.body for function in self.whole.functions if function.flags & m.TRIES]
        tried = [one[3] for body in bodies for one in statements(body) if one[0] == m.TRY]
        for _, name, body in (clause for clauses in tried for clause in clauses if clause[1] is not None):
            given = (one[2] for one in statements(body) if one[0] == m.RETURN and one[2] is not None)
            if any((m.NAME, name) in nodes(value) for value in given):
                return True
        return False

    def members(self, index: int) -> dict[str, list[Stmt]]:
        """The statements of a class's body by what they bind, if they can wait; not to be changed."""
        known = self._members.get(index)
        if known is None:
            known = self._members[index] = members(self.whole, index)
        return known

    def own_callers(self, klass: ClassFacts) -> dict[str, list[tuple[str, bool]]]:
        """Which methods of a class call what on their object, by its name, each with whether gradients are off there;
        not to be changed."""
        known = self._own_callers.get(id(klass))
        if known is None:
            known = self._own_callers[id(klass)] = {}
            for caller in (self.whole.functions[index] for index in klass.methods.values()):
                for called, off in own_calls(caller):
                    if called != caller.name:
                        known.setdefault(called, []).append((caller.name, off))
        return known

    def called_by_methods(self, klass: ClassFacts) -> frozenset[str]:
        """The last names of all that the methods of a class call."""
        return self._of_methods(klass)[0]

    def growing_methods(self, klass: ClassFacts) -> frozenset[str]:
        """The methods of a class, but for special ones, that add to a container or to a place of their object."""
        return self._of_methods(klass)[1]

    def _of_methods(self, klass: ClassFacts) -> tuple[frozenset[str], frozenset[str]]:
        known = self._methods.get(id(klass))
        if known is None:
            methods = {name: self.whole.functions[index] for name, index in klass.methods.items()}
            called = frozenset[str]().union(*[method.calls for method in methods.values()])
            growing = (name for name, one in methods.items() if one.flags & m.GROWS and name[:2] != "__")
            known = self._methods[id(klass)] = called, frozenset(growing)
        return known

    def callers(self, names: set[str]) -> set[str]:
        """What calls one of these names: functions and methods, and the classes of the latter."""
        return set().union(*(self._callers[name] for name in names & self._callers.keys()))

    @cached_property
    def _callers(self) -> dict[str, set[str]]:
        """What calls each name."""
        found: dict[str, set[str]] = {}
        for one in self.whole.functions:
            callers = {one.name, self.whole.classes[one.owner].name} if one.owner >= 0 else {one.name}
            for name in one.calls:
                found.setdefault(name, set()).update(callers)
        return found

    def named_in(self, function: FunctionFacts) -> frozenset[str]:
        """The names of the module that a function uses, in its body or as what a parameter is by default."""
        known = self._named.get(id(function))
        if known is None:
            names = names_of(function.body)
            names.update(one.default[1] for one in function.params if one.default and one.default[0] == m.NAME)
            known = self._named[id(function)] = frozenset(self.bindings[0].keys() & names)
        return known

    def entire(self) -> Outline:
        """All of it, for a run that starts in this file."""
        return self

    def releases(self) -> FileReleases:
        """What the text of the file says about letting go."""
        return self._releases

    @cached_property
    def _releases(self) -> FileReleases:
        return FileReleases(self.whole, self.moves.takes | self.set_on_bare)

    def imported(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """What the module's body imports: level, module, and names of it."""
        return self._imported

    @cached_property
    def _imported(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        found: list[tuple[int, str, tuple[str, ...]]] = []
        for one in statements(self.whole.functions[0].body):
            if one[0] == m.FROM:
                found.append((one[2], one[3], tuple(name for name, _ in one[4] if name != "*")))
            elif one[0] == m.IMPORT:
                found += ((0, dotted, ()) for _, dotted in one[2])
        return tuple(found)

    def unbound(self) -> dict[str, list[Stmt]]:
        """The statements that bind each name, for a run to take from."""
        return dict(self.bindings[0])

    @cached_property
    def bindings(self) -> tuple[dict[str, list[Stmt]], list[Stars]]:
        """The statements of the module's body that bind each name, and its star imports, statement by statement."""
        return self._bindings[0], self._bindings[1]

    @cached_property
    def stars_before(self) -> dict[str, int]:
        """How many of the statements with star imports come before the last that binds a name, or are that one."""
        return self._bindings[2]

    @cached_property
    def _bindings(self) -> tuple[dict[str, list[Stmt]], list[Stars], dict[str, int]]:
        pending: dict[str, list[Stmt]] = {}
        stars: list[Stars] = []
        before: dict[str, int] = {}
        inside: dict[str, Stmt] = {}  # imports that a condition or an error decides about
        for statement in self.whole.functions[0].body:
            found = _stars(statement)
            if found:
                stars.append(found)
            for name in _bound(self.whole, statement):
                pending.setdefault(name, []).append(statement)
                before[name] = len(stars)
            if statement[0] in (m.IF, m.TRY):
                inside.update((name, one) for one in statements((statement,)) for name in _imports(one))
        for name, one in inside.items():  # of the lazy `__init__` of a package, hundreds of lines, one brings the name
            if len(pending[name]) == 1:
                pending[name] = [one]
        return pending, stars, before

    @cached_property
    def exported(self) -> tuple[frozenset[str], bool]:
        """The names in `__all__`, and whether every name without an underscore goes with `import *` as well."""
        return exported(self.whole.functions[0].body)

    def exports(self, name: str) -> bool:
        """Whether `import *` takes a name along, if the module has it."""
        listed, others = self.exported
        return name in listed or (others and name[:1] != "_")


def _stars(statement: Stmt) -> Stars:
    """The star imports of a statement: level and module, that which wins first. Of its suites, of which one may run
    instead of another, the first goes before the others."""
    if statement[0] == m.FROM:
        return tuple((statement[2], statement[3]) for name, _ in statement[4] if name == "*")
    return tuple(one for block in blocks(statement) for inner in reversed(block) for one in _stars(inner))


def _bound(facts: FileFacts, statement: Stmt) -> Iterator[str]:
    op = statement[0]
    if op == m.DEF:
        yield facts.functions[statement[2]].name
    elif op == m.CLASS:
        yield facts.classes[statement[2]].name
    elif op == m.ASSIGN:
        for target in statement[2]:
            yield from _names(target)
    elif op in (m.ANNOTATE, m.AUGMENT):
        yield from _names(statement[2])
    elif op in (m.IMPORT, m.FROM):
        yield from _imports(statement)
    elif op == m.FOR:
        yield from _names(statement[2])
    elif op == m.WITH:
        for _, target in statement[2]:
            if target is not None:
                yield from _names(target)
    for block in blocks(statement):
        for inner in block:
            yield from _bound(facts, inner)


def _imports(statement: Stmt) -> Iterator[str]:
    """The names that an import binds, if it is one."""
    if statement[0] == m.IMPORT:
        yield from (local for local, _ in statement[2])
    elif statement[0] == m.FROM:
        yield from (local for name, local in statement[4] if name != "*")


def _names(target: m.Expr) -> Iterator[str]:
    if target[0] == m.NAME:
        yield target[1]
    elif target[0] == m.NEW:
        for item in target[3]:
            yield from _names(item)
    elif target[0] == m.STAR:
        yield from _names(target[1])
