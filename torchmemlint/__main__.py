"""`python -m torchmemlint`."""

from __future__ import annotations

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()):
    # Python looks into the current folder first; a project may have a `queue.py` or a `glob.py` of its own there
    sys.path.append(sys.path.pop(0))

from .cli import main

if __name__ == "__main__":
    main()
