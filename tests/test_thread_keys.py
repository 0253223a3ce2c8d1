"""Tables with an entry for each thread: `# TML311` where each request has a thread of its own."""

from __future__ import annotations

import pytest
from snippets import check

TABLE = """
import socketserver, threading
from concurrent.futures import ThreadPoolExecutor

{table}

class Buffers:
    def __init__(self):
        self.made = {{}}

    def mine(self):
        {key}
        if name not in {holder}:
            {holder}[name] = torch.empty(3, 64, 64)  # {code}
        return {holder}[name]

class Service{base}:
    def __init__(self, model):
        self.model, self.buffers = model.eval(), Buffers()

    @torch.inference_mode()
    def answer(self, pixels):
        buffer = self.buffers.mine()
        buffer.fill_(len(pixels))
        return self.model(buffer[None]).argmax().item()

    def finish_request(self, request, address):
        request.sendall(self.answer(request.recv(64)))

{start}
"""
NAMES = {
    "name": "name = threading.current_thread().name",
    "thread": "name = threading.current_thread()",
    "old spelling": "name = threading.currentThread().name",
    "native": "name = threading.get_native_id()",
}
REUSED = {"ident": "name = threading.get_ident()", "of the thread": "name = threading.current_thread().ident"}
MIXIN = "(socketserver.ThreadingMixIn)"
ACCEPT = """
def serve(service, sock):
    while True:
        client, address = sock.accept()
        threading.Thread(target=service.finish_request, args=(client, address)).start()
"""
POOL = """
def serve(service, sock, n):
    for _ in range(n):
        threading.Thread(target=service.finish_request, args=sock.accept()).start()
    with ThreadPoolExecutor(n) as pool:
        while True:
            pool.submit(service.finish_request, *sock.accept())
"""


def program(key: str, base: str = "", start: str = "", holder: str = "self.made", code: str = "TML311") -> str:
    return TABLE.format(key=key, base=base, start=start, holder=holder, code=code, table="MADE = {}")


@pytest.mark.parametrize("case", NAMES)
def test_an_entry_for_each_thread(case: str) -> None:
    check(program(NAMES[case], MIXIN))
    check(program(NAMES[case], start=ACCEPT))
    check(program(NAMES[case], MIXIN, holder="MADE", code="TML301"))


@pytest.mark.parametrize("case", NAMES)
def test_an_entry_for_each_thread_of_a_pool(case: str) -> None:
    check(program(NAMES[case], start=POOL, code=""))


@pytest.mark.parametrize("case", REUSED)
def test_numbers_that_are_given_out_again(case: str) -> None:
    check(program(REUSED[case], MIXIN, code=""))
