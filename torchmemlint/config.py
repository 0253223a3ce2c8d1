"""Settings: what `pyproject.toml` or `torchmemlint.toml` says, and what the command line changes."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .finding import Confidence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CACHE_FOLDER = ".torchmemlint_cache"
DEFAULT_EXCLUDES = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    CACHE_FOLDER,
    ".tox",
    ".venv",
    ".vscode",
    "__pypackages__",
    "_build",
    "buck-out",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
OUTPUT_FORMATS = ("text", "full", "json", "sarif", "github", "gitlab", "junit")
Values = Mapping[str, Any]


class ConfigError(Exception):
    """A setting, an option or a path that the user has to correct."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rules one layer (a settings file, the command line) asks for, as selectors."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    origin: str = "the defaults"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run depends on. `choices` are in the order in which they override each other."""

    root: Path
    config_file: Path | None = None
    choices: tuple[Choice, ...] = ()
    preview: bool = False
    min_confidence: Confidence = Confidence.MEDIUM
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    force_exclude: bool = False
    respect_gitignore: bool = True
    jobs: int | None = None
    max_file_size: int = 5_000_000
    output_format: str = "text"
    fix: bool = False
    fix_only: bool = False
    unsafe_fixes: bool = False
    baseline: Path | None = None

    @property
    def changes_files(self) -> bool:
        return self.fix or self.fix_only

    cache: Path | None = None  # the folder of what is kept between runs; None: nothing is kept


def load(start: Path, overrides: Values, *, config: Path | None = None, isolated: bool = False) -> Settings:
    """The settings for a run over `start`, a folder: those of the file found or named, then `overrides`.

    Raises ConfigError for a file that cannot be read, an unknown key or a value of the wrong type.
    """
    if isolated:
        return _merge(_whole_package(start), None, {}, overrides)
    if config is not None:
        return _merge(Path.cwd(), config, _checked(_table(config, named=True) or {}, str(config)), overrides)
    found = _nearest(start)
    if found is None:
        return _merge(_root_without_settings(start), None, {}, overrides)
    file, values = found
    return _merge(file.parent, file, _checked(values, str(file)), overrides)


def common_parent(paths: Iterable[str]) -> Path:
    """The deepest folder that holds all of `paths`; the working directory where there is none."""
    folders = []
    for path in paths:
        full = os.path.abspath(path)
        folders.append(full if os.path.isdir(full) else os.path.dirname(full))
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # no paths, or two drives
        return Path.cwd()


def nearest_name(word: str, known: Iterable[str]) -> str:
    """A hint that ends an error message: the known word most like `word`, or nothing."""
    words = list(known)  # of several that are equally close, the first
    close = max(words, key=lambda other: difflib.SequenceMatcher(None, word, other).ratio(), default="")
    return f"; did you mean `{close}`?" if difflib.get_close_matches(word, [close], cutoff=0.5) else ""


def _nearest(start: Path) -> tuple[Path, Values] | None:
    for folder in (start, *start.parents):
        for name in ("torchmemlint.toml", "pyproject.toml"):
            file = folder / name
            if os.path.isfile(file):
                values = _table(file, named=False)
                if values is not None:
                    return file, values
    return None


def _is_project(folder: Path) -> bool:  # `os.path` takes what it may not look at for absent, `Path` raises
    return os.path.isfile(folder / "pyproject.toml") or os.path.exists(folder / ".git")


def _root_without_settings(start: Path) -> Path:
    for folder in (start, *start.parents):
        if _is_project(folder):
            return folder
    return _whole_package(start)


def _whole_package(start: Path) -> Path:
    """The outermost package that a folder belongs to: its files import each other, whichever of them are named."""
    while os.path.isfile(start.parent / "__init__.py"):
        start = start.parent
    return start


def _table(file: Path, *, named: bool) -> Values | None:
    """The settings in a file: all of it, or of a `pyproject.toml` its table, None where it has none."""
    try:
        values: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not valid UTF-8"
        raise ConfigError(f"{file}: cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    if file.name != "pyproject.toml":
        return values
    tools = values.get("tool")
    table: object = tools.get("torchmemlint") if isinstance(tools, dict) else None
    if table is None:
        return {} if named else None
    if isinstance(table, dict):
        return table
    raise ConfigError(f"{file}: `tool.torchmemlint` must be a table")


# Checks: each returns what the value should have been, or None when it is right.
def _strings(value: object) -> str | None:
    right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if right else "a list of strings"


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _count(value: object) -> str | None:
    return None if isinstance(value, int) and not isinstance(value, bool) and value > 0 else "a number above zero"


def _path(value: object) -> str | None:
    return None if isinstance(value, str) and value else "the path of a file"


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else "a string"


def _one_of(*words: str) -> Callable[[object], str | None]:
    return lambda value: None if value in words else "one of " + ", ".join(f'"{word}"' for word in words)


def _ignores(value: object) -> str | None:
    right = isinstance(value, dict) and all(_strings(item) is None for item in value.values())
    return None if right else "a table of file patterns, each with a list of rules"


KEYS: Mapping[str, Callable[[object], str | None]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "extend-ignore": _strings,
    "preview": _flag,
    "min-confidence": _one_of(*(level.label for level in Confidence)),
    "per-file-ignores": _ignores,
    "extend-per-file-ignores": _ignores,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _flag,
    "respect-gitignore": _flag,
    "jobs": _count,
    "max-file-size": _count,
    "output-format": _one_of(*OUTPUT_FORMATS),
    "fix": _flag,
    "fix-only": _flag,
    "unsafe-fixes": _flag,
    "baseline": _path,
    "cache-dir": _text,
}


def _checked(values: Values, origin: str) -> Values:
    for key, value in values.items():
        check = KEYS.get(key)
        if check is None:
            raise ConfigError(f"{origin}: unknown setting `{key}`{nearest_name(key, KEYS)}")
        expected = check(value)
        if expected is not None:
            raise ConfigError(f"{origin}: `{key}` must be {expected}")
    return values


@dataclass(frozen=True, slots=True)
class _Layers:
    """The settings file's values and the command line's: the later wins."""

    layers: Sequence[Values] = field(default=())

    def last(self, key: str, default: Any) -> Any:
        return next((layer[key] for layer in reversed(self.layers) if layer.get(key) is not None), default)

    def all(self, key: str) -> list[Any]:
        return [item for layer in self.layers for item in layer.get(key) or ()]

    def pairs(self, key: str) -> list[tuple[str, tuple[str, ...]]]:
        return [(pattern, tuple(rules)) for pattern, rules in self.last(key, {}).items()]


def _merge(root: Path, file: Path | None, values: Values, overrides: Values) -> Settings:
    both = _Layers((values, overrides))
    choices = (_choice(values, str(file)), _choice(overrides, "the command line"))
    return Settings(
        root=Path(os.path.abspath(root)),
        config_file=file,
        choices=choices,
        preview=both.last("preview", False),
        min_confidence=Confidence[both.last("min-confidence", "medium").upper()],
        per_file_ignores=(*both.pairs("per-file-ignores"), *both.pairs("extend-per-file-ignores")),
        exclude=(*both.last("exclude", DEFAULT_EXCLUDES), *both.all("extend-exclude")),
        force_exclude=both.last("force-exclude", False),
        respect_gitignore=both.last("respect-gitignore", True),
        jobs=both.last("jobs", None),
        max_file_size=both.last("max-file-size", Settings.__dataclass_fields__["max_file_size"].default),
        output_format=both.last("output-format", "text"),
        fix=both.last("fix", False),
        fix_only=both.last("fix-only", False),
        unsafe_fixes=both.last("unsafe-fixes", False),
        baseline=_baseline(root, values.get("baseline"), overrides.get("baseline")),
        cache=None if overrides.get("no-cache") else _cache_folder(root, file, values, overrides),
    )


def _baseline(root: Path, setting: str | None, option: str | None) -> Path | None:
    """The baseline's file: an option is relative to the working directory, a setting to the project."""
    if option is not None:
        return Path(option)
    return None if setting is None else Path(os.path.abspath(root)) / setting


def _cache_folder(root: Path, file: Path | None, values: Values, overrides: Values) -> Path:
    """Where results are kept: as told (a settings file's path is relative to it), in the project, or here."""
    if overrides.get("cache-dir"):
        return Path(os.path.abspath(overrides["cache-dir"]))
    if file is not None and values.get("cache-dir"):
        return file.parent / str(values["cache-dir"])
    is_project = file is not None or _is_project(root)
    return (root if is_project else Path.cwd()) / CACHE_FOLDER


def _choice(values: Values, origin: str) -> Choice:
    select = values.get("select")
    return Choice(
        select=None if select is None else tuple(select),
        ignore=(*(values.get("ignore") or ()), *(values.get("extend-ignore") or ())),
        extend_select=tuple(values.get("extend-select") or ()),
        origin=origin,
    )
