"""A process that is started to watch another one, which somebody keeps; beside one that is a rank itself."""

from __future__ import annotations

import pytest
from snippets import check

_LAUNCH = """
import subprocess
import multiprocessing
import sys

def work(rank, count):
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(count)
    train(rank)

def launch(count, folder, command):
    workers = []
    for rank in range(count):
        worker = multiprocessing.Process(target=work, args=(rank, count))
        worker.start()
        subprocess.Popen({command}){mark}
        workers.append(worker)
    for worker in workers:
        worker.join()
"""

COMMANDS = {
    '["strace", "-o", f"{folder}/{rank}.log", "-p", f"{worker.pid}"]': "",
    '["py-spy", "record", "--pid", str(worker.pid)]': "",
    '["python", "serve.py", "--rank", str(rank)]': "  # TML408",
    '["/usr/bin/python3", "serve.py", "--parent", str(launcher.pid)]': "  # TML408",
    '["numactl", "--cpunodebind", str(rank), sys.executable, "serve.py"]': "  # TML408",
    '[sys.executable, "serve.py"]': "  # TML408",
    "command": "  # TML408",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_started_beside_a_worker(command: str) -> None:
    check(_LAUNCH.format(command=command, mark=COMMANDS[command]))
