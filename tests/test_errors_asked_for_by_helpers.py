"""Exceptions that a helper asks for itself, by `sys.exc_info()`, while its caller's clause runs."""

import pytest
from snippets import check

ATTEMPTS = """
import sys
import traceback

class Failure:
    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    {decorator}
    def current({cls}):
        kind, value, trace = sys.exc_info()
        return {made}

class Attempts:
    def __init__(self):
        self.failures = []

    def run(self, widths):
        for width in widths:
            try:
                model = nn.Linear(64, width)
                model(torch.randn(8, 64)).mean().backward()
            except RuntimeError:
                failure = Failure.current()
                {then}

def main():
    attempts = Attempts()
    attempts.run(range(1000))
    print(len(attempts.failures))
"""


@pytest.mark.parametrize(
    ("cls", "made", "then"),
    [
        ("cls", "cls(kind, value)", "self.failures.append(failure)  # TML307"),
        ("", "Failure(kind, value)", "self.failures.append(failure)  # TML307"),
        ("", "value", "self.failures.append(failure)  # TML307"),
        ("", "trace", "self.failures.append(failure)  # TML307"),
        ("cls", "cls(kind, str(value))", "self.failures.append(failure)"),
        ("cls", "cls(kind, value.with_traceback(None))", "self.failures.append(failure)"),
        ("cls", "cls(kind, value)", "self.failures.append(str(failure.value))"),
        ("cls", "cls(kind, value)", "self.failures = [failure]"),
        (
            "cls",
            "cls(kind, value)",
            "traceback.clear_frames(failure.value.__traceback__); self.failures.append(failure)",
        ),
    ],
)
def test_a_helper_that_asks_for_it(cls: str, made: str, then: str) -> None:
    decorator = "@classmethod" if cls else "@staticmethod"
    check(ATTEMPTS.format(cls=cls, decorator=decorator, made=made, then=then))
