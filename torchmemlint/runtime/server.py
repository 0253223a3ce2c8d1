"""The fork server: imports torch once, and runs each program in a process of its own, forked from here.

It never touches CUDA, which cannot be used in a forked child once it is initialised. Requests come in as a JSON
object a line, answers go out the same way, in the order in which runs end.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import isolation
from .isolation import Limits

_TICK = 0.05  # seconds between two looks at what runs
_TAIL = 4000  # bytes of output that are kept
_FIRST = """
import torch

def main(steps):
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.rand(2, 2)).sum()
    if steps > 1:
        loss.backward()
        optimizer.step()
"""


@dataclass
class _Running:
    """A program that runs: its process, the pipes from it, and what was seen of it."""

    id: int
    pid: int
    results: int
    output: int
    folder: str
    limits: Limits
    began: float = field(default_factory=time.monotonic)
    answer: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    printed: int = 0
    children_bytes: int = 0
    reason: str | None = None  # why it was stopped


def serve() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else gets into the answers
    _warm_up()
    isolation.become_subreaper()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    _Server(answers).loop()


def _warm_up() -> None:
    """Import, and do once, what the first run of all would be blamed for.

    Where there is a device, neither a backward pass nor an optimizer's step: the one starts a thread for each device,
    after which a forked child's backward passes fail (`track_bad_autograd_forks`, torch/csrc/autograd/engine.cpp), the
    other asks CUDA whether a graph is being captured, after which CUDA itself fails there. That there is one is asked
    of NVML, which starts nothing (`PYTORCH_NVML_BASED_CUDA_CHECK`).
    """
    import torch

    from . import program
    from .ledger import Ledger, tracking

    torch.set_num_threads(1)  # forked children cannot use their parent's thread pool
    with tracking(Ledger()):  # the first operation that is tracked imports much more of torch
        torch.empty(0)
    gc.freeze()  # torch itself: not looked through again at every look, the first of which comes now
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first_program.py"
        first.write_text(_FIRST, "utf-8")
        program.run(program.Request(str(first), steps=1 if torch.cuda.is_available() else 2))
    gc.collect()
    gc.freeze()


class _Server:
    def __init__(self, answers: Any) -> None:
        self._answers = answers
        self._running: dict[int, _Running] = {}
        self._selector = selectors.DefaultSelector()
        self._pending = b""
        self._open = True

    def loop(self) -> None:
        os.set_blocking(0, False)
        self._selector.register(0, selectors.EVENT_READ, None)
        while self._open or self._running:
            for key, _ in self._selector.select(_TICK if self._running else None):
                if key.fd == 0:
                    self._requests()
                else:
                    self._read(key.data, key.fd)
            for one in list(self._running.values()):
                self._attend(one)

    def _requests(self) -> None:
        data = os.read(0, 1 << 20)
        if not data:
            self._open = False
            self._selector.unregister(0)
            for one in list(self._running.values()):  # nobody waits for them
                self._end(one, "given up")
            return
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._start(json.loads(line))

    def _start(self, request: dict[str, Any]) -> None:
        limits = Limits(**{**request["limits"], "write": tuple(request["limits"].get("write", ()))})
        results, results_in = os.pipe()
        output, output_in = os.pipe()
        folder = tempfile.mkdtemp(prefix="torchmemlint-")
        pid = os.fork()
        if pid == 0:
            _child(request, limits, folder, results_in, output_in)  # does not return
        os.close(results_in)
        os.close(output_in)
        one = _Running(request["id"], pid, results, output, folder, limits)
        self._running[pid] = one
        for fd in (results, output):
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, one)

    def _read(self, one: _Running, fd: int) -> None:
        try:
            data = os.read(fd, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(fd)
        elif fd == one.results:
            one.answer += data
        else:
            one.printed += len(data)
            one.tail = (one.tail + data)[-_TAIL:]

    def _attend(self, one: _Running) -> None:
        """Has it ended, or must it be?"""
        done, status = os.waitpid(one.pid, os.WNOHANG)
        if done or one.answer.endswith(b"\n"):
            self._end(one, None if one.answer.endswith(b"\n") else _died(status), reaped=bool(done))
            return
        below = list(itertools.islice(isolation.children(one.pid), isolation.PROCESSES + 1))
        if len(below) > isolation.PROCESSES:  # asked first: to look at so many takes a while
            self._end(one, f"started more than {isolation.PROCESSES} processes")
            return
        private = sum(isolation.private_bytes(pid) for pid in below)
        one.children_bytes = max(one.children_bytes, private)
        if time.monotonic() - one.began > one.limits.timeout:
            self._end(one, f"ran longer than {one.limits.timeout:g} s")
        elif one.printed > one.limits.output:
            self._end(one, f"printed more than {one.limits.output >> 20} MiB")
        elif private > one.limits.memory:
            self._end(one, f"its processes took more than {one.limits.memory >> 20} MiB")

    def _end(self, one: _Running, reason: str | None, *, reaped: bool = False) -> None:
        for fd in (one.results, one.output):  # what it wrote last
            with contextlib.suppress(KeyError):
                self._read(one, fd)
        if one.answer.endswith(b"\n"):
            reason = None
        if reaped:  # its number may be another's by now; its group's is not while a member lives
            with contextlib.suppress(OSError):
                os.killpg(one.pid, signal.SIGKILL)
        else:
            _kill(one.pid)
        for fd in (one.results, one.output):
            with contextlib.suppress(KeyError):
                self._selector.unregister(fd)
            os.close(fd)
        del self._running[one.pid]
        _bury({*self._running})
        shutil.rmtree(one.folder, ignore_errors=True)
        answer = {
            "id": one.id,
            "result": json.loads(one.answer) if reason is None else None,
            "reason": reason,
            "children_bytes": one.children_bytes,
            "seconds": round(time.monotonic() - one.began, 3),
            "output": one.tail.decode(errors="replace"),
        }
        print(json.dumps(answer), file=self._answers, flush=True)


def _child(request: dict[str, Any], limits: Limits, folder: str, results: int, output: int) -> None:
    """Everything that the forked process does."""
    status, process = 1, os.getpid()
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _close_others({0, 1, 2, results})
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        from . import jobs

        device = jobs.device(request["device"])
        isolation.confine(folder, limits, cuda=device != "cpu")
        jobs.announce_checkpoints()
        jobs.renew_autograd()
        answer = json.dumps(jobs.JOBS[request["job"]]({**request["arguments"], "device": device}))
        data = answer.encode() + b"\n"
        while data and os.getpid() == process:  # not of a child that the program forked and that came back here
            data = data[os.write(results, data) :]
        status = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(status)


def _close_others(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else map(str, range(256)):
        if int(name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _died(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"died of {signal.Signals(number).name}"
    return f"ended its process itself, with status {os.WEXITSTATUS(status)}"


def _kill(pid: int) -> None:
    """End a process, its group, and all below it."""
    for _ in range(20):
        below = list(isolation.children(pid))
        for one in below:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGSTOP)  # or it would start others meanwhile
        if set(isolation.children(pid)) <= set(below):
            break
    for one in (*below, pid):
        with contextlib.suppress(OSError):
            os.kill(one, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)


def _bury(known: set[int]) -> None:
    """End processes that outlived the one that started them: orphans are ours."""
    for _ in range(20):
        orphans = [pid for pid in _own_children() if pid not in known]
        for pid in orphans:
            _kill(pid)
        if not orphans:
            return


def _own_children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


if __name__ == "__main__":
    serve()
