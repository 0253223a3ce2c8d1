"""Exceptions that are put on an object which is there for one round of a loop."""

from __future__ import annotations

import pytest
from snippets import check

TASKS = """
class Task:
    def __init__(self, model):
        self.model, self.error = model, None

    def go_on(self, x):
        try:
            self.model(x)
        except Exception as error:
            self.error = error{mark}

@torch.no_grad()
def run(model, requests):
    {before}
    for x in requests:
        {each}

def main(steps):
    run(Net(), [torch.randn(4, 8) for _ in range(steps)])
"""


@pytest.mark.parametrize(
    ("before", "each", "mark"),
    [
        ("pass", "Task(model).go_on(x)", ""),
        ("task = Task(model)", "task.go_on(x)", "  # TML307"),
        ("tasks = {}", "tasks[len(tasks)] = task = Task(model); task.go_on(x)", "  # TML307"),
    ],
)
def test_who_keeps_the_object_keeps_the_error(before: str, each: str, mark: str) -> None:
    check(TASKS.format(before=before, each=each, mark=mark))
