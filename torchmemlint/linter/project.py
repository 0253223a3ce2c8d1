"""The files around a file: what its imports mean, and the facts of what they lead to."""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from ..facts.model import NAMESPACE
from ..facts.outline import Outline
from ..source import has_trace
from .callers import files_below, loaded_by_others, others_who_call
from .emptied_elsewhere import emptied_by_others
from .imports import Import, exported, imports, words
from .makers import made_by_others
from .patterns import Patterns
from .programs import leading_files, nearest
from .repeated import repeated_by_others
from .scripts import beside_a_script
from .watched import Watched

_MOST_STATEMENTS = 60_000  # of facts that are kept in memory: some 60 MB
_SUFFIX = ".py"
# Levels of an import are 0 and more; below that stand the other questions that are on record.
_SUBMODULE = -1  # of a package
_MAY_HAVE = -2  # the file itself, if a name may come from it
_DEFINING = -3  # the file in a folder that a package's `__init__` would take a name from
_CALLED, _LOADED, _CALLED_IN_TURN = -4, -5, -6  # see callers.py
_MADE = -7  # see makers.py
_BRINGING = -8  # the star imports of the file that a name may come from
_REPEATED = -9  # see repeated.py
_LEADING = -10  # see programs.py
_EMPTIED = -11  # see emptied_elsewhere.py
# importer, level, dotted name
Asked = tuple[str, int, str]


