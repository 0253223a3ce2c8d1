"""Where the files of a report lie, as the service that reads it sees them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from ..fingerprints import below

_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")  # set by GitHub Actions and by GitLab CI


def repository(start: Path) -> Path:
    """The root of the checkout that `start` lies in: as the CI names it, else by `.git`, else `start`."""
    for name in _CHECKOUTS:
        named = os.environ.get(name)
        if named and start.is_relative_to(os.path.abspath(named)):
            return Path(os.path.abspath(named))
    return next((folder for folder in (start, *start.parents) if os.path.exists(folder / ".git")), start)


def uri(filename: str, root: Path) -> tuple[str, bool]:
    """A file as a URI, and whether that is relative to the root."""
    path = below(filename, root)
    relative = not os.path.isabs(path)
    return (quote(os.fsencode(path)), True) if relative else (Path(path).as_uri(), False)
