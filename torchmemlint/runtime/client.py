"""Our side of the fork server: start it, hand it runs, wait for what they showed. Does not import torch."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from .isolation import Limits

_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE|AUTH|COOKIE", re.IGNORECASE)
_FIXED = {
    "WANDB_MODE": "disabled",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHMEMLINT_VERIFYING": "1",
}


class CannotVerify(Exception):
    """The verifier cannot work here; the message says what to do."""


@dataclass(frozen=True)
class Answer:
    """What came of a run: its result, or the reason why there is none. `children_bytes`: private to its children."""

    result: Any
    reason: str | None
    children_bytes: int
    seconds: float
    output: str


class Server:
    """A fork server, and as many runs at a time as `jobs` says. Raises CannotVerify where torch is not installed."""

    def __init__(self, *, device: str = "auto", limits: Limits | None = None, jobs: int | None = None) -> None:
        missing = [name for name in ("torch", "psutil") if importlib.util.find_spec(name) is None]
        if missing:
            raise CannotVerify(f"{' and '.join(missing)} missing: pip install 'torchmemlint[verify]'")
        if not hasattr(os, "fork"):
            raise CannotVerify("this system has no fork: programs can be observed with --run, but not run apart")
        self.device, self._limits = device, limits or Limits()
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._lock = threading.Lock()
        self._next = 0
        self._workers = ThreadPoolExecutor(jobs or max(os.cpu_count() or 1, 1))
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "torchmemlint.runtime.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(device),
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self._process.wait()
            raise CannotVerify("the verifier's server did not start: is torch installed, and does it import?")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def run(self, job: str, arguments: dict[str, Any], limits: Limits | None = None) -> Answer:
        """Run one, and wait for it."""
        inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = inbox
            request = {
                "id": number,
                "job": job,
                "arguments": arguments,
                "device": self.device,
                "limits": asdict(limits or self._limits),
            }
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError):
                inbox.put(None)
        data = inbox.get()
        if data is None:
            return Answer(None, "the verifier's server died", 0, 0.0, "")
        return Answer(data["result"], data["reason"], data["children_bytes"], data["seconds"], data["output"])

    def submit(self, job: str, arguments: dict[str, Any]) -> Future[Answer]:
        """Run one when it is its turn."""
        return self._workers.submit(self.run, job, arguments)

    def map(self, function: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Results in the order of the items, several at a time."""
        return self._workers.map(function, items)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            data = json.loads(line)
            with self._lock:
                self._waiting.pop(data["id"]).put(data)
        with self._lock:
            for inbox in self._waiting.values():
                inbox.put(None)

    def close(self) -> None:
        """End the server and all that it runs."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()
        self._process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _environment(device: str) -> dict[str, str]:
    """The user's environment without what looks like a secret."""
    kept = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
    if device == "cpu":
        kept["CUDA_VISIBLE_DEVICES"] = ""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [package, *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, **_FIXED, "PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
