"""Tables that a module has, not an object: entries that go only if somebody comes for them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

ANSWERS = """
import time

_answers: dict = {{}}
TTL = 60.0

def look_up(visitor):
    {own}
    entry = _answers.get(visitor)
    if entry is None:
        return None
    since, answer = entry
    if {test}:
        {drop}
        return None
    return answer

def sweep():
    for one in [one for one, (since, _) in _answers.items() if time.monotonic() - since > TTL]:
        {out}

def put(visitor, answer):
    {swept}
    _answers[visitor] = (time.monotonic(), answer){told}

@torch.no_grad()
def main():
    model = Net().eval()
    for number in range(1000):
        user = f"user {{number}}"
        if look_up(user) is None:
            put(user, model(torch.zeros(64, 8)))
"""
OLD = "time.monotonic() - since > TTL"
DROPS = ["del _answers[visitor]", "_answers.pop(visitor)", "_answers.pop(visitor, None)"]


def answers(
    drop: str = DROPS[0],
    out: str = "print(one)",
    told: str = "",
    test: str = OLD,
    own: str = "pass",
    swept: str = "pass",
) -> str:
    return ANSWERS.format(drop=drop, out=out, told=told, test=test, own=own, swept=swept)


@pytest.mark.parametrize("drop", DROPS)
def test_what_has_expired_goes_when_it_is_asked_for(drop: str) -> None:
    check(answers(drop=drop, told="  # TML301"))


@pytest.mark.parametrize(
    "text",
    [
        answers(out="del _answers[one]", swept="sweep()"),
        answers(swept="while len(_answers) > 100: _answers.pop(next(iter(_answers)))"),
        answers(test="answer is not None"),  # whoever asks takes it
        answers(own="_answers = {}"),  # another of this name
    ],
)
def test_what_goes_otherwise(text: str) -> None:
    check_innocent(text)


CLASS = """
import time

class Answers:
    entries: dict = {{}}

    @classmethod
    def get(cls, visitor):
        entry = cls.entries.get(visitor)
        if entry is None:
            return None
        answer, expires = entry
        if time.monotonic() > expires:
            cls.entries.pop(visitor, None)
            return None
        return answer

    @classmethod
    def put(cls, visitor, answer, lifetime=60.0):
        {swept}
        cls.entries[visitor] = (answer, time.monotonic() + lifetime){told}

@torch.no_grad()
def main():
    model = Net().eval()
    for number in range(1000):
        user = f"user {{number}}"
        if Answers.get(user) is None:
            Answers.put(user, model(torch.zeros(64, 8)))
"""
SWEEP = "cls.entries = {key: one for key, one in cls.entries.items() if one[1] > time.monotonic()}"


def test_tables_of_classes() -> None:
    check(CLASS.format(swept="pass", told="  # TML302"))
    check_innocent(CLASS.format(swept=SWEEP, told=""))
