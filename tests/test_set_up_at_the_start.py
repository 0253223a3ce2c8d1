"""Globals that a function fills anew: once, where the program begins, or again and again."""

from __future__ import annotations

import pytest
from snippets import check

ASSISTANT = """
turns = []
embed = nn.Embedding(256, 64)

def greet():
    global turns
    turns = [("system", torch.zeros(64))]

@torch.inference_mode()
def answer(text):
    spoken = embed(torch.tensor(list(text.encode()))).mean(0)
    turns.append(("user", spoken)){mark}
    return torch.stack([turn for _, turn in turns]).mean(0)

def listen(lines):
    for line in lines:
        {each}
        print(answer(line).norm().item())

def main(lines):
    {first}
    listen(lines)
{others}
"""
KEPT = "  # TML301"


@pytest.mark.parametrize(
    ("mark", "each", "first", "others"),
    [
        (KEPT, "pass", "greet()", ""),
        (KEPT, "pass", "pass", "greet()\n"),
        ("", "if line == 'bye': greet()", "greet()", ""),
        ("", "pass", "greet()", "\ndef on_new_caller(event):\n    greet()\n"),
        ("", "pass", "register('new caller', greet)\n    greet()", ""),
        ("", "del turns[:-8]", "greet()", ""),
        ("", "turns[1:] = turns[-8:]", "greet()", ""),
    ],
)
def test_what_only_begins_lets_nothing_go(mark: str, each: str, first: str, others: str) -> None:
    check(ASSISTANT.format(mark=mark, each=each, first=first, others=others))


def test_a_period_begins_in_a_loop() -> None:
    check("""
found = []
net = nn.Linear(8, 2)

def forget():
    found.clear()

@torch.no_grad()
def collect(batch):
    found.append(net(batch))

def main(loaders):
    for loader in loaders:
        forget()
        for batch in loader:
            collect(batch)
        print(torch.cat(found).mean().item())
""")
