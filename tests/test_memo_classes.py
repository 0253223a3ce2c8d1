"""Classes that are decorators: what their objects remember of a function's results."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

AROUND = """
class Memo:
    def __init__(self, function):
        self.function, self.known = function, {}

    def __call__(self, x):
        {body}
        return self.known[KEY]

@Memo
def gram(x):
    return torch.randn(64, 64) * len(x)

def main(steps):
    for step in range(steps):
        print(gram({given}).sum().item())
"""
NAMED = """
class Memo:
    def __init__(self, name):
        self.name, self.known = name, {}

    def __call__(self, function):
        @functools.wraps(function)
        def inner(x):
            {body}
            return self.known[KEY]
        return inner

@Memo("gram")
def gram(x):
    return torch.randn(64, 64) * len(x)

def main(steps):
    for step in range(steps):
        print(gram({given}).sum().item())
"""
FILLS = "if KEY not in self.known: self.known[KEY] = {function}(x)"
TENSOR, TEXT = "torch.randn(64)", '"row"'


def program(text: str, key: str, given: str, told: str, more: str = "") -> str:
    body = FILLS.replace("{function}", "function" if "inner" in text else "self.function") + told + more
    return text.replace("{body}", body).replace("{given}", given).replace("KEY", key)


@pytest.mark.parametrize("text", [AROUND, NAMED], ids=["around", "with a name"])
@pytest.mark.parametrize("key", ["id(x)", "x"])
def test_results_under_keys_that_never_come_again(text: str, key: str) -> None:
    check(program(text, key, TENSOR, "  # TML311"))


@pytest.mark.parametrize("text", [AROUND, NAMED], ids=["around", "with a name"])
def test_results_that_are_few_or_limited(text: str) -> None:
    check_innocent(program(text, "x.shape", TENSOR, ""))
    indent = "\n            " if text is NAMED else "\n        "
    check_innocent(program(text, "id(x)", TENSOR, "", f"{indent}if len(self.known) > 8: self.known.clear()"))


def test_a_class_that_only_counts() -> None:
    check_innocent(AROUND.replace("{body}", "self.known[KEY] = self.function(x).sum().item()")
                   .replace("{given}", TENSOR).replace("KEY", "len(self.known)")
                   .replace(".sum().item())", ")"))  # fmt: skip
