"""Which functions let go of what an attribute or a name holds, by the text of all files of a run.

The abstract run notes the resets that it comes to; this is for what it does not come to, and for what
code that is not seen may do. It errs on the side of silence.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from .file_releases import FileReleases
from .guarded import mentions
from .left_off import is_left_off, sets
from .never_asked import is_never_asked_for
from .passed_by import PassedBy
from .wrappers import is_wrapper

if TYPE_CHECKING:
    from .model import Site
    from .outline import Outline

_WRAPPED = 3  # times, until what is at last called is taken to be used


class Releases:
    """What the files of a run let go of, by the last part of a place: `history` of `self.history`."""

    def __init__(self, outlines: Iterable[Outline]) -> None:
        self._outlines = tuple(outlines)
        self._known_left_off: dict[tuple[str, str], set[str]] = {}

    @functools.cached_property
    def _files(self) -> tuple[FileReleases, ...]:
        """Gone through when somebody asks: most files have nothing whose release matters."""
        return tuple(outline.releases() for outline in self._outlines)

    def of(self, name: str, cls: str = "", *, exact: bool = False) -> set[str]:
        """The functions that empty or replace a place; for an attribute of a class, without those of strangers that
        empty one of their own, and of an object that is `exact`ly of this class without those of classes below it."""
        return {
            function
            for file in self._files
            for function, owners in file.released.get(name, {}).items()
            if any(
                self._may_share(file, owner, cls, name, exact=exact) and not self._is_replaced(function, owner, cls)
                for owner in owners
            )
        }

    def starting_over(self, name: str, filler: str) -> set[str]:
        """The functions that empty a place only when they begin what fills it again."""
        return {function for file in self._files for function in file.starting_over(name, filler)}

    def parted(self, name: str) -> set[str]:
        """The functions that take something out of what a place has under a key, by a name for that."""
        return {function for file in self._files for function in file.parted.get(name, ())}

    def replaced(self, name: str, cls: str) -> bool:
        """Whether a method of a base class lets go of an attribute, but is not the one that a class has."""
        return any(
            self._is_replaced(function, owner, cls)
            for file in self._files
            for function, owners in file.released.get(name, {}).items()
            for owner in owners
        )

    def measuring(self, name: str, cls: str = "", *, exact: bool = False) -> set[str]:
        """The functions that ask for the length of a place, or for a bound beside it, and do something about it;
        likewise."""
        return {
            function
            for file in self._files
            for asked in (file.measured, file.bounded)
            for function, owners in asked.get(name, {}).items()
            if any(self._may_share(file, owner, cls, name, exact=exact) for owner in owners)
        }

    def _may_share(self, file: FileReleases, owner: str, cls: str, name: str, *, exact: bool = False) -> bool:
        """Whether what a class does to its `self.x` may be done to that of another: it is of the same family, or got
        the container from somewhere. Of a variable only what is done to those of other functions is of strangers."""
        if exact and cls and owner != cls and self._descends(owner, cls) and not self._descends(cls, owner):
            return False
        if cls.endswith("()") != owner.endswith("()"):
            return True
        if not cls or not owner or (owner, name) not in file.made or (owner, name) in file.taken:
            return True
        return owner == cls or self._descends(cls, owner) or self._descends(owner, cls)

    def _is_replaced(self, method: str, owner: str, cls: str) -> bool:
        """Whether what a method of a base class does is not done for a class: it has another one of that name, itself
        or from a class in between, which does not go on to the base's."""
        if not cls or not owner or owner == cls or not self._descends(cls, owner):
            return False
        return any(
            (own == cls or self._descends(cls, own)) and own != owner and self._descends(own, owner)
            for file in self._files
            for own in file.replacing.get(method, ())
        )

    def misjudging(self, name: str, cls: str = "", made: Site | None = None) -> set[str]:
        """The functions that empty a place only when another one, which does not change with it, has some length, or
        when a limit is set which is not, of the object that is `made` there if that is known."""
        found = self.of(name) - {function for file in self._files for function in file.sound.get(name, ())}
        found = found if any(file.misjudges(name) for file in self._files) else set()
        return found | (self.switched_off(name, cls, made=made) | self._left_off(name, cls) if cls else set())

    def _left_off(self, name: str, cls: str) -> set[str]:
        """The functions that empty a place, and are called only where something is switched on which by default is off,
        and stays so; or that do so only if they are told to, which they are not."""
        key = name, cls
        if key not in self._known_left_off:
            files = [file.facts for file in self._files]
            self._known_left_off[key] = {
                function
                for function in self.of(name, cls)
                if is_left_off(files, function, name, self._is_never_set) or is_never_asked_for(files, function, name)
            }
        return self._known_left_off[key]

    def passing_by(self, name: str) -> dict[str, PassedBy]:
        """The functions that take something out of a table, but not what has ended, or whose waiting was cancelled;
        or on one rank only."""
        releasing = [file for file in self._files if name in file.released]
        found = {function: way for file in releasing for function, way in file.passed_by.get(name, {}).items()}
        return {
            function: way for function, way in found.items() if all(file.passes(name, function) for file in self._files)
        }

    def switched_off(
        self, name: str, cls: str, run: Container[str] | None = None, made: Site | None = None
    ) -> set[str]:
        """The functions that empty a place only when a limit is set, which by default it is not, and which nobody
        who makes such an object sets: `def __init__(self, limit=None)`. If it is known which ones are run, the others
        do not matter; if it is known where the object is made, other objects do not."""
        found = [
            {
                function: limit
                for function, limit in file.limited.get((cls, name), {}).items()
                if not run or function in run
            }
            for file in self._files
        ]
        limits = {limit for functions in found for limit in functions.values()}
        if len(limits) != 1 or not self._is_never_set(cls, limits.pop(), made):
            return set()
        return {function for functions in found for function in functions}

    def _is_never_set(self, cls: str, limit: str, made: Site | None = None) -> bool:
        """Whether a limit is what the constructor's default says, which is none, for all objects that are made, or for
        the one that is `made` there."""
        places = [file.off_by_default[cls, limit] for file in self._files if (cls, limit) in file.off_by_default]
        makings = [call for file in self._files for call in file.makings.get(cls, ())]
        makings = [call for call in makings if call[1] == made] or makings
        if len(places) != 1 or not makings or any(limit in file.rebound for file in self._files):
            return False
        param, place = places[0]
        if any(self._descends(other, cls) for file in self._files for other in file.bases):
            return False
        return not any(sets(call, param, place) for call in makings)

    def mentions(self, name: str) -> bool:
        """Whether a name or attribute is used anywhere."""
        return any(name in file.mentioned for file in self._files)

    def comes_up(self, name: str, depth: int = _WRAPPED) -> bool:
        """Whether a name is used anywhere but in wrappers that nobody uses, `def forget(): _STORE.clear()`."""
        return any(self._is_used_in(file, name, depth) for file in self._files if name in file.mentioned)

    def _is_used_in(self, file: FileReleases, name: str, depth: int) -> bool:
        if name not in file.in_wrappers:
            return True
        using = [function for function, _ in mentions(file.facts, name)]
        return not (using and depth) or any(
            not is_wrapper(file.facts, function) or self.comes_up(function.name, depth - 1) for function in using
        )

    def is_debugging(self, function: str) -> bool:
        """Whether a function is called, and only `if debug:`."""
        calls = [file.called[function] for file in self._files if function in file.called]
        return bool(calls) and all(calls)

    def wholesale(self, cls: str) -> set[str]:
        """The functions in which any attribute of a class may be replaced: `setattr(self, ...)`,
        `self.__dict__.update(...)` ..."""
        return {
            function
            for name, function in self._replaced
            if name in ("", cls) or self._descends(cls, name) or self._descends(name, cls)
            if not self._is_replaced(function, name, cls)
        }

    @functools.cached_property
    def _replaced(self) -> frozenset[tuple[str, str]]:
        return frozenset(pair for file in self._files for pair in file.wholesale)

    def _descends(self, cls: str, base: str, depth: int = 6) -> bool:
        found = {parent for file in self._files for parent in file.bases.get(cls, ())}
        return base in found or (depth > 0 and any(self._descends(parent, base, depth - 1) for parent in found))
