"""`python -m torchmemlint`."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    # `-m` puts the current folder first, and a project may have a `queue.py` or a `glob.py` of its own there
    sys.path.append(sys.path.pop(0))

from .cli import main

if __name__ == "__main__":
    main()
