"""What a forked child can be asked to do: plain data in, plain data out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from . import program, standins


def device(wanted: str) -> str:
    """`auto` is CUDA where there is a device. Called in a forked child: the server must not touch CUDA."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return wanted


def announce_checkpoints() -> None:
    """Have PyTorch say which files it writes, as Python does: one that may not be written is an error with a name."""
    writer = torch._C.PyTorchFileWriter

    def announced(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, (str, os.PathLike)):
            sys.audit("open", os.fspath(file), "wb", os.O_WRONLY)
        return writer(file, *args, **kwargs)

    torch._C.PyTorchFileWriter = announced  # type: ignore[assignment,misc]


def renew_autograd() -> None:
    """Use autograd once, before there are threads.

    The first thread that uses it after a fork replaces the engine that the parent left, and takes no lock; two that
    come at once both destroy it (`get_python_engine`, torch/csrc/autograd/python_engine.cpp).
    """
    torch.ones(1, requires_grad=True).exp()


def run(arguments: dict[str, Any]) -> dict[str, Any]:
    """One run."""
    return program.run(program.Request.of(arguments)).as_dict()


def fixture(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """A fixture with N and with 2N steps, after a short run: what that leaves in caches is nobody's fault."""
    steps = arguments.pop("steps")
    first = program.run(program.Request.of({**arguments, "steps": 2, "at": 1}))
    wanted = [program.Request.of({**arguments, "steps": count}) for count in (steps, 2 * steps)]
    run = program.run if first.calls < 2 else _run_to_the_last_call
    return [run(request).as_dict() for request in wanted]


def _run_to_the_last_call(request: program.Request) -> program.Run:
    """A run that is looked at closely only as its probe returns for the last time: to look takes as long as many steps,
    and to run a fixture once more, to count the calls, does not."""
    calls = program.run(replace(request, at=0)).calls
    ran = program.run(replace(request, at=calls))
    return ran if ran.after is not None else program.run(request)  # if its threads take fewer turns this time


def replay(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """A snippet with N and with 2N steps."""
    standins.prepare_torch()
    steps = arguments.pop("steps")
    return [program.run(program.Request.of({**arguments, "steps": count})).as_dict() for count in (steps, 2 * steps)]


JOBS: dict[str, Callable[[dict[str, Any]], Any]] = {"run": run, "fixture": fixture, "replay": replay}
