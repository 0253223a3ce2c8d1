"""Context variables: what is put into a default is put into the one that every context gets."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

REQUESTS = """
import contextvars

scratch = contextvars.ContextVar("scratch"{default})
request_id = contextvars.ContextVar("request_id", default="-")

def encoded(model, text):
    memo = scratch.get({given})
    key = (request_id.get(), text)
    if key not in memo:
        memo[key] = model(torch.rand(64, 8)){told}
    return memo[key]

@torch.no_grad()
def answer(model, number):
    token = request_id.set(f"request {{number}}")
    {begins}
    try:
        return encoded(model, "one").mean() + encoded(model, "two").mean()
    finally:
        request_id.reset(token)

def main():
    model = Net().eval()
    for number in range(100):
        print(answer(model, number).item())
"""


def requests(default: str = ", default={}", given: str = "", begins: str = "pass", told: str = "") -> str:
    return REQUESTS.format(default=default, given=given, begins=begins, told=told)


@pytest.mark.parametrize("default", [", default={}", ", default=dict()"])
def test_a_default_that_every_request_gets(default: str) -> None:
    check(requests(default, told="  # TML301"))


@pytest.mark.parametrize(
    ("default", "given", "begins"),
    [
        ("", "", "scratch.set({})"),
        (", default={}", "", "scratch.set({})"),
        ("", "{}", "pass"),  # another one each time: it has no effect
        (", default=None", "", "scratch.set({})"),
    ],
)
def test_each_request_has_its_own(default: str, given: str, begins: str) -> None:
    check_innocent(requests(default, given, begins))


def test_what_sets_it_may_not_be_in_sight_of_the_run() -> None:
    middleware = """
class Middleware:
    async def dispatch(self, request, call_next):
        scratch.set({})
        return await call_next(request)
"""
    check_innocent(requests() + middleware)
