"""In the user's own process, for `verify --run`: runs a program as Python would, and watches its flagged statements.

    python -m torchmemlint.runtime.observe SPEC RESULT (script.py | -m module) [argument ...]

Nothing is confined, and nothing is looked at while the program runs but what goes into flagged statements and, now and
then, how many bytes the lines of the program have made that are alive.
"""

from __future__ import annotations

import ast
import builtins
import gc
import json
import os
import runpy
import sys
import time
import types
from pathlib import Path
from typing import Any

import torch

from . import program, sampling, watch
from .ledger import Ledger, live_tensors

_PAUSE = 0.25  # seconds, at least, between two looks at what is alive
_CHECK = 64  # operations after which the clock is looked at
_MOST = 48  # looks that are kept
_SHARE = 0.02  # of the time may be spent on them, and on what is stored at flagged statements after the first hits
_FIRST = 24


class Observing(Ledger):
    """A ledger that keeps, now and then, how many bytes of each line are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[int, dict[str, tuple[int, int]]]] = []
        self._next = 0.0
        self._pause = _PAUSE

    def tick(self) -> None:
        super().tick()
        if self._operations % _CHECK or time.monotonic() < self._next:
            return
        began = time.monotonic()
        if self.sampled:
            self.sweep(live_tensors())  # what was made in steps that were left out counts, if for no line
        self.looks.append((self._operations, self.by_line()))
        if len(self.looks) >= _MOST:
            self.looks = self.looks[1::2]
            self._pause *= 2
        self._next = began + max(self._pause, (time.monotonic() - began) / _SHARE)

    def size_of(self, storage: Any) -> int:
        """Bytes of a storage: all that is not older is the program's, seen or not."""
        entry = self.live.get(storage._cdata)
        if entry is not None and entry.ref() is storage:
            return entry.size
        return 0 if storage.device.type == "meta" else int(storage.nbytes())

    def by_line(self) -> dict[str, tuple[int, int]]:
        """Bytes and storages that are alive, by the line that made them."""
        found: dict[str, tuple[int, int]] = {}
        for entry in list(self.live.values()):
            if entry.size and entry.site[0]:
                place = f"{entry.site[0]}:{entry.site[1]}"
                size, count = found.get(place, (0, 0))
                found[place] = size + entry.size, count + 1
        return found


class Watcher(program.Asking):
    """Switches between steps, and spends little time on what is stored at flagged statements."""

    def __init__(self, ledger: Observing, sites: Any) -> None:
        super().__init__(ledger, sites)
        self.sampling = sampling.Sampling(ledger)
        self._looking = 0.0  # seconds that went into looking at what is stored
        self._began = time.thread_time()

    def turn(self) -> None:
        """A loop of the program goes round."""
        self.sampling.turn()

    def may_look(self, record: watch.Record) -> bool:
        spent = self._looking <= _SHARE * (time.thread_time() - self._began)
        return super().may_look(record) and (spent or record.hits <= _FIRST)

    def hit(self, site: int, *targets: Any) -> None:
        began = time.thread_time()
        super().hit(site, *targets)
        self._looking += time.thread_time() - began
        self.turn()


def main() -> None:
    """Runs the program, writes what was seen, and ends with the program's exit code."""
    spec, result, *command = sys.argv[1:]
    wanted = json.loads(Path(spec).read_text("utf-8"))
    sites = tuple(watch.Site(**site) for site in wanted["sites"])
    ledger = Observing()
    ledger.adopt()
    recorder = Watcher(ledger, sites)
    gc.freeze()  # what is there already is not looked through with what the program makes
    setattr(builtins, watch.NAME, recorder)
    code: Any = 0
    try:
        with program.instrumenting(program.Request("", sites=sites), turns=True), recorder.sampling():
            if command[0] == "-m":
                sys.argv = command[1:]
                runpy.run_module(command[1], run_name="__main__", alter_sys=True)
            else:
                _script(command, sites)
    except SystemExit as error:
        code = error.code
    except BaseException as error:
        error = error.with_traceback(_own_part(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        _write(Path(result), ledger, recorder)
    sys.exit(code)


def _own_part(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback as the program itself would have printed it: without what ran it."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (
        __file__,
        "<frozen runpy>",
        runpy.__file__,
    ):
        traceback = traceback.tb_next
    return traceback


def _script(command: list[str], sites: tuple[watch.Site, ...]) -> None:
    """Runs a file as `python file.py` does."""
    path = os.path.realpath(command[0])
    own = [site for site in sites if os.path.realpath(site.file) == path]
    tree = sampling.turns(watch.instrumented(ast.parse(Path(path).read_bytes()), own), watch.NAME)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=command[0], __builtins__=builtins)
    sys.modules["__main__"] = module
    sys.argv = command
    sys.path[0] = os.path.dirname(path)  # as Python itself does
    exec(compile(tree, command[0], "exec", dont_inherit=True), module.__dict__)


def _write(file: Path, ledger: Observing, recorder: Watcher) -> None:
    sites = {
        str(key): {
            "hits": record.hits,
            "samples": record.samples,
            "tensors": record.tensors,
            "with_graph": record.with_graph,
            "below": recorder.hits_below(key),
            "path": recorder.paths.get(key, ()),
        }
        for key, record in recorder.records.items()
    }
    ledger.looks.append((ledger.operations, ledger.by_line()))
    data = {
        "sites": sites,
        "looks": [look for look in ledger.looks if look[1]],
        "peak": ledger.peak,
        "curve": ledger.curve,
        "torch": torch.__version__,
        "device": "cuda" if torch.cuda.is_initialized() else "cpu",  # type: ignore[no-untyped-call]
    }
    file.write_text(json.dumps(data), "utf-8")


if __name__ == "__main__":
    main()
