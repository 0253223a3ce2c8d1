"""What `push()` puts on a stack at the head of a round, and one way through the round does not take off again."""

from __future__ import annotations

import pytest
from snippets import check

SPANS = """
class Spans:
    def __init__(self):
        self.pending = []

    def begin(self, **told):
        self.pending.append(told){mark}

    def end(self):
        self.pending.pop()

    def title(self):
        return "/".join(self.pending[-1]) if self.pending else "none"

spans = Spans()

@torch.no_grad()
def score(model, batches):
    worst = 0.0
    for batch in batches:
        spans.begin(batch=batch)
        {body}
    return worst

def main(n):
    print(score(Net(), (torch.randn(4, 8) for _ in range(n))))
"""
LEFT = {
    "goes on to the next round": """out = model(batch).max().item()
        if out < worst:
            print(spans.title())
            continue
        worst = out
        spans.end()""",
    "an error is caught": """try:
            worst = max(worst, model(batch).max().item())
        except ValueError:
            continue
        spans.end()""",
    "in one of two branches": """out = model(batch).max().item()
        if out < worst:
            if out < 0:
                continue
        else:
            worst = out
        spans.end()""",
}
EVEN = {
    "taken off on each way": """out = model(batch).max().item()
        if out < worst:
            spans.end()
            continue
        worst = out
        spans.end()""",
    "in a finally": """try:
            out = model(batch).max().item()
            if out < worst:
                continue
            worst = out
        finally:
            spans.end()""",
    "taken off first": """out = model(batch).max().item()
        spans.end()
        if out < worst:
            continue
        worst = out""",
    "an inner loop goes on": """for row in batch:
            if row.sum() < worst:
                continue
            worst = model(row[None]).max().item()
        spans.end()""",
    "emptied before": """out = model(batch).max().item()
        if out < worst:
            spans.pending.clear()
            continue
        spans.end()""",
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_a_way_through_a_round_leaves_on_a_stack(body: str) -> None:
    check(SPANS.format(body=body, mark="  # TML303"))


@pytest.mark.parametrize("body", EVEN.values(), ids=EVEN)
def test_what_each_way_takes_off_again(body: str) -> None:
    check(SPANS.format(body=body, mark=""))


RUNNER = """
class Runner:
    def __init__(self, model):
        self.model = model
        self.active = []
        self.skipped = 0
{more}
    @torch.no_grad()
    def step(self, batch):
        {body}

def main(n):
    runner = Runner(Net())
    for _ in range(n):
        runner.step(torch.randn(4, 8))
"""


def test_an_early_return_leaves_it() -> None:
    body = """self.active.append(batch)  # TML303
        out = self.model(batch)
        if torch.isnan(out).any():
            self.skipped += 1
            return None
        self.active.pop()
        return out.sum().item()"""
    check(RUNNER.format(body=body, more=""))


IN_ORDER = {
    "a list of things to do": """self.active.append(batch)
        while self.active:
            one = self.active.pop()
            if len(one) < 2:
                continue
            self.active.append(one[: len(one) // 2].clone())
            if one.sum() > 0:
                continue
            self.active.append(one[len(one) // 2 :].clone())""",
    "opened and closed by what is read": """for word in ("(", "a", ")"):
            if word == "(":
                self.active.append(batch.clone())
                continue
            if word == ")":
                self.active.pop()
                continue
            self.active[-1].add_(1)""",
    "the last try is wanted": """for rate in (0.1, 0.01):
            self.active.append(batch * rate)
            if self.model(batch * rate).sum() < 0:
                break
            self.active.pop()
        return len(self.active.pop())""",
    "another takes off what is too much": """self.active.append(batch)
        if self.model(batch).sum() < 0:
            shorten(self.active)
            return None
        self.active.pop()""",
}


@pytest.mark.parametrize("body", IN_ORDER.values(), ids=IN_ORDER)
def test_stacks_in_another_order(body: str) -> None:
    check("from outside import shorten\n" + RUNNER.format(body=body, more=""))


def test_a_path_that_a_search_leaves_where_it_ends() -> None:
    more = """
    def find(self, x, depth):
        self.active.append(x)
        if x.sum() > 1 or (depth and self.find(x * 2, depth - 1)):
            return True
        self.active.pop()
        return False
"""
    check(RUNNER.format(body="return self.find(batch, 3)", more=more))


def test_a_block_that_closes_itself_is_no_release_of_what_is_around_it() -> None:
    code = """
import contextlib

OPEN = []

def enter(value):
    OPEN.append(value){mark}

def leave():
    OPEN.pop()

@contextlib.contextmanager
def scope(value):
    enter(value)
    try:
        yield
    finally:
        leave()

@torch.no_grad()
def score(model, batches):
    for batch in batches:
        {opened}
        with scope("clip"):
            out = model(batch).sum().item()
        if out < 0:
            continue
        {closed}

def main(n):
    score(Net(), (torch.randn(4, 8) for _ in range(n)))
"""
    check(code.format(opened="enter(batch)", closed="leave()", mark="  # TML301"))
    check(code.format(opened="print(len(batch))", closed="print(out)", mark=""))


_WINDOW = """
    class Smoother:
        def __init__(self, net, window):
            self.net, self.window = net.eval(), window
            self.frames = {made}

        @torch.no_grad()
        def step(self, x):
            self.frames.append(self.net(x))
            if len(self.frames) < self.window:
                return x
            self.frames.{oldest}
            return torch.stack(list(self.frames)).mean(0)
    """


@pytest.mark.parametrize(("made", "oldest"), [("[]", "pop(0)"), ("deque()", "popleft()")])
def test_a_window_that_is_left_to_fill(made: str, oldest: str) -> None:
    check(_WINDOW.format(made=made, oldest=oldest))
