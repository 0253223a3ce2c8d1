"""The settings in force, as `--show-settings` prints them: a settings file that says the same."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .config import Settings
from .linter import engine
from .linter.selection import UNREADABLE


def settings(of: Settings, start: Path, chosen: Mapping[str, Any]) -> str:
    """All settings in the file's own words, with the rules they turn on, and why they are those of this file."""
    codes = engine.plan(of).selection.codes
    values: dict[str, object] = {
        "select": sorted(codes),
        "ignore": [] if UNREADABLE in codes else [UNREADABLE],  # only that turns it off
        "preview": of.preview,
        "min-confidence": of.min_confidence.label,
        "per-file-ignores": {pattern: list(rules) for pattern, rules in of.per_file_ignores},
        "exclude": list(of.exclude),
        "force-exclude": of.force_exclude,
        "respect-gitignore": of.respect_gitignore,
        "jobs": of.jobs,
        "max-file-size": of.max_file_size,
        "output-format": of.output_format,
        "cache-dir": _full(of.cache),
        "fix": of.fix,
        "fix-only": of.fix_only,
        "unsafe-fixes": of.unsafe_fixes,
        "baseline": _full(of.baseline),
    }
    unset = {"jobs": "one a core", "cache-dir": "nothing is kept", "baseline": "none"}
    head = f"# project root: {of.root}\n# settings file: {of.config_file or 'none'}{_why(start, chosen)}\n"
    return head + "".join(
        f"# {key}: {unset[key]}\n" if value is None else f"{key} = {_toml(value)}\n" for key, value in values.items()
    )


def _why(start: Path, chosen: Mapping[str, Any]) -> str:
    if chosen["config"] or chosen["isolated"]:
        return f", as `--{'config' if chosen['config'] else 'isolated'}` says"
    return f"\n#   for the whole run the nearest in or above {start}, which holds all that is linted"


def _full(path: Path | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)  # TOML knows no halves of surrogate pairs
