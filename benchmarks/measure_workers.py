"""Run the fixtures about processes, loaders and threads, and measure what no ledger of tensors sees.

Each program's `main(steps)` runs in a process of its own with N and with 2N steps. When the function named by
`Probe:` in its docstring returns (`main` if none is named), this is looked at: the private memory of child processes,
their number, threads, open file descriptors, segments in /dev/shm, and the bytes of live tensor storages.

    python benchmarks/measure_workers.py [CODE ...]    print the table
    python benchmarks/measure_workers.py --write       and update the `Measured` line of each header

`Shows:` in the docstring says which of them the pair is about, `Steps:` how many steps N is (default 6):

    workers      private MiB of the child processes grow with the steps
    copies       private MiB of the child processes that the good twin does not have
    processes    child processes that stay
    threads      threads that stay
    descriptors  open file descriptors that stay
    segments     files in /dev/shm that stay
    storages     bytes of tensor storages grow with the steps
    idle         bytes of tensor storages that the good twin does not keep
    uncollected  the same, before the cyclic collector has run
    device       only a machine with the device can measure it: not run here
    absent       the program needs a library that is not installed here, or shows the absence of an API
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import threading
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure_fixtures import FIXTURES, Header, write_header

GROWING = {
    "workers": ("private", "MiB private to the workers", 0.05),
    "processes": ("children", "child processes", 0.5),
    "threads": ("threads", "threads", 0.5),
    "descriptors": ("descriptors", "open descriptors", 0.5),
    "segments": ("segments", "segments in /dev/shm", 0.5),
    "storages": ("live", "B of live storages", 64.0),
}
HELD = {
    "copies": ("private", "MiB private to the workers", 1.0),
    "idle": ("live", "B of live storages", 64.0),
    "uncollected": ("uncollected", "B of live storages", 64.0),
}
UNMEASURED = ("device", "absent")
WORDS = (*GROWING, *HELD, *UNMEASURED)
TIMEOUT = 120.0


# --- the child ------------------------------------------------------------------------------------


def live_bytes() -> int:
    """Bytes of the storages of all tensors that are alive."""
    import torch

    storages = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor):
            with contextlib.suppress(RuntimeError, NotImplementedError):
                storage = one.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def look() -> dict[str, float]:
    """What is there at this moment."""
    import psutil

    uncollected = live_bytes()
    gc.collect()
    process = psutil.Process()
    private, children = 0, 0
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "resource_tracker" in " ".join(child.cmdline()):
                continue
            private += child.memory_full_info().uss
            children += 1
    return {
        "private": private / 2**20,
        "children": children,
        "threads": threading.active_count(),
        "descriptors": process.num_fds(),
        "segments": len(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else 0,
        "uncollected": uncollected,
        "live": live_bytes(),
    }


def run(path: str, steps: int, probe: str) -> dict[str, float]:
    """Run a program as the main script, without its main guard, and look when the probe returns."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))]
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.path.insert(0, str(Path(path).parent))
    before = look()
    exec(compile(tree, path, "exec"), module.__dict__)
    seen: list[dict[str, float]] = []

    def watch(frame: Any, event: str, value: object) -> None:
        if event == "return" and frame.f_code.co_name == probe and frame.f_code.co_filename == path:
            sys.setprofile(None)
            seen.append(look())
            sys.setprofile(watch)

    sys.setprofile(watch)
    module.main(steps)
    sys.setprofile(None)
    if not seen:
        raise LookupError(f"{probe} was not called")
    return {key: round(value - before[key], 2) for key, value in seen[-1].items()}


def serve() -> None:
    """Fork once for each line `path steps probe` on standard input; torch is imported once."""
    import torch

    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        path, steps, probe = line.split("\t")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                answer = json.dumps(run(path, int(steps), probe.strip()))
            except BaseException as error:
                answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
            os.write(write, answer.encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            answer = pipe.readline()
        os.waitpid(child, 0)
        print(answer or json.dumps({"error": "died"}), file=out, flush=True)


class Server:
    """The process that forks."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def measure(self, path: Path, steps: int, probe: str) -> dict[str, Any]:
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{path}\t{steps}\t{probe}\n")
        process.stdin.flush()
        alarm = threading.Timer(TIMEOUT, self.close)
        alarm.start()
        try:
            line = process.stdout.readline()
        finally:
            alarm.cancel()
        found: dict[str, Any] = json.loads(line) if line else {"error": "took too long"}
        return found

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()


# --- pairs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A bad fixture and the good one beside it."""

    code: str
    bad: Path
    good: Path
    shows: str
    probe: str
    steps: int

    @property
    def name(self) -> str:
        return f"{self.code}/{self.bad.stem}"


def pairs() -> list[Pair]:
    found = []
    for bad in sorted(FIXTURES.glob("TML*/bad*.py")):
        header = Header.read(bad)
        if header.shows not in WORDS:
            continue
        steps = re.search(r"^Steps: *(\d+)$", header.doc, re.MULTILINE)
        good = bad.with_name(bad.name.replace("bad", "good", 1))
        found.append(Pair(bad.parent.name, bad, good, header.shows, header.probe, int(steps[1]) if steps else 6))
    return found


def judge(pair: Pair, server: Server) -> tuple[str, str, list[str]]:
    """The measured lines of the bad and the good program, and what is wrong with them."""
    runs = {}
    for path in (pair.bad, pair.good):
        for steps in (pair.steps, 2 * pair.steps):
            runs[path, steps] = server.measure(path, steps, Header.read(path).probe)
            if "error" in runs[path, steps]:
                return "", "", [f"{path.name}: {runs[path, steps]['error']}"]
    import importlib.metadata

    version = importlib.metadata.version("torch").split("+")[0]
    where = f"Measured (torch {version}, cpu): "
    if pair.shows in GROWING:
        key, unit, least = GROWING[pair.shows]
        bad, good = (
            (runs[p, 2 * pair.steps][key] - runs[p, pair.steps][key]) / pair.steps for p in (pair.bad, pair.good)
        )
        said = [f"{_round(value)} {unit} per step" for value in (bad, good)]
        problems = [] if bad > least else [f"the bad program does not grow: {said[0]}"]
        problems += [f"the good program grows: {said[1]}"] if good > max(least, bad / 5) else []
    else:
        key, unit, least = HELD[pair.shows]
        bad, good = (runs[p, 2 * pair.steps][key] for p in (pair.bad, pair.good))
        said = [f"{_round(value)} {unit}" for value in (bad, good)]
        problems = [] if bad - good > least else [f"no difference: {said}"]
    return f"{where}{said[0]} kept; good twin {said[1]}.", f"{where}{said[1]} kept.", problems


def _round(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 100 else f"{value:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("codes", nargs="*", help="rules to measure; all by default")
    parser.add_argument("--write", action="store_true", help="update the headers")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    wrong = 0
    server = Server()
    for pair in pairs():
        if pair.shows in UNMEASURED or (options.codes and pair.code not in options.codes):
            continue
        bad, good, problems = judge(pair, server)
        print(f"{pair.name:36} {pair.shows:11} {bad.partition(': ')[2] or '-'}", flush=True)
        for problem in problems:
            print(f"{'':36} WRONG: {problem}", flush=True)
        if options.write and not problems:
            write_header(pair.bad, bad)
            write_header(pair.good, good)
        wrong += bool(problems)
    server.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
