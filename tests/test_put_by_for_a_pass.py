"""What is put by for a backward pass, in a validation that has none."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

STAGE = """
class Section:
    def __init__(self):
        self.net, self.last, self.waiting = Net(), 0, {box}

    def ahead(self, x):
        x = x.detach().requires_grad_(torch.is_grad_enabled())
        y = self.net(x)
        self.last += 1
        {put}
        return self.last, y.detach()

    def back(self, number, grad):
        {take}
        {passes}

    def through(self, y, grad):
        y.backward(grad)

    def taken(self, number):
        {gives}


def train(section, batch):
    for part in batch.chunk(4):
        number, y = section.ahead(part)
        section.back(number, torch.ones_like(y))


{mode}
def validate(section, batch):
    {loop}
        number, y = section.ahead(part)
        print(y.sum().item())
        {used}


def main():
    section = Section()
    for _ in range(100):
        train(section, torch.randn(16, 8))
        validate(section, torch.randn(16, 8))
        {after}


if __name__ == "__main__":
    main()
"""
PUT = "self.waiting[self.last] = (x, y)"
PLAIN = {"box": "{}", "put": PUT + "  # TML311", "take": "x, y = self.waiting.pop(number)", "gives": "pass",
         "passes": "y.backward(grad)", "mode": "@torch.no_grad()", "loop": "for part in batch.chunk(4):",
         "used": "pass", "after": "pass"}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"mode": "@torch.inference_mode()"},
        {"box": "deque()", "put": "self.waiting.append((x, y))  # TML303", "take": "x, y = self.waiting.popleft()"},
        {"put": PUT.replace("(x, y)", "{'y': y}") + "  # TML311", "take": "entry = self.waiting.pop(number)",
         "passes": "entry['y'].backward(grad)"},
        {"take": "entry = self.waiting.pop(number); x, y = entry"},
        {"take": "x, y = self.waiting[number]; del self.waiting[number]"},
        {"put": PUT.replace("(x, y)", "y") + "  # TML311", "take": "self.waiting.pop(number).backward(grad)",
         "passes": "pass"},
        {"passes": "torch.autograd.backward((y,), (grad,))"},
        {"passes": "self.through(y, grad)"},
        {"take": "x, y = self.taken(number)", "gives": "return self.waiting.pop(number)"},
    ],
)  # fmt: skip
def test_left_there(change: dict[str, str]) -> None:
    check(STAGE.format(**PLAIN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"put": f"if torch.is_grad_enabled(): {PUT}"},
        {"put": f"if y.requires_grad: {PUT}"},
        {"box": "deque(maxlen=8)", "put": "self.waiting.append((x, y))", "take": "x, y = self.waiting.popleft()"},
        {"after": "section.waiting.clear()"},
        {"used": "section.waiting.pop(number)"},
        {"used": "section.taken(number)", "gives": "return self.waiting.pop(number)"},
        {"used": "section.back(number, None)", "passes": "if y.requires_grad: y.backward(grad)"},
        {"loop": "section = Section()\n    for part in batch.chunk(4):"},
    ],
)
def test_not_put_there_or_taken_out(change: dict[str, str]) -> None:
    check_innocent(STAGE.format(**PLAIN | {"put": PUT} | change))
