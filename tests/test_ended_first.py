"""Tables of servers: the one of a port is ended before the next one takes its place, or it stays."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SERVERS = """
import torch.multiprocessing as mp

servers = {{}}

def serve(port):
    net = Net().eval()
    with torch.no_grad():
        while True:
            print(net(torch.rand(1, 8)), port)

def start(port):
    process = mp.Process(target=serve, args=(port,), daemon=True)
    process.start()
    return process

def restart(port, request_id, force):
{body}

def main(asked):
    for port, request_id, force in asked:
        restart(port, request_id, force)
"""
CASES = [
    "old = servers.get(port)\nif old is not None:\n    old.kill()\n    old.join()\nservers[port] = start(port)",
    "if port in servers:\n    process = servers[port]\n    process.terminate()\nservers[port] = start(port)",
    "if port in servers:\n    servers[port].terminate()\n    servers[port].join()\nservers[port] = start(port)",
    "servers[port] = start(port)  # TML408",
    "if port in servers:\n    servers[port].is_alive()\nservers[port] = start(port)  # TML408",
    "if port in servers:\n    servers[0].terminate()\nservers[port] = start(port)  # TML408",
    "if request_id in servers:\n    servers[request_id].kill()\nservers[request_id] = start(port)  # TML408",
    "servers[port] = start(port)  # TML408\nif force:\n    servers[port].kill()",
]


@pytest.mark.parametrize("body", CASES)
def test_a_server_for_each_port(body: str) -> None:
    check(SERVERS.format(body=textwrap.indent(body, "    ")))
