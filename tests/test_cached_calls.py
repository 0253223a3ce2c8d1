"""Caching decorators whose functions are called with what keeps something heavy, whatever their parameters say."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

CALLED = """
class Spec:
    def __init__(self, rows, fill):
        self.rows, self.fill = rows, fill

@functools.{cache}{mark}
def plan(spec, size):
    return size * 2

def main():
    whole = torch.randn(64, 64)
    for step in range(1000):
        rows = torch.randn(64, 64)
        plan({given}, 3)
"""
KEPT = ["rows", "Spec(rows, 0)", "(3, rows)", "Spec(3, lambda size: rows[:size])", "functools.partial(torch.add, rows)"]
LIGHT = ["tuple(rows.shape)", "Spec(3, len)", "whole", "rows.sum().item()", "rows.dtype", "Spec(3, lambda size: size)"]


@pytest.mark.parametrize("given", KEPT)
@pytest.mark.parametrize("cache", ["cache", "lru_cache(maxsize=None)", "lru_cache"])
def test_heavy_keys(cache: str, given: str) -> None:
    check(CALLED.format(cache=cache, given=given, mark="  # TML305"))


@pytest.mark.parametrize("given", LIGHT)
def test_light_keys(given: str) -> None:
    check(CALLED.format(cache="cache", given=given, mark=""))


CODER = """
class Coder:
    def __init__(self, path, given):
        self.{name} = {value}

    @functools.lru_cache
    def byte_table(self):
        return [chr(number) for number in range(256)]
"""


@pytest.mark.parametrize("value", ["dict(enumerate('abc'))", "{'a': 0, 'b': 1}", "len(path)"])
def test_an_encoder_that_is_a_table(value: str) -> None:
    check(CODER.format(name="encoder", value=value))


@pytest.mark.parametrize(("name", "value"), [("encoder", "given"), ("encoders", "{}")])
def test_an_encoder_that_may_be_a_model(name: str, value: str) -> None:
    check(CODER.replace("@functools.lru_cache", "@functools.lru_cache  # TML305").format(name=name, value=value))


TUNER = """
from functools import lru_cache

class Tuner:
    @staticmethod
    @lru_cache(maxsize=None)
    def nearest(shape, spec):
        return spec(shape[0])
"""
ROWS = """
import torch
from tuner import Tuner

def half(size):
    return size // 2

def main():
    sizes = []
    for _ in range(1000):
        x = torch.randn(64, 64)
        sizes.append(Tuner.nearest(tuple(x.shape), half))
        sizes.append(Tuner.nearest(tuple(x.shape), lambda size: x[:size]))  # TML305
    print(sizes)

if __name__ == "__main__":
    main()
"""


def test_the_cache_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"tuner.py": TUNER, "rows.py": ROWS}, tmp_path, monkeypatch)


THROUGH_HELPER = """
def put_away(owner, name, value):
    {put}
    return value

def memo(method):
    @functools.wraps(method)
    def wrapper(self):
        name = method.__name__
        return self.kept[name] if name in self.kept else put_away(self, name, method(self))

    return wrapper

def clear(owner, *gradients):
    owner.kept = {{}}

class Solver:
    def __init__(self, w):
        self.kept = {{}}
        self.w = w

    @property
    @memo
    def solved(self):
        y = (self.w * 2).exp()
        y.grad_fn.register_hook(functools.partial(clear, self)){mark}
        return y

def run(n):
    w = torch.rand(5, requires_grad=True)
    for _ in range(n):
        Solver(w).solved.sum().backward()
"""


def test_a_decorator_that_leaves_the_storing_to_a_helper() -> None:
    check(THROUGH_HELPER.format(put="owner.kept[name] = value", mark="  # TML315"))
    check(THROUGH_HELPER.format(put="owner.kept[name] = value.detach()", mark=""))
    check(THROUGH_HELPER.format(put="print(name)", mark=""))


BY_STEP = """
TABLE = {{}}

def put_away(key, value):
    {put}
    return value

def memo(function):
    def wrapper(step):
        return TABLE[step] if step in TABLE else put_away(step, function(step))

    return wrapper

@memo
def noise(step):
    return torch.randn(64, 64)

def run(n):
    for step in range(n):
        print(noise(step).mean())
"""


def test_a_table_of_the_module_that_a_decorator_fills_by_a_helper() -> None:
    check(BY_STEP.format(put="TABLE[key] = value  # TML301"))
    check(BY_STEP.format(put="TABLE.clear()\n    TABLE[key] = value"))


AROUND = """
def remembered(method):
    @functools.wraps(method)
    def wrapper(self, *args):
        if "_remembered" not in self.__dict__:

            @functools.lru_cache(maxsize=64)
            def cached(*given):
                return method({first}*given)

            self._remembered = cached
        return self._remembered({handed}*args)

    return wrapper

class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(64, 64)

    @remembered{mark}
    def points(self, size):
        return torch.arange(size) * 2.0
"""


def test_a_cache_whose_keys_have_no_object_in_them() -> None:
    check(AROUND.format(first="self, ", handed="", mark=""))
    check(AROUND.format(first="", handed="self, ", mark="  # TML305"))


ONE_LOGGER = """
        class Logger:
            def __init__(self, name):
                self.name, self.rows, self.last = name, [], None

            def note(self, value):
                self.rows.append(value)%s

            def show(self, value):
                self.last = value

            def flush(self):
                print(len(self.rows))
                self.rows.clear()

        @functools.lru_cache(maxsize=None)
        def get_logger(name="train"):
            return Logger(name)

        def train(model, loader, optimizer):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                %s
        """


@pytest.mark.parametrize("call", ["get_logger().note(loss)", 'get_logger("train").note(loss)'])
def test_one_object_that_a_cache_has(call: str) -> None:
    check(ONE_LOGGER % ("  # TML102", call))


@pytest.mark.parametrize(
    "call",
    [
        "get_logger().note(loss.item())",
        "get_logger().note(loss); get_logger().flush()",
        "get_logger().show(loss.detach())",
        'Logger("train").note(loss)',
    ],
)
def test_one_object_that_keeps_nothing(call: str) -> None:
    check_innocent(ONE_LOGGER % ("", call))
