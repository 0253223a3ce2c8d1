"""Which rules are on: selectors (a code, a prefix, a name, `ALL`) against the rules there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..config import ConfigError, Settings, nearest_name
from ..rules import Rule
from .patterns import Pattern

UNREADABLE = "TML900"
UNUSED_SUPPRESSION = "TML901"
_ALL, _NAMED = 0, 1_000  # specificity: a prefix's is its length, a name or full code beats them


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes in force, file by file."""

    codes: frozenset[str]
    per_file: tuple[tuple[Pattern, frozenset[str]], ...] = ()

    def codes_for(self, path: str) -> frozenset[str]:
        """The codes in force for the file at `path`."""
        if not self.per_file:
            return self.codes
        full = os.path.abspath(path)
        ignored: set[str] = set()
        for pattern, codes in self.per_file:
            if pattern.matches(full):
                ignored |= codes
        return self.codes - ignored


def select(settings: Settings, rules: Mapping[str, Rule]) -> Selection:
    """The selection that the settings ask for. Raises ConfigError for a selector that names no rule.

    As in ruff: within one layer the more specific selector wins, `ignore` over `select` where they
    are equal; a layer that says `select` starts afresh. An unreadable file is never passed over in
    silence because of a narrow `select`: TML900 stays on until it is ignored.
    """
    codes = {code for code, rule in rules.items() if settings.preview or not rule.preview}
    ignored: set[str] = set()
    for choice in settings.choices:
        wanted = [*(choice.select or ()), *choice.extend_select]
        on = dict(_ranked(wanted, settings, rules, choice.origin))
        off = dict(_ranked(choice.ignore, settings, rules, choice.origin, every=True))
        if choice.select is not None:
            codes, ignored = set(), set()
        codes |= {code for code, rank in on.items() if rank > off.get(code, -1)}
        ignored = (ignored - on.keys()) | {code for code, rank in off.items() if rank >= on.get(code, -1)}
        codes -= ignored
    return Selection(
        frozenset(codes | ({UNREADABLE} - ignored)),
        tuple(
            (Pattern(pattern, settings.root), frozenset(_codes(selectors, settings, rules)))
            for pattern, selectors in settings.per_file_ignores
        ),
    )


def _codes(selectors: Iterable[str], settings: Settings, rules: Mapping[str, Rule]) -> set[str]:
    origin = "per-file-ignores"
    return {code for code, _ in _ranked(selectors, settings, rules, origin, every=True)}


def _ranked(
    selectors: Iterable[str], settings: Settings, rules: Mapping[str, Rule], origin: str, *, every: bool = False
) -> list[tuple[str, int]]:
    """Codes with the specificity of the selector that names them, the most specific last.

    Preview rules answer to a prefix only with `preview`, or where `every` says so (to be ignored).
    """
    found = []
    for selector in selectors:
        codes, rank = resolve(selector, rules, origin)
        shown = [code for code in codes if rank == _NAMED or every or settings.preview or not rules[code].preview]
        found += [(code, rank) for code in shown]
    return sorted(found, key=lambda pair: pair[1])


def resolve(selector: str, rules: Mapping[str, Rule], origin: str) -> tuple[list[str], int]:
    """The codes that a selector names, and how specific it is. Raises ConfigError if it names none."""
    word = selector.strip()
    code = word.upper()
    if code == "ALL":
        return list(rules), _ALL
    if code in rules:
        return [code], _NAMED
    named = [rule.code for rule in rules.values() if rule.name == word.lower()]
    if named:
        return named, _NAMED
    starting = [known for known in rules if code and known.startswith(code)]
    if starting:
        return starting, len(code)
    known = [*rules, *(rule.name for rule in rules.values())]
    hint = nearest_name(code, known) if code.startswith("TML") else nearest_name(word.lower(), known)
    raise ConfigError(f"{origin}: no rule is called `{word}`{hint}")
