"""The rules of other packages, by the entry-point group `torchmemlint.rules`."""

from __future__ import annotations

import functools
import glob
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_GROUP = "torchmemlint.rules"


@functools.cache
def entry_points() -> tuple[EntryPoint, ...]:
    """What other packages name as rules of theirs."""
    if not any(map(_may_name_rules, sys.path)):
        return ()
    from importlib import metadata  # its import alone is a tenth of a run in which nothing is new

    return tuple(metadata.entry_points(group=_GROUP))


def _may_name_rules(path: str) -> bool:
    """Whether a package that is installed in a folder, or lies in an archive, may name rules."""
    if os.path.isfile(path):
        return True
    return any(map(_names_rules, glob.iglob(os.path.join(glob.escape(path), "*.*-info", "entry_points.txt"))))


def _names_rules(file: str) -> bool:
    try:
        with open(file, "rb") as stream:
            return _GROUP.encode() in stream.read()
    except OSError:
        return False
