"""Requests that gather parts of their answer until they come to their end, and tables that are told of no other end."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SERVER = """
class Request:
    def __init__(self, number):
        self.number = number
        self.chunks = []

    def add(self, chunk):
        self.chunks.append(chunk){grows}


class Outputs:
    def __init__(self):
        self.requests = {{}}

    def open(self, number):
        request = Request(number)
        self.requests[number] = request{keyed}
        return request

    def take(self, outputs):
        for output in outputs:
            request = self.requests.get(output.number)
            if request is None:
                continue
            request.add(output.chunk)
            if {over}:
                del self.requests[output.number]
                {used}

    def abort_requests(self, numbers):
        for number in numbers:
            self.requests.pop(number, None)


class Output:
    def __init__(self, number, chunk, finish_reason=None):
        self.number, self.chunk, self.finish_reason = number, chunk, finish_reason


class Core:
    def __init__(self, net):
        self.net = net.eval()
        self.running = {{}}

    def abort(self, numbers):
        for number in numbers:
            self.running.pop(number, None)

    @torch.no_grad()
    def step(self):
        return [Output(number, self.net(torch.randn(64, 8))) for number in list(self.running)]


def serve(steps):
    core, outputs = Core(Net()), Outputs()
    for number in range(steps):
        core.running[number] = 0
        outputs.open(number)
        for _ in range(4):
            outputs.take(core.step())
        core.abort([number])
        {told}

def main(steps):
    serve(steps)
"""
SET = "output.finish_reason is not None"
ANSWER = "print(torch.cat(request.chunks).shape)"


def _text(over: str = SET, used: str = ANSWER, told: str = "", grows: str = "", keyed: str = "") -> str:
    told = told or "print(number)"
    return SERVER.format(over=over, used=used, told=told, grows=grows, keyed=keyed)


@pytest.mark.parametrize("over", [SET, "output.finish_reason", "output.finish_reason != None"])
def test_a_table_that_hears_of_one_end_only(over: str) -> None:
    check(_text(over, keyed="  # TML311"))


def test_one_that_hears_of_both_and_parts_of_an_answer() -> None:
    check_innocent(_text(told="outputs.abort_requests([number])"))


def test_parts_that_nobody_wants_in_the_end() -> None:
    told = "outputs.abort_requests([number])"
    check(_text(used="print(output.number)", told=told, grows="  # TML303"))
