"""What the facts of a file say before anything is run; worked out once, however many runs use the file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from . import model as m
from .model import FileFacts, Stmt
from .releases import FileReleases
from .relevance import loud_constructors, releasing, worth_running
from .walk import blocks


class Outline:
    """The facts of a file with what follows from them alone. Not to be changed: runs share it."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts  # as runs see them
        self.whole = facts

    @cached_property
    def worth(self) -> set[int]:
        """The functions that a rule could speak about, by index."""
        return worth_running(self.whole)

    @cached_property
    def releasing(self) -> set[int]:
        """The functions that are run only for what they let go."""
        return releasing(self.whole, self.worth)

    @cached_property
    def running(self) -> set[int]:
        """Both, by the identity of their facts."""
        return {id(self.whole.functions[index]) for index in self.worth | self.releasing}

    @cached_property
    def loud(self) -> set[int]:
        """The constructors that do more than to make the parts of the object, by index."""
        return loud_constructors(self.whole)

    def releases(self) -> FileReleases:
        """What the text of the file says about letting go."""
        return self._releases

    @cached_property
    def _releases(self) -> FileReleases:
        return FileReleases(self.whole)

    def unbound(self) -> dict[str, list[Stmt]]:
        """The statements that bind each name, for a run to take from."""
        return dict(self.bindings[0])

    @cached_property
    def bindings(self) -> tuple[dict[str, list[Stmt]], list[tuple[int, str]]]:
        """The statements of the module's body that bind each name, and its star imports: level and module."""
        pending: dict[str, list[Stmt]] = {}
        stars: list[tuple[int, str]] = []
        for statement in self.whole.functions[0].body:
            for name in _bound(self.whole, statement, stars):
                pending.setdefault(name, []).append(statement)
        return pending, stars


def _bound(facts: FileFacts, statement: Stmt, stars: list[tuple[int, str]]) -> Iterator[str]:
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
    elif op == m.IMPORT:
        yield from (local for local, _ in statement[2])
    elif op == m.FROM:
        for name, local in statement[4]:
            if name == "*":
                stars.append((statement[2], statement[3]))
            else:
                yield local
    elif op == m.FOR:
        yield from _names(statement[2])
    elif op == m.WITH:
        for _, target in statement[2]:
            if target is not None:
                yield from _names(target)
    for block in blocks(statement):
        for inner in block:
            yield from _bound(facts, inner, stars)


def _names(target: m.Expr) -> Iterator[str]:
    if target[0] == m.NAME:
        yield target[1]
    elif target[0] == m.NEW:
        for item in target[3]:
            yield from _names(item)
