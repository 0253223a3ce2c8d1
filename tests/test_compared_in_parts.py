"""Tests of several constants at once, by which a call is told what to do."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
class Speech:
    def __init__(self):
        self.voices = {{}}

    def voice(self, path):
        if path not in self.voices:
            self.voices[path] = Net().eval(){mark}
        return self.voices[path]

    def forget(self, path):
        self.voices.pop(path, None)


class Server:
    def __init__(self):
        self.speech = Speech()

    @torch.no_grad()
    def handle(self, method, route, body):
        if {test}:
            return self.speech.forget(body["path"])
        return self.speech.voice(body["path"])(torch.randn(1, 8)).sum().item()


def main(steps, asked):
    server = Server()
    for customer in range(steps):
        server.handle("POST", "/speech", {{"path": f"voices/{{customer}}"}})
        {then}
"""
TESTS = pytest.mark.parametrize(
    "test",
    [
        '(method, route) == ("DELETE", "/voices")',
        'not (method, route) != ("DELETE", "/voices")',
        '[method, route] == ["DELETE", "/voices"]',
        'method in ("DELETE", "PURGE")',
        'method not in ("POST", "PUT")',
    ],
)


@TESTS
def test_nobody_asks_for_it(test: str) -> None:
    check(CODE.format(test=test, mark="  # TML311", then=""))


@TESTS
@pytest.mark.parametrize(
    "then",
    [
        'server.handle("DELETE", "/voices", {"path": f"voices/{customer}"})',
        "server.handle(*asked[customer])",
        'server.handle(asked[customer].method, "/voices", {"path": f"voices/{customer}"})',
    ],
)
def test_somebody_asks_for_it_or_may(test: str, then: str) -> None:
    check_innocent(CODE.format(test=test, mark="", then=then))


@pytest.mark.parametrize(
    "test",
    [
        '(method, route, body) == ("POST", "/speech")',
        '(method, *route) == ("POST", "/speech")',
        '(method, route) == ("POST", route)',
        '(method, route) < ("POST", "/voices")',
        'method in "POST, PUT"',
        'body["path"] in ("a", "b")',
    ],
)
def test_what_is_not_known(test: str) -> None:
    check_innocent(CODE.format(test=test, mark="", then=""))
