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
EACH_ROUND = """
class Call(threading.Thread):
    def __init__(self, service, rows):
        super().__init__()
        self.service, self.rows, self.found = service, rows, None
    def run(self):
        self.found = self.service.answer(self.rows)

def main(service, n):
    for step in range(n):
        call = Call(service, bytes(step))
        call.start()
        call.join()
        print(call.found)
"""
EACH_PAIR = """
def main(service, n):
    for step in range(n):
        pair = [threading.Thread(target=service.answer, args=(bytes(step),)) for _ in range(2)]
        for one in pair:
            one.start()
        for one in pair:
            one.join(5.0)
"""
EACH_POOL = """
def main(service, epochs):
    for epoch in range(epochs):
        with ThreadPoolExecutor(4) as pool:
            print(list(pool.map(service.answer, [bytes(i) for i in range(64)])))
"""
POOL_OF_EACH_CALL = """
def answers(service, texts):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(service.answer, texts))
def main(service, loader):
    for texts in loader:
        print(answers(service, texts))
"""
COMING_AND_GOING = [EACH_ROUND, EACH_PAIR, EACH_POOL, POOL_OF_EACH_CALL]
WORKERS = """
class Worker(threading.Thread):
    def __init__(self, service, inbox):
        super().__init__()
        self.service, self.inbox = service, inbox
    def run(self):
        for rows in iter(self.inbox.get, None):
            print(self.service.answer(rows))

def main(service, n, texts):
    inbox = queue.Queue(8)
    workers = [Worker(service, inbox) for _ in range(n)]
    for worker in workers:
        worker.start()
    for text in texts:
        inbox.put(text)
    for worker in workers:
        inbox.put(None)
    for worker in workers:
        worker.join()
"""
NUMBERED = """
def main(service, n):
    started = []
    for number in range(n):
        thread = threading.Thread(target=service.answer, args=(bytes(number),), name=", ".join(["a", "b"]))
        thread.start()
        started.append(thread)
    for thread in started:
        thread.join()
"""
ONE_POOL = """
def main(service, texts):
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            print(list(pool.map(service.answer, texts)))
"""
STAYING = [WORKERS, NUMBERED, ONE_POOL]
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


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("start", COMING_AND_GOING)
def test_threads_of_each_round(case: str, start: str) -> None:
    check(program(NAMES[case], start=start))


@pytest.mark.parametrize("case", REUSED)
@pytest.mark.parametrize("start", COMING_AND_GOING)
def test_numbers_of_the_threads_of_each_round(case: str, start: str) -> None:
    check(program(REUSED[case], start=start, code=""))


@pytest.mark.parametrize("start", STAYING)
def test_threads_that_stay(start: str) -> None:
    check(program(NAMES["thread"], start=start, code=""))


ASKED = """
import threading

{before}

class Blur:
    def __init__(self, size):
        self.size, self.work = size, {table}

    {method}

    def __call__(self, image):
        return torch.nn.functional.avg_pool2d(self.buffer({given}).copy_(image), 3)

class Request(threading.Thread):
    def __init__(self, blur, image):
        super().__init__(daemon=True)
        self.blur, self.image, self.mean = blur, image, 0.0

    def run(self):
        self.mean = self.blur(self.image).mean().item()

def main(images):
    blur = Blur(64)
    for image in images:
        request = Request(blur, image)
        request.start()
        request.join()
        print(request.mean)
"""
HANDED = {
    "as an argument": (
        "",
        "{}",
        "threading.current_thread()",
        """def buffer(self, owner):
        if owner not in self.work:
            self.work[owner] = torch.empty(1, 3, self.size, self.size)  # TML311
        return self.work[owner]""",
    ),
    "by a function": (
        "def who():\n    return threading.current_thread()",
        "{}",
        "",
        """def buffer(self):
        mine = who()
        if self.work.get(mine) is None:
            self.work[mine] = torch.empty(1, 3, self.size, self.size)  # TML311
        return self.work[mine]""",
    ),
    "by default": (
        "",
        "{}",
        "",
        """def buffer(self):
        return self.work.setdefault(threading.current_thread(), torch.empty(1, 3, self.size, self.size))  # TML311""",
    ),
}
GOING = {
    "weakly": ("import weakref", "weakref.WeakKeyDictionary()", *HANDED["by default"][2:]),
    "by the thread's end": (
        "",
        "{}",
        "",
        """def buffer(self):
        for other in [one for one in self.work if not one.is_alive()]:
            del self.work[other]
        return self.work.setdefault(threading.current_thread(), torch.empty(1, 3, self.size, self.size))""",
    ),
    "of the thread": (
        "",
        "threading.local()",
        "",
        """def buffer(self):
        if not hasattr(self.work, "made"):
            self.work.made = torch.empty(1, 3, self.size, self.size)
        return self.work.made""",
    ),
}


def asked(form: tuple[str, str, str, str]) -> str:
    before, table, given, method = form
    return ASKED.format(before=before, table=table, given=given, method=method)


@pytest.mark.parametrize("case", HANDED)
def test_threads_that_are_handed_over(case: str) -> None:
    check(asked(HANDED[case]))


@pytest.mark.parametrize("case", GOING)
def test_entries_that_go_with_their_thread(case: str) -> None:
    check(asked(GOING[case]).replace("  # TML311", ""))
