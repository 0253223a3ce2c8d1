"""Programs that misbehave: each ends in a reason, and leaves no process behind."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.runtime import isolation
from torchmemlint.runtime.client import Answer, Server
from torchmemlint.runtime.isolation import Limits

LIMITS = Limits(timeout=4.0, memory=1 << 30, output=1 << 20)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(device="cpu", limits=LIMITS, jobs=1) as one:
        yield one


def run(server: Server, folder: Path, body: str, limits: Limits = LIMITS) -> Answer:
    program = folder / "program.py"
    program.write_text("import os, sys, time\nimport torch\n\ndef main(steps):\n" + textwrap.indent(body, "    "))
    return server.run("run", {"file": str(program), "steps": 2}, limits)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while True: pass", "ran longer than 4 s"),
        ("os._exit(3)", "ended its process itself, with status 3"),
        ("import ctypes; ctypes.string_at(0)", "died of SIGSEGV"),
        ("while True: print('x' * 10000)", "printed more than 1 MiB"),
        ("while True: os.write(2, b'x' * 10000)", "printed more than 1 MiB"),
        ("if os.fork() == 0: time.sleep(600)\nwhile True: pass", "ran longer than 4 s"),
        ("if os.fork() == 0: time.sleep(600)\nos._exit(0)", "ended its process itself, with status 0"),
        ("os.kill(os.getpid(), 9)", "died of SIGKILL"),
    ],
)
def test_end_without_a_result(server: Server, tmp_path: Path, body: str, reason: str) -> None:
    answer = run(server, tmp_path, body)
    assert (answer.result, answer.reason) == (None, reason)
    assert not left_behind(server)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("torch.empty(1 << 36)", "RuntimeError"),
        ("x = bytearray(1 << 36)", "MemoryError"),
        ("sys.exit(0)", "SystemExit"),
        ("raise ValueError('no')", "ValueError: no"),
        ("open(os.path.expanduser('~root/made-by-a-test'), 'w')", "PermissionError: not allowed while being verified"),
        ("os.remove(__file__)", "PermissionError: not allowed while being verified"),
        ("os.system('true')", "PermissionError: not allowed while being verified"),
        ("import urllib.request; urllib.request.urlopen('http://example.com')", "Error"),
        ("import socket; socket.create_connection(('192.0.2.1', 80), 3)", "Error"),
        ("input()", "EOFError"),
        ("import subprocess; subprocess.run(['true'])", "PermissionError: not allowed while being verified"),
        ("os.kill(1, 0)", "PermissionError: not allowed while being verified"),
        ("open('big', 'wb').truncate(2 << 30)", "File too large"),
    ],
)
def test_error_of_the_program(server: Server, tmp_path: Path, body: str, error: str) -> None:
    answer = run(server, tmp_path, body)
    assert answer.reason is None
    assert error in answer.result["error"]


def test_own_folder_may_be_written(server: Server, tmp_path: Path) -> None:
    answer = run(server, tmp_path, "open('scratch', 'w').write('x')")
    assert answer.result["error"] is None


OUTSIDE = {
    "write": "open({place!r} + '/new', 'w')",
    "append": "open({place!r} + '/old', 'a')",
    "descriptor": "os.open({place!r} + '/new', os.O_WRONLY | os.O_CREAT)",
    "folder": "os.mkdir({place!r} + '/new')",
    "move": "os.rename({place!r} + '/old', {place!r} + '/new')",
    "link": "os.symlink('x', {place!r} + '/new')",
    "tree": "import shutil; shutil.rmtree({place!r})",
    "checkpoint": "torch.save(torch.ones(1), {place!r} + '/new')",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_else_is_written(server: Server, tmp_path: Path, name: str) -> None:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "old").write_text("old")
    unhurried = replace(LIMITS, timeout=60.0)
    answer = run(server, tmp_path, OUTSIDE[name].format(place=str(place)), unhurried)
    assert answer.result is not None, answer.reason
    assert answer.result["error"] is not None
    assert [(one.name, one.read_text()) for one in place.iterdir()] == [("old", "old")]
    allowed = run(server, tmp_path, OUTSIDE["write"].format(place=str(place)), replace(unhurried, write=(str(place),)))
    assert allowed.result["error"] is None and (place / "new").exists()


def test_processes_of_one_program_may_talk(server: Server, tmp_path: Path) -> None:
    body = """
    import socket
    here = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(here.getsockname(), 3).close()
    """
    assert run(server, tmp_path, textwrap.dedent(body)).result["error"] is None


def test_fork_bomb(server: Server, tmp_path: Path) -> None:
    body = """
    def grow():
        while True:
            try:
                if os.fork() == 0:
                    time.sleep(0.02)
            except OSError:
                time.sleep(0.05)
    grow()
    """
    answer = run(server, tmp_path, textwrap.dedent(body), replace(LIMITS, timeout=60.0))  # a busy machine forks slowly
    assert answer.result is None
    assert answer.reason == "started more than 64 processes"
    assert not left_behind(server)


def test_process_that_moves_away(server: Server, tmp_path: Path) -> None:
    """A child of its own session that would outlive the program."""
    answer = run(server, tmp_path, "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)")
    assert answer.result["error"] is None
    assert not left_behind(server)


def test_thread_that_never_ends(server: Server, tmp_path: Path) -> None:
    body = "import threading\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    assert run(server, tmp_path, body).result["error"] is None


def test_secrets_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = "SOME_API_TOKEN HF_TOKEN AWS_SECRET_ACCESS_KEY WANDB_API_KEY DB_PASSWORD".split()
    for name in secrets:
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("SOME_SETTING", "visible")
    with Server(device="cpu", limits=LIMITS, jobs=1) as server:
        body = f"assert not set({secrets}) & set(os.environ)\nassert os.environ['SOME_SETTING'] == 'visible'\n"
        body += "assert b'hidden' not in open(f'/proc/self/environ', 'rb').read()"
        assert run(server, tmp_path, body).result["error"] is None


def left_behind(server: Server) -> list[int]:
    """Processes below the server; it answers once it has ended them."""
    return list(isolation.children(server._process.pid))


FORKING = """
import os
import torch

def main(steps):
    kept = [torch.ones(64, 64) for _ in range(steps)]
    child = os.fork()
    if child == 0:
        return None  # goes on as if it were the program
    os.waitpid(child, 0)
    return kept
"""


def test_a_forked_child_that_comes_back_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "forking.py"
    file.write_text(FORKING, "utf-8")
    with Server(device="cpu", jobs=1) as server:
        answer = server.run("fixture", {"file": str(file), "steps": 4, "everywhere": False})
    assert answer.result is not None, answer.reason
    assert [run["after"]["storages"] for run in answer.result] == [4, 8]
    assert [run["error"] for run in answer.result] == [None, None]
