"""Decorators of the project that put an `lru_cache` around a method when it is first called."""

from __future__ import annotations

from snippets import check

DETECTOR = """
from functools import lru_cache, wraps

def cached(*told, **named):
    def decorator(func):
        {before}

        @wraps(func)
        def wrapper(self, *args):
            {first}
            return {call}

        return wrapper

    return decorator

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 0.05
        self.layer = nn.Linear(8, 2)

    @cached(maxsize=32){mark}
    def anchors(self, height, width):
        return torch.full((height * width, 4), self.size)

    def forward(self, x):
        return self.layer(x) + self.anchors(2, 2).mean()
"""
LATE = "nonlocal known; known = known or lru_cache(*told, **named)(func)"


def test_a_cache_for_all_objects() -> None:
    text = DETECTOR.format(before="known = None", first=LATE, call="known(self, *args)", mark="  # TML305")
    check(text)
    eager = {"before": "known = lru_cache(*told, **named)(func)", "first": "pass", "call": "known(self, *args)"}
    check(DETECTOR.format(mark="  # TML305", **eager))


def test_a_cache_for_each_object() -> None:
    own = "known = self.__dict__.setdefault('_known', lru_cache(*told, **named)(functools.partial(func, self)))"
    check(DETECTOR.format(before="pass", first=own, call="known(*args)", mark=""))
    one = "nonlocal known; known = func"
    check(DETECTOR.format(before="known = None", first=one, call="known(self, *args)", mark=""))