class Project:
    """The Python files below a root, minus excludes. Everything that was asked of it since `begin` is on record,
    so that a result can be kept for as long as the answers stay the same."""

    def __init__(
        self,
        root: Path,
        exclude: tuple[str, ...],
        load: Callable[[str], Outline | None],
        linted: frozenset[str] | None = None,  # None: whatever there is
    ) -> None:
        self._linted = linted
        self._root = str(root)
        self._excludes = Patterns(exclude, root)
        self._load = load
        self._outlines: OrderedDict[str, Watched | None] = OrderedDict()
        self._statements = 0
        self._kinds: dict[str, str] = {}
        self._belonging: dict[str, bool] = {}
        self._folders_to_start: dict[str, list[str]] = {}
        self._names: dict[str, tuple[bytes, list[str]]] = {}
        self._stars: dict[str, dict[str, str | None]] = {}
        self._scanned: dict[str, tuple[bool, list[Import]]] = {}
        self._answers: dict[Asked, str | None] = {}
        self._files: list[str] | None = None
        self._programs: dict[str, list[str]] | None = None
        self.asked: dict[Asked, str | None] = {}
        self.used: dict[str, Watched | None] = {}  # None: it cannot be read or parsed
        self.scanned: set[str] = set()  # whose text was asked for torch and for imports

    def begin(self) -> None:
        """Start a new record."""
        self.asked, self.used, self.scanned = {}, {}, set()

    # -- names ------------------------------------------------------------------------------------

    def resolve(self, importer: str, level: int, dotted: str) -> str | None:
        return self.answer((importer, level, dotted))

    def submodule(self, package: str, name: str) -> str | None:
        return self.answer((package, _SUBMODULE, name))

    def defining(self, folder: str, name: str) -> str | None:
        """The one file in a folder that defines a function or class, where a part of a package was handed in without
        its `__init__.py`, which would bring the name."""
        return self.answer((folder, _DEFINING, name))

    def may_have(self, path: str, name: str) -> bool:
        """Whether the text of a file, or of one that its star imports lead to, has this word, and no `__all__` that
        leaves it out."""
        return self.answer((path, _MAY_HAVE, name)) is not None

    def bringing(self, path: str, name: str) -> frozenset[str]:
        """The modules that star imports of a file name, as written there, which may have this word: of a package with
        hundreds of them one question instead of as many."""
        found = self.answer((path, _BRINGING, name))
        return frozenset(found.split()) if found else frozenset()

    def called(self, path: str, name: str) -> str | None:
        """Whether other files call a function of this one with gradients off, see callers.py."""
        return self.answer((path, _CALLED, name))

    def called_in_turn(self, path: str, name: str) -> str | None:
        """The same of a function that calls one of another file: here nobody asks any further."""
        return self.answer((path, _CALLED_IN_TURN, name))

    def loaded(self, path: str, name: str) -> str | None:
        """Whether other files load a data set of this one without workers, see callers.py."""
        return self.answer((path, _LOADED, name))

    def made(self, path: str, name: str) -> str | None:
        """Whether other files make objects of a class of this one for a moment only, see makers.py."""
        return self.answer((path, _MADE, name))

    def repeated(self, path: str, name: str) -> str | None:
        """Whether a loop of another file calls what this one has under a name, see repeated.py."""
        return self.answer((path, _REPEATED, name))

    def emptied(self, path: str, name: str) -> str | None:
        """Whether other files empty a global of this one, see emptied_elsewhere.py."""
        return self.answer((path, _EMPTIED, name))

    def leading(self, path: str) -> list[str]:
        """The programs that import from a file, see programs.py: any of their functions may come to lead there. None of
        a file that is not linted: what it says goes unheard."""
        if self._linted is not None and path not in self._linted:
            return []
        found = (self.answer((path, _LEADING, "")) or "").splitlines()
        self.scanned.update(found)
        return found

    def is_led_by_trace(self, path: str) -> bool:
        """Whether one of these programs names torch, or imports what does."""
        programs = self.leading(path)
        traced = (self._scan(program)[0] for program in programs)
        return any(traced) or any(self.leads_to_trace(program, _bytes_of(program)) for program in programs)

    def answer(self, asked: Asked) -> str | None:
        """The file that a name means to a file; None where the project has none."""
        if asked not in self._answers:
            self._answers[asked] = self._find(*asked)
        self.asked[asked] = found = self._answers[asked]
        return found

    def _find(self, importer: str, level: int, dotted: str) -> str | None:
        if level == _MAY_HAVE:
            return importer if self._may_have(importer, dotted.encode(), set()) else None
        if level == _DEFINING:
            return self._defining(importer, dotted)
        if level == _BRINGING:
            return self._bringing(importer, dotted.encode())
        if level == _CALLED:
            return others_who_call(self, importer, dotted)
        if level == _CALLED_IN_TURN:
            return others_who_call(self, importer, dotted, first=False)
        if level == _MADE:
            return made_by_others(self, importer, dotted)
        if level == _LEADING:
            self._programs = leading_files(self) if self._programs is None else self._programs
            return "\n".join(nearest(self._programs.get(importer, []), importer)) or None
        if level == _REPEATED:
            return repeated_by_others(self, importer, dotted)
        if level == _EMPTIED:
            return emptied_by_others(self, importer, dotted)
        if level == _LOADED:
            return loaded_by_others(self, importer, dotted)
        folder = os.path.dirname(importer)
        if level == _SUBMODULE:
            is_package = os.path.basename(importer) in ("", "__init__.py")
            return self.walk(folder, [dotted]) if is_package else None
        parts = dotted.split(".") if dotted else []
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self.walk(folder, parts)
        for start in self._starts(folder):
            found = self.walk(start, parts)
            if found is not None and (found != importer or os.path.basename(found) == "__init__.py"):
                return found  # of a package also itself: `from package import part` in its own `__init__`
        return beside_a_script(self, importer, folder, parts)

    def _starts(self, folder: str) -> list[str]:
        """Where absolute imports of a file may begin: the folder above its package (its own, for a script), the
        root, and `src` below it."""
        known = self._folders_to_start.get(folder)
        if known is None:
            above = folder
            while self._kind(os.path.join(above, "__init__.py")) == "file" and os.path.dirname(above) != above:
                above = os.path.dirname(above)
            known = list(dict.fromkeys((above, self._root, os.path.join(self._root, "src"))))
            self._folders_to_start[folder] = known
        return known

    def walk(self, folder: str, parts: list[str]) -> str | None:
        """The file of a module below a folder, or the folder of a namespace package."""
        for number, part in enumerate(parts):
            inner = os.path.join(folder, part)
            last = number == len(parts) - 1
            is_package = self._kind(os.path.join(inner, "__init__.py")) == "file"
            if last and not is_package and self._kind(inner + _SUFFIX) == "file":
                return inner + _SUFFIX if self._belongs(inner + _SUFFIX) else None
            if self._kind(inner) != "folder":
                return None
            folder = inner
        package = os.path.join(folder, "__init__.py")
        found = package if self._kind(package) == "file" else folder + os.sep
        return found if self._belongs(found) else None

    def _kind(self, path: str) -> str:
        known = self._kinds.get(path)
        if known is None:
            try:
                mode = os.stat(path).st_mode
            except (OSError, ValueError):
                mode = 0
            known = self._kinds[path] = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""
        return known

    def _belongs(self, path: str) -> bool:
        """Whether a file or folder is below the root and in no excluded folder."""
        known = self._belonging.get(path)
        if known is None:
            full = path.rstrip(os.sep)
            known = full == self._root or (
                path.startswith(self._root + os.sep)
                and not self._excludes.matches(full)
                and self._belongs(os.path.dirname(full))
            )
            self._belonging[path] = known
        return known

    def _defining(self, folder: str, name: str) -> str | None:
        inside = os.path.dirname(folder.rstrip(os.sep)) != self._root  # else it may be the name of an installed package
        if not inside or not folder.endswith(os.sep):
            return None
        defines = re.compile(rb"^(?:async def|def|class) %s\b" % re.escape(name.encode()), re.M)
        try:
            files = [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.endswith(_SUFFIX)]
        except OSError:
            return None
        found = [file for file in files if self._belongs(file) and defines.search(_bytes_of(file))]
        return found[0] if len(found) == 1 else None

    def _bringing(self, path: str, name: bytes) -> str | None:
        stars = self._stars.get(path)
        if stars is None:
            modules = {module for module, names in imports(_bytes_of(path)) if module and names == ["*"]}
            stars = self._stars[path] = {module: self.found(path, module) for module in sorted(modules)}
        bring = (module for module, file in stars.items() if file is not None and self._may_have(file, name, {path}))
        return " ".join(bring) or None

    def _may_have(self, path: str, name: bytes, seen: set[str]) -> bool:
        seen.add(path)
        names, stars = self._names_of(path)
        return b"\0" + name + b"\0" in names or any(
            target not in seen and self._may_have(target, name, seen) for target in stars
        )

    def _names_of(self, path: str) -> tuple[bytes, list[str]]:
        """What `import *` of a file may take along, by its text, and the files that its star imports lead to."""
        known = self._names.get(path)
        if known is None:
            raw = _bytes_of(path)
            listed = exported(raw)
            modules = [module for module, names in imports(raw) if names == ["*"]] if listed is None else []
            stars = [self.found(path, module) for module in modules if module is not None]
            names = b"\0".join(words(raw) if listed is None else listed)
            known = self._names[path] = b"\0" + names + b"\0", [target for target in stars if target is not None]
        return known

    def found(self, importer: str, module: str) -> str | None:
        """The file of a module that is written with its dots; not on record, as the names it has are."""
        level = len(module) - len(module.lstrip("."))
        asked = (importer, level, module[level:])
        if asked not in self._answers:
            self._answers[asked] = self._find(*asked)
        return self._answers[asked]

    def part_of(self, package: str, name: str) -> str | None:
        """The file of a part of a package; not on record either."""
        return self._find(package, _SUBMODULE, name)

    def imports_of(self, path: str) -> list[Import]:
        """What the text of a file imports."""
        return self._scan(path)[1]

    def linted(self) -> Iterator[tuple[str, bytes]]:
        """Those of its files that are linted now and no tests: only they bring findings for others."""
        return (one for one in self.texts() if self._linted is None or one[0] in self._linted)

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Its files that are no tests."""
        if self._files is None:
            self._files = files_below(self._root, self._belongs)
        return ((path, _bytes_of(path)) for path in self._files)

    # -- relevance --------------------------------------------------------------------------------

    def leads_to_trace(self, path: str, raw: bytes) -> bool:
        """Whether a file's imports lead to one whose bytes name torch, or to a part of its own package that is not
        there (one file of a package was handed in): only then can it hold what rules know."""
        found = imports(raw)
        if self._lacks_parts(path, found):
            return True
        stack = [self._imported(path, found)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            elif inner not in self.scanned and inner != path:
                self.scanned.add(inner)
                traced, found = self._scan(inner)
                if traced:
                    return True
                stack.append(self._imported(inner, found))
        return False

    def is_judged(self, path: str) -> bool:
        """Whether rules could say anything of this file."""
        self.scanned.add(path)
        return self._scan(path)[0] or self.leads_to_trace(path, _bytes_of(path)) or self.is_led_by_trace(path)

    def _lacks_parts(self, path: str, found: list[Import]) -> bool:
        """Whether a file imports modules of the package it lies in, by dots or the name of a folder, that are not
        there."""
        folders = set(path.removeprefix(self._root).split(os.sep)[:-1]) - {""}
        for module, names in found:
            if module is None or (module[0] != "." and module.split(".")[0] not in folders):
                continue
            level = len(module) - len(module.lstrip("."))
            target = self.resolve(path, level, module[level:])
            if target is None or (target.endswith(os.sep) and not all(self.submodule(target, name) for name in names)):
                return True
        return False

    def _scan(self, path: str) -> tuple[bool, list[Import]]:
        known = self._scanned.get(path)
        if known is None:
            raw = _bytes_of(path)
            known = self._scanned[path] = (has_trace(raw), imports(raw))
        return known

    def _imported(self, path: str, found: list[Import]) -> Iterator[str]:
        """The project's files that imports in a file lead to."""
        for module, names in found:
            if module is None:
                dotted = (name[:end] for name in names for end in _ends_of_parts(name))
                yield from filter(None, (self.resolve(path, 0, name) for name in dotted))
                continue
            level = len(module) - len(module.lstrip("."))
            target = self.resolve(path, level, module[level:])
            if target is not None:
                yield target
                yield from filter(None, (self.submodule(target, name) for name in names))

    # -- facts ------------------------------------------------------------------------------------

    def outline(self, path: str) -> Watched | None:
        """What a file does; None where it cannot be read or parsed."""
        if path not in self.used:
            outline = self.used[path] = self.known(path)
            if outline is not None:
                outline.seen.clear()
        return self.used[path]

    def known(self, path: str) -> Watched | None:
        """What a file does, whether or not the run looks at it."""
        if path.endswith(os.sep):
            return Watched(Outline(NAMESPACE))
        if path in self._outlines:
            self._outlines.move_to_end(path)
            return self._outlines[path]
        base = self._load(path)
        outline = self._outlines[path] = None if base is None else Watched(base)
        self._statements += 0 if base is None else base.whole.statements
        while self._statements > _MOST_STATEMENTS and len(self._outlines) > 1:
            _, dropped = self._outlines.popitem(last=False)
            self._statements -= 0 if dropped is None else dropped.whole.statements
        return outline


def _ends_of_parts(dotted: str) -> Iterator[int]:
    """`import a.b` runs `a` as well, and that is the name it binds."""
    return (index for index, letter in enumerate(dotted + ".") if letter == ".")


def _bytes_of(path: str) -> bytes:
    try:
        return Path(path).read_bytes() if not path.endswith(os.sep) else b""
    except OSError:
        return b""
