"""What a run looks at of another file, so that what else changes in that file leaves its findings as they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, cast

from ..facts.file_releases import FileReleases
from ..facts.model import CALLS_PER_STATEMENT, NAME, STATEMENTS_PER_FILE, ClassFacts, Expr, Stmt
from ..facts.outline import Outline
from ..facts.walk import nodes

Part = int | str  # the index of a function, ~ that of a class, a name that the module's body binds

_BODY = "<body>"  # what the module's body does besides binding names
_SITE = re.compile(r"\d{9,}")
_IDENT = re.compile(r"\((1[123]), (\d+), ")  # of a display or a comprehension


class Watched(Outline):
    """The facts of another file. `seen` is what has been looked at since it was last emptied.

    Of the module's body a run has what binds the names that it asks for, and nothing else. What follows from the file
    alone is worked out by the outline that a run has which starts in that file.
    """

    def __init__(self, base: Outline) -> None:
        super().__init__(base.whole)
        self.base = base
        self._named, self._members = base._named, base._members
        self._own_callers, self._methods = base._own_callers, base._methods
        facts = base.whole
        self.seen = seen = set[Part]()  # what notes it does not know this object: no cycle, so what is dropped is gone
        self._prints: dict[Part, str] = {}
        functions = (facts.functions[0]._replace(body=()), *facts.functions[1:])
        seen_functions = _Parts(functions, seen.add)
        seen_classes = _Parts(facts.classes, lambda index: seen.add(~index))
        self.facts = facts._replace(functions=cast(Any, seen_functions), classes=cast(Any, seen_classes))

    def releases(self) -> FileReleases:
        self.seen.update(range(-len(self.whole.classes), len(self.whole.functions)))
        self.seen.update(self.bindings[0])
        return super().releases()

    def entire(self) -> Outline:
        self.releases()
        self.seen.add(_BODY)
        return self.base

    def own_callers(self, klass: ClassFacts) -> dict[str, list[tuple[str, bool]]]:
        self.seen.update(klass.methods.values())
        return super().own_callers(klass)

    def _of_methods(self, klass: ClassFacts) -> tuple[frozenset[str], frozenset[str]]:
        self.seen.update(klass.methods.values())
        return super()._of_methods(klass)

    def imported(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        self.seen.add(_BODY)
        return super().imported()

    def unbound(self) -> dict[str, list[Stmt]]:
        return _Names(self.bindings[0], self.seen)

    def exports(self, name: str) -> bool:
        self.seen.add("__all__")
        return super().exports(name)

    def is_plain(self, hint: Expr) -> bool:
        self.seen.update(self.plain_names)
        self.seen.update(node[1] for node in nodes(hint) if node[0] == NAME)
        return super().is_plain(hint)

    def print_of(self, parts: Collection[Part]) -> str:
        """A fingerprint of parts of the file: what they say, wherever in it they stand."""
        together = "".join(self._print(part) for part in sorted(parts, key=str))
        return hashlib.blake2b(together.encode(), digest_size=16).hexdigest()

    def _print(self, part: Part) -> str:
        known = self._prints.get(part)
        if known is None:
            said = self._said(part)
            known = self._prints[part] = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()
        return known

    def _said(self, part: Part) -> str:
        """The facts of a part in full, and what follows from the file about it. Sites and the like, which tell places
        apart, are numbered as they come."""
        facts = self.whole
        if part == _BODY:
            return self._numbered(facts.functions[0])
        if isinstance(part, str):
            said = self._numbered(self.bindings[0].get(part)), self.stars_before.get(part, 0)
            return repr((said, self.exported[1], sorted(self.exported[0])) if part == "__all__" else said)
        if part < 0:
            return self._numbered(facts.classes[~part]) if ~part < len(facts.classes) else ""
        if part >= len(facts.functions):
            return ""
        function = facts.functions[part]
        around = (
            function.inner,
            part in self.worth,
            part in self.releasing,
            part in self.loud,
            id(function) in self.acting,
        )
        if part == 0:
            return repr((self._numbered(function._replace(body=(), inner=())), self.bindings[1]))
        return repr((self._numbered(function._replace(inner=())), around))

    def _numbered(self, facts: Any) -> str:
        first = self.whole.number * STATEMENTS_PER_FILE * CALLS_PER_STATEMENT
        sites = range(first, first + STATEMENTS_PER_FILE * CALLS_PER_STATEMENT)
        order: dict[str, int] = {}

        def site(found: re.Match[str]) -> str:
            return f"@{order.setdefault(found[0], len(order))}" if int(found[0]) in sites else found[0]

        def ident(found: re.Match[str]) -> str:
            return f"({found[1]}, #{order.setdefault(found[2], len(order))}, "

        return _IDENT.sub(ident, _SITE.sub(site, repr(facts)))


def _of_base(name: str, watched: Watched) -> Any:
    return getattr(watched.base, name)


for _name, _worked_out in list(vars(Outline).items()):
    if isinstance(_worked_out, cached_property):
        _shared = cached_property[Any](partial(_of_base, _name))
        _shared.__set_name__(Watched, _name)
        setattr(Watched, _name, _shared)


class _Parts(Sequence[Any]):
    """Functions or classes; says which are looked at."""

    def __init__(self, items: tuple[Any, ...], note: Callable[[int], None]) -> None:
        self._items = items
        self._note = note

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        self._note(index)
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self._items)))


class _Names(dict[str, list[Stmt]]):
    """The statements that bind names; notes which names are asked for."""

    def __init__(self, statements: dict[str, list[Stmt]], seen: set[Part]) -> None:
        super().__init__(statements)
        self._seen = seen

    def pop(self, name: str, default: Any = None) -> Any:
        self._seen.add(name)
        return super().pop(name, default)
