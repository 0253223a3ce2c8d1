"""What is done until an object has said that it is done, `if self.ready: return`: once, however often it is called."""

from __future__ import annotations

import pytest
from snippets import check

_METHOD = """
    class Sharded:
        def __init__(self, model):
            self.model = model
            self.rows = []
            {before}

        def prepare(self, x):
            {test}
                {then}
            for p in self.model.parameters():
                self.rows.append({kept}){mark}
            {after}

        def reset(self):
            {reset}

        def step(self, x):
            self.prepare(x)
            return self.model(x)
    """
_KEPT = {"p.detach().clone()": "  # TML303", "(3, p.view(-1)[4:8])": "  # TML102"}
_FLAGS = [
    ("self.ready = False", "if self.ready:", "self.ready = True"),
    ("self.ready, self.begun = False, False", "if self.ready is True:", "self.ready = True"),
    ("self.sizes = None", "if self.sizes is not None:", "self.sizes = [len(row) for row in self.rows]"),
]


@pytest.mark.parametrize("kept", _KEPT)
@pytest.mark.parametrize(("before", "test", "after"), _FLAGS)
def test_an_object_that_is_ready(before: str, test: str, after: str, kept: str) -> None:
    check(_METHOD.format(before=before, test=test, then="return", after=after, kept=kept, mark="", reset="pass"))


@pytest.mark.parametrize("reset", ["self.ready = False", "del self.ready"])
def test_a_flag_that_is_taken_back(reset: str) -> None:
    before, test, after = _FLAGS[0]
    for kept, mark in _KEPT.items():
        check(_METHOD.format(before=before, test=test, then="return", after=after, kept=kept, mark=mark, reset=reset))


@pytest.mark.parametrize(("test", "then"), [("if self.ready:", "return"), ("if not self.ready:", "self.ready = True")])
def test_a_flag_that_does_not_guard(test: str, then: str) -> None:
    given = {"before": "self.ready = False", "test": test, "then": then, "after": "pass", "reset": "pass"}
    check(_METHOD.format(**given, kept="p.detach().clone()", mark="  # TML303"))


_BRANCH = """
    class Lazy:
        def __init__(self, params, model):
            self.params, self.model = list(params), model
            self.built = False
            self.rows = []

        def build(self):
            for p in self.params:
                self.rows.append(p.detach().clone())

        def step(self, x):
            if not self.built:
                {done}
                self.built = True
            return self.model(x)
    """


@pytest.mark.parametrize("done", ["self.build()", "self.rows.append(self.params[0].detach().clone())"])
def test_a_branch_that_says_so(done: str) -> None:
    check(_BRANCH.format(done=done))


def test_of_the_process() -> None:
    check("""
        _ROWS = []
        _READY = False

        def remember(model):
            global _READY
            if _READY:
                return
            for p in model.parameters():
                _ROWS.append(p.detach().clone())
            _READY = True
        """)


def test_batches_are_no_parts() -> None:
    check("""
        class Calibrated:
            def __init__(self, model):
                self.model = model
                self.done = False
                self.losses = []

            def calibrate(self, loader, optimizer):
                if self.done:
                    return
                self.model.train()
                for x, y in loader:
                    loss = F.cross_entropy(self.model(x), y)
                    loss.backward()
                    optimizer.step()
                    self.losses.append(loss)  # TML102
                self.done = True
        """)


_TOLD = """
    class Sampler:
        def __init__(self, model):
            self.model = model
            self.rows = []
            {before}

        def step(self, x):
            if {test}:
                self.rows.append(self.model(x).detach()){mark}
                {then}
            {after}
            return x

        {other}
    """
_ONCE = [
    {"before": "self.steps = 0", "test": "self.steps == 0", "then": "pass", "after": "self.steps += 1"},
    {"before": "self.done = False", "test": "self.done is not True", "then": "self.done = True", "after": "pass"},
    {"before": "pass", "test": 'not hasattr(self, "done")', "then": "self.done = 1", "after": "pass"},
]
_SOME = {"before": "self.some = []", "test": "not self.some", "then": "self.some = [x]", "after": "pass"}
_AGAIN = [
    (_ONCE[0], "def begin(self): self.steps = 0"),
    (_ONCE[0] | {"test": "self.steps % 10 == 0"}, ""),
    (_ONCE[1], "def turn(self): self.done = not self.done"),
    (_ONCE[1], "def mark(self, done): self.done = done"),
    (_SOME, "def flush(self): self.some.clear()"),
]


@pytest.mark.parametrize("case", _ONCE)
def test_counters_and_flags(case: dict[str, str]) -> None:
    check(_TOLD.format(**case, mark="", other=""))
    check(_TOLD.format(**case, mark="", other="def at(self): return self.rows[0]"))


@pytest.mark.parametrize(("case", "other"), _AGAIN)
def test_counters_and_flags_that_start_anew(case: dict[str, str], other: str) -> None:
    check(_TOLD.format(**case, mark="  # TML303", other=other))
