"""Reading lexical facts without running them: expressions, dotted names, targets, who defines what.

For what a text says as it stands, such as the order of two calls, no values are needed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from . import model as m
from .knowledge import GIVES_ITSELF
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .walk import calls, expressions_of, last_name, nodes, statements

Block = tuple[Stmt, ...]
EMPTIES = ("empty_cache", "free_all_blocks")  # of torch.cuda, torch.mps ...; of CuPy's pools
_OF_DEVICES = ("device", "device_type", "device_id")  # what a function may be told: whose cache it empties
_CLEANS = re.compile(
    r"gc|cache|mem|clean|clear|free|flush|empty|release|reclaim|purge|unload|drop|delete|dispose|destroy"
)


def expressions(body: Block) -> Iterator[Expr]:
    """Every expression in a body."""
    for statement in statements(body):
        yield from expressions_of(statement)


def text(expr: Expr) -> str:
    """`self.pool.map` of a chain of names; "" if anything else is in it."""
    names: list[str] = []
    while expr[0] == m.ATTR:
        names.append(expr[2])
        expr = expr[1]
    if expr[0] != m.NAME:
        return ""
    names.append(expr[1])
    return ".".join(reversed(names))


def keyword(call: Expr, name: str, index: int = -1) -> Expr | None:
    """An argument of a call, by keyword or position."""
    for key, value in call[4]:
        if key == name:
            return value  # type: ignore[no-any-return]
    if 0 <= index < len(call[3]):
        return call[3][index]  # type: ignore[no-any-return]
    return None


def names_in(expr: Expr) -> set[str]:
    """The names and `self.x` chains that an expression reads."""
    return {text(part) for part in nodes(expr) if part[0] in (m.NAME, m.ATTR)} - {""}


def targets(statement: Stmt) -> tuple[Expr, ...]:
    """What a statement binds, patterns taken apart."""
    if statement[0] == m.ASSIGN:
        found = list(statement[2])
    elif statement[0] in (m.AUGMENT, m.ANNOTATE, m.FOR):
        found = [statement[2]]
    elif statement[0] == m.WITH:
        found = [target for _, target in statement[2] if target is not None]
    else:
        return ()
    return tuple(_taken_apart(found))


def _taken_apart(patterns: Iterable[Expr]) -> Iterator[Expr]:
    """The places in patterns: `index`, `x` and `rest` of `index, (x, *rest)`."""
    for pattern in patterns:
        if pattern[0] in (m.NEW, m.STAR):
            yield from _taken_apart(pattern[3] if pattern[0] == m.NEW else pattern[1:])
        else:
            yield pattern


def _made_first(value: Expr) -> Expr:
    """`Layer(8)` of `Layer(8).eval().to(device)`"""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in GIVES_ITSELF:
        value = value[2][1]
    return value


class Place(NamedTuple):
    """A function in its file."""

    facts: FunctionFacts
    cls: str  # the class that it is a method of, or ""
    bases: tuple[str, ...]  # dotted names of that class's bases


class Program:
    """One file, as far as its text goes; `imported` finds the function that a name of another file stands for, and
    `elsewhere` says of a class, a function or a method, `Feed.restart`, whether other files call it in a loop."""

    def __init__(
        self,
        facts: FileFacts,
        imported: Callable[[Expr], FunctionFacts | None] | None = None,
        elsewhere: Callable[[str], bool] | None = None,
    ) -> None:
        self.facts = facts
        self._imported = imported
        self._elsewhere = elsewhere

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """The last names of everything that is called anywhere in the file."""
        return frozenset().union(*[function.calls for function in self.facts.functions])

    @functools.cached_property
    def imports(self) -> dict[str, str]:
        """Local name -> dotted name, for imports anywhere in the file."""
        found: dict[str, str] = {}
        for function in self.facts.functions:
            for statement in statements(function.body) if function.flags & m.IMPORTS else ():
                if statement[0] == m.IMPORT:
                    found.update(statement[2])
                elif statement[0] == m.FROM:
                    base = "." * statement[2] + statement[3]
                    found.update({local: f"{base}.{name}" for name, local in statement[4] if name != "*"})
        return found

    def is_repeated_elsewhere(self, name: str) -> bool:
        """Whether other files call a class, a function or a method of this one in a loop."""
        return self._elsewhere is not None and self._elsewhere(name)

    def dotted(self, expr: Expr) -> str:
        """The full name of what an expression names: `torch.cuda.empty_cache`; "" if it is no name."""
        head, dot, rest = text(expr).partition(".")
        return self.imports.get(head, head) + dot + rest if head else ""

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        """Every function, method and the module's body; class bodies are left out."""
        bodies = {cls.body for cls in self.facts.classes}
        owners = {
            index: (cls.name, tuple(self.dotted(base) for base in cls.bases))
            for cls in self.facts.classes
            for index in cls.methods.values()
        }
        return tuple(
            Place(function, *owners.get(index, ("", ())))
            for index, function in enumerate(self.facts.functions)
            if index not in bodies
        )

    @functools.cached_property
    def by_name(self) -> dict[str, list[Place]]:
        found: dict[str, list[Place]] = {}
        for place in self.places:
            found.setdefault(place.facts.name, []).append(place)
        return found

    @functools.cached_property
    def modules(self) -> frozenset[str]:
        """The classes of the file whose objects are modules, with weights to allocate."""
        named = ((cls.name, {last_name(base) for base in cls.bases}) for cls in self.facts.classes)
        return frozenset(name for name, bases in named if "Module" in bases)

    @functools.cached_property
    def models(self) -> frozenset[str]:
        """The names of variables, attributes and parameters that stand for modules: `self.layer = Layer(8)`."""
        found = set[str]()
        for function in self.facts.functions:
            for param in function.params:
                if param.hint is not None and any(map(self._is_module, nodes(param.hint))):
                    found.add(param.name)
            for one in statements(function.body):
                value = one[3] if one[0] == m.ASSIGN else one[4] if one[0] == m.ANNOTATE else None
                value = None if value is None else _made_first(value)
                known = value is not None and value[0] == m.NAME and value[1] in found
                if known or (value is not None and value[0] == m.CALL and self._is_module(value[2])):
                    found |= {last_name(target) for target in targets(one)}
        return frozenset(found - {""})

    def _is_module(self, cls: Expr) -> bool:
        """Whether a name is that of a class of modules, of the file or of torch."""
        named = self.dotted(cls) if cls[0] in (m.NAME, m.ATTR) else ""
        of_torch = named.startswith("torch.nn.") and named.rpartition(".")[2][:1].isupper()
        return named in self.modules or (of_torch and not named.endswith((".Parameter", "Loss")))

    @functools.cached_property
    def emptying(self) -> frozenset[str]:
        """Functions of the file, or imported ones, that empty a device cache and do little else."""
        own = frozenset(place.facts.name for place in self.places if _only_empties(place.facts))
        return own | frozenset(name for name, function in self.cleaners.items() if _only_empties(function))

    @functools.cached_property
    def cleaners(self) -> dict[str, FunctionFacts]:
        """The imported functions that the file calls, and whose names say that they clean something up."""
        found: dict[str, FunctionFacts] = {}
        unseen = {name for name in self.called if _CLEANS.search(name.lower())} - self.by_name.keys() - set(EMPTIES)
        for place in self.places if unseen else ():
            if self._imported is None or unseen.isdisjoint(place.facts.calls):
                continue
            for call in calls(place.facts.body):
                name = last_name(call[2])
                if name in unseen and text(call[2]).partition(".")[0] in self.imports:
                    unseen.discard(name)
                    function = self._imported(call[2])
                    if function is not None:
                        found[name] = function
        return found

    @functools.cached_property
    def empties(self) -> bool:
        """Whether anything in the file empties a device cache."""
        return not self.called.isdisjoint(EMPTIES) or not self.emptying.isdisjoint(self.called)


def _only_empties(function: FunctionFacts) -> bool:
    return (
        not set(EMPTIES).isdisjoint(function.calls)
        and all(param.default is not None or param.name in _OF_DEVICES for param in function.params)
        and len(list(statements(function.body))) <= 8
    )
