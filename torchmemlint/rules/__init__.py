"""The rules: one folder a family, one file a rule, facts in and reports out.

A rule is a module of this package (or of a third party, through the entry-point group
`torchmemlint.rules`) that defines `code`, `name`, `retains` and `check`; its docstring is its
documentation page. It is registered by being there.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from ..finding import Confidence, Remedy, Retains
from ..plugins import entry_points

if TYPE_CHECKING:
    from ..evidence.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule says of one place. `site` and the sites in `related` are resolved to rows later.

    `remedy` names a fix; it is made at `remedy_site`, or at `site`. Where `said_by` is a place in another file, that
    file's own run may say the same of it, or one between the two of a call in `said_along`, and then this one does not.
    """

    site: int
    message: str
    confidence: Confidence
    value: str | None = None
    holder: str | None = None
    release: str | None = None
    retains: Retains | None = None  # where it differs from the rule's own
    related: tuple[tuple[int, str], ...] = ()
    remedy: Remedy | None = None
    remedy_site: int | None = None
    said_by: int | None = None
    said_along: tuple[int, ...] = ()
    by_calls: bool = False  # what grows does so with each call of code that is not seen


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as the linter sees it."""

    code: str
    name: str
    retains: Retains | None
    doc: str
    check: Callable[[Evidence], Iterable[Report]]
    preview: bool = False  # opt-in: selected by its full code or with --preview
    general: bool = False  # gives way to any other rule in the same place
    of_tests: bool = True  # speaks of files of tests as well, where all goes with the test

    @property
    def summary(self) -> str:
        return self.doc.strip().splitlines()[0]


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(__path__, __name__ + "."):
        if not info.ispkg:
            yield importlib.import_module(info.name)
    for point in entry_points():
        yield point.load()


@functools.cache
def registry() -> Mapping[str, Rule]:
    """All rules by code, in the order of their codes."""
    rules: dict[str, Rule] = {}
    for module in _modules():
        if not hasattr(module, "code"):
            continue
        rule = Rule(
            code=module.code,
            name=module.name,
            retains=module.retains,
            doc=module.__doc__ or "",
            check=module.check,
            preview=getattr(module, "preview", False),
            general=getattr(module, "general", False),
            of_tests=getattr(module, "of_tests", True),
        )
        if rule.code in rules:
            raise ValueError(f"two rules have the code {rule.code}")
        rules[rule.code] = rule
    return dict(sorted(rules.items()))
