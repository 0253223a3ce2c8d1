"""File patterns of the settings, with ruff's meaning: a base name, or a path from the project root."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pattern:
    """A glob that matches a file or folder by its name, or by its whole path below `root`.

    `*` crosses folder borders, `**/` stands for any number of folders, also none, `{a,b}` for
    either; a leading `!` matches everything else.
    """

    glob: str
    root: Path
    _name: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _path: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        glob = self.glob.removeprefix("!").removeprefix("./").rstrip("/")
        root = re.escape(str(self.root).replace(os.sep, "/").rstrip("/"))
        whole = _regex(glob) if os.path.isabs(glob) else f"{root}/{_regex(glob)}"
        object.__setattr__(self, "_name", re.compile(_regex(glob), re.S))
        object.__setattr__(self, "_path", re.compile(whole, re.S))

    def matches(self, path: str) -> bool:
        """Whether the pattern means the file or folder at `path`, which is absolute."""
        path = path.replace(os.sep, "/")
        name = path.rsplit("/", 1)[-1]
        hit = self._name.fullmatch(name) is not None or self._path.fullmatch(path) is not None
        return hit is not self.glob.startswith("!")


class Patterns:
    """Several patterns at once: excludes, which every file is held against.

    Here `!` is a character as any other: one pattern for everything else would leave out all that others name.
    """

    def __init__(self, globs: Iterable[str], root: Path) -> None:
        patterns = [Pattern(f"{{!}}{glob[1:]}" if glob.startswith("!") else glob, root) for glob in globs]
        self._name = re.compile("|".join(f"(?:{pattern._name.pattern})" for pattern in patterns) or r"(?!)", re.S)
        self._path = re.compile("|".join(f"(?:{pattern._path.pattern})" for pattern in patterns) or r"(?!)", re.S)

    def matches(self, path: str) -> bool:
        """Whether any pattern means the file or folder at `path`, which is absolute."""
        path = path.replace(os.sep, "/")
        return bool(self._name.fullmatch(path.rsplit("/", 1)[-1]) or self._path.fullmatch(path))


_TOKEN = re.compile(r"\*\*/|\*+|\?|\[!?\]?[^\]]*\]|\{[^{}]*\}|.", re.S)


def _regex(glob: str) -> str:
    return "".join(_piece(token) for token in _TOKEN.findall(glob))


def _piece(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token[0] == "*":
        return ".*"
    if token == "?":
        return "."
    if token[0] == "[" and len(token) > 2:
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("&", "\\&").replace("~", "\\~")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    if token[0] == "{" and len(token) > 1:
        return "(?:" + "|".join(_regex(choice) for choice in token[1:-1].split(",")) + ")"
    return re.escape(token)
