"""A module makes something heavy on import, once more in each spawned worker.

## What it does
Reports tensors, arrays and models that are made at the top level of a module
whose functions run in processes started by `spawn` or `forkserver`: of the file
itself, or of the one that it takes the function from.

## Why it retains
A spawned process starts empty and imports the module of the function that it
is to run; the main script is imported as `__mp_main__`. Whatever the module
makes on import is made again in every worker, and lives in its globals until
the worker ends, used or not: a model for each worker, and for device tensors a
device context for each worker.

## When it is fine
- It is made under `if __name__ == "__main__":`.
- It is made in a function that only those call who need it, or in the
  `initializer=` of the pool.
- The start method is `fork`, which shares the pages until they are written.

## How to release it
Move the line under the main guard, or into the function that uses it, and hand
tensors over as arguments: `torch.multiprocessing` passes them through shared
memory.

## References
- Python documentation, "multiprocessing", "The spawn and forkserver start
  methods": "Safe importing of main module".
- Private memory of the workers, with 1 and with 2 of them: measured by this
  rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.at_import import made_at_import
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML402"
name = "import-time-tensor-in-spawn"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    if not {"set_start_method", "get_context", "spawn", "start_processes"} & evidence.program.called:
        return
    for made in made_at_import(evidence.machine, evidence.program):
        module = f"`{made.module}`" if made.module else "this module"
        yield Report(
            site=made.worker if made.module else made.site,
            message=(
                f"every spawned worker imports {module} and makes a `{made.name}` of its own, which stays until the "
                'worker ends; make it under `if __name__ == "__main__":`, or in the function that needs it'
            ),
            confidence=Confidence(made.weight),
            value=f"a {made.what} for each worker",
            holder=made.name,
            release='move it under `if __name__ == "__main__":` or into the function that uses it',
            related=((made.site, "made here"),) if made.module else ((made.worker, "workers are started here"),),
        )
