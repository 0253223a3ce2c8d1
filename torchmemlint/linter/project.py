"""The files around a file: what its imports mean, and the facts of what they lead to."""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from ..facts.model import NAMESPACE, FileFacts
from ..source import has_trace
from .patterns import Patterns
from .watched import Watched

_MOST_STATEMENTS = 60_000  # of facts that are kept in memory: some 60 MB
_SUFFIX = ".py"
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+)?import[ \t]*(?P<names>\([^)]*\)?|[^\r\n#;]*)", re.M
)

_BINDING = re.compile(
    rb"^(?:[ \t]*class[ \t]+(\w+)|(?:async[ \t]+)?def[ \t]+(\w+)|([A-Za-z]\w*)[ \t]*(?::[^=\r\n]*)?=[^=])", re.M
)
_COMMENT = re.compile(rb"#[^\r\n]*")
_WORD = re.compile(rb"\w+")

# importer, level, dotted name; level -1: a submodule of a package; -2: the star import that brings a name
Asked = tuple[str, int, str]
_Import = tuple[str | None, list[str]]  # module, names of it; None: the names are the modules


class Project:
    """The Python files below a root, minus excludes. Everything that was asked of it since `begin` is on record,
    so that a result can be kept for as long as the answers stay the same."""

    def __init__(self, root: Path, exclude: tuple[str, ...], load: Callable[[str], FileFacts | None]) -> None:
        self._root = str(root)
        self._excludes = Patterns(exclude, root)
        self._load = load
        self._outlines: OrderedDict[str, Watched | None] = OrderedDict()
        self._statements = 0
        self._kinds: dict[str, str] = {}
        self._belonging: dict[str, bool] = {}
        self._folders_to_start: dict[str, list[str]] = {}
        self._texts: dict[str, tuple[set[str], list[str]]] = {}
        self._scanned: dict[str, tuple[bool, list[_Import]]] = {}
        self._answers: dict[Asked, str | None] = {}
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
        return self.answer((package, -1, name))

    def star(self, importer: str, name: str) -> str | None:
        """The file that a file's star imports take a name from, by what the texts seem to bind."""
        return self.answer((importer, -2, name))

    def answer(self, asked: Asked) -> str | None:
        """The file that a name means to a file; None where the project has none."""
        if asked not in self._answers:
            self._answers[asked] = self._find(*asked)
        self.asked[asked] = found = self._answers[asked]
        return found

    def _find(self, importer: str, level: int, dotted: str) -> str | None:
        if level == -2:
            return self._star(importer, dotted, set())
        folder = os.path.dirname(importer)
        if level < 0:
            is_package = os.path.basename(importer) in ("", "__init__.py")
            return self._walk(folder, [dotted]) if is_package else None
        parts = dotted.split(".") if dotted else []
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._walk(folder, parts)
        for start in self._starts(folder):
            found = self._walk(start, parts)
            if found is not None and found != importer:
                return found
        return None

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

    def _walk(self, folder: str, parts: list[str]) -> str | None:
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

    def _star(self, importer: str, name: str, seen: set[str]) -> str | None:
        seen.add(importer)
        for target in self._names(importer)[1]:
            if target not in seen and (name in self._names(target)[0] or self._star(target, name, seen)):
                return target
        return None

    def _names(self, path: str) -> tuple[set[str], list[str]]:
        """The names that a file's text seems to bind for others, and the files that its star imports lead to."""
        known = self._texts.get(path)
        if known is None:
            try:
                raw = Path(path).read_bytes() if not path.endswith(os.sep) else b""
            except OSError:
                raw = b""
            names = {word for found in _BINDING.findall(raw) for word in found if word}
            stars: list[str] = []
            for match in _IMPORT.finditer(raw):
                if match["names"].strip() != b"*":
                    names.update(_WORD.findall(match["names"]))
                    continue
                module = (match["module"] or b"").decode("utf-8", "replace")
                level = len(module) - len(module.lstrip("."))
                asked = (path, level, module[level:])
                if asked not in self._answers:
                    self._answers[asked] = self._find(*asked)
                target = self._answers[asked]
                if target is not None:
                    stars.append(target)
            known = self._texts[path] = ({name.decode("utf-8", "replace") for name in names}, stars)
        return known

    # -- relevance --------------------------------------------------------------------------------

    def leads_to_trace(self, path: str, raw: bytes) -> bool:
        """Whether a file's imports lead to one whose bytes name torch, or to a part of its own package that is not
        there (one file of a package was handed in): only then can it hold what rules know."""
        imports = _imports(raw)
        if self._lacks_parts(path, imports):
            return True
        stack = [self._imported(path, imports)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            elif inner not in self.scanned and inner != path:
                self.scanned.add(inner)
                traced, imports = self._scan(inner)
                if traced:
                    return True
                stack.append(self._imported(inner, imports))
        return False

    def _lacks_parts(self, path: str, imports: list[_Import]) -> bool:
        """Whether a file imports modules of the package it lies in, by dots or the name of a folder, that are not
        there."""
        folders = set(path.removeprefix(self._root).split(os.sep)[:-1]) - {""}
        for module, names in imports:
            if module is None or (module[0] != "." and module.split(".")[0] not in folders):
                continue
            level = len(module) - len(module.lstrip("."))
            target = self.resolve(path, level, module[level:])
            if target is None or (target.endswith(os.sep) and not all(self.submodule(target, name) for name in names)):
                return True
        return False

    def _scan(self, path: str) -> tuple[bool, list[_Import]]:
        known = self._scanned.get(path)
        if known is None:
            try:
                raw = Path(path).read_bytes() if not path.endswith(os.sep) else b""
            except OSError:
                raw = b""
            known = self._scanned[path] = (has_trace(raw), _imports(raw))
        return known

    def _imported(self, path: str, imports: list[_Import]) -> Iterator[str]:
        """The project's files that imports in a file lead to."""
        for module, names in imports:
            if module is None:
                yield from filter(None, (self.resolve(path, 0, name) for name in names))
                continue
            level = len(module) - len(module.lstrip("."))
            target = self.resolve(path, level, module[level:])
            if target is not None:
                yield target
                yield from filter(None, (self.submodule(target, name) for name in names))

    # -- facts ------------------------------------------------------------------------------------

    def outline(self, path: str) -> Watched | None:
        """What a file does; None where it cannot be read or parsed."""
        outline = self.used[path] = self.known(path)
        if outline is not None:
            outline.seen = set()
        return outline

    def known(self, path: str) -> Watched | None:
        """What a file does, whether or not the run looks at it."""
        if path.endswith(os.sep):
            return Watched(NAMESPACE)
        if path in self._outlines:
            self._outlines.move_to_end(path)
            return self._outlines[path]
        facts = self._load(path)
        outline = self._outlines[path] = None if facts is None else Watched(facts)
        self._statements += 0 if facts is None else facts.statements
        while self._statements > _MOST_STATEMENTS and len(self._outlines) > 1:
            _, dropped = self._outlines.popitem(last=False)
            self._statements -= 0 if dropped is None else dropped.whole.statements
        return outline


def _imports(raw: bytes) -> list[_Import]:
    """What the bytes of a file seem to import: more than it does, never less."""
    found: list[_Import] = []
    for match in _IMPORT.finditer(raw):
        module = None if match["module"] is None else match["module"].decode("utf-8", "replace")
        words = (name.split() for name in _COMMENT.sub(b"", match["names"]).strip(b"()\\").split(b","))
        found.append((module, [name[0].decode("utf-8", "replace") for name in words if name]))
    return found
